"""Newcomers: against the reference engine on traces in which a device was not there before."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm, made, options_of
from paofed.core.arrays import FloatArray
from paofed.core.parts import told
from paofed.core.starting import device_from, whole
from paofed.errors import InputError
from paofed.simulate.engines import reference
from paofed.simulate.engines.fast import family as fast
from paofed.simulate.montecarlo import run
from paofed.simulate.results.progressive import WAYS, ColdStart
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.coldstart import starts_of
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.trace import Trace
from tests.effort import some
from tests.methods import OWN
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

U1 = algorithm("pao-fed-u1")
LINEUP = [
    *(
        algorithm(n, subset=0.5 if "subset" in options_of(n) else None)
        for n in some(ALGORITHMS, everyday=2)
    ),
    replace(algorithm("online-fed", subset=1), name="one of all"),
    replace(algorithm("pao-fed-u1", exchange="single"), name="single"),
    replace(algorithm("pao-fed-c2", exchange="live", shared=5), name="live"),
]
# Newcomers are simulated in float32, about 7 digits, of which sums of squared errors and some
# hundred steps leave five or more; a rule that is wrong is seen in the first three.
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


def daily(devices: int, days: int, seed: int = 0) -> list[str]:
    """Complete readings, one a day."""
    rng = np.random.default_rng(seed)
    return [
        f"d{k},{np.datetime64('2024-01-01') + n},{','.join(map(str, rng.normal(size=3).round(6)))}"
        for n in range(days)
        for k in range(devices)
    ]


def over_days(path: Path, lines: list[str], **changes: Any) -> Scenario:
    """Ten days of calibration; errors count from tick 8 on, whatever else is changed."""
    stream = table(write(path / "t.csv", lines), calibration="10d", score_from="18d", tick="1d")
    return fleet(stream, **changes)


def joined(result: Result) -> ColdStart:
    cold = TableResult.of(result).cold_start
    assert cold is not None
    return cold


def newcomer(trace: Trace, method: Algorithm, way: str, device: int, start: int) -> FloatArray:
    """The squared errors of a newcomer's model at every tick from its start on, literally."""
    there = np.ones(trace.has_data.shape, dtype=bool)
    there[:start, device] = way == "old"
    late = replace(trace, has_data=trace.has_data & there, available=trace.available & there)
    errors = np.zeros(trace.ticks)
    for state, info in reference.ticks(late, method, step_size=0.4, max_age=3):
        errors[info.tick] = (info.errors[0, info.client == device] ** 2).sum()
        if info.tick == start - 1 and way != "old":
            state.newcomers.discard(device)
            learner, server = state.method.learner, state.method.server
            state.devices[device] = device_from(method.name, learner, trace.start)
            if way == "whole":
                every = whole(told(server, state.rule))
                state.devices[device] = learner.merge(state.devices[device], every)
    assert way == "old" or not errors[:start].any()
    return errors[start:]


def assert_literal(result: Result, scenario: Scenario, device: int) -> None:
    """Both ways, alone and last value, for one device."""
    found, trace, readings = joined(result), realize(scenario), read(scenario.table)
    mine = readings.device == device
    previous = dict(zip(readings.tick[mine].tolist(), readings.previous[mine], strict=True))
    fourier_map = trace.fourier_map
    for s, start in enumerate(found.starts.tolist()):
        alone, last = np.zeros(trace.ticks), np.zeros(trace.ticks)
        w = trace.start
        for n in range(start, trace.ticks):
            if trace.has_data[n, device]:
                z, y = fourier_map(trace.x[n, device]), trace.y[n, device]
                alone[n], last[n] = (y - w @ z) ** 2, (y - np.nan_to_num(previous[n])) ** 2
                w = w + 0.4 * (y - w @ z) * z
        for h, horizon in enumerate(found.horizons.tolist()):
            span = slice(start, start + horizon)
            assert found.alone[0, s, device, h] == pytest.approx(alone[span].sum())
            assert found.last_value[s, device, h] == pytest.approx(last[span].sum())
            assert found.samples[s, device, h] == trace.has_data[span, device].sum()
        for a, name in enumerate(found.algorithms.tolist()):
            method = next(m for m in LINEUP if m.name == name)
            for v, way in enumerate(WAYS):
                literal = newcomer(trace, method, way, device, start)
                expected = np.cumsum(literal)[found.horizons - 1]
                what = f"{name}, {way}, from tick {start} on"
                np.testing.assert_allclose(
                    found.errors[0, a, v, s, device], expected, **CLOSE, err_msg=what
                )


