"""A fleet over a real broker: who is served, who is not, and what happens when things go wrong."""

import json
import random
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from paofed.live.device.device import Device
from paofed.live.fleet.authority import Authority
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import StoreError, TakenOverError
from paofed.live.journal.store import Store
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import Link
from paofed.live.network.transport import packet_size
from paofed.live.server import broker_log, service
from tests.effort import some
from tests.live.brokers import (
    PATIENCE,
    Server,
    Site,
    next_tick,
    sample,
    until,
    work,
    work_until_confirmed,
)
from tests.live.fleets import update
from tests.live.in_memory import folder_in_memory
from tests.ports import free_port
from tests.system import needs

TICK = 0.1


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server look at its fleet ten times a second."""
    monkeypatch.setattr(service, "_LOOK_AGAIN", 0.1)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A broker with certificates, two devices; no server yet."""
    with Site(tmp_path / "fleet", tick_seconds=TICK) as site:
        yield site


@pytest.fixture(scope="module")
def living() -> Iterator[Site]:
    """The same with a server, for tests that leave both as they were."""
    with (
        folder_in_memory() as folder,
        Site(folder / "fleet", tick_seconds=TICK) as site,
        site.served() as site.server,
    ):
        yield site


def journal(folder: Path) -> list[tuple[int, int]]:
    """(device, tick) of every line."""
    with closing(Store.open(folder)) as store:
        return [(record.device, record.sent) for record in store.lines.read()]


def again(device: Device, wait: float = 1.0) -> bool:
    """Contact in the next tick."""
    next_tick(device)
    return device.contact(wait)


def is_cut_off(device: Device, site: Site) -> None:
    """Nothing of what it learns and sends is taken any more, once its broker was told."""
    until(lambda: not again(device))
    last = device.edge.stamped
    for number in range(3):
        device.learn(*sample(number))
        assert not again(device, TICK)
    assert all(sent <= last for who, sent in journal(site.folder) if who == device.device)


@pytest.mark.parametrize("security", ["certificate", "password", "none"])
def test_devices_learn_together(security: str, tmp_path: Path) -> None:
    with Site(tmp_path / "fleet", security, tick_seconds=TICK) as site:  # type: ignore[arg-type]
        with site.served() as server, site.device(0) as north, site.device(1) as south:
            assert work(north, 4) == work(south, 4) == 4
            own = packet_size("g/s", bytes(29))  # the server's name for itself, which it hears

            def all_is_told() -> bool:
                """Whether the last reply is there, too, where a hello had several answers."""
                assert north.knows_fleet()
                assert south.knows_fleet()
                status = server.status()
                assert status.service is not None
                received = status.service.bytes_received - own
                return (north.confirmed + south.confirmed, received) == (
                    status.counts["accepted"],
                    north.bytes_sent + south.bytes_sent,
                )

            until(all_is_told)
            status = server.status()
            assert status.counts["accepted"] >= 6
            assert status.service is not None
            assert status.service.problems == ()
            assert [d.messages > 0 for d in status.devices] == [True, True]
            assert not status.service.broker_refused
            site.files.extend(site.fleet.add(["west"]))
            with site.device(2) as west:  # is served as well, and has learned nothing
                until(lambda: west.contact(1.0))
                assert west.device == 2
        lines = journal(site.folder)
        assert len(lines) == len(set(lines)) == status.counts["accepted"]
        with closing(Store.open(site.folder)) as store:
            assert store.verify().agrees
            assert store.recover().w.any()


def test_a_device_that_joins_gets_the_model(living: Site) -> None:
    with living.device(0) as north:
        work(north, 4)
        living.server.settle()
    with living.device(1) as south:
        assert south.contact(PATIENCE)
        x, _ = sample(1)
        assert south.predict(x) != south.manifest.target.offset  # what a zero model says


# Who gets nowhere


def turned_away(credentials: list[Credential], reason: str, server: Server) -> None:
    """Try to connect; all must fail, show in the counts, and nothing be heard."""
    reasons: list[list[str]] = [[] for _ in credentials]
    with ExitStack() as stack:
        links = []
        for credential, said in zip(credentials, reasons, strict=True):
            links.append(Link(credential, ["g/0/d"], lambda *_: None, lost=said.append))
            links[-1].open()
            stack.callback(links[-1].close)
            before = server.refused(reason)
            until(lambda said=said, before=before: said and server.refused(reason) > before)  # type: ignore[misc]
        assert not any(link.up.is_set() or link.send("g/0/u", b"hello") for link in links)
    assert server.status().counts == {}


def no_longer_known(site: Site) -> tuple[Credential, Credential]:
    """What a device had before it got another, and what one had that was removed."""
    north, south = (Credential.load(path) for path in site.files)
    site.fleet.rotate("north")
    site.fleet.remove("south")
    return north, south


