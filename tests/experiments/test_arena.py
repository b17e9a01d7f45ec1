"""Where candidates meet: scores are those that a result tells, and nothing later is read."""

from pathlib import Path

import numpy as np
import pytest

from paofed.core.metrics import decibels
from paofed.errors import InputError
from paofed.experiments.arena import (
    LEAST_DEVICES,
    LEAST_READINGS,
    _shared_out,
    arena_of,
    calibration_of,
)
from paofed.simulate.montecarlo import run
from paofed.simulate.results.table_result import TableResult
from paofed.world.realize import half_width_of, start_of, table_map, world_key
from paofed.world.table.door import read
from tests.experiments.race.tables import CALIBRATION, racing_fleet, readings
from tests.natures import small_scenario

NAMES = ["pao-fed-u1", "pao-fed-u1:step_size=0.1"]


def test_a_synthetic_world_scores_the_final_error() -> None:
    scenario = small_scenario()
    arena = arena_of(scenario)
    results = [run(scenario, NAMES, runs=2, seed=seed) for seed in (1, 2)]
    values = arena.values(results, NAMES[1])
    finals = np.concatenate([result.run_finals(NAMES[1]) for result in results])
    np.testing.assert_array_equal(values, decibels(finals))
    assert (arena.scenario, arena.over) == (scenario, "worlds")


@pytest.mark.parametrize(("devices", "over"), [(9, "devices"), (7, "blocks of time")])
def test_a_table_scores_the_error_of_the_devices(tmp_path: Path, devices: int, over: str) -> None:
    """The mean over devices or blocks is the pooled error that a result tells, of all runs."""
    arena = arena_of(racing_fleet(tmp_path / "t.csv", readings(devices)))
    assert arena.over == over
    once = run(arena.scenario, NAMES, runs=3, seed=5, every=1, baselines="none")
    assert isinstance(once, TableResult)
    assert once.baselines == []
    for name in NAMES:
        values = arena.values([once], name)
        assert values.size == (devices if over == "devices" else LEAST_DEVICES)
        assert values.mean() == pytest.approx(once.final(name, "device").db)


def test_the_first_half_of_the_calibration_period_calibrates_the_second(tmp_path: Path) -> None:
    scenario = racing_fleet(tmp_path / "t.csv", readings(9))
    early = calibration_of(scenario)
    found = read(early.table)
    assert len(found.y_past) == len(found.y) == 9 * CALIBRATION // 2
    assert found.ticks == CALIBRATION // 2
    assert early.kernel_width == found.kernel_width != scenario.kernel_width
    assert calibration_of(racing_fleet(tmp_path / "t.csv", readings(9),
                                       kernel_width=2.5)).kernel_width == 2.5  # fmt: skip


def test_nobody_in_a_race_begins_with_what_it_is_judged_on(tmp_path: Path) -> None:
    """Map, start with its ridge and first interval come from the earlier half alone."""
    lines = readings(9)

    def begun(hour: int) -> tuple[bytes, bytes, float]:
        """What a race begins with where the readings from an hour on are others."""
        others = [*lines[: 9 * hour], *readings(9, seed=1)[9 * hour :]]
        early = calibration_of(racing_fleet(tmp_path / f"{hour}.csv", others))
        world = world_key(0, 0)
        drawn, start = table_map(early, world), start_of(early, world)
        return drawn.frequencies.tobytes(), start.tobytes(), half_width_of(early, world)

    whole, later, earlier = (begun(hour) for hour in (CALIBRATION, CALIBRATION // 2, 1))
    assert later == whole
    assert [one != other for one, other in zip(earlier, whole, strict=True)] == [True] * 3


def test_a_reading_that_rounds_to_the_first_tick_is_not_in_the_period(tmp_path: Path) -> None:
    """Clocks a little off: what is at half past or later belongs to the next hour."""
    lines = readings(9)
    place = 9 * (CALIBRATION - 1)
    before, later = lines[place], lines[place + 1]
    lines[place] = before.replace(":00,", ":29,")
    lines[place + 1] = later.replace(":00,", ":30,")
    lines = [line for i, line in enumerate(lines) if i != 9 * CALIBRATION + 1]  # makes room
    scenario = racing_fleet(tmp_path / "t.csv", lines)
    whole, early = read(scenario.table), read(calibration_of(scenario).table)
    assert len(early.y_past) + len(early.y) == len(whole.y_past) == 9 * CALIBRATION - 1


def test_faults_of_later_have_no_part(tmp_path: Path) -> None:
    broken = ({"kind": "scaled", "by": 9.0, "clients": 1, "start": 11},)
    scenario = racing_fleet(tmp_path / "t.csv", readings(9), faults=broken)
    assert scenario.faults
    assert calibration_of(scenario).faults == ()


def test_too_few_readings_are_told(tmp_path: Path) -> None:
    few = racing_fleet(tmp_path / "few.csv", readings(LEAST_READINGS // 18))
    with pytest.raises(InputError, match="earlier half of the calibration period has 90 complete"):
        arena_of(few)
    gap = [line for line in readings(7) if not "2024-05-02 00" <= line[3:16] < "2024-05-02 03"]
    with pytest.raises(InputError, match="readings of 7 devices, in 7 of 8 blocks of time"):
        arena_of(racing_fleet(tmp_path / "gap.csv", gap))


def test_presence_that_was_recorded_later_is_told(tmp_path: Path) -> None:
    rows = "\n".join(",".join("1" * 9) for _ in range(12))
    (tmp_path / "there.csv").write_text(rows + "\n", encoding="utf-8")
    law = {"kind": "recorded", "file": str(tmp_path / "there.csv")}
    scenario = racing_fleet(tmp_path / "t.csv", readings(9), availability=law)
    with pytest.raises(InputError, match="says who is there or how late after the calibration"):
        arena_of(scenario)


def test_what_a_unit_adds_is_the_slope_of_the_pooled_error() -> None:
    """A device counted a little more often moves the pooled error by its value less the mean."""
    by_run, samples = np.array([[1.0, 6.0, 2.0], [3.0, 2.0, 4.0]]), np.array([10, 20, 70])
    values, more = _shared_out(by_run, samples), 1e-6
    for device in range(3):
        weights = 1.0 + more * (np.arange(3) == device)
        errors = (weights * by_run.mean(axis=0)).sum() / (weights * samples).sum()
        slope = (decibels(errors) - decibels(9.0 / 100.0)) / more
        assert (values[device] - values.mean()) / 3 == pytest.approx(slope, rel=1e-4)
    assert values.mean() == pytest.approx(decibels(9.0 / 100.0))
