"""No learner sees what is still to come: what a file says after a time changes no error before it.

From the file to the errors: reading, transforms, kernel width, engines and baselines.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paofed.algorithms import ALGORITHMS, algorithm, options_of
from paofed.core.arrays import FloatArray
from paofed.simulate.montecarlo import run
from paofed.simulate.table.baselines import USUAL
from paofed.world.table import inputs, reader
from paofed.world.table.columns import fit
from paofed.world.table.inputs import Expanded, Rows, expanded
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


def errors(
    folder: Path,
    found: Cells,
    engine: Literal["fast", "reference"] = "fast",
    inputs: Sequence[str] = ("a", "b:raw", "time:cyclic=1d"),
    **changes: str | None,
) -> FloatArray:
    """What every learner got wrong at every tick, (L, N)."""
    rows = [line.split(",")[:2] for line in hourly(DEVICES, HOURS)]
    lines = [f"{','.join(row)},{c}" for row, c in zip(rows, found, strict=True) if c is not None]
    told = {"tick": "1h", "calibration": f"{CALIBRATION}h", "score_from": "15h", **changes}
    path = write(folder / f"{next(_files)}.csv", lines)
    stream = table(path, inputs=inputs, **told)
    result = run(fleet(stream), METHODS, every=1, engine=engine)
    assert result.progressive is not None
    assert len(result.progressive.learners) == 2 * len(METHODS) + len(USUAL)
    found_errors: FloatArray = result.progressive.errors[0]
    return found_errors


seeds = st.integers(0, 2**32 - 1)
often = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


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


@pytest.mark.parametrize("hour", [CALIBRATION, 17, 30])
def test_nor_what_lags_look_back_at(tmp_path: Path, hour: int) -> None:
    found = cells(hour)
    one, two = (errors(tmp_path, c, inputs=LAGS) for c in (found, shuffled(found, hour, 1)))
    ticks = hour - CALIBRATION
    np.testing.assert_array_equal(one[:, :ticks], two[:, :ticks])
    assert (one[:, ticks:] != two[:, ticks:]).any(axis=1).all()


@pytest.mark.parametrize("hour", [CALIBRATION, 17, 30])
def test_nor_on_the_reference_engine(tmp_path: Path, hour: int) -> None:
    found = cells(hour)
    one, two = (errors(tmp_path, c, "reference") for c in (found, shuffled(found, hour, 1)))
    ticks = hour - CALIBRATION
    np.testing.assert_array_equal(one[:, :ticks], two[:, :ticks])
    assert (one[:, ticks:] != two[:, ticks:]).any(axis=1).all()


@pytest.mark.parametrize("inputs", [("a", "b:raw"), LAGS])
@pytest.mark.parametrize("hour", [CALIBRATION, CALIBRATION + 1, 30])
def test_nobody_sees_the_target_that_is_to_be_predicted(
    tmp_path: Path, hour: int, inputs: Sequence[str]
) -> None:
    """The square of y - p bends by 2 for every 1 of y, unless the prediction p moves with y."""
    found = cells(hour)
    place = DEVICES * hour + 1
    found[place - DEVICES] = "0.25,1,-1"  # what lags look at
    bent = []
    for y in (0.0, 1.0, 2.0):
        found[place] = f"{y},0.5,-0.5"
        bent.append(errors(tmp_path, found, inputs=inputs, target="y:raw")[:, hour - CALIBRATION])
    assert np.diff(bent, n=2, axis=0)[0] == pytest.approx(2.0, abs=1e-4)


@pytest.mark.parametrize("hour", [CALIBRATION, 17, 30])
def test_the_same_comparison_sees_that_every_learner_meets_other_samples(
    tmp_path: Path, hour: int
) -> None:
    found = cells(hour)
    one, two = (errors(tmp_path, c) for c in (found, shuffled(found, hour, 1)))
    ticks = hour - CALIBRATION
    assert (one[:, ticks:] != two[:, ticks:]).any(axis=1).all()


def test_the_same_comparison_sees_a_calibration_that_covers_what_was_shuffled(
    tmp_path: Path,
) -> None:
    """The samples before hour 30 are the same, but the transforms are not."""
    found = cells(0)
    one, two = (
        errors(
            tmp_path,
            [*c[: DEVICES * 35], *found[DEVICES * 35 :]],
            calibration="35h",
            score_from=None,
        )
        for c in (found, shuffled(found, 30, 1))
    )
    assert (one != two).any(axis=1).all()


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
