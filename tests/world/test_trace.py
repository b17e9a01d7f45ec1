from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.errors import FileError, InputError, TraceError
from paofed.world.trace import Trace
from tests.natures import BEGINNINGS, small_trace

NAMES = [
    "x", "y", "has_data", "available", "delay", "lottery",
    "frequencies", "phases", "x_test", "y_test",
]  # fmt: skip


def arrays(trace: Trace) -> dict[str, Any]:
    return {name: getattr(trace, name).copy() for name in NAMES}


def test_round_trip_with_exactly_the_published_names(tmp_path: Path) -> None:
    trace = small_trace(1)
    trace.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as file:
        assert sorted(file.files) == sorted(NAMES)
    loaded = Trace.load(tmp_path / "t.npz")
    for name in NAMES:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(trace, name))
    assert (loaded.ticks, loaded.clients, loaded.features) == (24, 4, 7)


LOST = ("lost_up", "lost_down")


@pytest.mark.parametrize("used", [(), ("lost_up",), LOST])
def test_losses_are_written_where_something_is_lost(used: tuple[str, ...], tmp_path: Path) -> None:
    trace = small_trace(1, lost=0.3)
    trace = replace(trace, **{n: np.zeros((24, 4), dtype=bool) for n in LOST if n not in used})
    trace.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as file:
        assert sorted(file.files) == sorted([*NAMES, *used])
    loaded = Trace.load(tmp_path / "t.npz")
    for one, other in zip(loaded.losses, trace.losses, strict=True):
        np.testing.assert_array_equal(one, other)
    assert bool(used) == (loaded.losses.up.any() or loaded.losses.down.any())


@pytest.mark.parametrize(
    ("name", "lost", "text"),
    [
        ("lost_down", np.zeros((23, 4), dtype=bool), "lost_down has 23 ticks"),
        ("lost_down", np.zeros((24, 4), dtype=np.int64), "lost_down is of type int64: expected"),
    ],
)
def test_losses_that_do_not_fit(name: str, lost: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text):
        Trace(**arrays(small_trace(1)), **{name: lost})


BEGINNING = ("linear_low", "linear_high", "start", "newcomers_whole", "personal")


def test_how_a_fleet_begins_is_written_where_it_is_not_as_usual(tmp_path: Path) -> None:
    for used in BEGINNINGS:
        trace = small_trace(1, **used)
        trace.save(tmp_path / "t.npz")
        linear, start, newcomers, personal = used.values()
        expected = zip(BEGINNING, (linear, linear, start, newcomers, personal), strict=True)
        with np.load(tmp_path / "t.npz") as file:
            assert set(file.files) - set(NAMES) == {name for name, there in expected if there}
        loaded = Trace.load(tmp_path / "t.npz")
        assert loaded.features == trace.features == (10 if linear else 7)
        one, other = loaded.sparse(), trace.sparse()
        assert one.newcomers_whole == other.newcomers_whole == newcomers
        assert replace(trace, personal=np.ones(1, dtype=bool)).sparse().heard == 7
        assert one.heard == other.heard == 7 + (0 if personal or not linear else 3)
        np.testing.assert_array_equal(one.start, other.start)
        np.testing.assert_array_equal(
            one.fourier_map(trace.x_test), other.fourier_map(trace.x_test)
        )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"start": np.zeros(6)}, "start has 6 parameters, but the map has 10 features"),
        ({"start": np.full(10, np.nan)}, r"start\[0\] is not finite"),
        ({"linear_low": np.array([0.0, 2.0])}, r"linear_high\[1\] is not above linear_low"),
        ({"linear_low": np.zeros(3)}, r"linear_low has 3 inputs \(d\), but x has 2"),
        ({"linear_low": np.zeros(0)}, "linear_high is given without linear_low"),
        ({"newcomers_whole": np.ones(2, dtype=bool)}, "newcomers_whole has shape"),
    ],
)
def test_beginnings_that_cannot_be(changes: dict[str, Any], text: str) -> None:
    ranges = {"linear_low": np.zeros(2), "linear_high": np.ones(2)}
    with pytest.raises(TraceError, match=text):
        Trace(**arrays(small_trace(1)), **{**ranges, **changes})


