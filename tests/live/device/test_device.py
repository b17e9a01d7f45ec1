"""A device as an application uses it, over a real broker."""

import gc
import io
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from paofed.cli import main
from paofed.errors import InputError
from paofed.live.device import device as devices
from paofed.live.device import over_lines
from paofed.live.device.device import Device, NotJoinedError
from paofed.live.device.state import save_state
from paofed.live.fleet.authority import Authority
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import Link
from paofed.live.network.transport import packet_size
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.messages import Model, encode
from paofed.live.protocol.quantity import Quantity
from tests.effort import effort, long, some
from tests.live.brokers import (
    PATIENCE,
    Site,
    next_tick,
    sample,
    until,
    work,
    work_until_confirmed,
)
from tests.live.fleets import manifest
from tests.live.in_memory import folder_in_memory


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A broker and a server for all tests here; each takes a device of its own."""
    labels = tuple(f"device {k}" for k in range(12))
    with (
        folder_in_memory() as folder,
        Site(folder / "fleet", labels=labels) as site,
        site.served() as site.server,
    ):
        yield site


def offline(site: Site, index: int, folder: Path) -> Path:
    """A device's file with a port at which nobody listens."""
    file = folder / "offline.json"
    replace(Credential.load(site.files[index]), port=1).save(file)
    return file


def test_nothing_can_be_learned_before_the_fleet_was_heard_of(tmp_path: Path, site: Site) -> None:
    with Device(offline(site, 0, tmp_path), state=tmp_path / "state.npz") as device:
        assert not device.knows_fleet()
        assert not device.contact(0.5)
        with pytest.raises(NotJoinedError, match="has not heard from its fleet yet: call contact"):
            device.learn([1.0, 2.0], 3.0)
        with pytest.raises(NotJoinedError):
            device.predict([1.0, 2.0])
        until(lambda: "refused" in device.why_not())
    assert not (tmp_path / "state.npz").exists()


