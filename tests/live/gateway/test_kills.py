"""kill -9 of gateway, server and both brokers at random moments, with telemetry coming in.

No update that a device of the gateway believes safe is lost, none counts twice, the journal
verifies, everybody comes back by themselves, and every source is the device that it was.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from paofed.demo.processes import Process, end, kill, serve, start
from paofed.live.fleet.mosquitto import LOCAL
from paofed.live.gateway.login import TelemetryLogin
from paofed.live.gateway.sources import FILE
from paofed.live.journal.store import Store
from paofed.live.network.mqtt import Mqtt
from tests.effort import long
from tests.live.brokers import PATIENCE, TICK, Site, until
from tests.live.gateway.sites import SETTINGS, reading
from tests.ports import free_port
from tests.system import needs

ROOT = Path(__file__).parents[3]
SOURCES = 5


class Plant:
    """A fleet with its server, a gateway and a broker of telemetry, each a process to be killed."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.port, self.program = free_port(), needs("mosquitto")
        file = site.fleet.add_gateway("hall", SOURCES)
        text = SETTINGS.format(file=file).replace("[inputs]", f"port = {self.port}\n[inputs]")
        (folder / "gateway.toml").write_text(f"save_every = {TICK}\n{text}")
        self.parts: dict[str, Process] = {}
        for part in ("telemetry", "server", "gateway"):
            self.begin(part)
        login = TelemetryLogin(host=LOCAL, port=self.port, client_id="plant")
        self.link = Mqtt().connect(login, ["none"], lambda *_: None)
        self.link.open()
        self.number = 0

    def begin(self, part: str) -> None:
        if part == "server":
            self.parts[part] = serve(self.site.fleet, self.folder / "server.log")
        elif part == "gateway":
            words = ["-m", "tests.live.gateway.worker", str(self.folder / "gateway.toml")]
            notes = str(self.folder / "notes.txt")
            log = self.folder / "gateway.log"
            self.parts[part] = start([sys.executable, *words, notes], log, ROOT)
        else:
            log = self.folder / "telemetry.log"
            self.parts[part] = start([self.program, "-p", str(self.port)], log)

    def kill(self, part: str, pause: float) -> None:
        if part == "broker":
            self.site.broker.kill()
            time.sleep(pause)
            self.site.broker.start()
        else:
            kill(self.parts[part])
            time.sleep(pause)
            self.begin(part)

    def confirmed(self) -> list[tuple[int, int]]:
        """Device and tick of every update that is believed safe."""
        path = self.folder / "notes.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(device), int(tick)) for device, tick in map(str.split, lines)]

    def speak(self, until_true: Callable[[], bool], seconds: float = 3 * PATIENCE) -> None:
        """Let all sources tell samples until something is true."""

        def told() -> bool:
            self.number += 1
            for k in range(SOURCES):
                self.link.send(f"plant/s{k}", reading(self.number + k))
            time.sleep(TICK / 4)
            return until_true()

        until(told, seconds)

    def places(self) -> dict[str, int]:
        content = json.loads((self.folder / "state" / FILE).read_text())
        return {name: source["device"] for name, source in content["sources"].items()}

    def close(self) -> None:
        self.link.close()
        kill(self.parts["gateway"])
        kill(self.parts["telemetry"])
        assert end(self.parts["server"]) == 0


def all_heard(plant: Plant, more: int, since: Counter[int]) -> bool:
    now = Counter(device for device, _ in plant.confirmed())
    return all(now[device] >= since[device] + more for device in plant.places().values())


@long
def test_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    chance = random.Random()  # noqa: S311 (no secret)
    with Site(tmp_path / "fleet", labels=()) as site:
        plant = Plant(site, tmp_path)
        try:
            plant.speak(lambda: len({device for device, _ in plant.confirmed()}) == SOURCES)
            places = plant.places()
            kinds = ["gateway", "server", "broker", "telemetry"]
            for turn in range(24):
                plant.kill(kinds[turn % 4], chance.uniform(0, 2 * TICK))
                ends = time.monotonic() + chance.uniform(0, 6 * TICK)
                plant.speak(lambda ends=ends: time.monotonic() > ends)  # type: ignore[misc]
            before = Counter(device for device, _ in plant.confirmed())
            plant.speak(lambda: all_heard(plant, 2, before))
            assert plant.places() == places
        finally:
            plant.close()
        with closing(Store.open(site.folder)) as store:
            lines = Counter((record.device, record.sent) for record in store.lines.read())
            assert max(lines.values()) == 1
            assert not set(plant.confirmed()) - set(lines)
            assert {device for device, _ in lines} == set(places.values())
            assert store.verify().agrees