def test_a_certificate_that_is_foreign_missing_rotated_or_removed(site: Site) -> None:
    rotated, removed = no_longer_known(site)
    known, issued = Credential.load(site.files[0]), Authority.create("g").issue("g/0", years=1)
    foreign = replace(known, certificate=issued.certificate, key=issued.key)
    none = replace(known, certificate=None, key=None)
    with site.served() as server:
        turned_away([foreign, none, rotated, removed], "certificate", server)


def test_a_password_that_is_wrong_missing_rotated_or_removed(tmp_path: Path) -> None:
    with Site(tmp_path / "fleet", "password") as site:
        rotated, removed = no_longer_known(site)
        known = Credential.load(site.files[0])
        wrong, none = (replace(known, password=password) for password in ("wrong", None))
        with site.served() as server:
            turned_away([wrong, none, rotated, removed], "password", server)


def test_a_device_whose_clock_is_in_1970_trusts_the_broker(living: Site, tmp_path: Path) -> None:
    """OpenSSL judges certificates by the time that `-attime` gives, as a device by its clock."""
    credential, files = Credential.load(living.files[0]), []
    for name in ("authority", "certificate", "key"):
        (tmp_path / name).write_text(getattr(credential, name))
        files.append(str(tmp_path / name))
    place = f"localhost:{living.fleet.settings.port}"
    command = [needs("openssl"), "s_client", "-connect", place, "-verify_return_error"]
    command += ["-CAfile", files[0], "-cert", files[1], "-key", files[2], "-attime"]
    for seconds, trusts in ((5, True), (1_000_000_000, True), (4_102_444_800, False)):
        found = subprocess.run(  # noqa: S603 (OpenSSL's own program)
            [*command, str(seconds)], input="", capture_output=True, text=True, timeout=PATIENCE
        )
        assert (found.returncode == 0, "Verification: OK" in found.stdout) == (trusts, trusts)


# paho leaves the socket of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_with_a_foreign_certificate_is_not_trusted(living: Site) -> None:
    own = Authority.create("g")
    credential = replace(Credential.load(living.files[0]), authority=own.certificate)
    reasons: list[str] = []
    link = Link(credential, ["g/0/d"], lambda *_: None, lost=reasons.append)
    link.open()
    try:
        until(lambda: reasons)
    finally:
        link.close()
    assert "certificate is not trusted" in reasons[0]


@pytest.mark.parametrize("security", some(["certificate", "password"], everyday=1))
def test_whoever_is_removed_or_has_a_new_file_is_cut_off_at_once(
    security: str, tmp_path: Path
) -> None:
    with (
        Site(tmp_path / "fleet", security, tick_seconds=TICK) as site,  # type: ignore[arg-type]
        site.served(),
        site.device(0) as north,
        site.device(1) as south,
    ):
        work(north, 2)
        work(south, 2)
        site.fleet.remove("north")
        assert site.fleet.told
        is_cut_off(north, site)
        assert work(south, 1) == 1
        site.fleet.rotate("south")
        is_cut_off(south, site)
        with site.device(1) as new:
            assert new.contact(PATIENCE)


@pytest.mark.parametrize("security", some(["none", "certificate"], everyday=1))
def test_quarantine_and_removal_reach_a_running_server(security: str, tmp_path: Path) -> None:
    with (
        Site(tmp_path / "fleet", security, tick_seconds=TICK) as site,  # type: ignore[arg-type]
        site.served() as server,
        site.device(0) as north,
    ):

        def refuses(why: str) -> bool:
            """Whether the server refuses what comes; from elsewhere, the broker passes nothing."""
            before = server.status().counts.get(f"refused: {why}", 0)
            return not again(north) and server.status().counts.get(f"refused: {why}", 0) > before

        work(north, 2)
        site.fleet.quarantine("north")
        until(lambda: not again(north))
        until(lambda: refuses("quarantined") == (security == "none"))  # as soon as both know it
        site.fleet.quarantine("north", on=False)
        until(lambda: again(north))
        site.fleet.remove("north")
        until(lambda: not again(north))
        until(lambda: refuses("removed") == (security == "none"))
        assert [d.standing for d in server.status().devices] == ["removed", "member"]


def counts_from_a_beginning(server: Server, device: Device) -> bool:
    """Whether the server has a number of the broker's from which it can count exactly.

    The broker tells its number once it has changed, at a time of its own; the number is exact where
    the server has sent nothing just before. So a device sends something now and then.
    """
    log = server.service._broker
    if log._base is None or log._slack:
        again(device)
        time.sleep(random.uniform(1.0, 2.0))  # noqa: S311 (out of step with the broker)
    return log._base is not None and log._slack == 0