def test_anyone_s_float32_and_int8_are_welcome(tmp_path: Path) -> None:
    trace = small_trace(1)
    narrow = {
        name: a.astype({"f": np.float32, "i": np.int8, "b": np.bool_}[a.dtype.kind])
        for name, a in arrays(trace).items()
    }
    np.savez(tmp_path / "t.npz", **narrow)
    loaded = Trace.load(tmp_path / "t.npz")
    assert loaded.x.dtype == np.float64
    np.testing.assert_array_equal(loaded.delay, trace.delay)


def spoil(name: str, index: Any, value: Any) -> dict[str, Any]:
    """A trace's arrays with one value replaced; the client at [0, 0] is there, at [1, 0] is not."""
    trace = small_trace(1)
    spoiled = arrays(trace)
    for key, there in (("has_data", True), ("available", True)):
        spoiled[key][0, 0] = there
        spoiled[key][1, 0] = not there
    spoiled["x"][0, 0], spoiled["y"][0, 0], spoiled["delay"][0, 0] = 0.0, 0.0, 0
    spoiled[name][index] = value
    return spoiled


@pytest.mark.parametrize(
    ("name", "index", "value", "text"),
    [
        ("x", (0, 0, 1), np.nan, r"x\[0, 0, 1\] is not finite"),
        ("y", (0, 0), np.inf, r"y\[0, 0\] is not finite"),
        ("available", (1, 0), True, r"available\[1, 0\] is true where has_data is false"),
        ("delay", (0, 0), -1, r"delay\[0, 0\] is negative"),
        ("lottery", (0, 0), 1.0, r"lottery\[0, 0\] is not in \[0, 1\)"),
        ("lottery", (0, 0), np.nan, r"lottery\[0, 0\] is not in \[0, 1\)"),
    ],
)
def test_values_that_cannot_be(name: str, index: Any, value: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text):
        Trace(**spoil(name, index, value))


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("x", (1, 0, 0), np.nan),
        ("y", (1, 0), np.inf),
        ("delay", (1, 0), -7),
        ("lottery", (1, 0), 9),
    ],
)
def test_what_nobody_looks_at_may_be_anything(name: str, index: Any, value: Any) -> None:
    Trace(**spoil(name, index, value))


@pytest.mark.parametrize(
    ("name", "replacement", "text"),
    [
        ("y", np.zeros((24, 5)), r"y has 5 clients \(K\), but x has 4"),
        ("x", np.zeros((24, 4)), r"x has shape \(24, 4\): expected 3 dimensions, \(N, K, d\)"),
        ("x_test", np.zeros((6, 3)), r"x_test has 3 inputs \(d\), but x has 2"),
        ("y_test", np.zeros(0), r"y_test has shape \(0,\): no test samples"),
        ("delay", np.zeros((24, 4)), "delay is of type float64: expected an integer type"),
        ("has_data", np.zeros((24, 4), np.uint8), "has_data is of type uint8: expected bool"),
        ("y", np.zeros((24, 4), complex), "y is of type complex128: expected a floating-point"),
    ],
)
def test_shapes_and_types_that_disagree(name: str, replacement: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text):
        Trace(**{**arrays(small_trace(1)), name: replacement})


def drifting(**changes: Any) -> dict[str, Any]:
    """A trace's arrays with a target that changes twice."""
    later = np.random.default_rng(2).normal(size=(2, 6))
    return {
        **arrays(small_trace(1)),
        "drifts": np.array([5, 23]),
        "y_test_drifted": later,
    } | changes


def test_a_trace_whose_target_changes_there_and_back(tmp_path: Path) -> None:
    trace = Trace(**drifting())
    trace.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as file:
        assert sorted(file.files) == sorted([*NAMES, "drifts", "y_test_drifted"])
    loaded = Trace.load(tmp_path / "t.npz")
    for name in (*NAMES, "drifts", "y_test_drifted"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(trace, name))


def test_the_targets_of_a_test_set_follow_the_drifts() -> None:
    trace = Trace(**drifting())
    concepts = [trace.y_test, *trace.y_test_drifted]
    ticks = np.array([0, 4, 5, 22, 23])
    for tick, concept in zip(ticks.tolist(), (0, 0, 1, 1, 2), strict=True):
        np.testing.assert_array_equal(trace.test_targets.at(tick), concepts[concept])
    together = trace.test_targets.at(ticks)
    np.testing.assert_array_equal(together, [concepts[i] for i in (0, 0, 1, 1, 2)])
    steady = small_trace(1)
    np.testing.assert_array_equal(steady.test_targets.at(23), steady.y_test)


