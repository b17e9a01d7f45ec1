"""What a fleet agrees on that does what was run over a table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paofed.algorithms.spec import parted
from paofed.cli.shared.table_run import TableRun
from paofed.core.columns.numbers import Number
from paofed.core.random import seed_of
from paofed.errors import InputError
from paofed.live.protocol.manifest import Manifest, short
from paofed.live.protocol.scaling import Scaling
from paofed.live.protocol.seen import agreed_on
from paofed.live.protocol.served import SERVED, own_options, usual_shared
from paofed.report.run.advice import advise
from paofed.world.realize import map_key
from paofed.world.start import Start

_OF_MANIFEST = ("step_size", "max_age", "shared", "clip", "aside", "bound", "learner", "forgetting")
_FAR = 10.0  # halves of the usual range from its middle: beyond that a sensor is broken


def best_served(run: TableRun) -> str:
    """The algorithm that the run's page advises or, where no fleet can serve it, the next best."""
    names = run.result.algorithms
    served = [name for name in names if not _why_not(name)]
    if not served:
        raise InputError(f"{run.path}: {'; '.join(map(_why_not, names))}")
    advice = advise(run.result)
    if advice is not None and advice.method in served:
        return advice.method
    return run.best(served, "device")


def fleet_of(run: TableRun, name: str, start: Start | None, tick: float | None = None) -> Manifest:
    """What a fleet agrees on that does what an algorithm did, from a start on; None: zeros.

    `tick` is its length in seconds, where the table's is not to be taken.
    """
    run.require(name)
    if why := _why_not(name):
        raise InputError(f"{run.path}: {why}")
    row, options = parted(name)
    scenario, agreed = run.scenario, agreed_on([*run.inputs, run.target])
    low, high = run.linear
    return Manifest(
        algorithm=row,
        **_settled(scenario, row, options),
        features=scenario["features"],
        kernel_width=scenario["kernel_width"],
        seed=seed_of(map_key(run.world)),
        **_ticks(run, tick),
        epoch=0,
        inputs=tuple(_plausible(run, number) for number in agreed.inputs),
        target=_plausible(run, agreed.target),
        seen=agreed.seen,
        linear=tuple(zip(low.tolist(), high.tolist(), strict=True)) or None,
        personal=(run.linear.low.size > 0 and scenario.get("personal")) or None,
        start_model=None if start is None else short(start.model),
        first_interval=None if start is None else start.half_width,
    )


def _why_not(name: str) -> str:
    """Why a fleet cannot do what an algorithm did, or an empty text."""
    row = name.partition(":")[0]
    if row not in SERVED:
        return f"{name} cannot be served (served: {', '.join(SERVED)})"
    told = (*_OF_MANIFEST, *own_options(row), "exchange")
    others = [key for key in parted(name)[1] if key not in told]
    if others:
        return f"{name} cannot be served: no manifest says {' and '.join(others)}"
    return ""


def _settled(scenario: Mapping[str, Any], row: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithm's own values, and the scenario's where it has none."""
    usual = {
        "step_size": scenario["step_size"],
        "max_age": scenario["max_age"],
        "shared": usual_shared(row, scenario["features"]),
    }
    own = {key: options[key] for key in _OF_MANIFEST if key in options}
    shaping = {key: options[key] for key in own_options(row) if key in options}
    learner = None if own.get("learner") == "lms" else own.get("learner")
    return {**usual, **own, "learner": learner, "options": shaping or None}


def _ticks(run: TableRun, tick: float | None) -> dict[str, Any]:
    """Ticks that begin as the table's do: a table takes the nearest, a fleet those that began."""
    about = run.result.provenance["table"]
    if tick is None and not about["calendar"]:
        raise InputError(
            f"{run.path}: the times of its table are plain numbers: say how many seconds a tick "
            f"has (--tick)"
        )
    length = about["tick"] if tick is None else tick
    return {"tick_seconds": length, "start": (about["begin"] - length / 2) % length + length}


def _plausible(run: TableRun, number: Scaling) -> Scaling:
    """A number with its plausible range; one that is taken as it is has no spread to go by."""
    columns = (*run.inputs, run.target)
    ends = np.cumsum([len(record.labels) for record in columns])
    places = {
        record: end - 1
        for record, end in zip(columns, ends.tolist(), strict=True)
        if isinstance(record, Number) and record.name == number.name and not record.diff
    }
    found = min(places, key=lambda record: record.lag, default=None)
    if found is None or (found.offset, found.scale) != (0.0, 1.0) or found.logarithm:
        return number
    low, high = run.ranges[places[found]].tolist()
    middle, far = (low + high) / 2, _FAR * (high - low) / 2
    return replace(number, low=middle - far, high=middle + far)
