"""A fleet's folder: who is in the fleet, what each of them holds, what the broker knows."""

import os
import re
import signal
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
from cryptography import x509

from paofed.errors import FileError, InputError
from paofed.live.fleet import folder as module
from paofed.live.fleet import mosquitto
from paofed.live.fleet.authority import Authority
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.issuing import AUTHORITY, DEVICES, SERVER_FILE
from paofed.live.fleet.settings import FILE, Security, Settings
from paofed.live.journal.credentials import Credentials
from paofed.live.journal.database import FILE as STORE
from paofed.live.journal.database import Database, StoreError
from paofed.live.journal.repair import repair
from paofed.live.journal.roster import Roster
from paofed.live.journal.store import Store
from paofed.live.network.credential import Credential
from paofed.live.network.topics import SERVER
from paofed.live.protocol.quantity import Quantity
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

# What is there in the beginning


@pytest.mark.parametrize(
    ("security", "more"),
    [
        ("none", set()),
        ("password", {"passwords"}),
        ("certificate", {"revoked.pem"}),
    ],
)
def test_what_a_new_fleet_holds(security: Security, more: set[str], tmp_path: Path) -> None:
    fleet = create(tmp_path / "a" / "b", security)  # folders above are made
    secure = {"authority.pem", "certificate.pem", "key.pem", "access", *more}
    written = {mosquitto.CONFIGURATION, *(secure if security != "none" else ())}
    top = {FILE, SERVER_FILE, *({AUTHORITY} if security != "none" else ())}
    assert files(fleet) == top | {f"{mosquitto.FOLDER}/{name}" for name in written}
    assert (fleet.folder / DEVICES).is_dir()
    assert members(fleet) == []
    with fleet.store() as store:
        assert store.epochs.manifest() == manifest()
    assert Fleet(fleet.folder).settings == fleet.settings == Settings.load(fleet.folder)


@pytest.mark.parametrize("security", EVERY)
def test_secrets_are_their_owners_alone(security: Security, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        fleet = create(tmp_path, security)
        add(fleet, "north")
        fleet.rotate("north")
        fleet.rotate_server()
    finally:
        os.umask(before)
    assert stat.S_IMODE(fleet.folder.stat().st_mode) == 0o700
    secrets = {
        name
        for name in files(fleet)
        if "PRIVATE KEY" in (content := (fleet.folder / name).read_text())
        or re.search(r'"password": "|\$7\$', content)
        or name.endswith(("access", ".json"))
    }
    assert {SERVER_FILE, f"{DEVICES}/0-north.json"} <= secrets
    if security != "none":
        assert {AUTHORITY, "broker/key.pem", "broker/access"} <= secrets
    for name in secrets:
        assert stat.S_IMODE((fleet.folder / name).stat().st_mode) == 0o600, name


def test_what_the_fleet_remembers_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        fleet = create(tmp_path)
        with fleet.store() as store:
            store.roster.add("north")
            places = [path for path in fleet.folder.rglob("*") if path.name.startswith(STORE)]
            assert len(places) > 1  # SQLite writes beside its file
            for path in places:
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    finally:
        os.umask(before)
    folders = [fleet.folder, *(path for path in fleet.folder.rglob("*") if path.is_dir())]
    assert {path.name for path in folders} == {"fleet", DEVICES, mosquitto.FOLDER}
    for path in folders:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path


@pytest.mark.parametrize("security", SECURE)
def test_what_the_broker_shows_is_certified_for_where_it_is_reached(
    security: Security, tmp_path: Path
) -> None:
    fleet = create(tmp_path, security, host="192.168.7.5")
    root = x509.load_pem_x509_certificate((fleet.folder / AUTHORITY).read_bytes())
    shown = x509.load_pem_x509_certificate(text(fleet, "certificate.pem").encode())
    shown.verify_directly_issued_by(root)
    assert x509.load_pem_x509_certificate(text(fleet, "authority.pem").encode()) == root
    assert "PRIVATE" not in text(fleet, "authority.pem")
    hosts = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(a) for a in hosts.get_values_for_type(x509.IPAddress)}
    assert addresses == {"192.168.7.5", "127.0.0.1"}
    assert hosts.get_values_for_type(x509.DNSName) == ["localhost"]


