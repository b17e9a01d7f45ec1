"""A fleet on a company's broker: its users, its authority, its topics, and its rules."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.demo.processes import LocalBroker, kill, start
from paofed.live.device.device import Device
from paofed.live.fleet import mosquitto
from paofed.live.fleet.authority import Authority
from paofed.live.fleet.backup import back_up, restore
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Security, Settings
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import Link
from tests.live.brokers import (
    Server,
    now_manifest,
    served,
    until,
    work,
    work_until_confirmed,
)
from tests.live.folders import SECURE
from tests.ports import free_port
from tests.system import needs

ACCOUNTS = {"server": "svc-17", "north": "dev-0001", "south": "dev-0002", "other": "dev-0003"}
CONFIGURATION = """\
listener {port} 127.0.0.1
cafile {folder}/authority.pem
certfile {folder}/certificate.pem
keyfile {folder}/key.pem
password_file {folder}/passwords
acl_file {folder}/access
allow_anonymous false
log_dest stderr
user root
"""


class Company:
    """A broker that was there before the fleet, and its administrator."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        authority = Authority.create("a company")
        (folder / "authority.pem").write_text(authority.certificate)
        issued = authority.issue("broker", years=1, hosts=["localhost"])
        (folder / "certificate.pem").write_text(issued.certificate)
        (folder / "key.pem").write_text(issued.key)
        hashes = [f"{u}:{mosquitto.hashed(f'secret of {u}')}\n" for u in ACCOUNTS.values()]
        (folder / "passwords").write_text("".join(hashes))
        (folder / "access").write_text("")
        (folder / "m.conf").write_text(CONFIGURATION.format(port=self.port, folder=folder))
        rows = [f"{label},{user},secret of {user}\n" for label, user in ACCOUNTS.items()]
        self.accounts = folder / "accounts.csv"
        self.accounts.write_text("label,user,password\n" + "".join(rows))

    def allow(self, label: str, lines: list[str]) -> None:
        """Give a user the rights that paofed asks for, and no others."""
        words = {"read": "read", "write": "write", "both": "readwrite"}
        asked = [line.split()[:2] for line in lines]
        text = "".join(f"topic {words[kind]} {topic}\n" for kind, topic in asked)
        with (self.folder / "access").open("a") as file:
            file.write(f"user {ACCOUNTS[label]}\n{text}\n")

    @contextmanager
    def running(self) -> Iterator[None]:
        program = needs("mosquitto")
        process = start([program, "-c", f"{self.folder}/m.conf"], self.folder / "broker.log")
        try:
            yield
        finally:
            kill(process)


@pytest.fixture
def company(tmp_path: Path) -> Company:
    return Company(tmp_path / "company")


def init(company: Company, folder: Path, *more: str) -> int:
    words = ["fleet", "init", str(folder), "--name", "g", "--input", "a", "--input", "b"]
    words += ["--target", "y:10:4", "--tick", "0.1", "--max-age", "200", "--http", ""]
    words += ["--features", "8", "--shared", "2", "--security", "external"]
    words += ["--port", str(company.port), "--prefix", "company/site7"]
    return main([*words, *more])


