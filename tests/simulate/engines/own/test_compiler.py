"""Compiled methods on disk: found again, never stale; and reasons why one cannot be compiled."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.core.parts import Channel, Learner, Part, Weights, silence
from paofed.core.rules import LMS
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError
from paofed.simulate.engines import engine_of, reference
from paofed.simulate.engines.fast.own.compiler import kernel_of, refusal, written
from paofed.simulate.engines.guarded import COMPARED
from tests.effort import long, some
from tests.methods import IN_WORDS
from tests.natures import small_trace

U1 = algorithm("pao-fed-u1", shared=2)
METHOD = """
from dataclasses import replace
from paofed import algorithm
from paofed.core.parts import Learner, Weights

def damped(e):
    return {factor} * e

def learn(state, z, y, mu, tick):
    return Weights(state.w + mu * damped(y - state.w @ z) * z)

mine = replace(algorithm("pao-fed-u1"), name="mine", learner=Learner(learn=learn))
"""
SCRIPT = """
import json, sys
from numba.core import event
from paofed import run
from paofed.algorithms.setup import resolve
from paofed.world.scenario import Scenario
scenario = Scenario.load("setting-1").model_copy(update={"ticks": 40, "clients": 16})
scenario = scenario.model_copy(
    update={"stream": scenario.stream.model_copy(update={"samples": (10, 20, 30, 40)})}
)
with event.install_recorder("numba:compile") as compiled:
    result = run(scenario, resolve("mine.py:mine"), workers=1)