def test_newcomers_equal_a_literal_one(tmp_path: Path) -> None:
    scenario = over_days(tmp_path, with_gaps(daily(3, 60)))
    result = run(scenario, LINEUP, cold_starts=2)
    found = joined(result)
    assert (found.starts.tolist(), found.horizons.tolist()) == ([26, 43], [1, 7])
    assert found.errors.shape == (1, len(LINEUP), 3, 2, 3, 2)
    for device in some(range(3), everyday=1):
        assert_literal(result, scenario, device)
    ways = found.errors[0, :, :, 1, :, 1]
    assert (ways[:, 0] != ways[:, 1]).all()  # else the ways were not told apart


def test_newcomers_across_the_stretches_of_the_kernels(tmp_path: Path) -> None:
    """Samples of others that wait to be learned when a newcomer begins are not lost."""
    stream = table(write(tmp_path / "t.csv", with_gaps(hourly(3, 160))), score_from="70h")
    rare = {"kind": "bernoulli", "probabilities": (0.1, 0.3)}
    scenario = fleet(stream, availability=rare)
    result = run(scenario, LINEUP, cold_starts=3)
    assert joined(result).starts.tolist() == [82, 104, 126]
    assert_literal(result, scenario, 1)


def test_a_newcomer_may_be_later_than_anybody_before_it(tmp_path: Path) -> None:
    """Ages that nobody else ever had: this once crashed."""
    late = np.zeros((50, 3), dtype=int)
    late[:, 1] = 3
    np.save(tmp_path / "late.npy", late)
    scenario = over_days(
        tmp_path, daily(3, 60), delay={"kind": "recorded", "file": str(tmp_path / "late.npy")}
    )
    assert_literal(run(scenario, LINEUP, cold_starts=2), scenario, 1)


SUMS = made("fed-ridge", {"shared": 100, "most": 4})
TWO_SPEED = made("pao-fed-u1", {"learner": "two-speed"})


@pytest.mark.parametrize("labels", [None, {"late": 2, "share": 0.8}])
def test_newcomers_to_fleets_with_rules_of_their_own(
    labels: dict[str, Any] | None, tmp_path: Path
) -> None:
    lines = []
    for line in daily(3, 90):  # a target that follows the inputs
        device, day, _, one, other = line.split(",")
        lines.append(f"{device},{day},{float(one) - float(other) / 2},{one},{other}")
    # The reference's trace knows no calibration period, of which the server would have sums.
    scenario = over_days(tmp_path, with_gaps(lines), start="zeros", labels=labels)
    lineup = [SUMS, TWO_SPEED]
    found = joined(run(scenario, lineup, cold_starts=2, precision="float64"))
    assert found.algorithms.tolist() == [method.name for method in lineup]
    trace = realize(scenario)
    for a, method in enumerate(lineup):
        for v, way in enumerate(WAYS):
            for s, start in enumerate(found.starts.tolist()):
                literal = np.cumsum(newcomer(trace, method, way, 1, start))[found.horizons - 1]
                what = f"{method.name}, {way}, from tick {start} on"
                np.testing.assert_allclose(
                    found.errors[0, a, v, s, 1], literal, rtol=1e-9, err_msg=what
                )
        assert not np.allclose(found.errors[0, a, 0], found.errors[0, a, 1])


def test_algorithms_that_cannot_be_compiled_are_left_out(tmp_path: Path) -> None:
    scenario = over_days(tmp_path, daily(2, 60))
    result = run(scenario, [OWN, U1], cold_starts=2)
    assert result.algorithms == ["own", "pao-fed-u1"]
    assert joined(result).algorithms.tolist() == ["pao-fed-u1"]
    expected = joined(run(scenario, [U1], cold_starts=2))
    np.testing.assert_array_equal(joined(result).errors, expected.errors)


