"""What mosquitto is told: its settings, who may do what, passwords, and a broker that runs."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paofed.demo.processes import kill, start
from paofed.live.fleet import folder as module
from paofed.live.fleet import mosquitto
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.issuing import DEVICES, SERVER_FILE
from paofed.live.fleet.settings import Security, Settings
from paofed.live.network.credential import Credential
from paofed.live.network.topics import SERVER
from tests.effort import effort
from tests.live.brokers import PATIENCE, until
from tests.live.fleets import manifest
from tests.live.folders import (
    EVERY,
    SECURE,
    add,
    create,
    directives,
    files,
    holds,
    members,
    number,
    opens,
    revoked,
    text,
)
from tests.ports import free_port
from tests.system import needs

# The broker's settings


@pytest.mark.parametrize("security", SECURE)
def test_a_broker_lets_nobody_in_without_proof(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security)
    place = (fleet.folder / mosquitto.FOLDER).resolve()
    found = directives(fleet)
    assert found["listener"] == ["8883"]
    assert found["allow_anonymous"] == ["false"]
    assert found["tls_version"] == ["tlsv1.3"]
    assert found["use_username_as_clientid"] == ["true"]
    names = {"cafile": "authority.pem", "certfile": "certificate.pem", "keyfile": "key.pem"}
    names["acl_file"] = "access"
    if security == "certificate":
        names["crlfile"] = "revoked.pem"
        assert found["require_certificate"] == found["use_identity_as_username"] == ["true"]
        assert "password_file" not in found
    else:
        names["password_file"] = "passwords"  # noqa: S105 (a file's name)
        assert not {"require_certificate", "use_identity_as_username", "crlfile"} & set(found)
    for word, name in names.items():
        assert found[word] == [str(place / name)]
        assert (place / name).is_file()


def test_a_broker_without_security_is_reached_from_this_machine_alone(tmp_path: Path) -> None:
    found = directives(create(tmp_path, "none"))
    assert found["listener"] == ["8883 127.0.0.1"]
    assert found["allow_anonymous"] == ["true"]
    assert not {"cafile", "acl_file", "password_file", "tls_version"} & set(found)


@pytest.mark.parametrize("security", EVERY)
def test_what_every_broker_is_told(
    security: Security, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(name="greenhouse", security=security, port=1885, http="")
    fleet = Fleet.create("fleet", settings, manifest())
    found = directives(fleet)
    place = tmp_path.resolve() / "fleet" / mosquitto.FOLDER
    assert found["listener"][0].split()[0] == "1885"
    assert found["pid_file"] == [str(place / "mosquitto.pid")]
    assert found["user"] == [pwd.getpwuid(os.getuid()).pw_name]
    assert found["persistence"] == ["false"]
    assert set(found["log_type"]) == {"error", "warning", "notice"}
    assert "topic" in found["log_dest"]
    assert f"mosquitto -c {place / mosquitto.CONFIGURATION}" in text(fleet, mosquitto.CONFIGURATION)
    assert f"`paofed fleet rotate {place.parent} --server`" in text(fleet, mosquitto.CONFIGURATION)
    assert "{" not in text(fleet, mosquitto.CONFIGURATION)


def test_the_broker_becomes_whoever_owns_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    owner = pwd.getpwuid(os.getuid()).pw_name
    assert directives(create(tmp_path))["user"] == [owner]


def test_an_owner_without_a_name_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    found = directives(create(tmp_path))
    assert "user" not in found
    assert "pid_file" in found


def test_a_fleet_that_was_moved_finds_its_files_by_rotating(tmp_path: Path) -> None:
    create(tmp_path).folder.rename(tmp_path / "moved")
    fleet = Fleet(tmp_path / "moved")
    assert str(tmp_path / "fleet" / "broker") in text(fleet, mosquitto.CONFIGURATION)
    fleet.rotate_server()
    found = directives(fleet)
    for word in ("cafile", "certfile", "keyfile", "crlfile", "acl_file"):
        assert Path(found[word][0]).parent == (tmp_path / "moved" / mosquitto.FOLDER).resolve()
        assert Path(found[word][0]).is_file()
    assert str(tmp_path / "fleet") not in text(fleet, mosquitto.CONFIGURATION)


def test_no_trace_is_left_of_where_it_was_made(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    for name in files(fleet):
        assert ".fleet." not in (fleet.folder / name).read_text(), name


@pytest.mark.parametrize("features", [8, 2000])
def test_the_largest_packet_is_the_largest_that_travels(features: int, tmp_path: Path) -> None:
    agreed = manifest(features=features)
    fleet = Fleet.create(tmp_path / "fleet", Settings(name="x", security="none"), agreed)
    (largest,) = directives(fleet)["max_packet_size"]
    needed = max(len(agreed.to_json().encode()), 4 * features)
    assert needed + 100 < int(largest) < needed + 2000


# What the broker lets whom do


def allowed(access: str, user: str, topic: str, right: str) -> bool:
    """What mosquitto decides: a user's own lines, and patterns; one that denies goes before all."""
    mine, answer = False, False
    for line in access.splitlines():
        word, _, rest = line.partition(" ")
        if word == "user":
            mine = rest == user
        elif word in ("topic", "pattern") and (mine or word == "pattern"):
            what, place = rest.split(" ", 1)
            if matches(place.replace("%u", user), topic):
                if what == "deny":
                    return False
                answer = answer or what in (right, "readwrite")
    return answer


