"""The device as a state machine: learns from every sample, contacts when it may; NumPy only.

A device sends what it learned on its uplink window and keeps the update until a reply confirms it;
an update that was not confirmed travels again with a later contact. A sample gives a device
updates for one sweep over its model, since each update holds one window of it; after that the
device has no vote, and its contacts only read. An update that is given up begins the sweep anew.
The device's tick is that of the newest reply plus its own monotonic clock. Before any reply, or
when nobody answers for long, it says hello. A clock that an answer shows to be ahead is set back:
the server refuses updates of ticks too far ahead of its own.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.intervals import Interval
from paofed.core.parts import not_own
from paofed.core.starting import device_from, whole
from paofed.errors import InputError
from paofed.live.protocol.level import Recent
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import (
    LAST_TICK,
    MOST_REPEATS,
    Hello,
    Model,
    Read,
    Repeat,
    Reply,
    Reread,
    Update,
    Values,
    WireError,
    can_travel,
    encode,
)
from paofed.live.protocol.rule_state import named
from paofed.live.protocol.seen import Measured, Remembered, Sample, number_or_nan, required

_NONE: frozenset[int] = frozenset()
_NO_TICK = 0  # stands for a tick that the device may not know; served learners do not use the tick
MOST_NEWS = 254  # updates that one sample gives at most: the device in C counts them in a byte
_LOST_AFTER = 5  # unanswered contacts, beyond the age limit, after which the clock may be wrong


class Clock(NamedTuple):
    """A tick of the server, and what the device's own clock showed then."""

    tick: int
    seconds: float


@dataclass(eq=False)
class Unconfirmed:
    """An update on its way: its values, when it was last sent, and what its message carried."""

    tick: int
    values: Values
    left: int  # tick of the last message that carried the update
    level: int = 0  # how well the device predicted then
    # Ticks of the updates in every message that began with this one.
    carried: frozenset[int] | None = None