def test_writing_to_the_topic_of_another(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_log, "_SETTLED", 0.5)
    site.broker.kill()
    configuration = site.folder / "broker" / "mosquitto.conf"
    text = configuration.read_text()
    assert "sys_interval 2" in text
    configuration.write_text(text.replace("sys_interval 2", "sys_interval 1"))
    site.broker.start()
    forged, tries = update(1), 7
    with site.served() as server, site.device(1) as south:
        with site.link(0, "g/1/d") as link:
            work(south, 2)
            until(lambda: counts_from_a_beginning(server, south))
            for _ in range(tries):
                link.send("g/1/u", forged)
                link.send("g/1/d", forged)
                link.send("g/c2", forged, retain=True)
            until(lambda: server.refused("topic") >= tries)
        assert server.status().counts.keys() <= {"accepted", "reads", "hellos", "duplicates"}
        assert south.contact(PATIENCE)
        assert {device for device, _ in journal(site.folder)} == {1}


def test_nobody_reads_what_is_for_another(living: Site) -> None:
    heard: list[str] = []
    with living.device(1) as south:
        link = Link(
            Credential.load(living.files[0]),
            ["g/0/d", "g/1/d", "g/#", "g/s", "$SYS/#"],
            lambda topic, _: heard.append(topic),
        )
        link.open()
        try:
            until(link.up.is_set)
            assert work(south, 3) == 3
        finally:
            link.close()
    assert set(heard) <= {"g/c", "g/c2"}


def test_no_device_can_push_another_off(living: Site) -> None:
    """It may call its connection what it likes: the broker goes by the name it has checked."""
    with living.device(1) as south:
        assert south.contact(PATIENCE)
        thief = Link(Credential.load(living.files[0]), ["g/0/d"], lambda *_: None)
        thief.client_id = "g/1"
        thief.open()
        try:
            until(thief.up.is_set)
            assert work(south, 3) == 3
            assert south.why_not() == ""
        finally:
            thief.close()


# When things go wrong


def test_a_message_that_is_too_long_or_of_a_wrong_length_is_refused(site: Site) -> None:
    with site.served() as server, site.device(1) as south:
        with site.link(0) as link:
            link.send("g/0/u", bytes(100_000))  # ends its connection
            until(lambda: server.refused("oversized packet") == 1)
        assert server.status().counts == {}
        assert work(south, 2) == 2
        with site.link(0) as link:
            for _ in range(12):
                link.send("g/0/u", bytes(1000))
            until(lambda: server.status().counts.get("refused: version", 0) == 12)
        assert any("device 0 (north) is refused again and again" in line for line in server.said)


