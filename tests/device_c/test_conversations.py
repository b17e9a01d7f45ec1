"""The device in C says what the Python edge says, and what its float32 twin says, bit for bit."""

import json
import math
from typing import Any

import numpy as np
import pytest

from paofed.algorithms.rivals.channels.quantised import PLAIN
from paofed.device_c.agreed import agreed_in_c
from paofed.live.protocol.manifest import Manifest
from tests.device_c.building import host_program
from tests.device_c.conversations import Conversation, Happened
from tests.device_c.driven import Driven
from tests.device_c.twin import Twin
from tests.effort import effort

SEEDS = effort(everyday=4, thorough=120)
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
                return float(self.c.predict(event.given)), twin.predict(event.given)
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
    largest = 1.0  # parameter until now: what waits was made of it
    for number, event in enumerate(talk.happened):
        where = f"seed {seed}, event {number}: {event.what}"
        mine, twins = both.does(event)
        assert mine == twins, where
        _require_twin(both, where)
        largest = max(largest, float(np.abs(event.w).max()))
        _require_near(both, event, mine, APART * largest, where)
    both.c.close()
    return both.c


def _require_twin(both: _Both, where: str) -> None:
    """The device is what its twin is, bit for bit."""
    told, twin = both.c.state(), both.twin
    assert told.w.tobytes() == twin.w.tobytes(), where
    assert told.waiting == [update.tick for update in twin.waiting], where
    assert told.merged == twin.merged, where
    assert told.stamped == twin.stamped, where
    assert told.unanswered == twin.unanswered, where
    assert (told.joined, told.restarts) == (twin.joined, twin.restarts), where
    assert told.news == (twin.news if twin.joined else 0), where
    assert told.level == twin.level.byte(), where


def _require_near(both: _Both, event: Happened, mine: Any, apart: float, where: str) -> None:
    """The device is near the Python edge, and does exactly as it does."""
    told, agreed = both.c.state(), both.agreed
    assert np.abs(told.w - event.w).max() <= apart, where
    assert abs(told.level - event.level) <= 1, where
    if event.what == "predict":
        length = math.sqrt(2 * agreed.features)  # of z, times that of what each parameter is off
        far = apart * length * agreed.target.scale + APART * abs(agreed.target.offset)
        assert mine == pytest.approx(event.said, abs=far), where
    elif event.what == "contact" and mine is not None:
        (frame, values, levels), right = parted(mine, agreed), parted(event.said, agreed)
        assert frame == right[0], where
        far = apart + step_of(agreed, apart / APART)
        assert np.abs(values - right[1]).max(initial=0.0) <= far, where
        assert np.abs(levels - right[2]).max(initial=0) <= 1, where
    elif event.what in ("learn", "receive", "contact", "power"):
        assert mine == event.said, where


def parted(message: bytes, agreed: Manifest) -> tuple[bytes, Any, Any]:
    """A message without values and levels, its values, and its levels."""
    if message[0] & 15:
        return message, np.zeros(0), np.zeros(0)
    block = agreed.up.length
    updates = [message[6 : 7 + block]]
    updates += [message[i : i + 2 + block] for i in range(7 + block, len(message), 2 + block)]
    ticks = message[:6] + b"".join(update[: len(update) - block - 1] for update in updates)
    values = [agreed.up.read(agreed.up.checked(one[-block:]), 0, 0).values for one in updates]
    levels = np.array([update[-block - 1] for update in updates])
    return ticks, np.concatenate(values), levels


def step_of(agreed: Manifest, largest: float) -> float:
    """By how much values may differ where one of them was rounded down and the other up."""
    bits = agreed_in_c(agreed).bits
    return 0.0 if bits == PLAIN else 1.01 * largest / (2 ** (bits - 1) - 1)


def test_conversations() -> None:
    program = host_program("driver")
    for seed in range(SEEDS):
        replay(seed, program)
