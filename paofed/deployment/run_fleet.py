"""From a run over a table to a fleet that does what was run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from paofed.algorithms.admitted import AdmittedMethod, admitted_as
from paofed.algorithms.outside import file_of, split
from paofed.algorithms.setup import Setup
from paofed.core.columns.numbers import Number
from paofed.core.random import seed_of
from paofed.core.scaling import Scaling, is_above_zero
from paofed.deployment.table_run import TableRun
from paofed.errors import InputError, unknown
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.founding import USUAL, going_on, lacking, new_identity
from paofed.live.fleet.settings import Settings
from paofed.live.protocol.change import Changes
from paofed.live.protocol.manifest import Manifest, short
from paofed.live.protocol.quantity import ManifestError, Quantity, check
from paofed.live.protocol.seen import agreed_on
from paofed.live.protocol.served import is_ours
from paofed.live.protocol.setups import manifest_of
from paofed.report.run.advice import advise
from paofed.world.realize import map_key
from paofed.world.start import Start

Begin = Literal["first", "final"]


class AsRun(NamedTuple):
    """What a fleet agrees on that does what was run, beginning now."""

    manifest: Manifest
    name: str  # the algorithm that was run
    added: tuple[str, ...]  # bounds that the run did not have, and that any new fleet has
    tells_code: bool  # whether the run says by which code the algorithm was run


def made_fleet(
    run: TableRun,
    folder: Path,
    name: str | None = None,
    *,
    model: Begin = "first",
    settings: Settings | None = None,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> Fleet:
    """Make the folder of a fleet that does what an algorithm did: see `Result.fleet`."""
    settings = settings or Settings(name=folder.resolve().name)
    manifest = agreed_as_run(run, name, model, Changes(values=values)).manifest
    return Fleet.create(folder, settings, manifest, manifest.begins_with)


def agreed_as_run(
    run: TableRun, name: str | None, model: Begin = "first", changes: Changes | None = None
) -> AsRun:
    """Return what a fleet agrees on that does what an algorithm did in a run over a table.

    `name` is the algorithm (None: the best that can be served). The fleet begins with the model
    that the run began with or ended with: `model` is "first" or "final". `changes` are what it does
    in another way: `tick_seconds` among its values is needed where the times of the table are plain
    numbers.
    """
    if model not in get_args(Begin):
        raise InputError(unknown("model to begin with", str(model), get_args(Begin)))
    name, changes = best_served(run) if name is None else name, changes or Changes()
    run.require(name)
    start = run.end(name) if model == "final" else run.start()
    was = fleet_of(run, name, start, changes.values.get("tick_seconds"))
    manifest, identity = going_on(was, changes), new_identity()
    now = identity["start"]  # `now` is in the middle of a tick of the table, if the table went on
    identity["from_time"] = now - (now - was.start) % was.tick_seconds
    added = [key for key in lacking(was, was.word) if key not in changes.values]
    said = tuple(f"{key} {USUAL[key]:g}" for key in added)
    return AsRun(replace(manifest, **identity), name, said, _tells_code(name))


def best_served(run: TableRun) -> str:
    """Return the algorithm that the run's page advises, or the next best that can be served."""
    names = run.result.algorithms
    whys = {name: _why_not(run, name) for name in names}
    served = [name for name in names if not whys[name]]
    if not served:
        raise InputError(f"{run.origin}: {'; '.join(whys.values())}")
    advised = advise(run.result).method
    return advised if advised in served else run.best(served, "device")


def fleet_of(run: TableRun, name: str, start: Start | None, tick: float | None = None) -> Manifest:
    """Return the manifest of a fleet that does what an algorithm did; `start` None begins at zeros.

    `tick` is the length of a tick in seconds; None takes the table's.
    """
    run.require(name)
    if why := _why_not(run, name):
        raise InputError(f"{run.origin}: {why}")
    own = admitted_as(split(name)[0])
    if own is not None:
        _require_same_method(run, name, own)
    scenario, agreed = run.scenario, agreed_on([*run.inputs, run.target])
    low, high = run.linear
    return replace(
        _settled(run, name),
        kernel_width=scenario["kernel_width"],
        seed=seed_of(map_key(run.world)),
        **_ticks(run, tick),
        epoch=0,
        inputs=tuple(_plausible(run, number) for number in agreed.inputs),
        target=_plausible(run, agreed.target),
        seen=agreed.seen,
        linear=tuple(zip(low.tolist(), high.tolist(), strict=True)) or None,
        personal=(run.linear.low.size > 0 and scenario["personal"]) or None,
        start_model=None if start is None else short(start.model),
        first_interval=None if start is None else start.half_width,
    )


def _require_same_method(run: TableRun, name: str, own: AdmittedMethod) -> None:
    """Refuse a file that makes another method than the one that was run.

    What a run says of a method names its functions, and the module of a file's functions has a
    digest of the file in its name.
    """
    described = run.result.provenance["algorithms"][run.result.algorithms.index(name)]
    if Setup.of(name).algorithm().describe() != described:
        raise InputError(
            f"{run.origin}: {name} was run with another version of {own.file}: expected the very "
            f"file that was run; put it back, or run the method again as it is now"
        )


def _tells_code(name: str) -> bool:
    """Whether a run says by which code an algorithm was run: of a module it has the name alone."""
    row = split(name)[0]
    return is_ours(row) or file_of(row) is not None


def _why_not(run: TableRun, name: str) -> str:
    """Say why a fleet cannot do what an algorithm did; empty if it can."""
    row = split(name)[0]
    if not is_ours(row) and admitted_as(row) is None:  # to read the setup would run its code
        return f"{name} cannot be served: it is none of paofed's own methods; name it by --method"
    try:
        _settled(run, name)
    except ManifestError as error:
        return f"{name} cannot be served: {error}"
    return ""


def _settled(run: TableRun, name: str) -> Manifest:
    """Return a manifest that says what an algorithm and the run's scenario decide."""
    of_scenario = {key: run.scenario[key] for key in ("features", "step_size", "max_age")}
    return manifest_of(Setup.of(name), **of_scenario)


def _ticks(run: TableRun, tick: float | None) -> dict[str, Any]:
    """Return ticks that begin with the table's.

    A table gives a time the nearest tick, a fleet the tick that began last.
    """
    about = run.result.provenance["table"]
    if tick is None and not about["calendar"]:
        raise InputError(
            f"{run.origin}: the times of its table are plain numbers: say how many seconds a tick "
            f"has (--tick)"
        )
    length = about["tick"] if tick is None else tick
    check("tick_seconds", is_above_zero(length), length, "a finite number above 0")
    return {"tick_seconds": length, "start": (about["begin"] - length / 2) % length + length}


def _plausible(run: TableRun, number: Quantity) -> Quantity:
    """Return a number with its plausible range; a raw number has no spread to derive one from."""
    columns = (*run.inputs, run.target)
    ends = np.cumsum([len(record.labels) for record in columns])
    places = {
        record: end - 1
        for record, end in zip(columns, ends.tolist(), strict=True)
        if isinstance(record, Number) and record.name == number.name and not record.diff
    }
    found = min(places, key=lambda record: record.lag, default=None)
    if found is None or not found.is_identity or found.logarithm:
        return number
    low, high = run.ranges[places[found]].tolist()
    low, high = Scaling((low + high) / 2, (high - low) / 2).usual
    return replace(number, low=low, high=high)
