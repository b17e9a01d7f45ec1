from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.errors import FileError, InputError, TraceError
from paofed.world.trace import Trace
from tests.natures import small_trace

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
        ("frequencies", (0, 2), np.nan, r"frequencies\[0, 2\] is not finite"),
        ("phases", 1, -np.inf, r"phases\[1\] is not finite"),
        ("x_test", (3, 0), np.nan, r"x_test\[3, 0\] is not finite"),
        ("y_test", 0, np.nan, r"y_test\[0\] is not finite"),
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
        ("phases", np.zeros(6), r"phases has 6 features \(D\), but frequencies has 7"),
        ("x_test", np.zeros((6, 3)), r"x_test has 3 inputs \(d\), but x has 2"),
        ("y_test", np.zeros(0), r"y_test has shape \(0,\): no test samples"),
        ("delay", np.zeros((24, 4)), "delay is of type float64: expected an integer type"),
        ("has_data", np.zeros((24, 4), np.uint8), "has_data is of type uint8: expected bool"),
        ("y", np.zeros((24, 4), complex), "y is of type complex128: expected a floating-point"),
        ("x", np.zeros((24, 4, 2), int), "x is of type int64: expected a floating-point"),
    ],
)
def test_shapes_and_types_that_disagree(name: str, replacement: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text):
        Trace(**{**arrays(small_trace(1)), name: replacement})


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
    np.savez(tmp_path / "pickle.npz", x=np.array([object()]))
    with pytest.raises(FileError, match="plain arrays"):
        Trace.load(tmp_path / "pickle.npz")
