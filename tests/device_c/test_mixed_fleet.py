"""Devices in C and in Python in one fleet, on a real broker with TLS, while all are killed."""

import math
import random
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from paofed.cli import main
from paofed.demo.processes import Process, end, start
from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import LIBRARY, write_kit
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.network.credential import Credential
from paofed.live.server.clock import at_present
from tests.device_c.building import STRICT, require_libmosquitto, run
from tests.effort import long
from tests.lab.rehearsal.test_kills import DEVICES, SEED, Fleet
from tests.live.brokers import PATIENCE, TICK, Site, sample, until
from tests.system import needs

IN_C = (0, 2)
SAMPLES = 100_000


class MixedFleet(Fleet):
    """A fleet of which some devices are programs in C."""

    def __init__(
        self, site: Site, notes: Path, chance: random.Random, in_c: tuple[int, ...] = IN_C
    ) -> None:
        self.in_c = in_c
        if in_c:
            self.program = built(site, notes)
            lines = (",".join(map(repr, [*x, y])) for x, y in map(sample, range(SAMPLES // 100)))
            (notes / "samples.csv").write_text("\n".join([*lines, ""]) * 100, encoding="ascii")
        super().__init__(site, notes, chance)

    def start_device(self, k: int) -> Process:
        if k not in self.in_c:
            return super().start_device(k)
        credential = Credential.load(self.site.files[k])
        words = [self.program, "-h", credential.host, "-p", str(credential.port)]
        words += ["-t", credential.topics.up(k).removesuffix("/u")]
        for option, name in (("-a", "authority"), ("-c", "certificate"), ("-k", "key")):
            path = self.notes / f"{k}.{name}.pem"
            path.write_text(getattr(credential, name), encoding="ascii")
            words += [option, str(path)]
        words += ["-s", str(self.notes / f"{k}.state"), "-v", str(int(1000 * TICK))]
        words += ["-f", str(self.notes / "samples.csv"), "-i", str(int(500 * TICK))]
        return start(words, self.notes / f"{k}.log")

    def change(self) -> None:
        """Let the fleet agree on something else, for which a device in C needs no new header."""
        assert end(self.server) == 0
        assert main(["fleet", "change", str(self.site.folder), "--clip", "9"]) == 0
        self.server = self.start_server()

    def confirmed(self, k: int) -> list[int]:
        if k not in self.in_c:
            return super().confirmed(k)
        log = self.notes / f"{k}.log"
        whole = log.read_text(encoding="utf-8").rpartition("\n")[0] if log.exists() else ""
        words = (line.split() for line in whole.splitlines())
        return [int(said[1]) for said in words if said[:1] == ["confirmed"] and len(said) == 2]


def built(site: Site, folder: Path) -> str:
    """The program of docs/device-in-c.md, for a fleet."""
    require_libmosquitto()
    kit = folder / "firmware"
    write_kit(kit, agreed_in_c(site.manifest), "A fleet of the tests.")
    files = [str(kit / name) for name in ("posix.c", *LIBRARY)]
    program = str(folder / "posix")
    run([needs("gcc"), *STRICT, "-g", "-O1", *files, "-lmosquitto", "-o", program])
    return program


def lived(folder: Path, in_c: tuple[int, ...], kills: int, updates: int, **changes: Any) -> float:
    """Let a fleet learn while it is killed; returns the error of its model at new samples."""
    print(f"PAOFED_SEED={SEED}")  # noqa: T201 (shown with a failure)
    folder.mkdir()
    chance = random.Random(SEED)  # noqa: S311 (no secret)
    labels = tuple(f"device {k}" for k in range(DEVICES))
    with Site(folder / "fleet", labels=labels, **changes) as site:
        fleet = MixedFleet(site, folder, chance, in_c)
        try:
            until(lambda: all(fleet.confirmed(k) for k in range(DEVICES)), 3 * PATIENCE)
            for turn in range(kills):
                (fleet.kill_device, fleet.kill_broker, fleet.kill_server)[turn % 3](
                    chance.uniform(0, 2 * TICK)
                )
                wait_for(fleet, updates // kills)
            fleet.change()
            had = [len(fleet.confirmed(k)) for k in range(DEVICES)]
            until(
                lambda: all(len(fleet.confirmed(k)) > had[k] + 2 for k in range(DEVICES)),
                3 * PATIENCE,
            )
        finally:
            fleet.stop()
        with closing(Store.open(site.folder)) as store:
            lines = Counter((record.device, record.sent) for record in store.lines.read())
            model = FleetModel.of(at_present(store))
        assert max(lines.values()) == 1
        for k in range(DEVICES):
            assert not {tick for tick in fleet.confirmed(k) if not lines[k, tick]}
        assert main(["fleet", "verify", str(site.folder)]) == 0
    return error_of(model)


def wait_for(fleet: MixedFleet, updates: int) -> None:
    """Let so many more updates be confirmed."""

    def heard() -> int:
        return sum(len(fleet.confirmed(k)) for k in range(DEVICES))

    enough = heard() + updates
    until(lambda: heard() >= enough, 3 * PATIENCE)


def error_of(model: FleetModel) -> float:
    """Root mean squared, at samples that no device has learned from."""
    x, y = zip(*map(sample, range(10**6, 10**6 + 500)), strict=True)
    return math.sqrt(float(np.mean((model.predict(np.array(x)) - np.array(y)) ** 2)))


@long
def test_a_mixed_fleet_loses_nothing(tmp_path: Path) -> None:
    lived(tmp_path / "mixed", IN_C, 9, 40)


@long
def test_a_mixed_fleet_learns_as_well_as_python_alone(tmp_path: Path) -> None:
    """Both are far below the spread of the target, which is 3.7; kills come when they come."""
    agreed = {"features": 40, "shared": 8}
    mixed = lived(tmp_path / "mixed", IN_C, 3, 300, **agreed)
    alone = lived(tmp_path / "python", (), 3, 300, **agreed)
    print(f"mixed {mixed:.3f}, Python alone {alone:.3f}")  # noqa: T201 (shown with a failure)
    assert mixed < 1.35 * alone
    assert mixed < 1.5