@contextmanager
def flooding(link: Link) -> Iterator[None]:
    """Send as much as goes out, while the block lasts."""
    stop = threading.Event()

    def flood() -> None:
        while not stop.wait(0.01):
            for number in range(200):
                link.send("g/0/u", update(number))

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_flood_does_not_drown_the_others(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Much is refused, and no more; who floods is quarantined, at the broker too.

    How many messages a second arrive depends on the machine: what is much, and what is a flood, is
    told apart here by the limit, and in test_flood by exact numbers.
    """
    monkeypatch.setattr(service, "_FLOOD", 1_000_000)
    with site.served() as server, site.device(1) as south:
        assert south.contact(PATIENCE)
        with site.link(0) as link:

            def much() -> bool:  # on a busy machine a tick may end before many have come
                for number in range(20):
                    link.send("g/0/u", update(number))
                return server.status().counts.get("refused: flood", 0) > 50

            until(much)
            standings = [device.standing for device in server.status().devices]
            assert standings == ["member", "member"]
            monkeypatch.setattr(service, "_FLOOD", 100)
            with flooding(link):
                until(lambda: any("(north) sends" in line for line in server.said))
                assert work(south, 4) == 4

                def is_over() -> bool:
                    before = server.status().counts["refused: quarantined"]
                    time.sleep(0.5)
                    return server.status().counts["refused: quarantined"] == before

                until(is_over)  # it ends at the broker
        site.fleet.quarantine("north", on=False)
        with site.device(0) as north:
            until(lambda: again(north))


def test_two_servers_of_one_folder(living: Site) -> None:
    with pytest.raises(StoreError, match="is running: stop it first, or leave it at work"):
        Server(living.fleet).service.run()
    assert living.server.error is None
    assert living.server.status().tick >= 0


def copied(site: Site, place: Path) -> Fleet:
    """The same fleet in another folder, with another port for its health."""
    shutil.copytree(site.folder, place / "copy")
    settings = replace(site.fleet.settings, http=f"127.0.0.1:{free_port()}")
    settings.save(place / "copy")
    return Fleet(place / "copy")


def test_two_servers_with_one_identity(site: Site, tmp_path: Path) -> None:
    with site.served() as first, site.device(0) as north:
        work(north, 1)
        with site.served(copied(site, tmp_path)) as second:
            first.thread.join(PATIENCE)
            assert isinstance(first.error, TakenOverError)
            assert "another server has taken this one's place" in str(first.error)
            until(lambda: north.contact(1.0))
            until(lambda: second.status().service.problems == ())  # type: ignore[union-attr]
            assert second.error is None


def test_the_broker_forgets_which_of_two_servers_is_newer(site: Site, tmp_path: Path) -> None:
    with site.served() as first:
        site.broker.kill()
        second = Server(copied(site, tmp_path))
        second.thread.start()
        site.broker.start()
        first.thread.join(2 * PATIENCE)
        assert isinstance(first.error, TakenOverError)
        until(second.connected)
        until(lambda: second.status().service.problems == ())  # type: ignore[union-attr]
        second.stop()
        assert second.error is None


def test_a_topic_that_is_no_index(tmp_path: Path) -> None:
    with Site(tmp_path / "fleet", "none") as site, site.served() as server:
        with site.link(0) as link:
            for index in ("9" * 500, "\u0663", "-1", "", "1e3", "9999999999"):
                link.send(f"g/{index}/u", update(1))
            until(lambda: server.status().counts.get("refused: unknown device") == 1)
            assert link.up.is_set()
        with site.device(1) as south:
            assert south.contact(PATIENCE)


def jumps(server: Server) -> list[float]:
    """By how many seconds a server says that its clock has jumped."""
    said = (re.match(r"the clock jumped by ([-+][0-9.]+) s: tick", line) for line in server.said)
    return [float(words[1]) for words in said if words]


def test_the_clock_jumps(tmp_path: Path) -> None:
    offset = [0.0]

    def wall() -> float:
        return time.time() + offset[0]

    with (
        Site(tmp_path / "fleet", max_age=4, tick_seconds=TICK) as site,
        site.served(wall=wall) as server,
        site.device(0) as north,
    ):
        work_until_confirmed(north, 1)
        before = server.status().tick
        offset[0] = 250.0
        until(lambda: server.status().tick >= before + 2500)
        assert jumps(server) == pytest.approx([250.0], abs=10)
        # To the server, what the device knows of time is now too old; it finds out and goes on.
        until(lambda: again(north, TICK))  # after ten contacts without an answer
        offset[0] = 0.0
        until(lambda: len(jumps(server)) > 1)
        held = server.status().tick
        assert jumps(server) == pytest.approx([250.0, -250.0], abs=10)
        (problem,) = server.status().service.problems  # type: ignore[union-attr]
        assert re.match(r"the clock is 2\d\d s behind the journal, and no tick closes", problem)
        assert "`paofed fleet clock`" in problem
        time.sleep(3 * TICK)
        assert server.status().tick == held
        assert server.status().service.clock_jumps == 2  # type: ignore[union-attr]


def test_the_broker_dies_and_comes_back_with_nothing(site: Site) -> None:
    with site.served() as server, site.device(0) as north:
        assert work(north, 2) == 2
        site.broker.kill()
        until(lambda: server.status().service.problems)  # type: ignore[union-attr]
        assert not north.contact(0.1)
        north.learn(*sample(5))  # goes on
        site.broker.start()
        until(lambda: north.contact(1.0))
        with site.device(1) as south:  # the manifest is there again
            assert south.contact(PATIENCE)


def test_the_disk_is_full(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    """A real process whose files may not grow: nothing is confirmed; then there is room again.

    And nothing that is said of all this tells a secret.
    """
    process = site.process()
    try:
        url = f"http://{site.fleet.settings.http}/health"
        until(lambda: health(url) == (200, []))
        with site.device(0) as north, site.device(1) as south:
            assert work(north, 2) == 2
            confirmed = north.confirmed
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            north.learn(*sample(0))
            assert not north.contact(0.5)
            until(lambda: health(url)[0] == 503)
            _, (problem,) = health(url)
            assert "cannot be used" in problem
            assert not south.contact(0.5) or south.confirmed == 0
            assert north.confirmed == confirmed
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)
            until(lambda: again(north))
            until(lambda: again(south))
            until(lambda: health(url) == (200, []))
            assert north.confirmed > confirmed
            north.why_not()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert "nothing is confirmed until it can be written again" in said
    assert "the journal can be written again" in said
    assert "stopped in good order" in said
    lines = journal(site.folder)
    assert len(lines) == len(set(lines)) >= confirmed
    with closing(Store.open(site.folder)) as store:
        assert store.verify().agrees
    told = said + site.broker.log.read_text() + "".join(capfd.readouterr())
    assert "connected" in told
    for path in (*site.files, site.folder / "server.json"):
        key = json.loads(path.read_text())["key"]
        for line in key.splitlines()[1:-1]:
            assert line not in told


def health(url: str) -> tuple[int, list[str]]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 (our own)
            return answer.status, json.load(answer)["problems"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)["problems"]
    except OSError:
        return 0, []
