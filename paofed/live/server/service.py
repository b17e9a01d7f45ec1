"""A fleet's server at work: broker, clock, journal and what people want to know, in one loop.

The loop's thread alone owns the state: journal, model, clock, and what the broker said. The
network's thread and the health page put what they have into the inbox, the one thing that all of
them change. The loop takes items in groups, commits each group, and only then lets its replies
leave.

- The disk is full: nothing is answered, messages are dropped (devices repeat them), and the group
  that waits is written as soon as there is room. Nothing that was confirmed depends on it.
- A device floods: it is quarantined, also at the broker, where its messages end.
- Another server takes this one's name at the broker: the one that started first stops.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from paofed.errors import FileError
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import StoreError, TakenOverError, locked
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.validated import Validated
from paofed.live.network.ending import end_connections
from paofed.live.network.mqtt import Mqtt
from paofed.live.network.transport import Transport
from paofed.live.protocol.coordinator import Send, Suspect
from paofed.live.server.broker_log import TOPICS, BrokerLog
from paofed.live.server.clock import TickClock
from paofed.live.server.concerns import News
from paofed.live.server.history import started
from paofed.live.server.inbox import Inbox
from paofed.live.server.lookout import Lookout, Sight
from paofed.live.server.status import ServiceStatus, Status, tally
from paofed.live.server.validation import Judge, Judging, Validating, Validation
from paofed.live.server.web.site import shown
from paofed.words import counted

_LONGEST_WAIT = 0.5  # seconds between two looks at the clock
_LOOK_AGAIN = 1.0  # seconds between looks at who is in the fleet, and after a full disk
_FLOOD = 1000  # messages of one device in a second that count as a flood


class Service:
    """A server from start to stop."""

    def __init__(
        self,
        fleet: Fleet,
        log: logging.Logger,
        *,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        transport: Transport | None = None,
        judge: Judge | None = None,
    ) -> None:
        """`transport` carries the messages, if not MQTT; `judge` computes how wrong a model is."""
        self._fleet = fleet
        self._log = log
        self._wall, self._steady = wall, steady
        self._transport: Transport = transport or Mqtt()
        self._judge = judge
        self._inbox = Inbox()
        self._news = News()
        self._stopping = False
        self._topics = fleet.topics
        # A broker that is not the fleet's own tells nothing of itself, and may end the connection
        # of a client that asks.
        self._own_broker = fleet.settings.security != "external"
        # Of two names the later one is greater, so that both servers agree which of them has to
        # stop.
        self._name = f"{time.time_ns():020d}-{secrets.token_hex(4)}".encode()
        self._looked = 0.0
        self._stuck = ""  # why the journal cannot be written
        self._cannot_revoke = False  # whether it was logged that credentials cannot be revoked
        self._broker = BrokerLog()
        self._validation: Validation | None = None
        self._unjudged = ""  # why the model cannot be judged by the file of samples

    def stop(self) -> None:
        """Let the loop end in good order, soon.

        May be called from anywhere, also a signal handler.
        """
        self._stopping = True

    def run(self) -> None:
        """Serve until stopped."""
        fleet = self._fleet
        with fleet.store() as store, locked(fleet.folder):
            self._start(store)
            with self._shown():
                self._introduce()
                self._link.open()
                try:
                    while not self._stopping:
                        self._turn()
                finally:
                    self._link.close()
                    self._finish()

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Show the fleet over HTTP, and compute errors on a file of samples, inside the block."""
        with ExitStack() as block:
            if self._judge is not None:
                heard = self._validated, self._not_validated
                block.enter_context(Judging(self._judge, self.model, *heard))
            asked = self.ask, self.see, self.model, self.validation
            block.enter_context(shown(self._fleet, *asked))
            yield

    def ask(self) -> Status:
        """Return how the fleet is doing; called by another thread, answered by the loop."""
        return self._inbox.ask(self._status)

    def see(self) -> Sight:
        """Return what the page shows; called by another thread, answered by the loop."""
        return self._inbox.ask(self._sight)

    def model(self) -> FleetModel:
        """Return the present model; may be called by any thread."""
        return self._model

    def validation(self) -> Validation | None:
        """Return how the model fares on the file of samples; may be called by any thread."""
        return self._validation

    def _validated(self, found: Validated) -> None:
        """Note how wrong the model is; called by another thread."""
        self._inbox.request(lambda: self._judged(found))

    def _judged(self, found: Validated) -> None:
        before = self._validation.problem if self._validation is not None else ""
        self._validation = now = self._validating.follow(found, self._wall())
        self._unjudged = ""
        self._lookout.validated(now)
        if now.problem and not before:
            self._log.warning("%s", now.problem)
        elif before and not now.problem:
            self._log.info("the model does as it should on the validation file again")

    def _not_validated(self, why: str) -> None:
        """Note that the model cannot be judged; called by another thread."""
        self._inbox.request(lambda: self._unjudge(why))

    def _unjudge(self, why: str) -> None:
        if why != self._unjudged:
            self._log.warning("the model cannot be judged: %s", why)
        self._unjudged, self._validation = why, None

    def _start(self, store: Store) -> None:
        self._store = store
        self._reconcile()
        manifest = store.epochs.manifest()
        self._manifest = manifest.to_json().encode()
        self._host = Host(
            store,
            self._send,
            snapshot_every=self._fleet.settings.snapshot_every,
            keep=self._fleet.settings.keep,
            suspect=self._suspect,
        )
        self._model = FleetModel.of(self._host.coordinator, self._topics.fleet)
        self._handed_out = self._model.tick
        self._clock = TickClock(manifest, self._log.warning, wall=self._wall, steady=self._steady)
        self._link = self._transport.connect(
            self._fleet.credential(),
            [self._topics.up("+"), self._topics.server, *(TOPICS if self._own_broker else ())],
            self._heard,
            ready=lambda: self._inbox.request(self._connected),
            lost=lambda why: self._inbox.request(lambda: self._disconnected(why)),
        )
        self._since, self._started = self._steady(), self._wall()
        self._counted = tally(self._host.coordinator)  # counts from before this server
        self._ages = self._host.coordinator.ages.copy()
        started(self._fleet.folder, self._wall())
        self._lookout = Lookout(self._fleet, store, self._host.coordinator, self._wall())
        self._validating = Validating(manifest, self._fleet.settings.validation_limit)

    def _reconcile(self) -> None:
        """Refuse whom the broker refuses, and the other way round; renew the broker's files."""
        try:
            if not self._fleet.reconcile(self._store, self._forgotten):
                self._log.warning(
                    "the broker's files were written anew, and no broker was found here that reads "
                    "them: one that runs elsewhere has to be told"
                )
            if self._fleet.make_room(self._store.epochs.manifest()):
                self._log.warning(
                    "the manifest has outgrown the largest packet that the broker takes; its "
                    "settings allow it now: start the broker again"
                )
        except (FileError, OSError) as error:  # its authority is kept elsewhere, say
            self._log.warning("the broker cannot be told who is refused: %s", error)

    def _forgotten(self, label: str) -> None:
        self._log.warning(
            "%s is quarantined: the broker refuses it, which this journal did not know (a copy "
            "that was restored?)",
            label,
        )

    def _introduce(self) -> None:
        settings = self._fleet.settings
        devices = sum(not member.removed for member in self._store.roster.devices())
        self._log.info(
            "serving %s, %d devices, by the broker %s:%d",
            *(settings.name, devices, settings.host, settings.port),
        )
        if settings.http:
            self._log.info("health: http://%s/health", settings.http)
            self._log.info("page: http://%s/", settings.http)

    # The loop

    def _turn(self) -> None:
        """Take items from the inbox, commit them, let replies leave, close ticks that are over."""
        host = self._host
        wait = min(_LONGEST_WAIT, self._clock.remaining(host.coordinator.tick))
        items = self._inbox.take(wait)
        # However late this thread is: what came is judged by the tick that it is now. By an earlier
        # one, a device whose clock is right would seem to be ahead, and be set back or refused.
        if items and not self._stuck:
            with self._sticking():
                host.advance(self._clock.tick(host.coordinator.tick))
        with self._sticking():  # items that were not processed are lost: their devices repeat them
            for item in items:
                if callable(item):
                    item()
                elif self._stuck:
                    self._inbox.drop()
                else:
                    host.receive(*item)
            if not self._stuck or self._due():
                self._look()
                host.flush()
                host.advance(self._clock.tick(host.coordinator.tick))
                self._hand_out()
                self._unstick()

    @contextmanager
    def _sticking(self) -> Iterator[None]:
        """Note where something fails since the journal cannot be used."""
        try:
            yield
        except StoreError as error:
            self._stick(error)

    def _hand_out(self) -> None:
        """Publish the present model for predictions: other threads need not ask the loop."""
        now = self._host.coordinator
        if now.tick != self._handed_out:
            self._handed_out = now.tick
            model = FleetModel.of(now, self._topics.fleet)
            self._model = self._model if model.says_the_same(self._model) else model

    def _due(self) -> bool:
        return self._steady() - self._looked >= _LOOK_AGAIN

    def _look(self) -> None:
        """Look now and then who is in the fleet, how they do, and who floods it."""
        if not self._due():
            return
        passed, self._looked = self._steady() - self._looked, self._steady()
        self._host.refresh()
        for line in self._news.of(self._host.coordinator, self._label):
            self._log.log(*line)
        self._lookout.look(
            self._host.coordinator, self._wall(), self._link.received, self._link.sent
        )
        self._revoke_due()
        for device, messages in self._inbox.heard_of().items():
            if messages > _FLOOD * passed and self._host.coordinator.devices.knows(device):
                self._shut_out(device, round(messages / passed))

    def _revoke_due(self) -> None:
        """Revoke credentials whose time is over, and end their connections."""
        try:
            if self._cannot_revoke:  # the broker may not have been told of earlier revocations
                self._fleet.reconcile(self._store, self._forgotten)
            enders = self._fleet.revoke_due(self._store, self._wall())
        except (FileError, OSError) as error:  # its authority is kept elsewhere, say
            if not self._cannot_revoke:
                self._log.warning("old files that are due cannot be revoked: %s", error)
            self._cannot_revoke = True
            return
        self._cannot_revoke = False
        if enders:
            self._log.info("the old files of %s are good no more", counted(len(enders), "device"))
            threading.Thread(target=end_connections, args=(enders,), daemon=True).start()

    def _shut_out(self, device: int, rate: int) -> None:
        """Refuse a device that floods, also at the broker, until somebody has looked."""
        if not self._host.coordinator.devices.quarantined[device]:
            self._host.coordinator.quarantine(device)
            self._log.warning(
                "device %d (%s) sends %d messages a second: it is quarantined",
                *(device, self._label(device), rate),
            )
            try:
                self._fleet.set_quarantine(self._store, device, on=True)
            except (FileError, OSError) as error:  # its authority is kept elsewhere, say
                self._log.warning("the broker cannot be told: %s", error)

    def _stick(self, error: StoreError) -> None:
        if not self._stuck:
            self._log.error("%s: nothing is confirmed until it can be written again", error)
        self._stuck = str(error)
        self._looked = self._steady()

    def _unstick(self) -> None:
        if self._stuck:
            self._log.warning("the journal can be written again")
            self._stuck = ""

    def _finish(self) -> None:
        """Do before the end what is cheap to do."""
        try:
            self._host.flush()
            self._host.snapshot()
        except StoreError as error:
            self._log.error("%s: the next start goes through the journal", error)

    # The network

    def _heard(self, topic: str, payload: bytes) -> None:
        """Pass a message to the inbox, with the counts of that moment.

        Called by the network's thread.
        """
        device = self._topics.sender(topic)
        if device is not None:
            self._inbox.message(device, payload)
        elif topic.startswith("$SYS/"):
            says = partial(
                self._broker.receive,
                *(topic, payload),
                heard=self._inbox.heard,
                sent=self._link.messages,
                last_sent=self._link.last_sent,
                now=time.monotonic(),
            )
            self._inbox.request(says)
        elif topic == self._topics.server:
            self._inbox.request(lambda: self._named(payload))

    def _send(self, send: Send) -> None:
        self._link.send(self._topics.down(send.device), send.payload)

    def _connected(self) -> None:
        """Announce and publish again: the broker of a new connection may have forgotten all."""
        self._log.info("connected to the broker")
        self._link.send(self._topics.manifest, self._manifest, retain=True)
        self._announce()
        if self._own_broker:
            # Not retained: with it, the broker's count of messages has a beginning.
            self._link.send(self._topics.beginning, b"")

    def _disconnected(self, why: str) -> None:
        """Note that there is no broker."""
        self._broker.restart()
        self._log.warning("broker: %s; trying again", why)

    def _announce(self) -> None:
        """Publish our name at the broker, where another server of this fleet will find it."""
        self._link.send(self._topics.server, self._name, retain=True)

    def _named(self, name: bytes) -> None:
        """Process the name of the server that the broker holds; stop if a later one took over."""
        if name > self._name:
            raise TakenOverError(
                "another server has taken this one's place at the broker: this one stops; two "
                "servers with one identity must not run, look for the other before you start again"
            )
        # The name of an earlier start, or of a server that will stop when it sees ours.
        if name < self._name:
            self._announce()

    # What people want to know

    def _suspect(self, suspect: Suspect) -> None:
        self._log.warning(
            "device %d (%s) is refused again and again: %s",
            *(suspect.device, self._label(suspect.device), suspect.reason),
        )

    def _label(self, device: int) -> str:
        return self._store.roster.at(device).label

    def _problems(self) -> tuple[str, ...]:
        """Say what keeps the fleet from being served."""
        found = []
        if not self._link.up.is_set():
            found.append("there is no connection to the broker")
        if self._stuck:
            found.append(self._stuck)
        if self._clock.behind > self._host.coordinator.manifest.tick_seconds:
            found.append(
                f"the clock is {self._clock.behind:.0f} s behind the journal, and no tick closes "
                f"until then: if the clock is right now, `paofed fleet clock` frees the fleet"
            )
        if self._unjudged:
            found.append(f"the model cannot be judged: {self._unjudged}")
        if self._validation is not None and self._validation.problem:
            found.append(self._validation.problem)
        return tuple(found)

    def _status(self) -> Status:
        coordinator, devices = self._host.coordinator, self._store.roster.devices()
        return Status.of(self._topics.fleet, coordinator, devices, self._served())

    def _sight(self) -> Sight:
        return self._lookout.sight(self._host.coordinator, self._wall(), self._served())

    def _served(self) -> ServiceStatus:
        coordinator = self._host.coordinator
        return ServiceStatus(
            seconds=self._steady() - self._since,
            problems=self._problems(),
            dropped=self._inbox.dropped,
            clock_jumps=self._clock.jumps,
            bytes_received=self._link.received,
            bytes_sent=self._link.sent,
            broker_refused=dict(self._broker.counts(time.monotonic())),
            started=self._started,
            connected=self._link.up.is_set(),
            stuck=bool(self._stuck),
            clock_behind=self._clock.behind,
            validation=self._validation,
            snapshot_at=coordinator.manifest.begins(self._host.snapshotted),
            counts=dict(tally(coordinator) - self._counted),
            ages=dict(coordinator.ages - self._ages),
        )
