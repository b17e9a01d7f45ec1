"""The manifest of a fleet that does what was run over a table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paofed.algorithms.spec import parted
from paofed.core.columns.numbers import Number
from paofed.core.random import seed_of
from paofed.errors import InputError
from paofed.live.protocol.manifest import Manifest, short
from paofed.live.protocol.scaling import Scaling
from paofed.live.protocol.seen import agreed_on
from paofed.live.protocol.served import SERVED, own_options, usual_shared
from paofed.report.run.advice import advise
from paofed.report.run.table_run import TableRun
from paofed.world.realize import map_key
from paofed.world.start import Start

_OF_MANIFEST = ("step_size", "max_age", "shared", "clip", "aside", "bound", "learner", "forgetting")
# Halves of the usual range from its middle; a value beyond that is from a broken sensor.
_FAR = 10.0


def best_served(run: TableRun) -> str:
    """Return the algorithm that the run's page advises, or the next best that can be served."""
    names = run.result.algorithms
    served = [name for name in names if not _why_not(name)]
    if not served:
        raise InputError(f"{run.origin}: {'; '.join(map(_why_not, names))}")
    advice = advise(run.result)
    if advice is not None and advice.method in served:
        return advice.method
    return run.best(served, "device")


def fleet_of(run: TableRun, name: str, start: Start | None, tick: float | None = None) -> Manifest:
    """Return the manifest of a fleet that does what an algorithm did; `start` None begins at zeros.

    `tick` is the length of a tick in seconds; None takes the table's.
    """
    run.require(name)
    if why := _why_not(name):
        raise InputError(f"{run.origin}: {why}")
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
    """Say why a fleet cannot do what an algorithm did; empty if it can."""
    row = name.partition(":")[0]
    if row not in SERVED:
        return f"{name} cannot be served (served: {', '.join(SERVED)})"
    told = (*_OF_MANIFEST, *own_options(row), "exchange")
    others = [key for key in parted(name)[1] if key not in told]
    if others:
        return f"{name} cannot be served: no manifest says {' and '.join(others)}"
    return ""


def _settled(scenario: Mapping[str, Any], row: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the algorithm's own values, and the scenario's for those it leaves open."""
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
    return {"tick_seconds": length, "start": (about["begin"] - length / 2) % length + length}


def _plausible(run: TableRun, number: Scaling) -> Scaling:
    """Return a number with its plausible range; a raw number has no spread to derive one from."""
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