names = {e.data["dispatcher"].py_func.__name__ for _, e in compiled.buffer}
print(json.dumps([result.provenance["engines"], result.mse[0, 0, -1], "damped" in names]))
"""


def started(folder: Path, factor: float) -> tuple[list[str], float, bool]:
    """Run the method of a file in a fresh process; say whether its inner function was compiled."""
    (folder / "mine.py").write_text(METHOD.format(factor=factor))
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    engines, error, was_compiled = json.loads(done.stdout.splitlines()[-1])
    return engines, error, was_compiled


@long
def test_a_change_of_an_inner_function_is_noticed_and_nothing_else_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    first = started(tmp_path, 1.0)
    again = started(tmp_path, 1.0)
    other = started(tmp_path, 0.5)
    back = started(tmp_path, 1.0)
    assert first[0] == again[0] == other[0] == back[0] == ["fast"]
    assert [found[2] for found in (first, again, other, back)] == [True, False, True, False]
    assert first[1] == again[1] == back[1]
    assert other[1] > 1.01 * first[1]  # half the step learns less in this short time


def _appends(state: Any, z: Any, y: Any, mu: Any, tick: Any) -> Any:
    _SEEN.append(tick)
    return Weights(state.w + mu * (y - state.w @ z) * z)


_SEEN: list[int] = []


def _prints_words(w: Any, memory: Any, stamp: Any) -> Any:
    chosen = sorted({int(str(stamp.tick)) % w.size})
    return Part(np.array(chosen), w[chosen]), memory


@pytest.mark.parametrize(
    "method",
    some(
        [
            replace(U1, name="keywords", learner=IN_WORDS),  # known at once, the others in seconds
            replace(U1, name="appends", learner=Learner(learn=_appends)),
            replace(U1, name="object", learner=Learner(learn=lambda *a: _appends(*a))),
            replace(U1, name="words", uplink=Channel(send=_prints_words)),
        ],
        everyday=1,
    ),
    ids=lambda method: method.name,
)
def test_what_cannot_be_compiled_is_told_in_one_line(method: Algorithm) -> None:
    reason = refusal(method)
    assert reason is not None
    assert reason.startswith("it cannot be compiled: ")
    assert "\n" not in reason
    assert refusal(method) == reason  # the second time without another try
    with pytest.raises(AlgorithmError, match=f"^{method.name}: it cannot be compiled"):
        engine_of("fast").replay(small_trace(0), method)


# What goes wrong depends on the features of the model, so that one kernel has every mistake.
_TWICE, _RAISES, _SILENT, _SHORT, _ELSEWHERE, _OTHER, _LATER, _TURNED = 7, 8, 9, 10, 12, 13, 14, 15
_LATE = 20  # the tick from which `_LATER` goes wrong
_AHEAD = Windows(2, coordinated=False, ahead=1)


def _send(w: Any, memory: Any, stamp: Any) -> Any:
    coordinates = _AHEAD.at(stamp)
    if stamp.tick >= 12 and stamp.features == _RAISES:
        raise ValueError("too late")
    if stamp.tick >= 12 and stamp.features == _TWICE:
        coordinates = np.array([3, 3])
    return Part(coordinates, w[coordinates]), memory


def _floats(part: Any, stamp: Any) -> Any:  # noqa: ARG001 (the interface of an encode)
    return part.values.astype(np.float32)


def _bytes(part: Any, stamp: Any) -> Any:
    return _floats(part, stamp).view(np.uint8)


def _of_floats(payload: Any, stamp: Any) -> Any:
    return Part(_AHEAD.at(stamp), payload.astype(np.float64))


def _of_bytes(payload: Any, stamp: Any) -> Any:
    part = _of_floats(payload.view(np.float32), stamp)
    if stamp.features == _SILENT:
        return silence()
    if stamp.features == _ELSEWHERE:
        return Part((part.coordinates + 1) % stamp.features, part.values)
    if stamp.features == _TURNED:
        return Part(part.coordinates[::-1].copy(), part.values[::-1].copy())
    if stamp.features == _OTHER or (stamp.features == _LATER and stamp.tick >= _LATE):
        return Part(part.coordinates, part.values + 1.0)
    return part


def _model(state: Any) -> Any:
    return state.w[: state.w.size - int(state.w.size == _SHORT)]


SEVERAL = replace(
    U1,
    name="broken",
    uplink=Channel(send=_send, encode=_bytes, decode=_of_bytes),
    learner=replace(LMS, model=_model),
)
NO_BYTES = replace(U1, name="broken", uplink=Channel(send=_send, encode=_floats, decode=_of_floats))


@pytest.mark.parametrize(
    ("broken", "features", "told"),
    [
        (SEVERAL, _TWICE, "uplink's send returned coordinate 3 twice"),
        (SEVERAL, _RAISES, "uplink's send raised ValueError: too late"),
        (SEVERAL, _SILENT, "uplink's decode returned a silent part: expected what was sent"),
        (SEVERAL, _ELSEWHERE, r"uplink's decode returned coordinates \[.*\], but those that were"),
        (SEVERAL, _OTHER, "uplink's decode returned other values than were sent"),
        (SEVERAL, _SHORT, "learner's model returned"),
        pytest.param(NO_BYTES, 11, "uplink's encode returned", marks=long),  # another kernel
    ],
)
def test_a_rule_that_fails_in_machine_code_is_told_by_name(
    broken: Algorithm, features: int, told: str
) -> None:
    assert refusal(broken) is None
    with pytest.raises(AlgorithmError, match=f"^broken: its {told}"):
        engine_of("fast").replay(small_trace(1, features=features), broken)


@pytest.mark.parametrize("features", [_LATER, _TURNED])
def test_the_first_messages_of_a_run_are_compared_in_any_order(features: int) -> None:
    """To compare every message would cost as much as it takes to send it."""
    trace, sent = small_trace(1, features=features, ticks=2 * _LATE), []
    expected = reference.replay(
        trace, SEVERAL, watch=lambda info: sent.append(info.traffic.messages_up)
    )
    assert sum(sent[:_LATE]) >= COMPARED
    assert sum(sent[_LATE:]) > 0
    got = engine_of("fast").replay(trace, SEVERAL)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9)


class Scaled(NamedTuple):
    w: Any
    gain: Any


@long
def test_a_model_of_its_own_hears_in_the_usual_way_and_shares_a_wide_window() -> None:
    """Neither the sizes with which a kernel is tried nor its own `model` stand in the way."""
    learner = Learner(
        learn=lambda s, z, y, mu, _: Scaled(s.w + mu * (y - s.w @ z) * z, s.gain),
        init=lambda features: Scaled(np.zeros(features), np.ones(1)),
        model=lambda s: s.w * s.gain[0],
    )
    wide = replace(algorithm("pao-fed-u1", shared=70), name="wide", learner=learner)
    trace = small_trace(2, features=75)
    expected, got = reference.replay(trace, wide), engine_of("fast").replay(trace, wide)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9)


def test_one_kernel_serves_all_values_of_an_option() -> None:
    trace, methods = small_trace(0), [algorithm("pao-fed-u1", clip=6, bound=b) for b in (6, 0.1)]
    assert kernel_of(methods[0]) is kernel_of(methods[1])
    curves = [engine_of("fast").replay(trace, method).mse for method in methods]
    assert (curves[0] != curves[1]).any()
    for method, curve in zip(methods, curves, strict=True):
        np.testing.assert_allclose(curve, reference.replay(trace, method).mse, rtol=1e-9)


@pytest.fixture
def loose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for methods in which somebody else may have put something."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "paofed" / "methods"
    folder.mkdir(parents=True)
    (folder / "somebody's").touch()
    folder.chmod(0o777)
    return folder


def test_a_kernel_is_written_where_nobody_else_may_write(
    loose: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no such place, not even a file of this folder is taken for the kernel's."""
    monkeypatch.chdir(loose)
    nowhere = Path(written("method_1.py", ""))
    assert nowhere.is_absolute()
    with pytest.raises(NotADirectoryError):
        nowhere.touch()
    (loose / "somebody's").unlink()
    path = Path(written("method_1.py", ""))
    assert path.parent == loose
    assert stat.S_IMODE(loose.stat().st_mode) == 0o700


@long
def test_a_method_is_compiled_also_where_nothing_can_be_kept(loose: Path) -> None:
    learn = Learner(learn=lambda s, z, y, mu, _: Weights(s.w + 0.7 * mu * (y - s.w @ z) * z))
    assert refusal(replace(U1, name="elsewhere", learner=learn)) is None
    assert [path.name for path in loose.iterdir()] == ["somebody's"]