class Edge:
    """One device's part in a fleet."""

    def __init__(
        self,
        manifest: Manifest,
        device: int,
        *,
        patience: int = 1,
        lost_after: int | None = None,
        doubt: int = 256,
    ) -> None:
        """Begin with the manifest's model, or with zeros.

        `patience`: ticks to wait before an update is sent again. `lost_after`: unanswered contacts
        after which the device asks for the time anew (by default, more than can be late in time).
        `doubt`: ticks after which no message from before a restart is still on its way.
        """
        self.manifest = manifest
        self.device = device
        self.patience = patience
        self.doubt = doubt
        self._doubt_ends = -math.inf  # when the doubt ends, by the device's own clock
        self.lost_after = manifest.max_age + _LOST_AFTER if lost_after is None else lost_after
        self._parts = manifest.parts
        self.learned: Any = self._begun()  # the learner's state
        self.recent = Recent()
        first = manifest.first_interval
        self.intervals = Interval(1.0 if first is None else first)  # in scales of the target
        self.implausible = 0  # implausible samples that were not learned from, since this start
        # Samples not learned from since earlier values are not known, since this start.
        self.unknown_past = 0
        self.remembered = Remembered({} if manifest.seen is None else manifest.seen.reaches)
        self.clock: Clock | None = None
        self.merged = -1  # tick of the newest reply whose values were taken
        self.joined = False  # whether the device ever had the fleet's model
        self.stamped = -1  # the last tick that it sent an update for: there is one update per tick
        self.news = 0  # how many more updates it makes before its contacts only read
        self._sweep = min(math.ceil(manifest.features / manifest.shared), MOST_NEWS)  # in updates
        self.restarts = 0  # how often its model was too large to send
        self.unanswered = 0  # contacts since anything was heard from the server
        self.outdated = False  # whether the server told it to read the manifest again
        self.unconfirmed: deque[Unconfirmed] = deque(maxlen=MOST_REPEATS + 1)  # oldest first

    @property
    def w(self) -> FloatArray:
        """The device's model."""
        return self._parts.learner.model(self.learned)

    def _begun(self) -> Any:
        """Return the learner's state of a device that never had a contact."""
        agreed = self.manifest
        return device_from(agreed.algorithm, self._parts.learner, agreed.begins_with)

    def begin(self, w: FloatArray) -> None:
        """Go on from a whole model."""
        self.learned = self._parts.learner.merge(self.learned, whole(w))
        self.joined, self.news = True, 0

    def under(self, manifest: Manifest) -> "Edge":
        """Return the device as it goes on under another manifest; old updates are dropped.

        What they told, and what was still to be told, is told anew where the device goes on with
        its model.
        The model stays where its parameters mean the same. A device that is told to begin from the
        server's model asks for that model, and goes on with its own until it comes.
        """
        edge = Edge(manifest, self.device, patience=self.patience, doubt=self.doubt)
        edge.stamped = self.stamped  # so that no tick is used twice
        if manifest.means_the_same(self.manifest):
            edge.begin(self.w)
            edge.joined = self.joined and manifest.lineage == self.manifest.lineage
            if edge.joined:  # its errors are still those of its model
                edge.news = edge._sweep if self.news or self.unconfirmed else 0
                edge.recent, edge.intervals = self.recent, self.intervals
                kept = type(self.learned) is type(edge.learned)
                edge.learned = self.learned if kept else edge.learned
        return edge

    def predict(self, x: Sample, at: float | None = None) -> float:
        """Predict the target at one input, as the device measures both.

        `at` is when the input was measured, in seconds since 1970, where the manifest needs that.
        The result is NaN where an input looks back at a value that the device does not know.
        """
        return self._measured(self._predicted(x, at))

    def interval(self, x: Sample, at: float | None = None) -> tuple[float, float]:
        """Return low and high between which the target is, nine times in ten in the long run."""
        predicted, half = self._predicted(x, at), self.intervals.half_width
        return self._measured(predicted - half), self._measured(predicted + half)

    def _predicted(self, x: Sample, at: float | None) -> float:
        """Return the target as the model sees it."""
        return float(self.w @ self.manifest.fourier_map(self._numbers(x, at)))

    def _measured(self, seen: float) -> float:
        return float(self.manifest.unit.measured(np.array(seen)))

    def learn(self, x: Sample, y: float, at: float | None = None) -> bool:
        """Take one step on one sample (eq. 5 or 8); an implausible sample is only counted.

        What is no number is counted as implausible as well, and is an error. A sample whose inputs
        look back at a value that the device does not know is counted separately. Returns whether
        the sample was learned from.
        """
        try:
            numbers, unit = self._checked(x, y, at), self.manifest.unit
        except InputError:
            self.not_plausible()
            raise
        plausible = self.manifest.is_plausible(x, y)
        known = plausible and bool(np.isfinite(numbers).all())
        if not plausible:
            self.not_plausible()
        elif not known:
            self.unknown_past += 1
        else:
            z = self.manifest.fourier_map(numbers)
            self.learn_mapped(z, float(unit.numbers(np.array([y]))[0, 0]))
        self.remember(x, y, at)
        return known

    def not_plausible(self) -> None:
        """Count a sample that cannot be learned from; the next contacts tell the server."""
        self.recent.passed_over()
        self.implausible += 1

    def remember(self, x: Measured, y: float | None, at: float | None) -> None:
        """Keep what was measured for inputs that look back, and learn nothing from it.

        Values that are missing (None, NaN) or not plausible are not kept.
        """
        manifest = self.manifest
        if manifest.seen is None or not manifest.seen.reaches:
            return
        kept = {}
        for number, value in zip((*manifest.inputs, manifest.target), (*x, y), strict=True):
            known = number_or_nan(value)
            kept[number.name] = known if number.is_plausible(known) else math.nan
        self.remembered.note(manifest.tick_of(required(at)), kept)

    def learn_mapped(self, z: FloatArray, y: float) -> None:
        """Learn from a sample that is scaled and mapped already."""
        self.news = self._sweep
        learner, mu = self._parts.learner, self.manifest.step_size
        error = y - float(self.w @ z)
        self.recent.learned(error)
        self.intervals = self.intervals.after(error)
        with np.errstate(over="ignore", invalid="ignore"):
            self._take(learner.learn(self.learned, z, y, mu, _NO_TICK))

    def _take(self, learned: Any) -> None:
        """Go on with this learner's state, unless its model cannot travel.

        The server would refuse such a model again and again. A sample or a step size that is too
        large makes one. The device then starts again from the fleet's model, for which its next
        contact asks.
        """
        learner = self._parts.learner
        if can_travel(learner.model(learned)):
            self.learned = learned
        else:
            self.learned = self._begun()
            self.joined = False
            self.restarts += 1

    def _checked(self, x: Sample, y: float, at: float | None) -> FloatArray:
        """Return what the model sees of a sample's inputs; what is no number is an error."""
        if not np.isfinite(y):
            raise InputError(f"the target is {y!r}: expected a finite number")
        return self._numbers(x, at)

    def _numbers(self, x: Sample, at: float | None) -> FloatArray:
        """Return what the model sees of an input."""
        manifest, seen = self.manifest, self.manifest.seen
        if seen is None:
            inputs = len(manifest.inputs)
            numbers = np.asarray(x, dtype=np.float64)
            if numbers.shape != (inputs,) or not np.isfinite(numbers).all():
                raise InputError(f"the input is {x!r}: expected {inputs} finite numbers")
            return manifest.scaled(numbers)
        time = required(at) if seen.needs_time else 0.0
        tick = manifest.tick_of(time)
        now = seen.named([number.name for number in manifest.inputs], x)
        return seen.numbers(now, time, lambda name, lag: self.remembered.at(tick - lag, name))

    def tick(self, seconds: float) -> int | None:
        """Return the server's tick by the device's own clock, or None if it cannot know."""
        if self.clock is None:
            return None
        passed = (seconds - self.clock.seconds) / self.manifest.tick_seconds
        return min(self.clock.tick + max(int(passed), 0), LAST_TICK)

    def contact(self, seconds: float) -> bytes | None:
        """Return the message to send now: a hello, the updates that wait, or a read.

        Returns None where the server has all that was learned, and the device the server's values
        of this tick.
        """
        now = self.tick(seconds)
        if now is None or not self.joined or self.unanswered > self.lost_after:
            self.unanswered += 1
            return encode(Hello(self.manifest.epoch))
        limit = self.manifest.max_age
        while self.unconfirmed and now - self.unconfirmed[0].tick > limit:
            self._give_up_oldest()  # the server would drop it
        if self.news and now > self.stamped:
            self._stamp(now)
        if not self.unconfirmed and now <= self.merged:
            return None
        self.unanswered += 1
        if not self.unconfirmed:
            return encode(Read(self.manifest.epoch, self.recent.level))
        head = self.unconfirmed[-1]
        repeated = [
            update for update in list(self.unconfirmed)[:-1] if now - update.left >= self.patience
        ]
        for update in repeated:
            update.left = now
        # A reply does not say which of several messages that began with this update it answers: it
        # confirms the updates that all of them carried. There may be a message from before a
        # restart, of which only its first update is known.
        doubtful = seconds < self._doubt_ends
        ticks = frozenset(u.tick for u in ((head,) if doubtful else (*repeated, head)))
        head.carried = ticks if head.carried is None else head.carried & ticks
        repeats = tuple(Repeat(head.tick - u.tick, u.values, u.level) for u in repeated)
        return encode(Update(self.manifest.epoch, head.tick, head.values, repeats, head.level))

    def _stamp(self, now: int) -> None:
        """Make a new update."""
        if len(self.unconfirmed) == self.unconfirmed.maxlen:
            self._give_up_oldest()
        self.stamped = now
        self.news -= 1
        values = self.manifest.up.written(self.w, self.device, now)
        self.unconfirmed.append(Unconfirmed(now, values, now, self.recent.level))

    def _give_up_oldest(self) -> None:
        """Drop an update that was not confirmed; a new sweep tells what it told."""
        self.unconfirmed.popleft()
        self.news = self._sweep

    def receive(self, payload: bytes, seconds: float) -> frozenset[int]:
        """Process a message from the server; anything that is no message is ignored.

        Returns the ticks whose updates it confirms: they are on the server's disk.
        """
        manifest = self.manifest
        try:
            message = manifest.read(payload)
        except WireError:
            return _NONE
        match message:
            case Reread(epoch):
                self.outdated = self.outdated or epoch != manifest.epoch
            case Reply(epoch) if epoch == manifest.epoch:
                return self._reply(message, seconds)
            case Model(epoch) if epoch == manifest.epoch:
                self._model(message, seconds)
            case _:
                pass
        return _NONE

    def _reply(self, reply: Reply, seconds: float) -> frozenset[int]:
        """Confirm the updates of the answered message.

        Take over the reply's values, unless newer values came before.
        """
        self.unanswered = 0
        head = next((u for u in self.unconfirmed if u.tick == reply.answers), None)
        carried = _NONE if head is None else head.carried or _NONE
        # An update that was too old on arrival is not on disk: it is dropped, but not confirmed.
        safe = {tick for tick in carried if tick >= reply.tick - self.manifest.max_age}
        confirmed = frozenset(u.tick for u in self.unconfirmed if u.tick in safe)
        self._keep(u for u in self.unconfirmed if u.tick not in confirmed)
        if reply.tick > self.merged:
            said = self.manifest.down.read(reply.values, self.device, reply.tick)
            heard = not_own(said, self.manifest.heard)
            if heard.coordinates.size:
                self.learned = self._parts.learner.merge(self.learned, heard)
            self.merged = reply.tick
            if reply.answers > reply.tick:  # made in a tick that the server has not come to
                self._set_clock(reply.tick, seconds)
        self._follow(reply.tick, seconds)
        return confirmed

    def _model(self, model: Model, seconds: float) -> None:
        """Process the answer to a hello: the time, and for a device that has none yet the model."""
        lost = self.clock is None or self.unanswered > self.lost_after
        self.unanswered = 0
        if lost:  # only here may ticks be used again
            self._doubt_ends = seconds + self.doubt * self.manifest.tick_seconds
            self._set_clock(model.tick, seconds)
            self.stamped = min(self.stamped, model.tick)
            self.merged = min(self.merged, model.tick)
            if any(u.tick > model.tick for u in self.unconfirmed):
                self._keep(u for u in self.unconfirmed if u.tick <= model.tick)
                self.news = self._sweep
        if not self.joined:
            self.begin(model.values.astype(np.float64))
        self._follow(model.tick, seconds)

    def _follow(self, tick: int, seconds: float) -> None:
        """Set the clock forward; an answer that was long on its way would set it back."""
        now = self.tick(seconds)
        if now is None or tick > now:
            self._set_clock(tick, seconds)

    def _set_clock(self, tick: int, seconds: float) -> None:
        """Set the clock, also back: no update has left later than now."""
        self.clock = Clock(tick, seconds)
        for update in self.unconfirmed:
            update.left = min(update.left, tick)

    def _keep(self, updates: Iterable[Unconfirmed]) -> None:
        self.unconfirmed = deque(updates, maxlen=MOST_REPEATS + 1)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what must survive a power cut, as arrays; the clock need not."""
        updates = list(self.unconfirmed)
        values = [u.values for u in updates] or [np.zeros(0, dtype=self.manifest.up.dtype)]
        return {
            "epoch": np.array(self.manifest.epoch),
            "device": np.array(self.device),
            **named(self.learned),
            "merged": np.array(self.merged),
            "joined": np.array(self.joined),
            "stamped": np.array(self.stamped),
            "news": np.array(self.news),
            "ticks": np.array([u.tick for u in updates], dtype=np.int64),
            "left": np.array([u.left for u in updates], dtype=np.int64),
            "values": np.stack(values),
            "levels": np.array([u.level for u in updates], dtype=np.uint8),
            "recent": np.array([*vars(self.recent).values()]),
            "intervals": np.array(self.intervals, dtype=np.float64),
            **self.remembered.arrays(),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> bool:
        """Take up a state that was saved; a state of another manifest or device is left alone."""
        if int(state["epoch"]) != self.manifest.epoch or int(state["device"]) != self.device:
            return False
        up, updates = self.manifest.up, len(state["ticks"])
        kept = state["values"].reshape(updates, up.size if updates else 0)
        if state["model"].shape != self.w.shape or (updates and kept.dtype != up.dtype):
            raise ValueError("a state of another model")
        self.merged, self.stamped = int(state["merged"]), int(state["stamped"])
        self.joined = bool(state["joined"])
        self.news = int(state["news"])
        learned = [state[name].astype(array.dtype) for name, array in named(self.learned).items()]
        self._take(type(self.learned)(*learned))
        self.recent = Recent(*state["recent"])
        self.intervals = Interval(*map(float, state["intervals"]))
        self.remembered.restore(state)
        columns = state["ticks"], kept, state["left"], state["levels"]
        for tick, values, left, level in zip(*columns, strict=False):
            if up.can_travel(values):
                update = Unconfirmed(int(tick), values, int(left), int(level), frozenset())
                self.unconfirmed.append(update)
        return True
