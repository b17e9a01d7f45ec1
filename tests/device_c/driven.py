"""The device in C as an object: told what to do line by line, in a process of its own."""

import math
import subprocess
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.device_c.agreed import AgreedInC
from tests.device_c.building import NO_LEAKS

Floats32 = NDArray[np.float32]
WHOLE = 0xFFFF  # of a save: all bytes are written


class Told(NamedTuple):
    """What a device tells of itself; -1 where it knows no tick."""

    epoch: int
    joined: bool
    news: int  # how many more updates it makes before its contacts only read
    outdated: bool
    level: int
    unanswered: int
    restarts: int
    passed_over: int
    tick: int
    merged: int
    stamped: int
    waiting: list[int]
    w: Floats32
    recent: Floats32  # samples, square, implausible; then the last errors


def words_of(values: Iterable[float], *, wide: bool = False) -> str:
    """Numbers as the bits of float32, or of 64 bits."""
    with np.errstate(over="ignore"):
        found = np.array([*values], dtype=np.float64 if wide else np.float32)
    bits = found.view(np.uint64 if wide else np.uint32)
    return " ".join(f"{word:x}" for word in bits.tolist())


def agreement(agreed: AgreedInC) -> str:
    """The line that says what a fleet has agreed on."""
    said = []
    wide = agreed.seen is not None
    for name, value in vars(agreed).items():
        if name == "seen":  # the program was built with these
            continue
        if isinstance(value, np.float32):
            said.append(words_of([float(value)]))
        elif isinstance(value, tuple):
            said += [f"{word:x}" for word in value]
        elif isinstance(value, np.ndarray):
            said.append(f"1 {words_of(value.ravel(), wide=wide and name == 'numbers')}")
        else:
            said.append("0" if value is None else f"{value:x}")
    return f"A {' '.join(said)}"


def read_told(text: str) -> Told:
    """Read what a device tells of itself."""
    numbers, waiting, w, recent = text.split("|")
    values = [-1 if word == "-" else int(word, 16) for word in numbers.split()]
    epoch, joined, outdated, level, unanswered, restarts, passed_over, *ticks = values
    tick, merged, stamped = ticks
    return Told(
        epoch=epoch,
        joined=joined != 0,
        news=max(joined - 1, 0),
        outdated=bool(outdated),
        level=level,
        unanswered=unanswered,
        restarts=restarts,
        passed_over=passed_over,
        tick=tick,
        merged=merged,
        stamped=stamped,
        waiting=[int(word, 16) for word in waiting.split()],
        w=_floats(w.split()),
        recent=_floats(recent.split()),
    )


def _floats(words: Sequence[str]) -> Floats32:
    return np.array([int(word, 16) for word in words], dtype=np.uint32).view(np.float32)


def _doubles(words: Sequence[str]) -> NDArray[np.float64]:
    return np.array([int(word, 16) for word in words], dtype=np.uint64).view(np.float64)


class Driven:
    """A program that was built from driver.c."""

    def __init__(self, program: str, started: int = 0) -> None:
        """`started`: what its clock shows at the time 0, in milliseconds."""
        self._started = started
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=NO_LEAKS,
        )
        self.lines: list[str] = []  # all that was said to it,
        self.answers: list[str] = []  # and what it answered
        self._wide = False  # whether values of samples have 64 bits
        self._end = weakref.finalize(self, _end, self._process)

    def tell(self, line: str) -> str:
        """Give one line; returns the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the device has ended after {line[:200]!r}"  # what a sanitizer does
        self.lines.append(line)
        self.answers.append(answer.strip())
        return answer.strip()

    def agree(self, agreed: AgreedInC) -> None:
        self._wide = agreed.seen is not None
        self.tell(agreement(agreed))

    def begin(self, device: int, patience: int = 1, doubt: int = 256) -> bool:
        return self.tell(f"B {device:x} {patience:x} {doubt:x}") == "1"

    def adopt(self, agreed: AgreedInC, doubt: int = 256) -> None:
        self.agree(agreed)
        self.tell(f"N {doubt:x}")

    def follow(self, manifest: str) -> bool:
        return self.tell(f"J{manifest}") == "1"

    def learn(self, x: Iterable[float], y: float) -> bool:
        return self.tell(f"L {words_of([*x, y], wide=self._wide)}") == "1"

    def predict(self, x: Iterable[float]) -> float:
        said = self.tell(f"P {words_of(x, wide=self._wide)}")
        return float((_doubles([said]) if self._wide else _floats([said]))[0])

    def remember(self, x: Iterable[float], y: float) -> None:
        self.tell(f"O {words_of([*x, y], wide=True)}")

    def sees(self, x: Iterable[float]) -> Floats32:
        """What the model sees of a sample's inputs."""
        return _floats(self.tell(f"V {words_of(x, wide=True)}").split())

    def place(self, place: int, text: str) -> float:
        """What stands for a text among the inputs."""
        return float(_doubles([self.tell(f"W {place:x} {text}")])[0])

    def unknown_past(self) -> int:
        return int(self.tell("U"), 16)

    def contact(self, seconds: float) -> bytes | None:
        self.at(seconds)
        answer = self.tell("C")
        return None if answer == "-" else bytes.fromhex(answer)

    def receive(self, payload: bytes, seconds: float) -> list[int]:
        self.at(seconds)
        return sorted(int(word, 16) for word in self.tell(f"R {payload.hex()}").split())

    def at(self, seconds: float) -> None:
        milliseconds = self._started + math.floor(1000 * seconds + 0.5)
        self.tell(f"M {milliseconds % 2**32:x}")

    def save(self, written: int = WHOLE) -> bool:
        return self.tell(f"S {written:x}") == "1"

    def count_saves_from(self, sequence: int) -> None:
        """Go on as if so many saves had been made, which would take years."""
        self.tell(f"Q {sequence:x}")

    def forget(self) -> None:
        self.tell("F")

    def state(self) -> Told:
        return read_told(self.tell("?"))

    def close(self) -> None:
        self._end()


def _end(process: "subprocess.Popen[Any]") -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    process.wait()
