"""The device in C says what the Python edge says, and what its float32 twin says, bit for bit."""

import json
from typing import Any

import numpy as np
import pytest

from paofed.device_c.agreed import agreed_in_c
from tests.device_c.building import host_program
from tests.device_c.conversations import Conversation, Happened
from tests.device_c.driven import Driven
from tests.device_c.twin import Twin
from tests.effort import effort

SEEDS = effort(everyday=8, thorough=250)
# How far float32 may be from the Python edge, relative to the largest parameter: 256 units in the
# last place. A conversation has thousands of roundings.
APART = 2.0**-16
WRAPS_SOON = 2**32 - 40_000  # milliseconds by a clock of 32 bits


class _Both:
    """The device in C and its twin, told the same."""

    def __init__(self, talk: Conversation, program: str, *, drawn: bool) -> None:
        self.talk, self.drawn = talk, drawn
        self.c = Driven(program, started=WRAPS_SOON if talk.seed % 3 else 0)
        self.agreed = talk.manifest
        self.c.agree(agreed_in_c(self.agreed, drawn=drawn))
        self.power()
        self.saved: Twin | None = None
        self.twin = self._new()

    def _new(self) -> Twin:
        manifest = json.loads(self.agreed.to_json())
        return Twin(manifest, self.talk.device, drawn=self.drawn, doubt=self.talk.doubt)

    def power(self) -> bool:
        return self.c.begin(self.talk.device, self.talk.patience, self.talk.doubt)

    def _follow(self) -> bool:
        """Read the manifest, or else take a new header; returns whether the manifest was enough."""
        enough = self.c.follow(self.agreed.to_json())
        if not enough:
            self.c.adopt(agreed_in_c(self.agreed, drawn=self.drawn), self.talk.doubt)
        return enough

    def does(self, event: Happened) -> tuple[Any, Any]:
        """Let both do it; returns what each said."""
        twin, at = self.twin, event.at
        match event.what:
            case "learn":
                x, y = event.given
                return self.c.learn(x, y), twin.learn(x, y)
            case "predict":
                return float(self.c.predict(event.given)), float(
                    np.float32(twin.predict(event.given))
                )
            case "contact":
                return self.c.contact(at), twin.contact(at, self.talk.patience)
            case "receive":
                return self.c.receive(event.given, at), twin.receive(event.given, at)
            case "save":
                written = self.c.save(event.given)
                if written:
                    self.saved = twin.saved()
                return written, event.given >= 0xFFFF
            case "power":
                kept = self.power()
                self.twin = self._new() if self.saved is None else self.saved.saved()
                if self.twin.m["epoch"] != self.agreed.epoch:
                    self.twin.adopt(json.loads(self.agreed.to_json()))
                self._follow()  # what it read after it was saved, it is told to read again
                return kept, self.saved is not None
            case _:
                self.agreed = event.given
                twin.adopt(json.loads(self.agreed.to_json()))
                return self._follow(), event.said


def replay(seed: int, program: str) -> Driven:
    """Replay one conversation; returns the device, which has ended, with all that was said."""
    talk = Conversation(seed)
    both = _Both(talk, program, drawn=seed % 2 == 1)
    for number, event in enumerate(talk.happened):
        where = f"seed {seed}, event {number}: {event.what}"
        mine, twins = both.does(event)
        told, twin = both.c.state(), both.twin
        # The twin, bit for bit.
        assert mine == twins, where
        assert told.w.tobytes() == twin.w.tobytes(), where
        assert told.waiting == [update.tick for update in twin.waiting], where
        ticks = twin.merged, twin.stamped, twin.unanswered, twin.joined, twin.restarts
        assert (told.merged, told.stamped, told.unanswered, told.joined, told.restarts) == ticks, (
            where
        )
        assert told.level == twin.level.byte(), where
        # The Python edge, within what float32 can hold.
        scale = max(float(np.abs(event.w).max()), 1.0)
        assert np.abs(told.w - event.w).max() <= APART * scale, where
        assert abs(told.level - event.level) <= 1, where
        _compare(event, mine, talk, both.agreed.shared, scale, where)
    both.c.close()
    return both.c


def _compare(
    event: Happened, mine: Any, talk: Conversation, shared: int, scale: float, where: str
) -> None:
    if event.what == "contact" and mine is not None:
        assert event.said is not None, where
        assert without_values(mine, shared) == without_values(event.said, shared), where
    elif event.what == "predict":
        unit = talk.manifest.target.scale * 4
        assert mine == pytest.approx(event.said, abs=APART * scale * unit * 10), where
    elif event.what in ("learn", "receive", "contact", "power"):
        assert mine == event.said, where


def without_values(frame: bytes, shared: int) -> bytes:
    """A message but for values and levels."""
    if frame[0] & 15:
        return frame
    repeats = frame[7 + 4 * shared :: 2 + 4 * shared]
    return frame[:6] + repeats + bytes([len(frame) % 256])


def test_conversations() -> None:
    program = host_program("driver")
    for seed in range(SEEDS):
        replay(seed, program)