def test_the_targets_of_a_gradual_drift_are_between_both(tmp_path: Path) -> None:
    trace = Trace(**drifting(drift_ticks=np.array([4, 0], dtype=np.uint8)))
    trace.save(tmp_path / "t.npz")
    loaded = Trace.load(tmp_path / "t.npz")
    assert loaded.drift_ticks.tolist() == [4, 0]
    old, new, last = trace.y_test, *trace.y_test_drifted
    ticks = np.array([4, 5, 6, 7, 8, 9, 22, 23])
    expected = [old, *(old + i / 4 * (new - old) for i in (1, 2, 3)), new, new, new, last]
    np.testing.assert_allclose(loaded.test_targets.at(ticks), expected, rtol=1e-14)
    for tick, targets in zip(ticks.tolist(), expected, strict=True):
        np.testing.assert_allclose(loaded.test_targets.at(tick), targets, rtol=1e-14)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"drift_ticks": np.array([19, 1])}, r"drift_ticks\[0\] goes on beyond the next drift"),
        ({"drift_ticks": np.array([18, -1])}, r"drift_ticks\[1\] is negative"),
        ({"drift_ticks": np.array([18])}, r"drift_ticks has 1 drifts \(E\), but drifts has 2"),
        ({"drift_ticks": np.array([1, 2]), "drifts": np.zeros(0, int),
          "y_test_drifted": np.zeros((0, 0))}, "drift_ticks is given without drifts"),
        ({"drifts": np.array([0, 5])}, r"drifts\[0\] does not rise, from 1 on"),
        ({"drifts": np.array([5, 5])}, r"drifts\[1\] does not rise, from 1 on"),
        ({"drifts": np.array([5, 24])}, r"drifts\[1\] is after the last tick"),
        ({"drifts": np.array([5])}, r"y_test_drifted has 2 drifts \(E\), but drifts has 1"),
        ({"y_test_drifted": np.zeros((2, 5))},
         r"y_test_drifted has 5 test samples \(T\), but x_test has 6"),
        ({"y_test_drifted": np.full((2, 6), np.nan)}, r"y_test_drifted\[0, 0\] is not finite"),
        ({"y_test_drifted": np.zeros((0, 0))}, "drifts is given without y_test_drifted"),
        ({"drifts": np.zeros(0, int)}, "y_test_drifted is given without drifts"),
    ],
)  # fmt: skip
def test_drifts_that_cannot_be(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(TraceError, match=text):
        Trace(**drifting(**changes))


def test_missing_and_unknown_arrays(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    some = arrays(small_trace(1))
    lottery = some.pop("lottery")
    np.savez(path, **some)
    with pytest.raises(TraceError, match=r"t\.npz is not a trace: arrays missing: lottery"):
        Trace.load(path)
    np.savez(path, lotery=lottery, **some)
    with pytest.raises(TraceError, match="unknown array 'lotery': did you mean 'lottery'"):
        Trace.load(path)


def test_files_that_are_no_trace(tmp_path: Path) -> None:
    small_trace(1).save(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    foreign = {
        "truncated.npz": whole[: len(whole) // 2],
        "empty.npz": b"",
        "text.npz": b"x,y\n1,2\n",
        "damaged.npz": whole[:200] + b"\0" * 50 + whole[250:],
    }
    for name, content in foreign.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=name):
            Trace.load(tmp_path / name)
    np.save(tmp_path / "single.npy", np.zeros(3))
    with pytest.raises(FileError, match="a single array"):
        Trace.load(tmp_path / "single.npy")
    with pytest.raises(FileError, match="does not exist"):
        Trace.load(tmp_path / "nowhere.npz")
    with pytest.raises(FileError, match="cannot be read"):
        Trace.load(tmp_path)
    np.savez(tmp_path / "pickle.npz", **{**arrays(small_trace(1)), "x": np.array([object()])})
    with pytest.raises(FileError, match="plain arrays"):
        Trace.load(tmp_path / "pickle.npz")


def test_values_that_cannot_be_are_told_with_their_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", **spoil("y_test", 0, np.nan))
    with pytest.raises(TraceError, match=r"t\.npz is not a trace: y_test\[0\] is not finite$"):
        Trace.load(tmp_path / "t.npz")