@pytest.mark.parametrize("security", EVERY)
def test_the_server_has_a_credential_of_its_own(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security, host="broker.example")
    server = fleet.credential()
    assert (server.fleet, server.name, server.label) == (
        "greenhouse",
        f"greenhouse/{SERVER}",
        SERVER,
    )
    assert (server.host, server.port) == ("broker.example", 8883)
    assert server.since == manifest().start
    holds(server, security)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    for name in ("file", "fleet", "other"):
        (tmp_path / "fleet").mkdir(exist_ok=True)
        (tmp_path / "fleet" / name).touch()
        with pytest.raises(FileError, match="fleet is not an empty folder: choose another"):
            create(tmp_path)
        assert [path.name for path in (tmp_path / "fleet").iterdir()] == [name]
        assert list(tmp_path.iterdir()) == [tmp_path / "fleet"]
        (tmp_path / "fleet" / name).unlink()


def test_an_empty_folder_becomes_the_fleets_and_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir(mode=0o755)
    fleet = create(tmp_path)
    assert stat.S_IMODE(fleet.folder.stat().st_mode) == 0o700
    assert fleet.credential().name == f"greenhouse/{SERVER}"
    assert list(tmp_path.iterdir()) == [fleet.folder]


class PowerCutError(Exception):
    """Ends a creation wherever it stands."""


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    ("owner", "step"),
    [
        (Store, "create"),
        (Settings, "save"),
        (Authority, "create"),
        (Credentials, "serve_as"),
        (mosquitto, "write_configuration"),
        (mosquitto, "write_access"),
        (Path, "replace"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fleet_is_made_whole_or_not_at_all(
    owner: object, step: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        (tmp_path / "fleet").mkdir()

    def cut(*_: object, **__: object) -> None:
        raise PowerCutError

    monkeypatch.setattr(owner, step, cut)
    with pytest.raises(PowerCutError):
        create(tmp_path)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.rglob("*")] == (["fleet"] if there else [])
    assert members(create(tmp_path)) == []


def test_what_is_half_made_is_not_where_the_fleet_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    whole = Fleet.rotate_server

    def watched(self: Fleet, home: Path | None = None) -> None:
        seen.append((tmp_path / "fleet").exists())
        assert stat.S_IMODE(self.folder.stat().st_mode) == 0o700
        whole(self, home)

    monkeypatch.setattr(Fleet, "rotate_server", watched)
    create(tmp_path)
    assert seen == [False]


@pytest.mark.parametrize("kind", ["link", "nowhere"])
def test_a_place_where_no_folder_can_be_made(kind: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    place = {"link": tmp_path / "link", "nowhere": Path("/proc/fleet")}[kind]
    with pytest.raises(FileError) as refused:
        Fleet.create(place, Settings(name="x", security="none"), manifest())
    assert str(refused.value).startswith(f"{place} cannot be made: ")
    assert {path.name for path in tmp_path.rglob("*")} == {"empty", "link"}


# Adding


@pytest.mark.parametrize("security", EVERY)
def test_devices_are_numbered_and_get_a_file_each(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security, host="broker.example")
    paths = [*fleet.add(["north wall", "süd"]), *fleet.add(["a/b: ../c"])]
    names = ["0-north-wall.json", "1-süd.json", "2-a-b-..-c.json"]
    assert paths == [fleet.folder / DEVICES / name for name in names]
    for k, (path, label) in enumerate(zip(paths, ["north wall", "süd", "a/b: ../c"], strict=True)):
        credential = Credential.load(path)
        assert (credential.device, credential.label) == (k, label)
        assert (credential.fleet, credential.host) == ("greenhouse", "broker.example")
        assert credential.since == manifest().start
        holds(credential, security)
    assert [(m.device, m.label, m.removed) for m in members(fleet)] == [
        (0, "north wall", False),
        (1, "süd", False),
        (2, "a/b: ../c", False),
    ]


@pytest.mark.parametrize(
    ("label", "name"),
    [("...", "0-device.json"), ("///", "0-device.json"), ("x" * 64, f"0-{'x' * 40}.json")],
)
def test_any_label_makes_a_file(label: str, name: str, tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    (path,) = fleet.add([label])
    assert path == fleet.folder / DEVICES / name
    assert Credential.load(path).label == label
    assert fleet.rotate(label) == path


@pytest.mark.parametrize("label", ["", "\t", "two\nlines", "\x00", "x" * 65])
def test_a_label_that_is_none(label: str, tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    with pytest.raises(InputError, match="is no name: expected at most 64 char") as refused:
        list(fleet.add([label]))
    assert repr(label) in str(refused.value)
    assert members(fleet) == []
    assert list((fleet.folder / DEVICES).iterdir()) == []


@pytest.mark.parametrize("bad", ["north", "", "two\nlines", "south"])
def test_of_several_with_a_bad_one_none_is_added(bad: str, tmp_path: Path) -> None:
    fleet = create(tmp_path, "password")
    add(fleet, "north")
    before = text(fleet, "passwords")
    with pytest.raises(InputError):
        list(fleet.add(["south", "east", bad, "west"]))
    assert [m.label for m in members(fleet)] == ["north"]
    assert [path.name for path in (fleet.folder / DEVICES).iterdir()] == ["0-north.json"]
    assert text(fleet, "passwords") == before
    assert [credential.device for credential in add(fleet, "west", "south")] == [1, 2]


def test_whoever_stops_asking_still_lets_the_broker_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GROUP", 1)
    fleet = create(tmp_path, "password")
    adding = fleet.add(["north", "south"])
    credential = Credential.load(next(adding))
    adding.close()
    assert opens(fleet, "0", credential.password)
    assert [m.label for m in members(fleet)] == ["north"]
    (south,) = add(fleet, "south")
    assert opens(fleet, "1", south.password)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("work", ["add", "rotate"])
def test_ctrl_c_leaves_whole_groups_whose_files_were_told(
    sent: signal.Signals, work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GROUP", 2)
    before = signal.signal(sent, signal.default_int_handler)  # as the command line does
    fleet, labels = create(tmp_path), ["a", "b", "c", "d", "e", "f"]
    old = add(fleet, *labels) if work == "rotate" else []
    save, told = Credential.save, list[Path]()

    def interrupted(self: Credential, path: Path) -> None:
        if self.label == "c":  # the first of the second group
            os.kill(os.getpid(), sent)
        save(self, path)

    monkeypatch.setattr(Credential, "save", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            told.extend(fleet.add(labels) if work == "add" else fleet.rotate_all())
    finally:
        signal.signal(sent, before)
    with fleet.store() as store:
        known = {m.label: m.credential for m in store.roster.members()}
    if work == "add":
        assert list(known) == labels[:4]
    held = {c.label: f"{number(c.certificate):x}" for c in map(Credential.load, told)}
    assert held == {label: known[label] for label in labels[:4]}
    assert revoked(fleet) == {number(c.certificate) for c in old[:4]}


@pytest.mark.parametrize("security", SECURE)
def test_many_devices_take_one_transaction_and_read_the_store_once(
    security: Security, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that, 5,000 devices took a quarter of an hour."""
    fleet, counts = create(tmp_path, security), Counter[str]()

    def count(owner: type, method: Callable[..., Any]) -> None:
        def counted(*args: Any, **options: Any) -> Any:
            counts[method.__name__] += 1
            return method(*args, **options)

        monkeypatch.setattr(owner, method.__name__, counted)

    count(Database, Database.writing)
    count(Roster, Roster.members)
    count(Credentials, Credentials.expiring)

    def counted(work: Iterable[object]) -> Counter[str]:
        counts.clear()
        assert list(work)
        return counts.copy()

    few, many = (
        [counted(fleet.add(f"{n} {k}" for k in range(n))), counted(fleet.rotate_all())]
        for n in (2, 20)
    )
    assert few == many


def test_a_power_cut_between_two_leaves_both_in_the_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = create(tmp_path, "password")
    save = Credential.save

    def once(self: Credential, path: Path) -> None:
        if self.label == "south":
            raise PowerCutError
        save(self, path)

    monkeypatch.setattr(Credential, "save", once)
    with pytest.raises(PowerCutError):
        add(fleet, "north", "south")
    monkeypatch.undo()
    assert [m.label for m in members(fleet)] == ["north", "south"]
    for label, index in (("north", "0"), ("south", "1")):
        assert opens(fleet, index, Credential.load(fleet.rotate(label)).password)


# Rotating


def test_a_new_certificate_revokes_the_old(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    north, south = add(fleet, "north", "south")
    assert revoked(fleet) == set()
    path = fleet.rotate("north")
    new = Credential.load(path)
    assert path == fleet.folder / DEVICES / "0-north.json"
    assert (new.device, new.label) == (0, "north")
    assert new.key != north.key
    assert revoked(fleet) == {number(north.certificate)}
    fleet.rotate("north")
    assert revoked(fleet) == {number(north.certificate), number(new.certificate)}
    assert number(south.certificate) not in revoked(fleet)
    assert members(fleet)[1].credential == f"{number(south.certificate):x}"


def test_a_new_password_replaces_the_old(tmp_path: Path) -> None:
    fleet = create(tmp_path, "password")
    north, south = add(fleet, "north", "south")
    new = Credential.load(fleet.rotate("north"))
    assert new.password != north.password
    assert not opens(fleet, "0", north.password)
    assert opens(fleet, "0", new.password)
    assert opens(fleet, "1", south.password)


@pytest.mark.parametrize("security", SECURE)
def test_server_and_broker_get_new_ones_too(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security)
    (north,) = add(fleet, "north")
    old, shown, key = fleet.credential(), text(fleet, "certificate.pem"), text(fleet, "key.pem")
    authority = (fleet.folder / AUTHORITY).read_text()
    fleet.rotate_server()
    new = fleet.credential()
    assert new != old
    assert text(fleet, "certificate.pem") != shown
    assert text(fleet, "key.pem") != key
    assert (fleet.folder / AUTHORITY).read_text() == authority
    if security == "certificate":
        assert revoked(fleet) == {number(old.certificate)}
        with fleet.store() as store:
            assert store.credentials.server() == f"{number(new.certificate):x}"
    else:
        assert not opens(fleet, SERVER, old.password)
        assert opens(fleet, SERVER, new.password)
        assert opens(fleet, "0", north.password)


def test_settings_that_were_changed_reach_the_files_by_rotating(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    add(fleet, "north")
    replace(fleet.settings, host="elsewhere.example", port=8884).save(fleet.folder)
    fleet = Fleet(fleet.folder)
    fleet.rotate_server()
    new = Credential.load(fleet.rotate("north"))
    assert (new.host, new.port) == ("elsewhere.example", 8884)
    assert fleet.credential().host == "elsewhere.example"
    assert directives(fleet)["listener"] == ["8884"]
    shown = x509.load_pem_x509_certificate(text(fleet, "certificate.pem").encode())
    hosts = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "elsewhere.example" in hosts.get_values_for_type(x509.DNSName)


@pytest.mark.parametrize("security", EVERY)
def test_short_names_can_be_made_full_by_rotating(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security, users="short")
    (north,) = add(fleet, "north")
    assert (north.name, fleet.credential().name) == ("0", SERVER)
    replace(fleet.settings, users="full").save(fleet.folder)
    fleet = Fleet(fleet.folder)
    fleet.rotate_server()
    new = Credential.load(fleet.rotate("north"))
    assert (new.name, fleet.credential().name) == ("greenhouse/0", f"greenhouse/{SERVER}")
    if security == "password":
        assert opens(fleet, "0", new.password)
    if security != "none":
        assert text(fleet, "access").startswith(f"user greenhouse/{SERVER}\n")


@pytest.mark.parametrize(("before", "after"), list(permutations(EVERY, 2)))
def test_security_can_be_changed_by_rotating(
    before: Security, after: Security, tmp_path: Path
) -> None:
    fleet = create(tmp_path, before)
    north, _ = add(fleet, "north", "south")
    server = fleet.credential()
    replace(fleet.settings, security=after).save(fleet.folder)
    fleet = Fleet(fleet.folder)
    fleet.rotate_server()
    new = Credential.load(fleet.rotate("north"))
    holds(new, after)
    holds(fleet.credential(), after)
    assert directives(fleet)["allow_anonymous"] == ["true" if after == "none" else "false"]
    if after == "certificate":
        gone = {number(c.certificate) for c in (server, north) if c.certificate is not None}
        assert revoked(fleet) == gone
    if after == "password":
        assert opens(fleet, SERVER, fleet.credential().password)
        assert opens(fleet, "0", new.password)
        # One that has no password yet has no line: its old mark would be no hash.
        known = [line.split(":")[0] for line in text(fleet, "passwords").splitlines()]
        whom = [SERVER, "0", *(["1"] if before == "password" else [])]
        assert known == [f"greenhouse/{who}" for who in whom]


def test_an_authority_that_was_lost_is_not_replaced(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    (fleet.folder / AUTHORITY).unlink()
    for does in (fleet.rotate_server, lambda: add(fleet, "north")):
        with pytest.raises(FileError, match=r"authority\.pem cannot be read: No such file"):
            does()
    assert not (fleet.folder / AUTHORITY).exists()


# Removing


def test_a_device_that_leaves_is_refused_everywhere(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    north, _ = add(fleet, "north", "south")
    fleet.remove("north")
    assert not fleet.told
    assert [(m.label, m.removed) for m in members(fleet)] == [("north", True), ("south", False)]
    assert revoked(fleet) == {number(north.certificate)}
    assert [path.name for path in (fleet.folder / DEVICES).iterdir()] == ["1-south.json"]
    with fleet.store() as store:
        assert store.recover().removed == {0}


def test_a_password_of_one_that_left_is_forgotten(tmp_path: Path) -> None:
    fleet = create(tmp_path, "password")
    north, south = add(fleet, "north", "south")
    fleet.remove("north")
    assert not opens(fleet, "0", north.password)
    assert opens(fleet, "1", south.password)
    known = [line.split(":")[0] for line in text(fleet, "passwords").splitlines()]
    assert known == [f"greenhouse/{SERVER}", "greenhouse/1"]


def test_a_label_can_be_given_again_an_index_never(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    old = add(fleet, "north", "south")
    fleet.remove("south")
    (new,) = add(fleet, "south")
    assert new.device == 2
    assert [(m.label, m.removed) for m in members(fleet)] == [
        ("north", False),
        ("south", True),
        ("south", False),
    ]
    assert revoked(fleet) == {number(old[1].certificate)}
    fleet.remove("south")
    assert [m.removed for m in members(fleet)] == [False, True, True]


def test_a_file_that_was_moved_away_hinders_no_removal(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    (path,) = fleet.add(["north"])
    path.unlink()
    fleet.remove("north")
    assert members(fleet)[0].removed


@pytest.mark.parametrize(
    "does",
    [Fleet.remove, Fleet.rotate, Fleet.quarantine],
    ids=["remove", "rotate", "quarantine"],
)
def test_somebody_unknown_is_told_with_the_nearest(
    does: Callable[[Fleet, str], object], tmp_path: Path
) -> None:
    fleet = create(tmp_path)
    add(fleet, "north", "south")
    fleet.remove("south")
    with pytest.raises(StoreError, match="unknown device 'norht': did you mean 'north'"):
        does(fleet, "norht")
    with pytest.raises(StoreError, match=r"unknown device 'south' \(known: north\)"):
        does(fleet, "south")


def test_a_quarantine_can_be_ended(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    add(fleet, "north", "south")
    before = text(fleet, "access"), text(fleet, "revoked.pem")
    fleet.quarantine("south")
    assert [m.quarantined for m in members(fleet)] == [False, True]
    assert "user greenhouse/1\ntopic deny greenhouse/#\n" in text(fleet, "access")
    assert "user greenhouse/0" not in text(fleet, "access")
    assert revoked(fleet) == set()  # it may come back
    fleet.quarantine("south", on=False)
    assert [m.quarantined for m in members(fleet)] == [False, False]
    assert text(fleet, "access") == before[0]


@pytest.mark.parametrize("security", SECURE)
def test_what_is_denied_stays_denied(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security)
    add(fleet, "north", "south", "east")
    fleet.remove("north")
    fleet.quarantine("south")
    for does in (fleet.rotate_server, lambda: fleet.rotate("south"), lambda: add(fleet, "x")):
        does()
        for device in (0, 1):
            assert f"user greenhouse/{device}\ntopic deny greenhouse/#\n" in text(fleet, "access")
        assert "user greenhouse/2" not in text(fleet, "access")


# A store that was restored from a copy


def reconciled(fleet: Fleet, store: Store) -> list[str]:
    """Let store and broker agree; the labels of those whom the store had forgotten."""
    labels: list[str] = []
    fleet.reconcile(store, labels.append)
    return labels


def restored(fleet: Fleet, change: Callable[[Fleet], object]) -> Fleet:
    """The same fleet after a change, with its store as it was before."""
    with fleet.store():
        pass  # what it has written is in its one file when it is closed
    before = (fleet.folder / STORE).read_bytes()
    change(fleet)
    for path in fleet.folder.glob(f"{STORE}*"):
        path.unlink()
    (fleet.folder / STORE).write_bytes(before)
    with closing(Store.open(fleet.folder, to_repair=True)) as store:
        repair(store)  # has less than was confirmed: whoever restores a copy says that so be it
    return Fleet(fleet.folder)


@pytest.mark.parametrize("users", ["full", "short"])
@pytest.mark.parametrize("security", SECURE)
def test_a_restored_store_learns_again_whom_the_broker_refuses(
    security: Security, users: str, tmp_path: Path
) -> None:
    fleet = create(tmp_path, security, users=users)
    add(fleet, "north", "south", "east")
    fleet.quarantine("east")

    def change(fleet: Fleet) -> None:
        fleet.quarantine("south")
        fleet.remove("north")

    fleet = restored(fleet, change)
    denied = text(fleet, "access")
    assert denied.count("deny") == 3
    assert [m.quarantined for m in members(fleet)] == [False, False, True]
    with fleet.store() as store:
        assert reconciled(fleet, store) == ["north", "south"]
        assert [m.quarantined for m in store.roster.members()] == [True, True, True]
        assert reconciled(fleet, store) == []
    assert text(fleet, "access") == denied


def test_a_restored_store_learns_again_what_was_revoked(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    (old,) = add(fleet, "north")
    fleet = restored(fleet, lambda fleet: fleet.rotate("north"))
    assert revoked(fleet) == {number(old.certificate)}
    with fleet.store() as store:
        assert reconciled(fleet, store) == []
    fleet.rotate_server()  # writes the list anew
    assert number(old.certificate) in revoked(fleet)


def test_a_quarantine_that_a_restored_store_knows_reaches_the_broker(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    add(fleet, "north")
    fleet.quarantine("north")
    fleet = restored(fleet, lambda fleet: fleet.quarantine("north", on=False))
    assert "deny" not in text(fleet, "access")
    with fleet.store() as store:
        assert reconciled(fleet, store) == []
        assert store.roster.member("north").quarantined
    assert "user greenhouse/0\ntopic deny greenhouse/#\n" in text(fleet, "access")


@pytest.mark.parametrize("security", EVERY)
def test_where_both_agree_nothing_is_written(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security)
    add(fleet, "north", "south", "east")
    fleet.rotate("east")
    fleet.remove("south")
    fleet.quarantine("north")
    times = {name: (fleet.folder / name).stat().st_mtime_ns for name in files(fleet)}
    with fleet.store() as store:
        assert reconciled(fleet, store) == []
    assert {name: (fleet.folder / name).stat().st_mtime_ns for name in files(fleet)} == times


def test_the_broker_s_files_are_written_where_they_are_gone(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    (old,) = add(fleet, "north")
    fleet.quarantine("north")
    fleet.rotate("north")
    (fleet.folder / mosquitto.FOLDER / "access").unlink()
    (fleet.folder / mosquitto.FOLDER / "revoked.pem").write_text("flash wears out")
    with fleet.store() as store:
        assert reconciled(fleet, store) == []
        assert store.roster.member("north").quarantined
    assert "user greenhouse/0\ntopic deny greenhouse/#\n" in text(fleet, "access")
    assert revoked(fleet) == {number(old.certificate)}


@pytest.mark.parametrize("security", SECURE)
@pytest.mark.parametrize("authority", [True, False])
def test_rights_of_an_earlier_paofed_are_written_anew(
    security: Security, authority: bool, tmp_path: Path
) -> None:
    fleet = create(tmp_path, security)
    add(fleet, "north")
    path = fleet.folder / mosquitto.FOLDER / "access"
    now = path.read_text()
    path.write_text(now.replace("pattern read greenhouse/c2\n", ""))
    if not authority:  # kept elsewhere
        (fleet.folder / AUTHORITY).unlink()
    told = Mock(return_value=True)
    with fleet.store() as store, suppress(FileError), patch.object(mosquitto, "reload", told):
        reconciled(fleet, store)
    assert path.read_text() == now
    told.assert_called_once()


def test_the_broker_takes_a_manifest_that_has_grown(tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    before = text(fleet, mosquitto.CONFIGURATION)
    assert not fleet.make_room(manifest())
    assert text(fleet, mosquitto.CONFIGURATION) == before
    many = manifest(inputs=tuple(Quantity(name=f"input number {k}") for k in range(99)))
    assert fleet.make_room(many)
    assert not fleet.make_room(many)
    (largest,) = directives(fleet)["max_packet_size"]
    assert len(many.to_json()) + 100 < int(largest)
    after = text(fleet, mosquitto.CONFIGURATION)
    assert after.replace(f"max_packet_size {largest}", "") == re.sub(
        "max_packet_size [0-9]+", "", before
    )


def test_the_authority_in_the_folder_is_the_one_that_signs(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    authority = Authority.load(fleet.folder / AUTHORITY)
    root = x509.load_pem_x509_certificate(authority.certificate.encode())
    for credential in (fleet.credential(), *add(fleet, "north")):
        assert credential.authority == authority.certificate
        assert credential.certificate is not None
        issued = x509.load_pem_x509_certificate(credential.certificate.encode())
        issued.verify_directly_issued_by(root)
        (name,) = issued.subject
        assert name.value == credential.name
