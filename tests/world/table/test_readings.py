import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from paofed.errors import FileError, InputError
from paofed.world.table import door
from paofed.world.table.door import read
from paofed.world.table.readings import Readings
from tests.effort import effort
from tests.world.table.tables import hourly, on_grid, table, with_gaps, write


def test_every_reading_is_in_its_cell(tmp_path: Path) -> None:
    found = read(table(write(tmp_path / "t.csv", hourly(2, 40))))
    assert found.devices == ("d0", "d1")
    assert found.labels == ("a", "b")
    assert (found.ticks, found.inputs, found.y_past.size) == (30, 2, 20)
    grid = on_grid(found)
    assert grid.has_data.all()
    # The line of tick 4 of the second device: 10 hours of calibration, 2 devices an hour.
    y, a, b = (float(v) for v in hourly(2, 40)[2 * 14 + 1].split(",")[2:])
    past = np.array([[float(v) for v in line.split(",")[2:]] for line in hourly(2, 10)])
    expected = (np.array([y, a, b]) - past.mean(axis=0)) / past.std(axis=0)
    assert [grid.y[4, 1], *grid.x[4, 1]] == pytest.approx(expected)
    assert found.y_past[:2] == pytest.approx((past[:2, 0] - past[:, 0].mean()) / past[:, 0].std())