def readings_of(path: Path, ticks: int, unit: str, **changes: Any) -> Table:
    """One device whose time is a plain number, or hours or days of a calendar."""
    calendar = {"hours": "datetime64[h]", "days": "datetime64[D]"}
    start = np.datetime64("2024-01-01", "h" if unit == "hours" else "D")
    values = np.random.default_rng(0).normal(size=(ticks + 1, 3)).round(3).tolist()
    when = [str(start + n) if unit in calendar else str(5 * n) for n in range(ticks + 1)]
    lines = [f"d,{t},{y},{a},{b}" for t, (y, a, b) in zip(when, values, strict=True)]
    # Two readings calibrate, so the table begins two ticks later and has one tick less.
    until = {"hours": "2h", "days": "2d"}.get(unit, "10")
    return table(write(path / "t.csv", lines), **{"calibration": until, **changes})


@pytest.mark.parametrize(
    ("ticks", "unit", "changes", "horizons"),
    [
        (1441, "hours", {}, [24, 168, 720]),
        (1440, "hours", {}, [24, 168]),
        (3, "days", {}, [1]),
        (99, "days", {"tick": "1w", "calibration": "14d", "duplicates": "last"}, [1, 4]),
        (1441, "numbers", {}, [24, 168, 720]),
        (800, "hours", {"score_from": "18d"}, [24, 168]),
        (800, "hours", {"tick": "30min"}, [48, 336]),
    ],
)
def test_horizons_are_a_day_a_week_and_thirty_days(
    tmp_path: Path, ticks: int, unit: str, changes: dict[str, Any], horizons: list[int]
) -> None:
    readings = read(readings_of(tmp_path, ticks, unit, **changes))
    assert starts_of(readings, 12).horizons.tolist() == horizons


@pytest.mark.parametrize(
    ("ticks", "unit", "changes"),
    [(48, "hours", {}), (48, "numbers", {}), (800, "hours", {"score_from": "793h"})],
)
def test_a_table_that_is_too_short_is_refused_before_any_work(
    tmp_path: Path,
    ticks: int,
    unit: str,
    changes: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = fleet(readings_of(tmp_path, ticks, unit, **changes))
    monkeypatch.delattr(fast, "run")
    with pytest.raises(InputError, match="too short for cold starts: expected at least"):
        run(scenario, [U1], cold_starts=1)


@pytest.mark.parametrize("starts", [1, 2, 5, 1000])
def test_starts_are_within_the_time_that_counts_with_all_horizons_after_them(
    tmp_path: Path, starts: int
) -> None:
    readings = read(readings_of(tmp_path, 200, "days", score_from="52d"))
    found = starts_of(readings, starts).begins
    assert readings.scored == 50
    assert found[0] > 50
    assert found[-1] == readings.ticks - 30
    assert len(found) == min(starts, 199 - 30 - 50)
    steps = np.diff(found)
    assert (steps > 0).all()
    assert steps.size == 0 or steps.max() - steps.min() <= 1


def test_a_silent_device_does_not_join(tmp_path: Path) -> None:
    lines = [line if line[1] != "1" else line[: line.rindex(",") + 1] for line in hourly(3, 60)]
    readings = read(table(write(tmp_path / "silent.csv", lines)))
    assert starts_of(readings, 2).devices.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cold_starts": -1}, "cold_starts is -1: expected a whole number from 0 on"),
        ({"cold_starts": 1, "methods": [OWN]}, "none of these can: add one that"),
    ],
)
def test_cold_starts_that_cannot_be(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        run(over_days(tmp_path, daily(2, 60)), **{"methods": [U1], **options})


def test_newcomers_that_diverge_say_so(tmp_path: Path) -> None:
    found = joined(run(over_days(tmp_path, daily(2, 60), step_size=1e40), [U1], cold_starts=2))
    assert not np.isfinite(found.by_start_db(found.joined("pao-fed-u1", "windows"))[:, -1]).any()
    assert not np.isfinite(found.by_start_db(found.alone)[:, -1]).any()
    assert np.isfinite(found.by_start_db(found.last_value)).all()
