"""A device as an application uses it, over a real broker."""

import gc
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.cli import main
from paofed.errors import FileError, InputError
from paofed.live.device import Device, NotJoinedError
from paofed.live.edge import Edge
from paofed.live.manifest import ManifestError
from paofed.live.mqtt import Link, packet_size
from paofed.live.state import save_state
from tests.live.brokers import PATIENCE, TICK, Site, sample, until, work


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A broker and a server for all tests here; each takes a device of its own."""
    labels = tuple(f"device {k}" for k in range(12))
    folder = tmp_path_factory.mktemp("site") / "fleet"
    with Site(folder, labels=labels) as site, site.served() as site.server:
        yield site


def test_nothing_can_be_learned_before_the_fleet_was_heard_of(tmp_path: Path, site: Site) -> None:
    broken = tmp_path / "device.json"
    text = site.files[0].read_text()
    broken.write_text(text.replace(str(site.fleet.settings.port), "1"))  # nobody listens there
    with Device(broken, state=tmp_path / "state.npz") as device:
        assert not device.knows_fleet()
        assert not device.contact(0.5)
        with pytest.raises(NotJoinedError, match="has not heard from its fleet yet: call contact"):
            device.learn([1.0, 2.0], 3.0)
        with pytest.raises(NotJoinedError):
            device.predict([1.0, 2.0])
        until(lambda: "refused" in device.why_not())
    assert not (tmp_path / "state.npz").exists()


def test_it_learns_predicts_and_contacts(site: Site) -> None:
    with site.device(0) as device:
        assert device.contact(PATIENCE)
        x, y = sample(3)
        before = abs(device.predict(x) - y)
        for _ in range(20):
            device.learn(x, y)
        assert abs(device.predict(np.array(x)) - y) < before / 2
        assert (device.device, device.label, device.fleet) == (0, "device 0", "g")
        assert device.why_not() == ""
        time.sleep(TICK)
        assert device.contact(PATIENCE)
        assert device.confirmed >= 1
        up, down = device.footprint.up, device.footprint.down
        assert up < 40
        assert down < 40
        assert device.bytes_sent == packet_size("g/u/0", bytes(6)) + 2 * up  # a hello, two updates


@pytest.mark.parametrize(
    ("x", "y"), [([1.0], 2.0), ([1.0, float("nan")], 2.0), ([1.0, 2.0], float("inf"))]
)
def test_a_bad_sample_changes_nothing(x: list[float], y: float, site: Site) -> None:
    with site.device(1) as device:
        assert device.contact(PATIENCE)
        before = device.edge.w.copy()
        with pytest.raises(InputError, match="expected"):
            device.learn(x, y)
        assert device.edge.w.tobytes() == before.tobytes()


def test_a_second_contact_in_a_tick_has_nothing_to_add(tmp_path: Path) -> None:
    with (
        Site(tmp_path / "fleet", tick_seconds=3600.0) as site,
        site.served(),
        site.device(0) as device,
    ):
        assert device.contact(PATIENCE)
        sent = device.bytes_sent
        assert device.contact(PATIENCE)
        assert device.bytes_sent == sent


def test_its_state_survives(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    with site.device(2, state=state) as device:
        work(device, 3)
        model = device.edge.w.copy()
        device.learn(*sample(9))
        model = device.edge.w.copy()
    offline = tmp_path / "offline.json"
    text = site.files[2].read_text()
    offline.write_text(text.replace(str(site.fleet.settings.port), "1"))
    with Device(offline, state=state) as device:  # no link: it knows all it needs
        assert device.knows_fleet()
        assert device.edge.w.tobytes() == model.tobytes()
        device.learn(*sample(4))
        assert not device.contact(0.0)
        model = device.edge.w.copy()
    with site.device(2, state=state) as device:
        assert device.edge.w.tobytes() == model.tobytes()
        assert device.contact(PATIENCE)


def test_what_was_not_confirmed_is_sent_in_the_next_life(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    with site.device(3, state=state) as device:
        work(device, 2)
        until(lambda: not device.edge.unconfirmed)
        device.contact(0.0)  # and not waiting for the reply
        time.sleep(TICK)
        device._link.close()
        device._inbox = type(device._inbox)()  # what arrived is lost with the power
        ticks = [update.tick for update in device.edge.unconfirmed]
    assert ticks
    with site.device(3, state=state) as device:
        assert [update.tick for update in device.edge.unconfirmed] == ticks
        before = site.server.status().counts.get("duplicates", 0)
        time.sleep(TICK)
        assert device.contact(PATIENCE)
        assert site.server.status().counts["duplicates"] > before  # known, and not counted again


def test_it_is_saved_now_and_then_and_not_more_often(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    with site.device(4, state=state, save_every=0.5) as device:
        assert device.contact(PATIENCE)
        until(lambda: (device.learn(*sample(1)), state.exists())[1])  # type: ignore[func-returns-value]
        written = state.stat().st_mtime_ns
        device.learn(*sample(2))
        assert state.stat().st_mtime_ns == written
        time.sleep(0.6)
        device.learn(*sample(2))
        assert state.stat().st_mtime_ns > written


def test_a_disk_that_is_full_does_not_end_the_learning(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with site.device(5, state=tmp_path / "nowhere" / "state.npz", save_every=0.0) as device:
        assert device.contact(PATIENCE)
        device.learn(*sample(1))
        assert device.edge.w.any()
    assert "the state cannot be saved" in caplog.text


def test_a_damaged_state_is_put_aside(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state.npz"
    state.write_bytes(b"flash wears out")
    with site.device(6, state=state) as device:
        assert not device.knows_fleet()
        assert device.contact(PATIENCE)
    assert "it is now state.npz.aside, and this device joins anew" in caplog.text
    assert (tmp_path / "state.npz.aside").read_bytes() == b"flash wears out"
    assert state.exists()


@pytest.mark.parametrize(("changes", "kept"), [({"step_size": 0.1}, True), ({"seed": 2}, False)])
def test_a_new_manifest_is_read(
    changes: dict[str, Any], kept: bool, site: Site, tmp_path: Path
) -> None:
    """The state is of an earlier manifest: the server says so, and the device reads the new one."""
    state = tmp_path / "state.npz"
    old = Edge(replace(site.manifest, epoch=2, **changes), 7)
    old.w[:] = 0.125
    old.joined = True
    save_state(state, old)
    with site.device(7, state=state) as device:
        assert device.manifest.epoch == 2
        assert device.contact(PATIENCE)
        assert device.manifest.epoch == 3
        assert (np.sum(device.edge.w == 0.125) > 4) == kept
        assert device._manifest_topic not in device._link._topics


def test_a_state_of_another_fleet_is_put_aside(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state.npz"
    old = Edge(replace(site.manifest, start=site.manifest.start - 1), 6)
    old.w[:] = 0.125
    save_state(state, old)
    with site.device(6, state=state) as device:
        assert not device.knows_fleet()
    assert "is of another fleet; it is now state.npz.aside" in caplog.text


def test_a_state_of_another_device_is_put_aside(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state.npz"
    save_state(state, Edge(site.manifest, 5))
    with site.device(6, state=state) as device:
        assert not device.knows_fleet()
    assert "is of another device; it is now state.npz.aside, and this device joins" in caplog.text
    assert (tmp_path / "state.npz.aside").exists()


def test_the_server_s_own_file_is_no_device_s(site: Site) -> None:
    with pytest.raises(InputError, match="is the server's own file"):
        Device(site.folder / "server.json")


# paho leaves the socket of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_broker_that_says_nothing_does_not_hold_a_device_up(tmp_path: Path, site: Site) -> None:
    threads = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        file = tmp_path / "device.json"
        port = str(silent.getsockname()[1])
        file.write_text(site.files[6].read_text().replace(str(site.fleet.settings.port), port))
        begin = time.monotonic()
        with Device(file) as device:
            assert not device.contact(0.5)
        assert time.monotonic() - begin < 10  # the library alone would wait for a minute
    until(lambda: threading.active_count() <= threads)
    gc.collect()


def test_a_manifest_that_cannot_be_followed(tmp_path: Path) -> None:
    with Site(tmp_path / "fleet", "none") as site:
        server = Link(site.fleet.credential(), ["g/u/+"], lambda *_: None)
        server.open()
        try:
            until(server.up.is_set)
            server.send("g/c", b'{"algorithm": "from the future"}', retain=True)
            with site.device(0) as device, pytest.raises(ManifestError, match="has no"):
                until(lambda: device.contact(0.2))
        finally:
            server.close()


def test_its_file_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"device.json cannot be read: No such file"):
        Device(tmp_path / "device.json")


# `paofed device run`


def run_device(
    site: Site, index: int, text: str, *options: str, environment: dict[str, str] | None = None
) -> tuple[str, str]:
    words = ["-m", "paofed", "device", "run", str(site.files[index]), *options]
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, *(["-S"] if environment else []), *words],
        input=text,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_samples_from_standard_input(site: Site, tmp_path: Path) -> None:
    text = (
        "b,a,y,comment\n"
        "0.5,0.25,11.0,good\n"
        "0.5,zero,11.0,bad\n"
        "\n"
        "0.5,0.25,,only to be predicted\n"
        "0.5,0.25,11.0,good\n"
    )
    state = tmp_path / "state.npz"
    out, err = run_device(site, 8, text, "--state", str(state))
    first, second, third = (float(line) for line in out.splitlines())
    assert abs(second - 11.0) < abs(first - 11.0)
    assert third == pytest.approx(second, abs=1.0)
    assert "line 3 is '0.5,zero,11.0,bad': expected 2 or 3 finite numbers (a, b, y)" in err
    assert "2 samples, 1 lines passed over; " in err
    assert "kB of memory; a contact is" in err
    out, _ = run_device(site, 8, '{"a": 0.25, "b": 0.5}\n', "--state", str(state))
    assert abs(float(out) - 11.0) < abs(first - 11.0)  # it remembers


def test_a_signal_saves_the_state(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    process = subprocess.Popen(  # noqa: S603 (our own program)
        [
            *(sys.executable, "-m", "paofed", "device", "run", str(site.files[9])),
            *("--state", str(state)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("0.5,0.25,11.0\n")
        process.stdin.flush()
        assert process.stdout.readline()
        time.sleep(0.5)
        assert not state.exists()
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert "interrupted" in err
    assert state.exists()


def test_numpy_and_paho_are_enough(site: Site, tmp_path: Path) -> None:
    """An environment with nothing else in it."""
    for name in ("numpy", "numpy.libs", "paho", "paofed"):
        spec = find_spec(name.partition(".")[0])
        assert spec is not None
        assert spec.submodule_search_locations is not None
        place = Path(spec.submodule_search_locations[0])
        source = place.with_name(name)
        if source.exists():
            (tmp_path / name).symlink_to(source)
    bare = {"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]}
    out, err = run_device(site, 10, "0.5,0.25,11.0\n" * 3, environment=bare)
    assert len(out.splitlines()) == 3
    assert "messages answered" in err
    found = subprocess.run(
        [sys.executable, "-S", "-c", "import cryptography"],
        env=bare,
        capture_output=True,
        check=False,
    )
    assert b"No module named 'cryptography'" in found.stderr


def test_a_device_that_cannot_join_says_why(site: Site, tmp_path: Path) -> None:
    broken = tmp_path / "device.json"
    broken.write_text(site.files[0].read_text().replace(str(site.fleet.settings.port), "1"))
    done = subprocess.run(  # noqa: S603 (our own program)
        [
            *(sys.executable, "-m", "paofed", "device", "run", str(broken)),
            *("--join-within", "0.5"),
        ],
        input="",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert "error: the fleet was not reached: [Errno" in done.stderr


def test_bad_numbers_of_the_command_line(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "run", str(site.files[0]), "--every", "0"]) == 2
    assert "expected --every of at least 1" in capsys.readouterr().err


def test_a_device_that_leaves_between_contacts(site: Site) -> None:
    with site.device(11, stay=False) as device:
        assert not device.knows_fleet()
        assert device.contact(PATIENCE)
        for number in range(3):
            device.learn(*sample(number))
            time.sleep(TICK)
            assert device.contact(PATIENCE)
            assert device._link.port() == 0
        assert device.confirmed >= 3


def test_a_server_that_is_down_does_not_hold_the_samples_up(tmp_path: Path) -> None:
    with Site(tmp_path / "fleet") as site:
        state = tmp_path / "state.npz"
        with site.served(), site.device(0, state=state) as device:
            work(device, 2)
        begin = time.monotonic()
        out, err = run_device(site, 0, "0.5,0.25,11.0\n" * 50, "--state", str(state))
        assert len(out.splitlines()) == 50
        assert "50 samples, 0 lines passed over; 0 of " in err
        assert time.monotonic() - begin < PATIENCE