def matches(place: str, topic: str) -> bool:
    if place.endswith("/#"):
        return topic == place[:-2] or topic.startswith(place[:-1])
    return place == topic


@pytest.mark.parametrize("security", SECURE)
def test_a_device_writes_and_reads_its_own_topics_alone(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security)
    add(fleet, "north", "south", "east", "west")
    fleet.remove("south")
    fleet.quarantine("west")
    access = text(fleet, "access")
    topics = [
        *(f"greenhouse/{k}/{kind}" for kind in "ud" for k in range(4)),
        "greenhouse/c",
        "greenhouse/c2",
        "greenhouse/x",
        "other/0/u",
        "$SYS/broker/log/N",
    ]

    def may(user: str, right: str) -> set[str]:
        return {topic for topic in topics if allowed(access, user, topic, right)}

    for name in ("greenhouse/0", "greenhouse/2"):
        assert may(name, "write") == {f"{name}/u"}
        assert may(name, "read") == {f"{name}/d", "greenhouse/c2"}
    for name in ("greenhouse/1", "greenhouse/3"):
        assert may(name, "write") == may(name, "read") == set()
    ours = {topic for topic in topics if topic.startswith("greenhouse/")}
    assert may(f"greenhouse/{SERVER}", "write") == ours
    assert may(f"greenhouse/{SERVER}", "read") == {*ours, "$SYS/broker/log/N"}
    assert "topic read $SYS/broker/publish/messages/+" in access.splitlines()


# Passwords


def test_a_password_opens_for_its_owner_alone(tmp_path: Path) -> None:
    fleet = create(tmp_path, "password")
    credentials = [fleet.credential(), *add(fleet, "north", "south")]
    names = [SERVER, "0", "1"]
    for name in names:
        for credential in credentials:
            assert opens(fleet, name, credential.password) == (credential.who == name)
    assert len({c.password for c in credentials}) == 3


def test_no_password_is_written_anywhere_else(tmp_path: Path) -> None:
    fleet = create(tmp_path, "password")
    holders = {SERVER_FILE: fleet.credential(), f"{DEVICES}/0-north.json": add(fleet, "north")[0]}
    fleet.rotate_server()
    holders[SERVER_FILE] = fleet.credential()
    for path in fleet.folder.rglob("*"):
        for name, credential in holders.items():
            password = credential.password
            assert password is not None
            if path.is_file() and path != fleet.folder / name:
                assert password.encode() not in path.read_bytes(), path


