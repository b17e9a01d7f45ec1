"""No learner sees what is still to come: what a file says after a time changes no error before it.

From the file to the errors and intervals: reading, transforms, kernel width, starts with their
ridges, engines and baselines. What a race chooses has the same test, of every number that a race
tells (tests/experiments/race/test_race.py).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paofed.algorithms import ALGORITHMS, algorithm, options_of
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.ridge import Ridge
from paofed.simulate.montecarlo import run
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.places import Sums
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import ON_REQUEST, USUAL
from paofed.world.start import Start
from paofed.world.table import inputs, reader
from paofed.world.table.columns import fit
from paofed.world.table.inputs import Expanded, Rows, expanded
from paofed.world.table.readings import Readings
from tests.effort import effort, some
from tests.world.table.tables import fleet, hourly, table, write

HOURS, DEVICES, CALIBRATION = 40, 3, 10
LAGS = ("a", "b:diff=1", "y:lag=1", "time:weekday")
METHODS = [
    *(algorithm(n, subset=0.5 if "subset" in options_of(n) else None) for n in ALGORITHMS),
    replace(algorithm("pao-fed-u1", exchange="live"), name="live"),
    replace(algorithm("pao-fed-c2", exchange="single"), name="single"),
]
# One cell per hour and device: what follows device and time in a row, or None for no row.
Cells = list[str | None]
_files = count()


def cells(seed: int) -> Cells:
    """Readings, with rows, inputs and targets missing, but for the first and the last."""
    rng = np.random.default_rng(seed)
    found: Cells = []
    for line in hourly(DEVICES, HOURS, seed):
        y, a, b = line.split(",")[2:]
        found.append(
            [f"{y},{a},{b}", f"{y},{a},{b}", f",{a},{b}", f"{y},,{b}", None][rng.choice(5)]
        )
    return ["1,2,3", *found[1:-1], "1,2,3"]


def shuffled(found: Cells, hour: int, seed: int) -> Cells:
    """The same, all but the last cell from an hour on among themselves."""
    before, after = found[: DEVICES * hour], found[DEVICES * hour : -1]
    order = np.random.default_rng(seed).permutation(len(after))
    return [*before, *(after[i] for i in order), found[-1]]


def ran(
    folder: Path,
    found: Cells,
    engine: Literal["fast", "reference"] = "fast",
    inputs: Sequence[str] = ("a", "b:raw", "time:cyclic=1d"),
    names: Sequence[str] = USUAL,
    **changes: str | None,
) -> tuple[Progressive, Lives]:
    """What became of every learner: methods that begin with a fit, and baselines."""
    rows = [line.split(",")[:2] for line in hourly(DEVICES, HOURS)]
    lines = [f"{','.join(row)},{c}" for row, c in zip(rows, found, strict=True) if c is not None]
    told = {"tick": "1h", "calibration": f"{CALIBRATION}h", "score_from": "15h", **changes}
    path = write(folder / f"{next(_files)}.csv", lines)
    stream = table(path, inputs=inputs, **told)
    result = TableResult.of(run(fleet(stream), METHODS, every=1, engine=engine, baselines=names))
    assert result.provenance["scenario"]["start"] == "calibration"
    assert len(result.progressive.learners) == 2 * len(METHODS) + len(names)
    return result.progressive, result.lives


def errors(*args: Any, **changes: Any) -> FloatArray:
    """What every learner got wrong at every tick, (L, N)."""
    found: FloatArray = ran(*args, **changes)[0].errors[0]
    return found


seeds = st.integers(0, 2**32 - 1)
often = settings(
    max_examples=effort(everyday=3, thorough=25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@often
@given(hour=st.integers(CALIBRATION, HOURS - 2), data=seeds, order=seeds)
def test_what_comes_later_changes_no_error_before_it(
    tmp_path: Path, hour: int, data: int, order: int
) -> None:
    found = cells(data)
    one, two = (errors(tmp_path, c) for c in (found, shuffled(found, hour, order)))
    ticks = hour - CALIBRATION
    assert one.shape == (2 * len(METHODS) + len(USUAL), HOURS - CALIBRATION)
    np.testing.assert_array_equal(one[:, :ticks], two[:, :ticks])


HOW: list[dict[str, Any]] = [{}, {"inputs": LAGS}, {"engine": "reference"}]


@pytest.mark.parametrize("hour", some([17, CALIBRATION, 30], everyday=1))
@pytest.mark.parametrize("how", HOW, ids=["plain", "lags", "reference"])
def test_from_then_on_every_learner_meets_other_samples(
    tmp_path: Path, how: dict[str, Any], hour: int
) -> None:
    """Nor does it change what comes before where inputs look back, or on the other engine."""
    found = cells(hour)
    one, two = (errors(tmp_path, c, **how) for c in (found, shuffled(found, hour, 1)))
    ticks = hour - CALIBRATION
    np.testing.assert_array_equal(one[:, :ticks], two[:, :ticks])
    assert (one[:, ticks:] != two[:, ticks:]).any(axis=1).all()


@pytest.mark.parametrize("hour", some([17, 30], everyday=1))
def test_nor_the_errors_of_baselines_on_request(tmp_path: Path, hour: int) -> None:
    found = cells(hour)
    both = found, shuffled(found, hour, 1)
    one, two = (errors(tmp_path, c, names=ON_REQUEST)[-len(ON_REQUEST) :] for c in both)
    ticks = hour - CALIBRATION
    np.testing.assert_array_equal(one[:, :ticks], two[:, :ticks])
    assert (one[:, ticks:] != two[:, ticks:]).any(axis=1).all()


def intervals(lives: Lives, readings: IntArray) -> tuple[FloatArray, FloatArray]:
    """How often every learner's intervals held, and how wide they were, (2, L, ...).

    First of the cells that were filled when devices had had so many readings, then of the others.
    """
    filled = 2 ** (lives.stage + 1) - 1 <= readings[lives.device]
    sums = Sums(*np.moveaxis(lives.sums[0], 1, 0))
    both = np.stack([sums.covered, sums.own_width])
    return both[..., filled], both[..., ~filled]


@pytest.mark.parametrize("hour", [17, 30])
def test_nor_any_interval(tmp_path: Path, hour: int) -> None:
    (before, after), (same, other) = both_intervals(tmp_path, hour)
    np.testing.assert_array_equal(before, same)
    assert before.shape[-1] >= DEVICES
    assert after.sum() != other.sum()


def both_intervals(folder: Path, hour: int) -> list[tuple[FloatArray, FloatArray]]:
    """Those of a table, and of the same with all that comes from an hour on in another order."""
    found = cells(hour)
    known = [c is not None and "" not in c.split(",") for c in found[: DEVICES * hour]]
    readings = np.reshape(known, (hour, DEVICES))[CALIBRATION:].sum(axis=0)
    return [
        intervals(ran(folder, c, score_from=None)[1], readings)
        for c in (found, shuffled(found, hour, 1))
    ]


SEEN = [
    *product((CALIBRATION, CALIBRATION + 1, 30), (("a", "b:raw"), LAGS), (USUAL,)),
    (35, ("a", "b:raw"), ON_REQUEST),
]


@pytest.mark.parametrize(("hour", "inputs", "names"), some(SEEN, everyday=3))
def test_nobody_sees_the_target_that_is_to_be_predicted(
    tmp_path: Path, hour: int, inputs: Sequence[str], names: Sequence[str]
) -> None:
    """The square of y - p bends by 2 for every 1 of y, unless the prediction p moves with y."""
    found = cells(hour)
    place = DEVICES * hour + 1
    found[place - DEVICES] = "0.25,1,-1"  # what lags look at
    bent = []
    for y in (0.0, 1.0, 2.0):
        found[place] = f"{y},0.5,-0.5"
        got = errors(tmp_path, found, inputs=inputs, names=names, target="y:raw")
        bent.append(got[:, hour - CALIBRATION])
    assert np.diff(bent, n=2, axis=0)[0] == pytest.approx(2.0, abs=1e-4)


@pytest.mark.parametrize("leak", ["transforms", "gaps", "lags"])
def test_the_same_comparison_sees_a_leak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    """With each of three classic mistakes built in, errors before the time differ."""

    def peeking(*args: Any, calendar: bool) -> Expanded:
        made = expanded(*args, calendar=calendar)  # gaps filled from the future
        for numbers in made.numbers.T:
            for i in range(len(numbers) - 2, -1, -1):
                numbers[i] = numbers[i + 1] if np.isnan(numbers[i]) else numbers[i]
        return made

    def ahead(rows: Rows, values: FloatArray, lag: int) -> FloatArray:
        cells = zip(rows.device.tolist(), rows.tick.tolist(), strict=True)
        known = dict(zip(cells, values.tolist(), strict=True))
        return np.array([known.get((k, n + lag), np.nan) for k, n in known])

    if leak == "transforms":  # fitted on everything
        fitted_on_all = lambda col, past, *values: fit(col, np.ones_like(past), *values)  # noqa: E731
        monkeypatch.setattr(inputs, "fit", fitted_on_all)
    elif leak == "gaps":
        monkeypatch.setattr(reader, "expanded", peeking)
    else:  # looked up in the wrong direction
        monkeypatch.setattr(Rows, "before", ahead)
    found = cells(0)
    hour = 20
    both = found, shuffled(found, hour, 1)
    far = ("a", "y:lag=3") if leak == "lags" else ("a", "b:raw")
    one, two = (errors(tmp_path, c, inputs=far) for c in both)
    ticks = hour - CALIBRATION
    assert not np.array_equal(one[:, :ticks], two[:, :ticks])


@pytest.mark.parametrize("leak", ["model", "ridge"])
def test_the_same_comparison_sees_a_start_that_knows_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    """One that is fitted to everything, and one whose ridge alone is chosen by everything."""

    def peeking(readings: Readings, made: FourierMap) -> Start:
        past = readings.x_past, readings.y_past
        every = [np.concatenate(both) for both in zip(past, (readings.x, readings.y), strict=True)]
        known = Ridge.over(made, *every)
        if leak == "model":
            return Start(known.model, 1.0)
        z = made(past[0])
        held: FloatArray = z.T @ z + known.ridge * np.diag((z**2).sum(axis=0))
        return Start(np.linalg.solve(held, z.T @ past[1]).astype(np.float64), 1.0)

    monkeypatch.setattr("paofed.world.realize.fitted", peeking)
    found, hour = cells(2), 12
    one, two = (errors(tmp_path, c) for c in (found, shuffled(found, hour, 1)))
    ticks = hour - CALIBRATION
    assert not np.array_equal(one[:, :ticks], two[:, :ticks])