@pytest.fixture
def fleet(company: Company, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Fleet:
    """A fleet with two devices, each of which may do what paofed has asked for."""
    folder, accounts = tmp_path / "fleet", ["--accounts", str(company.accounts)]
    authority = ["--authority", str(company.folder / "authority.pem")]
    assert init(company, folder, *authority, *accounts) == 0
    printed = capsys.readouterr().out
    assert "mosquitto" not in printed
    allow = printed.partition("allow svc-17:\n")[2].partition("start the server")[0]
    company.allow("server", allow.splitlines())
    assert main(["fleet", "add", str(folder), "north", "south", *accounts, "--json"]) == 0
    for label, line in zip(("north", "south"), capsys.readouterr().out.splitlines(), strict=True):
        company.allow(label, json.loads(line)["allow"])
    return Fleet(folder)


def file_of(fleet: Fleet, label: str) -> Path:
    (path,) = (fleet.folder / "devices").glob(f"*-{label}.json")
    return path


def refused(server: Server) -> int:
    return server.status().counts.get("refused: quarantined", 0)


def test_a_fleet_works_with_the_rights_that_it_asks_for(company: Company, fleet: Fleet) -> None:
    with company.running(), served(fleet) as server:
        with Device(file_of(fleet, "north")) as north, Device(file_of(fleet, "south")) as south:
            assert [work(device, 3) for device in (north, south)] == [3, 3]
            for device in (north, south):
                work_until_confirmed(device, 2)  # what it learned before it joined is no news
        status = server.status()
        assert status.counts["accepted"] >= 4
        assert status.problems == ()
        # A company cannot be asked to refuse a device at once: the server does.
        fleet.quarantine("south")
        assert not fleet.told
        with Device(file_of(fleet, "south")) as south:
            until(lambda: not south.contact(0.5) and refused(server))
    with fleet.store() as store:
        assert store.verify().agrees


def test_a_device_cannot_speak_for_another(company: Company, fleet: Fleet) -> None:
    heard: list[str] = []
    credential = Credential.load(file_of(fleet, "south"))
    with company.running(), served(fleet) as server:
        link = Link(credential, [credential.topics.down(1)], lambda topic, _: heard.append(topic))
        link.open()
        try:
            until(link.up.is_set)
            link.send("company/site7/g/0/u", b"as if it were north")
            link.send("company/site7/g/1/u", b"as itself")
            until(lambda: server.status().devices[1].refused)
        finally:
            link.close()
        assert server.status().devices[0].refused == 0
        assert server.status().counts["refused: version"] == 1


def test_topics_and_connections_have_the_prefix(fleet: Fleet) -> None:
    credential = Credential.load(file_of(fleet, "north"))
    assert (credential.user, credential.name) == ("dev-0001", "g/0")
    assert credential.client_id == "company-site7-g-0"
    assert credential.topics.up(0) == "company/site7/g/0/u"
    assert credential.topics.sender("company/site7/g/0/u") == 0
    assert credential.topics.sender("g/0/u") is None
    assert "secret of dev-0001" not in repr(credential)


@pytest.mark.filterwarnings(  # paho leaves the socket of a failed handshake to be collected
    "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_an_authority_that_nobody_trusts_is_told(company: Company, tmp_path: Path) -> None:
    folder, accounts = tmp_path / "fleet", ["--accounts", str(company.accounts)]
    assert init(company, folder, *accounts) == 0  # the system's authorities
    assert main(["fleet", "add", str(folder), "north", *accounts]) == 0
    with company.running(), Device(file_of(Fleet(folder), "north")) as device:
        until(lambda: not device.contact(0.2) and "is not trusted: self-signed" in device.why_not())


def test_the_broker_is_left_to_the_company(
    company: Company, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {path.name for path in (fleet.folder / "broker").iterdir()}
    assert found == {"authority.pem"}
    for words in (["quarantine", "north"], ["remove", "north"]):
        assert main(["fleet", words[0], str(fleet.folder), *words[1:]]) == 0
        assert "its administrator has to" in capsys.readouterr().err
    accounts = ["--accounts", str(company.accounts)]
    for words in (["rotate", "south"], ["rotate", "--server"]):
        assert main(["fleet", words[0], str(fleet.folder), *words[1:], *accounts]) == 0
    capsys.readouterr()
    assert Credential.load(fleet.folder / "server.json").user == "svc-17"
    assert main(["fleet", "services", str(fleet.folder)]) == 0
    assert "-broker.service" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", "has no header: expected label,user,password in its first line"),
        ("server,svc-17,x\n", "has no header: expected label,user,password in its first line"),
        (f"label,user,password\n\nserver,svc-17,{'x' * 131_073}\n", "line 3: field larger than"),
        ("label,user,password\nserver,svc\n", "line 2: expected a label, a user and a password"),
        ("label,user,password\nserver,,x\n", "line 2: expected a label, a user and a password"),
        ("label,user,password\na,u,x\na,v,x\n", "the label 'a' is there twice"),
        ("label,user,password\na,u,x\nb,u,x\n", "the user 'u' is there twice"),
        ("label,user,password\nnorth,u,x\n", "there is no account for 'server': give --accounts"),
    ],
)
def test_accounts_that_cannot_be_used(
    lines: str, told: str, company: Company, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    company.accounts.write_text(lines)
    assert init(company, tmp_path / "fleet", "--accounts", str(company.accounts)) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "fleet").exists()


def test_nobody_is_added_without_an_account_or_with_another_s(
    company: Company, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fleet", "add", str(fleet.folder), "other"]
    assert main(words) == 2
    assert "there is no account for 'other'" in capsys.readouterr().err
    company.accounts.write_text("label,user,password\nother,dev-0001,x\n")
    assert main([*words, "--accounts", str(company.accounts)]) == 2
    assert "the user 'dev-0001' of 'other' is that of 'north' already" in capsys.readouterr().err
    company.accounts.write_text("label,user,password\nother,svc-17,x\n")
    assert main([*words, "--accounts", str(company.accounts)]) == 2
    assert "the user 'svc-17' of 'other' is that of 'server' already" in capsys.readouterr().err
    with fleet.store() as store:
        assert [member.label for member in store.roster.members()] == ["north", "south"]


@pytest.mark.parametrize("words", [["add"], ["gateway", "--places", "2"]])
def test_no_device_gets_the_server_s_account(
    words: list[str], company: Company, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    action, *rest = words
    given = ["--accounts", str(company.accounts)]
    assert main(["fleet", action, str(fleet.folder), "server", *rest, *given]) == 2
    assert "no device can be called 'server' here: with a broker" in capsys.readouterr().err
    with fleet.store() as store:
        assert [member.label for member in store.roster.members()] == ["north", "south"]
    assert not list(fleet.folder.glob("devices/*server*"))


def test_an_authority_is_certificates_alone(
    company: Company, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("", "no certificate"):
        (tmp_path / "bad.pem").write_text(text)
        assert init(company, tmp_path / "fleet", "--authority", str(tmp_path / "bad.pem")) == 2
        assert "holds no certificate of an authority" in capsys.readouterr().err


@pytest.mark.parametrize("security", SECURE)
def test_a_prefix_works_on_the_fleet_s_own_broker(security: Security, tmp_path: Path) -> None:
    settings = Settings(
        name="g", port=free_port(), security=security, prefix="company/site7", http=""
    )
    fleet = Fleet.create(tmp_path / "fleet", settings, now_manifest(tick_seconds=0.1))
    files = list(fleet.add(["north"]))
    with LocalBroker(fleet, needs("mosquitto")), served(fleet), Device(files[0]) as north:
        assert work(north, 2) == 2


def test_a_backup_knows_the_company(company: Company, fleet: Fleet, tmp_path: Path) -> None:
    back_up(fleet, tmp_path / "fleet.tar")
    restore(tmp_path / "fleet.tar", tmp_path / "again")
    again = Fleet(tmp_path / "again")
    assert again.settings == fleet.settings
    assert again.credential() == fleet.credential()
    with company.running(), served(again) as server, Device(file_of(fleet, "north")) as north:
        assert work(north, 2) == 2
        work_until_confirmed(north, 1)  # what it learned before it joined is no news
        assert server.status().counts["accepted"] >= 1


def test_a_gateway_asks_for_the_rights_of_its_devices(
    company: Company, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fleet", "gateway", str(fleet.folder), "other", "--places", "2", "--json"]
    assert main(words) == 2
    assert "there is no account for 'other'" in capsys.readouterr().err
    assert main([*words, "--accounts", str(company.accounts)]) == 0
    credential = Credential.load(file_of(fleet, "other"))
    assert (credential.user, credential.devices) == ("dev-0003", (3, 4))
    asked = [line.split() for line in json.loads(capsys.readouterr().out)["allow"]]
    place = "company/site7/g"
    assert asked == [
        ["write", f"{place}/3/u"],
        ["read", f"{place}/3/d"],
        ["read", f"{place}/c2"],
        ["write", f"{place}/4/u"],
        ["read", f"{place}/4/d"],
    ]
