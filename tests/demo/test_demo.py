"""The demonstration: it ends by itself, tells the truth, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.core.metrics import decibels
from paofed.demo import play as playing
from paofed.demo import scene as accounting
from paofed.demo.play import Play
from paofed.demo.processes import find_broker
from paofed.demo.scene import Account, account_of, first_tick, manifest_of, scenario_of
from paofed.live.fleet.settings import Settings
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Send
from paofed.live.protocol.edge import Edge
from paofed.live.server.status import Status
from paofed.world.realize import realize
from paofed.world.trace import Trace
from tests.effort import effort, long, some
from tests.live.brokers import PATIENCE, until
from tests.system import needs


def test_the_live_map_is_the_simulated_world_s() -> None:
    scenario = scenario_of(4, 40)
    trace = realize(scenario, seed=5)
    manifest = manifest_of(scenario, 5, 0.1, 1.0)
    x = trace.x_test[:5]
    assert np.array_equal(manifest.fourier_map(manifest.scaled(x)), trace.fourier_map(x))


def test_with_nothing_failing_the_curves_are_the_same(tmp_path: Path) -> None:
    """Devices and server without a network, tick by tick: then live equals the simulator."""
    scenario = scenario_of(5, 60)
    first = first_tick(3, scenario)
    assert first == 50
    trace = realize(scenario, seed=1)
    manifest = manifest_of(scenario, 1, 1.0, 1.0)
    store = Store.create(tmp_path, manifest)
    Settings(name="f").save(tmp_path)
    sent: list[Send] = []
    host = Host(store, sent.append, snapshot_every=1000)
    edges = [Edge(manifest, host.add(f"device {k}")) for k in range(5)]

    def contact(k: int, n: int) -> None:
        message = edges[k].contact(float(n))
        assert message is not None
        host.receive(k, message)
        host.flush()
        for send in sent:
            edges[send.device].receive(send.payload, float(n))
        sent.clear()

    for k in range(5):
        contact(k, 0)  # a hello
    for n in range(first, first + 60):
        host.advance(n)
        for k in range(5):
            if trace.has_data[n - first, k]:
                edges[k].learn(trace.x[n - first, k], float(trace.y[n - first, k]))
            if trace.available[n - first, k]:
                contact(k, n)
    host.advance(first + 60)
    host.snapshot()
    store.close()
    account = account_of(tmp_path, trace, first)
    assert account.verified
    assert account.contacts[-1] == trace.available.sum()
    np.testing.assert_allclose(account.live, account.simulated, rtol=1e-4)
    assert account.full_bytes > 1600


@pytest.mark.parametrize("broker", some(["mosquitto", "nats-server"], everyday=1))
def test_a_small_fleet_lives_and_is_held_to_account(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = needs("mosquitto") if broker == "mosquitto" else nats()
    monkeypatch.setattr(playing, "find_broker", lambda: program)
    monkeypatch.setattr(playing, "_BETWEEN", (0.3, 0.6))
    monkeypatch.setattr(playing, "_CALM", 2.0)
    accounts: list[tuple[Account, Trace]] = []

    def kept(folder: Path, trace: Trace, first: int) -> Account:
        accounts.append((account_of(folder, trace, first), trace))
        return accounts[0][0]

    monkeypatch.setattr(accounting, "account_of", kept)
    out = tmp_path / "pictures" / "demo.png"
    ticks = str(effort(everyday=60, thorough=150))  # CI's machine is busy: less happens in a tick
    words = ["demo", "--devices", "3", "--ticks", ticks, "--tick", "0.1", "--out", str(out)]
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verified"] is True
    assert said["updates"] > 10
    assert sum(said["misfortunes"].values()) > 3
    assert 0 < said["bytes"] < said["bytes_full"]
    # How many updates a fleet that fails so often gets through depends on the machine. Each brings
    # at least what one brings in the simulation, and more where its device has learned from many
    # samples since the last that got through. So the fleet stands between the simulation at the
    # tick when its server had heard as many, and the simulation's end, when all is learned.
    account, trace = accounts[0]
    as_many = np.searchsorted(trace.available.sum(axis=1).cumsum(), said["updates"])
    least, most = decibels(account.simulated[[-1, as_many]])
    assert least - 0.5 < said["live_db"] < most + 0.5
    assert out.read_bytes().startswith(b"\x89PNG")


def nats() -> str:
    program = Path(sys.executable).with_name("nats-server")
    assert program.exists()  # of the extra `demo`, which the tests install
    return str(program)


def every_device_was_heard(status: Status | None) -> bool:
    return status is not None and all(device.last_seen is not None for device in status.devices)


@long
def test_every_misfortune_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("mosquitto")
    # Misfortunes take longer than a busy machine from one scene to the next, and the play longer
    # than such a machine takes to start a device again.
    monkeypatch.setattr(playing, "_DOWN", dict.fromkeys(playing._DOWN, (5.0, 5.0)))
    scenario = scenario_of(2, 3000)
    manifest = manifest_of(scenario, 0, 0.1, time.time())
    play = Play(tmp_path / "fleet", manifest, realize(scenario), 50, 0)
    with play.running():
        scenes = play.scenes(calm=True)
        until(lambda: next(scenes).status is not None)
        for kind in ("kill device", "cut link"):
            play._trouble(kind, 1)
            assert next(scenes).away == {1: {"kill device": "killed", "cut link": "cut off"}[kind]}
            until(lambda: not next(scenes).away)
        until(lambda: every_device_was_heard(next(scenes).status))


def children(place: str) -> list[str]:
    """The command lines of processes that name a place."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if place in words:
            found.append(words)
    return found


@pytest.mark.parametrize(
    "number", some([signal.SIGKILL, signal.SIGINT, signal.SIGTERM], everyday=1)
)
def test_interrupted_it_leaves_no_process_behind(number: int, tmp_path: Path) -> None:
    needs("mosquitto")
    words = ["demo", "--devices", "3", "--out", str(tmp_path / "demo.png")]
    process = subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-m", "paofed", *words],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        until(lambda: len(children(f"{tmp_path}/paofed-demo-")) >= 5)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    until(lambda: not children(f"{tmp_path}/paofed-demo-"))
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    assert not (tmp_path / "demo.png").exists()
    if number != signal.SIGKILL:
        assert not list(tmp_path.glob("paofed-demo-*"))


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--devices", "201", "--devices is 201: expected 1 to 200"),
        ("--ticks", "3", "--ticks is 3: expected at least 20"),
        ("--tick", "nan", "--tick is nan: expected"),
        ("--out", "demo.foo", "demo.foo is no figure's name"),
    ],
)
def test_nothing_to_show(
    option: str, value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", option, value]) == 2
    assert says in capsys.readouterr().err


def test_mosquitto_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("mosquitto", "nats-server"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_broker() == str(tmp_path / "mosquitto")
    monkeypatch.setattr("paofed.demo.processes._PLACES", ())
    (tmp_path / "mosquitto").unlink()
    assert find_broker() == str(tmp_path / "nats-server")