@settings(
    max_examples=effort(everyday=8, thorough=20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(tmp_path: Path, random: Any) -> None:
    lines = hourly(3, 30)
    in_order = read(table(write(tmp_path / "a.csv", lines)))
    random.shuffle(lines)
    shuffled = read(table(write(tmp_path / f"{abs(hash(tuple(lines)))}.csv", lines)))
    for name in ("tick", "device", "x", "y", "previous", "x_past", "y_past"):
        np.testing.assert_array_equal(getattr(in_order, name), getattr(shuffled, name), name)


@settings(
    max_examples=effort(everyday=8, thorough=20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(10, 39), st.integers(0, 2**32 - 1))
def test_values_after_a_time_change_nothing_before_it(tmp_path: Path, hour: int, seed: int) -> None:
    lines = hourly(2, 40)
    order = np.random.default_rng(seed).permutation(np.arange(2 * hour, 80))
    later = [
        ",".join(lines[i].split(",")[:2] + lines[j].split(",")[2:])
        for i, j in zip(range(2 * hour, 80), order.tolist(), strict=True)
    ]
    one = read(table(write(tmp_path / "one.csv", lines)))
    two = read(table(write(tmp_path / f"{hour}-{seed}.csv", lines[: 2 * hour] + later)))
    before = slice(0, 2 * (hour - 10))
    for name in ("tick", "device", "x", "y", "previous"):
        np.testing.assert_array_equal(getattr(one, name)[before], getattr(two, name)[before], name)


def test_readings_are_in_order_of_ticks_and_devices(tmp_path: Path) -> None:
    found = read(table(write(tmp_path / "t.csv", with_gaps(hourly(5, 60), share=0.6))))
    assert (np.diff(found.tick * 5 + found.device) > 0).all()
    assert found.tick[0] >= 0
    assert found.ticks == 50


@pytest.mark.parametrize("seed", range(effort(everyday=2, thorough=5)))
def test_the_previous_target_may_be_from_before_tick_0_or_without_inputs(
    tmp_path: Path, seed: int
) -> None:
    lines = with_gaps(hourly(3, 60, seed), share=0.6, seed=seed)
    found = read(table(write(tmp_path / "t.csv", lines), target="y:raw"))
    latest, expected = dict.fromkeys(found.devices, np.nan), []
    for line in lines:
        device, time, *values = line.split(",")
        if all(values) and time >= "2024-05-01 10:00":
            expected.append(latest[device])
        if values[0]:
            latest[device] = float(values[0])
    np.testing.assert_array_equal(found.previous, expected)


def test_gaps_are_gaps(tmp_path: Path) -> None:
    lines = hourly(2, 40)
    del lines[2 * 20 + 1]  # a row that is not there
    cells = lines[2 * 15].split(",")
    lines[2 * 15] = ",".join([*cells[:3], "", cells[4]])  # an input that is missing
    cells = lines[2 * 16].split(",")
    lines[2 * 16] = ",".join([*cells[:2], "", *cells[3:]])  # a target that is missing
    found = read(table(write(tmp_path / "t.csv", lines)))
    gaps = np.argwhere(~on_grid(found).has_data).tolist()
    assert sorted(map(tuple, gaps)) == [(5, 0), (6, 0), (10, 1)]
    assert np.isfinite(found.x).all()
    assert np.isfinite(found.y).all()


def test_a_device_without_a_complete_reading_is_told(tmp_path: Path) -> None:
    lines = [line if line.startswith("d0") else line[: line.rindex(",") + 1] for line in hourly()]
    found = read(table(write(tmp_path / "t.csv", lines)))
    assert set(found.device.tolist()) == {0}
    assert "no complete reading after calibration from d1" in found.facts()


def test_what_was_found_is_told(tmp_path: Path) -> None:
    found = read(table(write(tmp_path / "t.csv", hourly(2, 40)), score_from="2024-05-02"))
    assert found.scored == 14
    span = "from 2024-05-01 10:00 to 2024-05-02 15:00"
    assert found.facts() == [
        f"2 devices, 30 ticks of 1h {span}, 100% with a complete reading",
        "calibrated on 20 complete readings before that",
        "0 dB is an error of 1.13 of y",
        "errors count from 2024-05-02 00:00 on",
    ]


def test_what_looks_wrong_is_told(tmp_path: Path) -> None:
    lines = hourly(2, 40)
    for i in (50, 60):
        lines[i] = ",".join([*lines[i].split(",")[:3], "-999", "1"])
    path = write(tmp_path / "t.csv", [*lines, lines[70]])
    facts = read(table(path, tick="30min", duplicates="last")).facts()
    assert "a is -999 2 times: if that means nothing, say so (`missing`)" in facts
    assert "1 of 81 readings dropped: not the only one in their tick" in facts
    assert any(fact.startswith("readings usually come every 2 ticks") for fact in facts)
    assert "take ticks of 1h (`tick`)" in " ".join(facts)
    plain = read(table(path, duplicates="last", missing=["-999"])).facts()
    assert not any("-999" in fact or "usually" in fact for fact in plain)


def sparse(path: Path, minutes: list[int], name: str = "t.csv") -> Path:
    """One device, with readings at such minutes of a day."""
    lines = [
        f"d0,2024-05-01 {m // 60:02d}:{m % 60:02d},{i % 7},{i % 5},{i % 3}"
        for i, m in enumerate(minutes)
    ]
    return write(path / name, lines)


# Every six hours and a bit; twice only two hours lie between two readings.
SPARSE = [*range(0, 1440, 36), 38, 722]
USUAL = "take ticks of 36min (`tick`) and the first or last of the readings in one (`duplicates`)"


def advised(facts: list[str]) -> str:
    """The way that a doubt about ticks names."""
    (found,) = [fact.partition("; ")[2] for fact in facts if fact.startswith("readings usually")]
    return found


def test_ticks_that_are_advised_work(tmp_path: Path) -> None:
    """Ticks of the usual 36 minutes were advised, and refused when they were taken."""
    path = sparse(tmp_path, SPARSE)
    for tick in ("1min", "2min"):
        found = read(table(path, tick=tick, calibration="25%"))
        assert len(found.y) + len(found.y_past) == len(SPARSE)
        assert advised(found.facts()) == f"{USUAL}, or ticks of 4min, which keep all apart"
        better = read(table(path, tick="4min", calibration="25%"))
        assert len(better.y) + len(better.y_past) == len(SPARSE)
        assert better.ticks < found.ticks
        assert advised(better.facts()) == USUAL
    usual = read(table(path, tick="36min", calibration="25%", duplicates="last"))
    assert usual.ticks == 30
    assert "usually" not in " ".join(usual.facts())


def test_one_reading_just_after_another_is_no_reason_for_ticks_of_a_second(tmp_path: Path) -> None:
    lines = hourly(1, 40)
    lines.append(lines[20].replace("20:00", "20:00:01"))
    path = write(tmp_path / "t.csv", lines)
    found = read(table(path))
    assert found.timeline.length_text() == "1s"
    assert advised(found.facts()) == (
        "take ticks of 1h (`tick`) and the first or last of the readings in one (`duplicates`), "
        "or ticks of 2s, which keep all apart"
    )
    usual = read(table(path, tick="1h", duplicates="first"))
    assert on_grid(usual).has_data.all()
    assert usual.facts()[3:] == ["1 of 41 readings dropped: not the only one in their tick"]


def test_no_other_ticks_are_denied(tmp_path: Path) -> None:
    """Readings every 360, some a little off: these ticks keep all apart, the median step's not."""
    off = np.random.default_rng(0).integers(-150, 151, 300)
    times = 360 * np.arange(300) + np.where(np.arange(300) == 0, 0, off)
    lines = [f"d0,{time},{i % 7},{i % 5},{i % 3}" for i, time in enumerate(times)]
    path = write(tmp_path / "t.csv", lines)
    said = advised(read(table(path, calibration="10%")).facts())
    assert re.fullmatch(r"take ticks of \S+ \(`tick`\) and the first or last of .*", said)
    assert on_grid(read(table(path, calibration="10%", tick="360"))).has_data.all()
    fine = read(table(path, calibration="10%", tick="30")).facts()
    assert advised(fine) == "take ticks of 360 (`tick`)"


def test_ticks_that_a_refusal_names_work(tmp_path: Path) -> None:
    path = sparse(tmp_path, SPARSE)
    with pytest.raises(FileError, match=r"\(`duplicates`\), or ticks of 4min \(`tick`\)$"):
        read(table(path, tick="36min", calibration="25%"))
    taken = read(table(path, tick="4min", calibration="25%"))
    usual = read(table(path, calibration="25%"))
    assert taken.timeline.tick == usual.timeline.tick
    repeated = sparse(tmp_path, [*SPARSE, 72], "again.csv")
    with pytest.raises(FileError, match=r"; no ticks keep apart what has the same time$"):
        read(table(repeated, calibration="25%"))


def test_one_reading_of_each_device_has_no_usual_step(tmp_path: Path) -> None:
    lines = [f"d{k},2024-05-01 {k:02d}:00,{k % 7},{k % 5},{k % 3}" for k in range(20)]
    facts = read(table(write(tmp_path / "t.csv", lines), tick="1h")).facts()
    assert not any("usually" in fact for fact in facts)
    with pytest.raises(
        FileError, match="no device has readings at two times: say how long a `tick`"
    ):
        read(table(tmp_path / "t.csv"))


def test_compact_dates_are_days(tmp_path: Path) -> None:
    """As numbers they would be 8,870 ticks, most of them on no calendar."""
    days = [str(np.datetime64("2023-04-22") + n).replace("-", "") for n in range(400)]
    lines = [f"d0,{day},{i % 7},{i % 5},{i % 3}" for i, day in enumerate(days)]
    path = write(tmp_path / "t.csv", lines)
    found = read(table(path, calibration="40d", inputs=["a", "time:cyclic=7d"]))
    assert found.ticks == 360
    assert found.timeline.length_text() == "1d"
    assert "time is read as dates, 20230422 as 2023-04-22 00:00" in " ".join(found.facts())
    plain = read(table(path, calibration="10%", time_format="number"))
    assert plain.ticks > 8000
    assert "as dates" not in " ".join(plain.facts())


def test_devices_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    lines = [line.replace("d", name, 1) for name in ("n1", "m") for line in hourly(1, 40)]
    found = read(table(write(tmp_path / "t.csv", [*lines, *hourly(11, 40)])))
    assert found.devices == (*(f"d{k}" for k in range(11)), "m0", "n10")


def test_the_first_or_the_last_of_duplicates(tmp_path: Path) -> None:
    lines = hourly(2, 40)
    same_time = lines[40].rsplit(",", 3)[0] + ",9,9,9"
    path = write(tmp_path / "t.csv", [*lines, same_time])
    with pytest.raises(FileError, match="line 82: a second reading of d0"):
        read(table(path))
    first, last = (read(table(path, duplicates=choice)) for choice in ("first", "last"))
    plain = read(table(write(tmp_path / "plain.csv", lines)))
    one, two, three = (on_grid(found).y[10, 0] for found in (first, last, plain))
    assert one == three != two


def test_the_time_itself_can_be_an_input(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", hourly(2, 40))
    found = read(table(path, inputs=["a", "time:cyclic=1d"]))
    assert found.labels == ("a", "sin time", "cos time")
    assert on_grid(found).x[2, 0, 1:] == pytest.approx([0, -1], abs=1e-9)  # noon


@pytest.mark.parametrize(
    ("spec", "expected"), [("a:cyclic=1d", "a number"), ("time:cyclic=24", "a length such as 1d")]
)
def test_a_period_has_the_unit_of_its_column(tmp_path: Path, spec: str, expected: str) -> None:
    path = write(tmp_path / "t.csv", hourly(2, 40))
    with pytest.raises(InputError, match=f"expected {expected} as its period"):
        read(table(path, inputs=[spec]))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"calibration": "2024-04-30"}, "leaves no reading before it or none after"),
        ({"calibration": "2024-06-01"}, "the table goes from 2024-05-01 00:00 to 2024-05-02 15:00"),
        ({"score_from": "2024-06-01"}, "no complete reading from 2024-06-01 00:00 on"),
        ({"target": "device"}, "line 2: device is 'd0': expected a number$"),
        (
            {"inputs": ["device"]},
            "expected a number; where .* name it in `missing`; where .* take device:one-hot",
        ),
    ],
)
def test_what_cannot_be(tmp_path: Path, changes: dict[str, str], problem: str) -> None:
    path = write(tmp_path / "t.csv", hourly(2, 40))
    with pytest.raises(FileError, match=problem):
        read(table(path, **changes))


