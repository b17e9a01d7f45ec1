"""Where candidates meet, and what they score there: worlds of their own, or the calibration period.

A candidate has one value in dB for each world or, over a table, for each device or block of time;
the mean of these values is its score. All candidates meet in the same of them, so that differences
of these values are paired.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.errors import InputError
from paofed.simulate.results.estimates import NEPERS
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.words import counted
from paofed.world.labels import Labels
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario, settled_labels
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.worlds import Setting

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

LEAST_READINGS = 100  # the fewest complete readings in each half of a calibration period
# The fewest devices for differences by device; with fewer devices, so many blocks of time.
LEAST_DEVICES = 8
_MARGIN = 1e-3  # a part of a tick: readings nearer than this to the end of the period do not count


class Arena(NamedTuple):
    """Where candidates meet."""

    scenario: Setting
    where: str  # the place in words
    over: str  # what the values are of: worlds, devices or blocks of time
    # Takes runs and a candidate's name, returns its values.
    values: Callable[[Sequence[Result], str], FloatArray]


def arena_of(scenario: Setting) -> Arena:
    """Return the arena of a setting; InputError if a table's calibration period is too short."""
    if not isinstance(scenario, Scenario) or not isinstance(scenario.stream, Table):
        return Arena(scenario, "on worlds apart from those of the run", "worlds", _by_world)
    early = calibration_of(scenario)
    readings = read(early.table)
    line = readings.timeline
    where = (
        f"on the later half of the calibration period, {line.text(line.origin)} to "
        f"{line.text(line.last)}"
    )
    for half, found in (("earlier", readings.y_past), ("later", readings.y)):
        if len(found) < LEAST_READINGS:
            raise InputError(
                f"the {half} half of the calibration period has "
                f"{counted(len(found), 'complete reading')}: expected at least {LEAST_READINGS}; "
                f"a longer calibration has more"
            )
    if np.unique(readings.device).size >= LEAST_DEVICES:
        return Arena(early, where, "devices", _by_device)
    _require_blocks(readings)
    return Arena(early, where, "blocks of time", _by_time)


def calibration_of(scenario: Scenario) -> Scenario:
    """Return the calibration period as a table of its own: its earlier half calibrates the later.

    Nothing after the period is read. Values taken from the whole period, such as the kernel width,
    are taken from the earlier half. Faults are left out, since nobody knows yet what will break.
    """
    for law in (scenario.availability, scenario.delay):
        if isinstance(law, Recorded):
            raise InputError(
                f"{law.file} says who is there or how late after the calibration period, not in it"
            )
    table, readings = scenario.table, read(scenario.table)
    line = readings.timeline
    # A reading that rounds to tick 0 does not belong to the period.
    end = line.origin - (0.5 + _MARGIN) * line.tick
    stream = {
        **table.model_dump(),
        "calibration": line.text(line.first + (end - line.first) / 2),
        "until": line.text(end),
        "tick": line.length_text(),
        "score_from": None,
    }
    labels = _labels_within(scenario, Table.model_validate(stream))
    return scenario.replace(stream=stream, faults=(), labels=labels)


def _labels_within(scenario: Scenario, early: Table) -> Labels | None:
    """Return the law of labels for those devices that have readings in the calibration period."""
    law, settled = scenario.labels, settled_labels(scenario)
    if law is None or settled is None or law.devices is None or type(law.devices) is float:
        return law
    there, names = read(early).devices, read(scenario.table).devices
    if settled.who is None:
        return law.model_copy(update={"devices": min(settled.how_many, len(there))})
    left = tuple(names[k] for k in settled.who if names[k] in there)
    if not left:
        raise InputError("no device that has labels has readings in the calibration period")
    return law.model_copy(update={"devices": left})


def _by_world(results: Sequence[Result], name: str) -> FloatArray:
    """Return the final error of the server's model in every world."""
    return np.concatenate([decibels(result.run_finals(name)) for result in results])


def _by_device(results: Sequence[Result], name: str) -> FloatArray:
    """Return what each device adds to the error of the devices' models."""
    judged = _judged(results)
    errors = [found.device_errors[:, _place(found, name)] for found in judged]
    samples = judged[0].device_samples
    heard = samples > 0
    return _shared_out(np.concatenate(errors)[:, heard], samples[heard])


def _by_time(results: Sequence[Result], name: str) -> FloatArray:
    """Return what each block of time adds to the error of the devices' models."""
    judged, ticks = _judged(results), results[0].ticks
    errors = [found.errors[:, _place(found, name)] for found in judged]
    block = ticks * LEAST_DEVICES // (ticks[-1] + 1)
    begins = np.flatnonzero(np.diff(block, prepend=-1))
    by_block = np.add.reduceat(np.concatenate(errors), begins, axis=1)
    return _shared_out(by_block, np.add.reduceat(judged[0].samples, begins))


@np.errstate(invalid="ignore")  # the error of a model that diverged is not finite
def _shared_out(by_run: FloatArray, samples: IntArray) -> FloatArray:
    """Return the pooled error in dB as a mean of what each part adds to it, to first order.

    The parts are devices or blocks of time, and `by_run` holds sums of squares by run and part.
    Runs are averaged, since all have the same parts.
    """
    errors = by_run.mean(axis=0)
    shares = errors / errors.sum() - samples / samples.sum()
    values: FloatArray = decibels(errors.sum() / samples.sum()) + NEPERS * samples.size * shares
    return values


def _judged(results: Sequence[Result]) -> list[Progressive]:
    return [TableResult.of(result).progressive for result in results]


def _place(judged: Progressive, name: str) -> int:
    place: int = judged.learners.tolist().index([name, "device"])
    return place


def _require_blocks(readings: "Readings") -> None:
    filled = np.unique(readings.tick * LEAST_DEVICES // readings.ticks).size
    if filled < LEAST_DEVICES:
        raise InputError(
            f"in the later half of the calibration period there are readings of "
            f"{counted(np.unique(readings.device).size, 'device')}, in {filled} of "
            f"{LEAST_DEVICES} blocks of time: expected {LEAST_DEVICES} devices, or readings in "
            f"every block; a longer calibration has more"
        )