def test_hashes_of_one_password_differ() -> None:
    assert mosquitto.hashed("x") != mosquitto.hashed("x")
    assert mosquitto.is_hash(mosquitto.hashed("x"))
    assert not mosquitto.is_hash("")
    assert not mosquitto.is_hash("7ab12")


def test_passwords_are_long_and_never_the_same() -> None:
    passwords = {mosquitto.new_password() for _ in range(100)}
    assert len(passwords) == 100
    assert min(len(password) for password in passwords) >= 32


# A broker that runs


# A process under another name. Before it handles the signal SIGHUP, that signal ends it.
_CALLED = """\
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and children inherit that
with open("/proc/self/comm", "w") as name:
    name.write(sys.argv[1])
print("running", flush=True)
time.sleep(float(sys.argv[2]))
signal.signal(signal.SIGHUP, lambda *_: sys.exit(int(sys.argv[3])))
time.sleep(60)
"""
TOLD = 7  # the exit code of a process that was told to read its files again


@contextmanager
def running(name: str, starting: float = 0.0) -> Iterator[subprocess.Popen[str]]:
    """A process that is called so, and that takes `starting` seconds until it can be told."""
    words = [sys.executable, "-I", "-S", "-c", _CALLED, name, str(starting), str(TOLD)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            yield process
        finally:
            process.kill()


def known_as(fleet: Fleet, pid: object) -> None:
    (fleet.folder / mosquitto.FOLDER / "mosquitto.pid").write_text(f"{pid}\n")


def test_a_broker_that_runs_is_told(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    add(fleet, "north")
    fleet.rotate("north")
    assert not fleet.told
    with running("mosquitto") as process:
        known_as(fleet, process.pid)
        fleet.quarantine("north")
        assert fleet.told
        assert process.wait(PATIENCE) == TOLD
    fleet.quarantine("north", on=False)
    assert not fleet.told


def test_a_broker_that_has_just_started_is_told_when_it_can_be(tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    with running("mosquitto", starting=0.2) as process:
        known_as(fleet, process.pid)
        assert mosquitto.reload(fleet.folder)
        assert process.wait(PATIENCE) == TOLD  # it does not end by the signal itself


def test_a_broker_that_can_never_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mosquitto, "_STARTING", 0.1)
    fleet = create(tmp_path, "none")
    with running("mosquitto", starting=60.0) as process:
        known_as(fleet, process.pid)
        assert mosquitto.reload(fleet.folder) is False
        assert process.poll() is None


def test_a_broker_that_has_ended_and_whose_parent_has_not_noticed(tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    with running("mosquitto", starting=60.0) as process:
        known_as(fleet, process.pid)
        process.kill()
        until(lambda: "Z" in Path(f"/proc/{process.pid}/stat").read_text())
        assert mosquitto.reload(fleet.folder) is False


def test_a_real_broker_outlives_being_told_as_soon_as_it_has_a_number(tmp_path: Path) -> None:
    """Without the wait, mosquitto 2.0.11 died of 1 in 6 of these."""
    program = needs("mosquitto")
    fleet = create(tmp_path, "password", port=free_port())
    number = fleet.folder / mosquitto.FOLDER / "mosquitto.pid"
    for _ in range(effort(everyday=3, thorough=20)):
        number.unlink(missing_ok=True)
        broker = start([program, "-c", str(number.with_name(mosquitto.CONFIGURATION))])
        try:
            until(lambda: number.is_file() and number.read_text())
            assert mosquitto.reload(fleet.folder)
            with pytest.raises(subprocess.TimeoutExpired):
                broker.wait(0.02)
        finally:
            kill(broker)


@pytest.mark.parametrize("security", SECURE)
def test_every_change_is_told(
    security: Security, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Path] = []

    def reload(folder: Path) -> bool:
        told.append(folder)
        return True

    monkeypatch.setattr(mosquitto, "reload", reload)
    monkeypatch.setattr(module, "take_over", lambda _: True)
    fleet = create(tmp_path, security)
    for does in (
        fleet.rotate_server,
        lambda: add(fleet, "a", "b"),
        lambda: fleet.rotate("a"),
        lambda: fleet.quarantine("a"),
        lambda: fleet.quarantine("a", on=False),
        lambda: fleet.remove("a"),
    ):
        told.clear()
        does()
        assert fleet.told
        assert set(told) == {fleet.folder}


class TakenOver:
    """Who was taken over, and how things stood then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.credentials: list[Credential] = []
        self.revoked: list[set[int]] = []
        self.tells = 0
        self.runs = True
        monkeypatch.setattr(module, "take_over", self._take_over)
        monkeypatch.setattr(mosquitto, "reload", self._reload)
        self.fleet: Fleet | None = None

    def _take_over(self, credential: Credential) -> bool:
        assert self.fleet is not None
        self.credentials.append(credential)
        self.revoked.append(revoked(self.fleet))
        return True

    def _reload(self, _: Path) -> bool:
        self.tells += 1
        return self.runs


def test_a_new_certificate_ends_the_connection_that_the_old_one_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = TakenOver(monkeypatch)
    taken.fleet = fleet = create(tmp_path)
    north, _ = add(fleet, "north", "south")
    assert taken.credentials == []
    path = fleet.rotate("north")
    assert taken.credentials == [Credential.load(path)]
    assert taken.revoked == [{number(north.certificate)}]  # so it cannot come back


def test_a_device_that_leaves_is_disconnected_and_no_way_in_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = TakenOver(monkeypatch)
    taken.fleet = fleet = create(tmp_path)
    north, south = add(fleet, "north", "south")
    tells = taken.tells
    fleet.remove("north")
    (last,) = taken.credentials
    assert (last.name, last.since) == ("greenhouse/0", manifest().start)
    holds(last, "certificate")
    assert taken.revoked == [{number(north.certificate)}]  # the last one is good for this
    assert revoked(fleet) == {number(north.certificate), number(last.certificate)}
    assert number(south.certificate) not in revoked(fleet)
    assert taken.tells - tells == 2
    assert members(fleet)[0].removed
    assert [path.name for path in (fleet.folder / DEVICES).iterdir()] == ["1-south.json"]
    fleet.rotate_server()  # and stays so
    assert number(last.certificate) in revoked(fleet)


@pytest.mark.parametrize(
    ("security", "runs"), [("certificate", False), ("password", True), ("none", True)]
)
def test_nobody_is_taken_over_where_it_is_not_needed_or_in_vain(
    security: Security, runs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = TakenOver(monkeypatch)
    taken.runs = runs
    taken.fleet = fleet = create(tmp_path, security)
    add(fleet, "north", "south")
    fleet.rotate("north")
    fleet.remove("north")
    fleet.quarantine("south")
    assert taken.credentials == []


def test_without_security_there_is_nothing_to_tell(tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    add(fleet, "north")
    with running("mosquitto") as process:
        known_as(fleet, process.pid)
        fleet.remove("north")
        assert process.poll() is None
    assert fleet.told  # it asks nobody who they are


def test_a_number_that_belongs_to_something_else_by_now_is_left_alone(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    with running("other") as process:
        known_as(fleet, process.pid)
        assert mosquitto.reload(fleet.folder) is False
        assert process.poll() is None


@pytest.mark.parametrize("pid", ["", "hello", "-1", "0", str(2**31 - 1)])
def test_a_number_that_is_nobodys(pid: str, tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    assert mosquitto.reload(fleet.folder) is False  # no broker ever ran
    known_as(fleet, pid)
    assert mosquitto.reload(fleet.folder) is False
