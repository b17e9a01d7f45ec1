"""kill -9 of server, broker and devices at random moments, under load.

No update that a device believes safe is lost, none counts twice, the journal verifies, everybody
comes back by themselves. PAOFED_KILLS=50 is the long form; PAOFED_SEED, as a failure shows it, has
the same kills again, as far as processes can be made to repeat themselves.
"""

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from paofed.demo.processes import Process, end, kill, serve, start
from paofed.live.journal.exports import export_messages, replay_messages
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import TOLERANCE
from tests.effort import effort
from tests.live.brokers import PATIENCE, TICK, Site, until

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("PAOFED_KILLS") or effort(everyday=3, thorough=6))
SEED = int(os.environ.get("PAOFED_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
DEVICES = 4


class Fleet:
    """A site with its server and its devices as processes, each of which can be killed."""

    def __init__(self, site: Site, notes: Path, chance: random.Random) -> None:
        self.site, self.notes, self.chance = site, notes, chance
        self.server = self.start_server()
        self.devices = [self.start_device(k) for k in range(DEVICES)]

    def start_server(self) -> Process:
        return serve(self.site.fleet, self.notes / "server.log")

    def start_device(self, k: int) -> Process:
        files = (self.site.files[k], self.notes / f"{k}.npz", self.notes / f"{k}.txt")
        return start([sys.executable, "-m", "tests.live.worker", *map(str, files)], cwd=ROOT)

    def confirmed(self, k: int) -> list[int]:
        """The ticks that a device believes safe."""
        path = self.notes / f"{k}.txt"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def kill_server(self, pause: float) -> None:
        kill(self.server)
        time.sleep(pause)
        self.server = self.start_server()

    def kill_broker(self, pause: float) -> None:
        self.site.broker.kill()
        time.sleep(pause)
        self.site.broker.start()

    def kill_device(self, pause: float) -> None:
        k = self.chance.randrange(DEVICES)
        kill(self.devices[k])
        time.sleep(pause)
        self.devices[k] = self.start_device(k)

    def stop(self) -> None:
        for device in self.devices:
            kill(device)
        assert end(self.server) == 0


def test_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    print(f"PAOFED_SEED={SEED} PAOFED_KILLS={KILLS}")  # noqa: T201 (shown with a failure)
    chance = random.Random(SEED)  # noqa: S311 (no secret)
    labels = tuple(f"device {k}" for k in range(DEVICES))
    with Site(tmp_path / "fleet", labels=labels) as site:
        fleet = Fleet(site, tmp_path, chance)
        try:
            until(lambda: all(fleet.confirmed(k) for k in range(DEVICES)), 3 * PATIENCE)
            kinds: list[Callable[[float], None]] = [
                fleet.kill_server,
                fleet.kill_broker,
                fleet.kill_device,
            ]
            for turn in range(KILLS):
                kinds[turn % len(kinds)](chance.uniform(0, 2 * TICK))
                time.sleep(chance.uniform(0, 6 * TICK))
            heard = [len(fleet.confirmed(k)) for k in range(DEVICES)]
            until(
                lambda: all(len(fleet.confirmed(k)) > heard[k] + 2 for k in range(DEVICES)),
                3 * PATIENCE,
            )
        finally:
            fleet.stop()
        with closing(Store.open(site.folder)) as store:
            lines = Counter((record.device, record.sent) for record in store.lines.read())
            assert max(lines.values()) == 1
            for k in range(DEVICES):
                lost = {tick for tick in fleet.confirmed(k) if not lines[k, tick]}
                assert not lost
            assert store.verify().agrees
            export_messages(store, tmp_path / "messages.npz")
            server = store.recover()
        server.close(server.tick + TOLERANCE + 1)  # an export has what waits for its tick, too
        assert replay_messages(tmp_path / "messages.npz").w.tobytes() == server.w.tobytes()
        assert sum(lines.values()) >= sum(len(fleet.confirmed(k)) for k in range(DEVICES))