@pytest.mark.parametrize(("when", "kept"), [("in", slice(20, None)), ("after", slice(0, 20))])
def test_no_complete_reading(tmp_path: Path, when: str, kept: slice) -> None:
    lines = [line[: line.rindex(",") + 1] for line in hourly(2, 40)]
    lines[kept] = hourly(2, 40)[kept]
    path = write(tmp_path / "t.csv", lines)
    with pytest.raises(FileError, match=f"no reading {when} the calibration period is complete"):
        read(table(path, inputs=["a:raw", "b:raw"], target="y:raw"))


def test_a_row_without_a_device(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [*hourly(2, 40), ",2024-05-01 00:00,1,1,1"])
    with pytest.raises(FileError, match="line 82: there is no device"):
        read(table(path))


def test_more_ticks_than_can_be_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [*hourly(2, 40), "d0,9999-05-01 00:00,1,1,1"])
    with pytest.raises(
        InputError, match=r"ticks of 1s up to 9999-05-01.*fewer than 2\^31: take longer"
    ):
        read(table(path, tick="1s", calibration="10h"))


def test_what_is_kept_goes_with_readings_not_with_ticks(tmp_path: Path) -> None:
    """Two thousand years in ticks of a minute have a thousand million of them."""
    lines = [*hourly(2, 40), "d0,3999-05-01 00:00,1,1,1"]
    near = read(table(write(tmp_path / "near.csv", hourly(2, 40))))
    far = read(table(write(tmp_path / "far.csv", lines), tick="1min"))
    assert far.ticks > 1_000_000_000

    def held(found: Readings) -> int:
        return sum(a.nbytes for a in vars(found).values() if isinstance(a, np.ndarray))

    assert held(far) - held(near) == 8 * 6  # the one more: tick, device, y, previous, two inputs


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", hourly(2, 40))
    before = read(table(path))
    assert read(table(path)) is before
    write(path, hourly(3, 40))
    assert len(read(table(path)).devices) == 3
    assert door._read.cache_info().maxsize == 2  # it must not grow
    kept = read(table(path))
    door.forget()
    assert read(table(path)) is not kept


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"inputs": ["a", "a"]}, "'a' is given twice"),
        ({"inputs": ["a", "y:raw"]}, "y is the target and an input: expected other inputs"),
        ({"duplicates": "mean"}, "'refuse', 'first' or 'last'"),
        ({"separator": "::"}, "expected one character of ASCII"),
    ],
)
def test_what_is_refused_before_any_file_is_read(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        table(Path("t.csv"), **changes)


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(FileError, match=r"'a\\x00.csv' cannot be read: no file can"):
        read(table(Path("a\0.csv")))
