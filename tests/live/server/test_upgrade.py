"""A living fleet is upgraded: its server first, then its devices, each when its time comes.

The old side is the released code of wire version 1 (tests/data/README.md), in processes of its own.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from paofed.demo.processes import LocalBroker, free_port
from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from tests.live.brokers import PATIENCE, TICK, Server, sample, until
from tests.live.stores import ask
from tests.system import needs

_OLD = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "data/paofed-wire-1.zip")}
_WORDS = (sys.executable, "-P")
_MAKE = f"""
import sys, time
from paofed.live.folder import Fleet
from paofed.live.manifest import Manifest, Scaling
from paofed.live.settings import Settings
folder, port = sys.argv[1:]
agreed = Manifest(
    algorithm="pao-fed-u1", features=40, shared=2, kernel_width=1.0, seed=1, step_size=0.4,
    max_age=200, tick_seconds={TICK}, start=float(int(time.time())), epoch=255,
    inputs=(Scaling(name="a"), Scaling(name="b")), target=Scaling(name="y", offset=10.0, scale=4.0),
)
fleet = Fleet.create(folder, Settings(name="g", port=int(port), http=""), agreed)
list(fleet.add(["north", "south"]))
"""


class OldDevice:
    """`paofed device run` of the old code, and what it says."""

    def __init__(self, file: Path, state: Path) -> None:
        self._log = state.with_suffix(".log")
        with self._log.open("w") as log:
            self._process = subprocess.Popen(  # noqa: S603 (our own program)
                [*_WORDS, "-m", "paofed", "device", "run", str(file), "--state", str(state)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=_OLD,
            )

    def measures(self, x: list[float], y: float | str = "") -> float:
        """A sample, or an input alone; what it predicts."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{x[0]!r},{x[1]!r},{y}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def says(self, word: str) -> list[str]:
        """Lines of its log."""
        return [line for line in self._log.read_text().splitlines() if word in line]

    def ends(self) -> None:
        """Its input is over."""
        self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        if self._process.returncode is None:
            self._process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An old fleet's folder, and its broker."""
    program, folder = needs("mosquitto"), tmp_path / "fleet"
    made = [*_WORDS, "-c", _MAKE, str(folder), str(free_port())]
    subprocess.run(made, env=_OLD, check=True)  # noqa: S603
    with LocalBroker(Fleet(folder), program):
        yield folder


@contextmanager
def old_server(folder: Path) -> Iterator[None]:
    process = subprocess.Popen(  # noqa: S603 (our own program)
        [*_WORDS, "-m", "paofed", "fleet", "serve", str(folder)], env=_OLD
    )
    try:
        yield
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def lines(folder: Path) -> int:
    return int(ask(folder, "SELECT count(*) FROM journal")[0][0])


def test_a_living_fleet_is_upgraded(folder: Path, tmp_path: Path) -> None:
    north, south = (folder / "devices" / f"{k}.json" for k in ("0-north", "1-south"))
    state, fixed = tmp_path / "north.npz", [0.4, -0.2]
    with OldDevice(north, state) as old:
        with old_server(folder):
            number = 0
            while lines(folder) < 5:
                old.measures(*sample(number := number + 1))
                assert number < 10_000
        before = old.measures(fixed)
        upgraded = Server(Fleet(folder))
        upgraded.thread.start()
        try:
            until(upgraded.connected)
            with Fleet(folder).store() as store:
                assert store.manifest().epoch == 0  # after 255
                assert (store.manifest().clip, store.manifest().inputs[0].low) == (None, None)
                assert store.verify().agrees
            goes_on_alone(old, upgraded, before, fixed)
            with OldDevice(
                south, tmp_path / "south.npz"
            ) as late:  # the old manifest is still there
                for _ in range(20):
                    error = abs(late.measures(fixed, 12.0) - 12.0)
                assert error < 1.0
                assert not late.says("Traceback")
            last = old.measures(fixed)
            old.ends()
            joins_with_its_model(north, state, fixed, last, upgraded)
        finally:
            upgraded.stop()


def goes_on_alone(old: OldDevice, server: Server, before: float, fixed: list[float]) -> None:
    """It is told to read a manifest that it does not find, says so once, and learns on."""
    accepted = server.status().counts["accepted"]
    for _ in range(50):
        old.measures(fixed, before + 2.0)
        if server.status().counts.get("refused: epoch", 0) >= 1:
            break
    for _ in range(20):
        after = old.measures(fixed, before + 2.0)
    assert abs(after - (before + 2.0)) < 0.5
    until(lambda: old.says("not reached"))
    (told,) = old.says("not reached")
    assert "it goes on learning" in told
    assert server.status().counts["accepted"] == accepted


def joins_with_its_model(
    file: Path, state: Path, fixed: list[float], last: float, server: Server
) -> None:
    """The new code takes up what the old one left, and is a device of the fleet again."""
    accepted = server.status().counts["accepted"]
    with Device(file, state=state) as device:
        assert device.manifest.epoch == 255
        model = device.edge.w.copy()
        assert device.predict(fixed) == pytest.approx(last, abs=1e-6)
        until(lambda: device.contact(PATIENCE))
        assert device.manifest.epoch == 0
        replaced = np.count_nonzero(device.edge.w != model)
        assert replaced <= device.manifest.shared * device.answered
        assert device.confirmed == 1  # what waited was of an earlier epoch, and is gone
    assert server.status().counts["accepted"] == accepted + 1
