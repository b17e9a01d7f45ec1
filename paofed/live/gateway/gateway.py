"""A gateway at work: telemetry comes in, every source is a device, one loop does it all.

The loop's thread alone owns the state. The networks' threads put messages into inboxes of limited
size; messages beyond that are dropped, and counted.
"""

import json
import logging
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple, Self

from paofed.errors import InputError, MissingMethodError
from paofed.files import locking, make_folder
from paofed.live.device.device import Device, seconds
from paofed.live.gateway.life import Hearing, Life, disagreement
from paofed.live.gateway.pairing import Paired
from paofed.live.gateway.settings import GatewaySettings
from paofed.live.gateway.sources import Sources, TelemetrySource, load, save
from paofed.live.gateway.telemetry import Pattern, TelemetryShape
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import Mqtt
from paofed.live.network.shared import Shared
from paofed.live.network.transport import Transport
from paofed.words import counted, listed

_MOST = 10_000  # the most messages that wait; more are dropped
_TURN = 0.05  # seconds that a turn waits for messages
_AT_ONCE = 1000  # the most messages of a turn
_LIST_SOON = 2.0  # seconds until a new source is in the list on disk
_TELL_AGAIN = 60.0  # seconds between two lines of the log on what is passed over
_IN_VAIN = 10  # messages of a source of which nothing came, after which the source is named


class Arrival(NamedTuple):
    """A message of telemetry, and when it came."""

    topic: str
    payload: bytes
    at: float  # by the steady clock


class DatedValues(NamedTuple):
    """The values of a message, and when they were measured."""

    values: Mapping[str, float]
    at: float  # seconds by which readings are paired
    since_1970: float  # to be added to `at` for seconds since 1970


class NewSource(NamedTuple):
    """A source without a place, and the first readings of all inputs that it has told."""

    name: str
    paired: Paired