def test_it_learns_predicts_and_contacts(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_SHORTEST_WAIT", PATIENCE)  # one hello, however busy the machine
    with site.device(0) as device:
        assert device.contact(PATIENCE)
        x, y = sample(3)
        before = abs(device.predict(x) - y)
        for _ in range(20):
            device.learn(x, y)
        assert abs(device.predict(np.array(x)) - y) < before / 2
        assert (device.device, device.label, device.fleet) == (0, "device 0", "g")
        assert device.why_not() == ""
        next_tick(device)
        assert device.contact(PATIENCE)
        assert device.confirmed >= 1
        up, down = device.footprint.up, device.footprint.down
        assert up < 40
        assert down < 40
        assert device.bytes_sent == sum(packet_size("g/0/u", bytes(n)) for n in (6, 7)) + up
        # a hello, a read, an update


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
        work(device, 1)
        device.learn(*sample(9))
        model = device.edge.w.copy()
    with Device(offline(site, 2, tmp_path), state=state) as device:  # it knows all it needs
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
        known = site.server.status().counts["accepted"]
        device.learn(*sample(2))
        device.contact(0.0)  # and not waiting for the reply
        until(lambda: site.server.status().counts["accepted"] > known)
        device._link.close()
        device._inbox = type(device._inbox)()  # what arrived is lost with the power
        ticks = [update.tick for update in device.edge.unconfirmed]
    assert ticks
    with site.device(3, state=state) as device:
        assert [update.tick for update in device.edge.unconfirmed] == ticks
        before = site.server.status().counts.get("duplicates", 0)
        assert device.contact(PATIENCE)
        assert site.server.status().counts["duplicates"] > before  # known, and not counted again


@pytest.mark.usefixtures("remembering")
def test_it_is_saved_now_and_then_and_not_more_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, saved = [devices.seconds()], list[float]()
    monkeypatch.setattr(devices, "seconds", lambda: now[0])
    monkeypatch.setattr(devices, "save_state", lambda *_: saved.append(now[0]))
    with Device(tmp_path / "device.json", state=tmp_path / "state.npz", stay=False) as device:
        begun = now[0]
        for _ in range(130):
            device.learn(*sample(1))
            device.remember(*sample(2))
            now[0] += 1.0
        assert saved == [begun + 60.0, begun + 120.0]
    assert saved[2:] == [begun + 130.0]  # at the end, whenever that comes


def test_a_disk_that_is_full_does_not_end_the_learning(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with site.device(5, state=tmp_path / "nowhere" / "state.npz", save_every=0.0) as device:
        assert device.contact(PATIENCE)
        device.learn(*sample(1))
        assert device.edge.w.any()
    assert "the state cannot be saved" in caplog.text


@pytest.mark.parametrize(
    ("saved", "says"),
    [
        (Edge(manifest(), 3), "is no device's state"),  # torn, see below
        (Edge(manifest(start=2.0), 3), "is of another fleet"),
        (Edge(manifest(), 2), "is of another device"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_state_that_cannot_be_taken_up_is_put_aside(
    saved: Edge, says: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, state = tmp_path / "device.json", tmp_path / "at: 3" / "state.npz"
    state.parent.mkdir()
    Credential(fleet="g", since=1.0, name="3", label="x", host="127.0.0.1", port=1).save(file)
    save_state(state, saved)
    if says == "is no device's state":
        state.write_bytes(state.read_bytes()[:300])
    before = state.read_bytes()
    with Device(file, state=state, stay=False) as device:
        assert not device.knows_fleet()
    assert f"{state} {says}" in caplog.text
    assert "it is now state.npz.aside, and this device joins anew" in caplog.text
    assert state.with_name("state.npz.aside").read_bytes() == before


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
        assert isinstance(device._link, Link)
        assert device._topics.manifest not in device._link._topics


@pytest.fixture
def remembering(tmp_path: Path) -> Iterator[Device]:
    """A device with a state of an earlier manifest, and without any network."""
    file, state = tmp_path / "device.json", tmp_path / "state.npz"
    Credential(fleet="g", since=1.0, name="3", label="x", host="127.0.0.1", port=1).save(file)
    edge = Edge(manifest(), 3)
    edge.w[:] = 0.125
    edge.joined = True
    save_state(state, edge)
    with Device(file, state=state, stay=False) as device:
        yield device


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"epoch": 4}, True),
        ({"step_size": 0.1}, True),
        ({"shared": 3}, True),
        ({"algorithm": "pao-fed-c2"}, True),
        ({"max_age": 7}, True),
        ({"tick_seconds": 2.0}, True),
        ({"features": 9}, False),
        ({"kernel_width": 1.5}, False),
        ({"seed": 2}, False),
        ({"inputs": (Quantity(name="a", scale=3.0), Quantity(name="b"))}, False),
        ({"target": Quantity(name="y")}, False),
    ],
)
def test_a_model_stays_where_its_parameters_mean_the_same(
    changes: dict[str, Any], same: bool, remembering: Device
) -> None:
    remembering._adopt(manifest(**changes).to_json().encode())
    assert remembering.manifest == manifest(**changes)
    assert remembering.edge.joined == same
    assert (remembering.edge.w == 0.125).all() == same


def test_a_sample_that_makes_numbers_too_large_to_be_sent_is_told(
    remembering: Device, caplog: pytest.LogCaptureFixture
) -> None:
    remembering.learn([0.3, 1.7], 11.0)
    assert caplog.text == ""
    remembering.learn([0.3, 1.7], 1e30)
    assert not remembering.edge.w.any()
    (record,) = caplog.records
    assert record.getMessage() == (
        "with this sample, the model's numbers are too large to be sent (a wrong sample, or a step "
        "size of 0.4 that is too large): this device starts again from the fleet's model"
    )


def test_a_state_with_numbers_too_large_to_be_sent_is_told(
    remembering: Device, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    remembering.edge.w[:] = 1e9
    remembering.save()
    with Device(tmp_path / "device.json", state=tmp_path / "state.npz", stay=False) as again:
        assert again.knows_fleet()
        assert not again.edge.w.any()
    assert "with what was saved, the model's numbers are too large to be sent" in caplog.text


def test_a_late_reply_ends_the_silence(remembering: Device) -> None:
    remembering._link = Mock(**{"up.wait.return_value": True})
    assert not remembering.contact(0.01)
    assert remembering.why_not().startswith("no server answers: it is down, or")
    late = encode(Model(manifest().epoch, 4, np.zeros(manifest().features, dtype="<f4")))
    remembering._inbox.put((remembering._topics.down(3), late))
    assert remembering.why_not() == ""


def test_a_contact_that_does_not_wait_blames_nobody(remembering: Device) -> None:
    remembering._link = Mock(**{"up.wait.return_value": False})
    assert not remembering.contact(0.0)
    assert remembering.why_not() == ""
    assert not remembering.contact(0.01)
    assert remembering.why_not() == "the broker has not answered yet"


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
        assert time.monotonic() - begin < 30  # the library alone would wait for a minute
    until(lambda: threading.active_count() <= threads)
    gc.collect()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"not JSON", "the manifest is not JSON"),
        (b"", "the manifest is not JSON"),
        (b'{"wire": 4}', "the fleet speaks wire version 4, this paofed 3: upgrade paofed"),
        (manifest(epoch=4).to_json().replace("pao-fed-u1", "pao-fed-u9").encode(), "pao-fed-u9"),
        (manifest(epoch=4).to_json().replace('"seed":1', '"seed":2').encode(), "Fourier map"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_told_once(
    text: bytes, why: str, remembering: Device, caplog: pytest.LogCaptureFixture
) -> None:
    x, model = [0.3, 1.7], remembering.edge.w.copy()
    for _ in range(3):
        remembering._inbox.put(("g/c2", text))
        assert remembering.predict(x) == pytest.approx(remembering.edge.predict(np.array(x)))
    (record,) = caplog.records
    assert why in record.getMessage()
    assert record.getMessage().endswith("; this device goes on alone")
    assert "\n" not in record.getMessage()
    assert why in remembering.why_not()
    assert remembering.edge.w.tobytes() == model.tobytes()
    remembering.learn(x, 11.0)
    assert remembering.edge.w.tobytes() != model.tobytes()
    remembering._inbox.put(("g/c2", text + b" "))  # another one
    assert remembering.knows_fleet()
    assert len(caplog.records) == 2
    remembering._inbox.put(("g/c2", manifest(epoch=4).to_json().encode()))
    assert remembering.manifest.epoch == 4
    assert remembering.why_not() == ""


def test_a_manifest_that_cannot_be_read_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the largest thing that travels, and another one comes by itself."""
    asked: list[str] = []
    with Site(tmp_path / "fleet", "none") as site:
        server = Link(site.fleet.credential(), ["g/+/u"], lambda *_: None)
        server.open()
        try:
            until(server.up.is_set)
            server.send("g/c2", b'{"wire": 4}', retain=True)
            with site.device(0) as device:
                until(lambda: device.contact(0.2) or device.why_not())
                assert "upgrade paofed" in device.why_not()
                monkeypatch.setattr(device._link, "subscribe", asked.append)
                for _ in range(3):
                    assert not device.contact(0.1)
                assert asked == []
                server.send("g/c2", site.manifest.to_json().encode(), retain=True)
                until(device.knows_fleet)
        finally:
            server.close()


def test_a_manifest_that_does_not_come(remembering: Device) -> None:
    remembering._silent = True
    assert "no server answers" in remembering.why_not()
    remembering.edge.outdated = True
    assert "has a new manifest, which is not there" in remembering.why_not()


# Samples that are not plausible


def test_an_implausible_sample_is_counted_and_told_now_and_then(
    remembering: Device, caplog: pytest.LogCaptureFixture
) -> None:
    limited = tuple(number.limited() for number in manifest().inputs)
    target = replace(manifest().target, high=50.0)
    remembering._adopt(manifest(epoch=4, inputs=limited, target=target).to_json().encode())
    model = remembering.edge.w.copy()
    for _ in range(9):
        remembering.learn([0.3, 1.7], 1e6)
    assert remembering.implausible == 9
    assert remembering.edge.w.tobytes() == model.tobytes()
    assert [record.getMessage() for record in caplog.records] == [
        f"y is 1e+06: expected 50 or less; not learned from: {said}"
        for said in ("1 sample", "2 samples", "4 samples", "8 samples")
    ]
    remembering.learn([30.0, 1.7], 11.0)
    remembering.learn([0.3, 1.7], 11.0)
    assert remembering.implausible == 10
    assert remembering.edge.w.tobytes() != model.tobytes()
    remembering._adopt(manifest(epoch=5).to_json().encode())
    assert remembering.implausible == 10  # in this life, whatever the manifest


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


def test_samples_from_standard_input(site: Site) -> None:
    text = (
        "b,a,y,comment\n"
        "0.5,0.25,11.0,good\n"
        "0.5,zero,11.0,bad\n"
        "\n"
        "0.5,0.25,,only to be predicted\n"
        "0.5,0.25,11.0,good\n"
    )
    out, err = run_device(site, 8, text)
    first, second, third = (float(line) for line in out.split())
    assert [line == "" for line in out.splitlines()] == [False, True, False, False]
    assert abs(second - 11.0) < abs(first - 11.0)
    assert third == pytest.approx(second, abs=1.0)
    assert "line 3 is '0.5,zero,11.0,bad': expected 2 or 3 finite numbers (a, b, y)" in err
    assert "3 samples, 1 without a target, 0 implausible, 1 line passed over; " in err
    assert "kB of memory; a contact is" in err


@long
def test_a_device_without_targets_predicts_with_the_fleet_s_model(site: Site) -> None:
    """It joins, reads what the others learn meanwhile, and is never counted."""
    x, y = [0.25, 0.5], 14.0

    def accepted() -> int:
        return site.server.status().counts.get("accepted", 0)

    def errors(lines: int) -> list[float]:
        text = "".join(f"{x[0]},{x[1]}\n" for _ in range(lines))
        out, err = run_device(site, 10, f"a,b\n{text}")
        assert err.count("a line has no target") == 1
        return [abs(float(line) - y) for line in out.split()]

    (before,), known = errors(1), accepted()
    with site.device(11) as teacher:
        until(lambda: teacher.contact(PATIENCE) and teacher.edge.joined)
        for _ in range(30):
            next_tick(teacher)
            teacher.learn(x, y)
            teacher.contact(PATIENCE)
    site.server.settle()
    known = accepted()
    (after,) = errors(1)
    assert after < before / 2
    assert accepted() == known
    status = site.server.status()
    assert status.counts["reads"] >= 1
    with site.device(10) as reader:
        for _ in range(20):
            assert reader.contact(PATIENCE)
            next_tick(reader)
    (device,) = [one for one in site.server.status().devices if one.device == 10]
    assert (device.reads_only, device.faults, device.last_update) == (True, (), None)


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


Capsys = pytest.CaptureFixture[str]


def run_here(
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    file: Path,
    *options: str,
    samples: int = 2,
    linger: float = 0.5,
) -> tuple[int, str]:
    """`paofed device run` with some samples, in this process: its exit code, and what it says."""
    monkeypatch.setattr("sys.stdin", io.StringIO("0.5,0.25,11.0\n" * samples))
    monkeypatch.setattr(over_lines, "_LINGER", linger)
    code = main(["device", "run", str(file), "--quiet", *options])
    return code, capsys.readouterr().err


def met(site: Site, label: str, state: Path) -> Path:
    """Let a new device be in the fleet for a while; returns its file."""
    (path,) = site.fleet.add([label])
    file = state.with_name("device.json")
    file.write_text(path.read_text())
    with Device(file, state=state) as device:
        until(lambda: device.contact(1.0))
        device.learn(*sample(1))
    return file


def as_if_too_old(site: Site, file: Path) -> None:
    """What a clock that is years ahead makes of a certificate: it is no longer valid."""
    key = Authority.load(site.folder / "authority.pem")._key
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "g (a paofed fleet)")])
    then = datetime.now(UTC) - timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, then, then)
    expired = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    pem = expired.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()
    replace(Credential.load(file), authority=pem).save(file)


# paho leaves the socket of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("what", "why"),
    some(
        [
            ("rotated", "the broker ended the connection; it may not accept this certificate"),
            ("removed", "the broker ended the connection; it may not accept this certificate"),
            ("quarantined", "no server answers: it is down, or this device is quarantined"),
            ("clock", "the broker's certificate is not trusted: certificate has expired"),
        ],
        everyday=1,
    ),
)
def test_a_device_that_was_here_before_says_why_as_a_new_one_does(
    what: str,
    why: str,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
) -> None:
    state = tmp_path / "state.npz"
    file = met(site, what, state)
    if what == "rotated":
        site.fleet.rotate(what)
    elif what == "removed":
        site.fleet.remove(what)
    elif what == "quarantined":
        site.fleet.quarantine(what)
    else:
        as_if_too_old(site, file)
    # So that a busy machine hears the reason meanwhile, and not only that nobody answers yet.
    enough = effort(everyday=2, thorough=6)
    code, said = run_here(monkeypatch, capsys, file, f"--join-within={enough}")
    assert (code, said.count("error: the fleet was not reached: ")) == (2, 1)
    words = said.partition("error: the fleet was not reached: ")[2].strip()
    assert why in words
    code, said = run_here(monkeypatch, capsys, file, f"--wait={enough}", f"--state={state}")
    assert code == 0
    assert f"the fleet is not reached ({words}); it goes on learning" in said
    gc.collect()


def test_a_restart_where_nothing_is_wrong_says_nothing_of_it(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    state = tmp_path / "state.npz"
    file = met(site, "restarted", state)
    patient = f"--wait={PATIENCE}", f"--state={state}"
    _, said = run_here(monkeypatch, capsys, file, *patient, linger=PATIENCE)
    assert "reached" not in said
    assert re.search(r"([1-9]) of \1 messages answered", said)


def test_bad_numbers_of_the_command_line(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "run", str(site.files[0]), "--every", "0"]) == 2
    assert "--every is 0: expected a whole number" in capsys.readouterr().err


def test_a_device_that_leaves_between_contacts(site: Site) -> None:
    with site.device(11, stay=False) as device:
        assert not device.knows_fleet()
        assert device.contact(PATIENCE)
        for number in range(3):
            device.learn(*sample(number))
            next_tick(device)
            assert device.contact(PATIENCE)
            assert isinstance(device._link, Link)
            assert device._link.port() == 0
        work_until_confirmed(device, 3)


def test_a_server_that_is_down_does_not_hold_the_samples_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    with Site(tmp_path / "fleet", "none") as site:
        state = tmp_path / "state.npz"
        with site.served(), site.device(0, state=state) as device:
            work(device, 2)
        begin = time.monotonic()
        words = f"--state={state}", "--wait=0.5"
        code, said = run_here(monkeypatch, capsys, site.files[0], *words, samples=200)
        assert code == 0
        assert "200 samples, 0 implausible, 0 lines passed over; 0 of " in said
        assert time.monotonic() - begin < 200 * 0.5