class Gateway:
    """A gateway from start to stop."""

    def __init__(
        self,
        settings: GatewaySettings,
        log: logging.Logger,
        *,
        fleet: Transport | None = None,
        telemetry: Transport | None = None,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = seconds,
    ) -> None:
        """Prepare a gateway; `fleet` and `telemetry` carry messages to either, if not MQTT."""
        self.settings = settings
        self._credential = credential_of(settings)
        make_folder(settings.state)
        known, passed_over = load(settings.state, self._credential)
        self.sources = Sources(self._credential.devices or (), settings.admit, known)
        self.passed_over: Counter[str] = Counter(passed_over)
        self.lives: dict[str, Life] = {}
        self._hearings: dict[str, Hearing] = {}  # of all sources that are admitted
        # What is told to all sources at once: who is heard, and the newest that was told.
        self._common = Hearing(settings.rule)
        self._common_told: dict[Pattern, DatedValues] = {}
        self._to_save: deque[Life] = deque()
        self._log, self._wall, self._steady = log, wall, steady
        self._inbox: queue.Queue[Arrival] = queue.Queue(_MOST)
        self._dropped = 0
        self._stopping = False
        self._closing = False
        self._lock = ExitStack()
        self._saved = self._listed = self._told = steady()
        self._listed_sources = len(known)
        self._last_told = sum(passed_over.values())
        self._told_in_vain: list[str] = []
        self._differs = ""  # how names differ from the fleet's, as was logged last
        self._publish = Pattern.of(settings.publish.topic)
        self._shared = Shared(
            fleet or Mqtt(),
            self._credential,
            [self._credential.topics.manifest],
            ready=lambda: log.info("connected to the fleet's broker"),
            lost=lambda why: self._lost("the fleet's broker", why),
        )
        self._telemetry = (telemetry or Mqtt(retained=False)).connect(
            settings.broker,
            [shape.pattern.subscription for shape in settings.shapes],
            self._heard,
            ready=lambda: log.info("connected to the broker of telemetry"),
            lost=lambda why: self._lost("the broker of telemetry", why),
        )

    def stop(self) -> None:
        """Let the loop end in good order, soon.

        May be called from anywhere, also a signal handler.
        """
        self._stopping = True

    def run(self) -> None:
        """Take part until stopped."""
        with self:
            while not self._stopping:
                self.turn()

    def __enter__(self) -> Self:
        """Begin: sources that had a place go on as they were."""
        self._lock.enter_context(locking(self.settings.state / "lock", self._in_use()))
        for name, source in self.sources.known.items():
            if self.sources.standing(name) == "takes part":
                self._begin(name, source)
        self._log.info(
            "gateway of %s: %s of %s taken, by the broker %s:%d",
            *(self._credential.fleet, len(self.lives)),
            counted(len(self._credential.devices or ()), "place"),
            *(self.settings.broker.host, self.settings.broker.port),
        )
        self._shared.link.open()
        self._telemetry.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._telemetry.close()
        self._shared.link.close()  # first, so that its parts have nothing to say to the broker
        self._save_list()
        self._tell()
        with self._lock, ExitStack() as closing:
            for life in self.lives.values():
                closing.callback(life.device.close)

    def _lost(self, whose: str, why: str) -> None:
        if not self._closing:
            self._log.warning("%s: %s; trying again", whose, why)

    def _in_use(self) -> InputError:
        return InputError(f"another gateway is at work with {self.settings.state}: stop it first")

    # The loop

    def turn(self, wait: float = _TURN) -> None:
        """Process messages, contact the server where it is time, save a little."""
        arrivals = self._arrivals(wait)
        self._let_in([found for arrival in arrivals for found in self._take(arrival)])
        now = self._steady()
        if self._shared.link.up.is_set():
            for life in self.lives.values():
                if self._knows_fleet(life):
                    life.follow(now)
        self._save_some(now)
        if now - self._told >= _TELL_AGAIN:
            self._told = now
            self._tell()

    def _arrivals(self, wait: float) -> list[Arrival]:
        found: list[Arrival] = []
        with suppress(queue.Empty):
            found.append(self._inbox.get(timeout=wait))
            while len(found) < _AT_ONCE:
                found.append(self._inbox.get_nowait())
        dropped, self._dropped = self._dropped, 0
        if dropped:
            self.passed_over["dropped, since too many came at once"] += dropped
        return found

    def _take(self, arrival: Arrival) -> Iterator[NewSource]:
        """Process one message; yield sources that have now told all inputs and have no place."""
        for shape in self.settings.shapes:
            name = shape.pattern.source(arrival.topic)
            if name is None:
                continue
            if shape.pattern.is_shared:
                told = self._read(shape, arrival, self._common)
                if told is not None:
                    self._common_told[shape.pattern] = told
                    for other in self._hearings:
                        yield from self._take_in(other, told)
                continue
            name = self.settings.same.get(name, name)
            source, why = self.sources.see(name, self._wall())
            if source is None:
                self.passed_over[why] += 1
                continue
            if name not in self._hearings:
                known_yet = self.sources.known
                self._hearings = {n: h for n, h in self._hearings.items() if n in known_yet}
                self._hearings[name] = Hearing(self.settings.rule)
                for known in self._common_told.values():
                    yield from self._take_in(name, known)
            told = self._read(shape, arrival, self._hearings[name])
            if told is not None:
                yield from self._take_in(name, told)

    def _let_in(self, newcomers: list[NewSource]) -> None:
        """Let new sources take part; their places are on disk before anything else happens."""
        placed = [found for found in newcomers if self.sources.give_place(found.name)]
        if len(placed) < len(newcomers):
            self.passed_over["from sources that wait for a place"] += len(newcomers) - len(placed)
        if placed and not self._save_list():
            self.passed_over["while nobody's place can be written down"] += len(placed)
            return
        for name, paired in placed:
            if name not in self.lives:
                source = self.sources.known[name]
                self._log.info("%s takes part, as device %s", name, source.device)
                self._begin(name, source)
            self._paired(name, self.lives[name], paired)

    def _read(
        self, shape: TelemetryShape, arrival: Arrival, hearing: Hearing
    ) -> DatedValues | None:
        """Return what a message tells; None if that is nothing."""
        if not hearing.may_speak(arrival.at, self.settings.most_per_second):
            self.passed_over["more in a second than a source may send"] += 1
            return None
        told = shape.read(arrival.payload)
        self.passed_over.update(map(str, told.passed_over))
        for useless in told.passed_over:
            hearing.passed_over(useless)
        if not told.values:
            return None
        # Readings that say their time are paired by it, all others by a clock that nobody sets.
        ahead = self._wall() - self._steady()
        at, since_1970 = (arrival.at, ahead) if told.at is None else (told.at, 0.0)
        if at + since_1970 > arrival.at + ahead + self.settings.window:
            self.passed_over["with a time to come"] += 1
            return None
        return DatedValues(told.values, at, since_1970)

    def _take_in(self, name: str, told: DatedValues) -> Iterator[NewSource]:
        """Pair what was told with what a source told before, and learn from it or predict."""
        taken = self._hearings[name].taken(told.values, told.at)
        for why, count in (
            ("older than what is known", taken.late),
            ("targets without inputs of their time", taken.alone),
        ):
            if count:
                self.passed_over[why] += count
        for paired in taken.paired:
            dated = paired._replace(at=paired.at + told.since_1970)
            if name in self.lives:
                self._paired(name, self.lives[name], dated)
            else:
                yield NewSource(name, dated)

    def _paired(self, name: str, life: Life, paired: Paired) -> None:
        """Predict or learn from paired readings, and publish what came of it."""
        if not self._agreed(life):
            self.passed_over["before the fleet was known, or while its names differ"] += 1
            return
        try:
            told = life.learn(paired)
        except InputError:
            self.passed_over["that the fleet's model cannot take"] += 1
            return
        publish = self.settings.publish
        if told and publish.topic and life.may_publish(told, self._steady(), publish.every):
            topic = self._publish.of_source(name)
            self._telemetry.send(topic, json.dumps(told).encode(), retain=publish.retain)

    def _agreed(self, life: Life) -> bool:
        """Whether the fleet's manifest is known, and the gateway's names are those of the fleet."""
        if not self._knows_fleet(life):
            return False
        settings = self.settings
        differs = disagreement(life.device.manifest, settings.inputs, settings.rule.target)
        if differs != self._differs:
            self._log.warning("%s", differs or "the fleet's names and this gateway's agree again")
        self._differs = differs
        return not differs

    def _knows_fleet(self, life: Life) -> bool:
        """Whether a device knows what to follow.

        One that began when this process lacked the fleet's method waits: the others go on.
        """
        try:
            return life.device.knows_fleet()
        except MissingMethodError as error:
            self._log.warning("%s", error)
            return False

    # Sources and their state

    def _begin(self, name: str, source: TelemetrySource) -> None:
        index = source.device if source.device is not None else -1
        device = Device(
            self._credential.speaking_for(index),
            state=state_file(self.settings.state, index),
            # The devices are saved one after the other instead: see `_save_some`.
            save_every=float("inf"),
            transport=self._shared,
        )
        life = self.lives[name] = Life(source, device, self.settings.calendar)
        self._to_save.append(life)

    def _save_some(self, now: float) -> None:
        """Save the next of the devices, so that each has its turn within `save_every` seconds."""
        every = self.settings.save_every
        due = int((now - self._saved) * len(self._to_save) / every)
        if due:
            self._saved = now
        for _ in range(min(due, len(self._to_save))):
            self._to_save[0].device.save()
            self._to_save.rotate(-1)
        changed = len(self.sources.known) != self._listed_sources
        if now - self._listed >= (_LIST_SOON if changed else min(every, _TELL_AGAIN)):
            self._save_list()

    def _in_vain(self) -> list[str]:
        """Name the sources of whose messages nothing comes, each with the reason."""
        told = []
        for name, hearing in self._hearings.items():
            source = self.sources.known.get(name)
            if source is None:  # it was forgotten in favour of a new one
                continue
            in_vain = name not in self.lives and not source.waits and source.messages >= _IN_VAIN
            source.why = hearing.why_nothing() if in_vain else ""
            if in_vain:
                told.append(f"{name} ({source.why})")
        return told

    def _save_list(self) -> bool:
        self._in_vain()
        self._listed, self._listed_sources = self._steady(), len(self.sources.known)
        try:
            save(self.settings.state, self._credential, self.sources, self.passed_over)
        except (OSError, InputError) as error:  # a full disk must not end the learning
            self._log.warning("the list of sources cannot be saved: %s", error)
            return False
        return True

    def _heard(self, topic: str, payload: bytes) -> None:
        """Put a message into the inbox; called by the network's thread."""
        try:
            self._inbox.put_nowait(Arrival(topic, payload, self._steady()))
        except queue.Full:
            self._dropped += 1

    def _tell(self) -> None:
        """Log how many messages were passed over, if there are more of them, and who is unheard."""
        in_vain = self._in_vain()
        if in_vain != self._told_in_vain:
            self._told_in_vain = in_vain
            if in_vain:
                self._log.warning("nothing comes of what these sources tell: %s", listed(in_vain))
        total = sum(self.passed_over.values())
        if total > self._last_told:
            self._last_told = total
            self._log.warning("passed over until now: %s", in_words(self.passed_over))


def credential_of(settings: GatewaySettings) -> Credential:
    """Return the gateway's credential; a device's file is refused."""
    credential = Credential.load(settings.file)
    if credential.devices is None:
        raise InputError(
            f"{settings.file} is no gateway's file: expected the one that `paofed fleet gateway` "
            f"wrote"
        )
    return credential


def state_file(folder: Path, device: int) -> Path:
    """Return the state file of a device: named by its index, never by a source's name."""
    return folder / f"{device}.npz"


def in_words(passed_over: Counter[str]) -> str:
    """Say how many messages were passed over, and why, the most frequent reason first."""
    found = [f"{count:,} {why}" for why, count in passed_over.most_common() if count]
    return "; ".join(found) or "nothing"
