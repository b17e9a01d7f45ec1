"""A gateway in a fleet's folder: who it is, for whom it speaks, and how that ends."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from paofed.errors import InputError
from paofed.live.device.device import Device
from paofed.live.fleet.backup import back_up, restore
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.issuing import DEVICES
from paofed.live.fleet.settings import Security
from paofed.live.journal.database import StoreError
from paofed.live.journal.repair import repair
from paofed.live.journal.roster import Member
from paofed.live.journal.store import Store
from paofed.live.network.credential import Credential
from paofed.live.network.in_process import Hub
from paofed.live.network.mqtt import Link, Mqtt
from paofed.live.network.shared import Shared
from tests.live.brokers import PATIENCE, Site, until, work
from tests.live.folders import SECURE, create, members, number, opens, revoked, text


def gateway(fleet: Fleet, places: int = 2, label: str = "hall") -> Credential:
    return Credential.load(fleet.add_gateway(label, places))


def rights(fleet: Fleet, who: int) -> list[str]:
    """What the broker's file says of a user."""
    _, _, rest = text(fleet, "access").partition(f"user greenhouse/{who}\n")
    return rest.partition("\n\n")[0].split("\n")[: rest.count("\n")] if rest else []


def test_a_gateway_is_a_member_and_so_are_its_devices(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    list(fleet.add(["north"]))
    credential = gateway(fleet)
    assert (credential.name, credential.label) == ("greenhouse/1", "hall")
    assert credential.devices == (2, 3)
    (north,) = (fleet.folder / DEVICES).glob("0-*")
    assert "devices" not in json.loads(north.read_text())
    found = members(fleet)
    assert [(m.label, m.gateway) for m in found] == [
        ("north", None), ("hall", 1), ("hall/1", 1), ("hall/2", 1),
    ]  # fmt: skip
    assert [m.is_gateway for m in found] == [False, True, False, False]
    assert [m.is_spoken_for for m in found] == [False, False, True, True]
    assert [bool(m.credential) for m in found] == [True, True, False, False]
    with fleet.store() as store:
        assert len(store.recover().devices) == 3  # the server knows devices alone


def test_more_places_are_added_with_a_new_file(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    first = gateway(fleet)
    list(fleet.add(["north"]))
    second = gateway(fleet, 1)
    assert second.devices == (1, 2, 4)
    assert [m.label for m in members(fleet)][-1] == "hall/3"
    assert revoked(fleet) == {number(first.certificate)}
    assert "topic write greenhouse/4/u" in rights(fleet, 0)


@pytest.mark.parametrize("wrong", ["3", [True], [-1], ["0"], {}])
def test_a_damaged_list_of_devices_is_told(wrong: object, tmp_path: Path) -> None:
    fleet = create(tmp_path)
    path = fleet.add_gateway("hall", 1)
    path.write_text(json.dumps({**json.loads(path.read_text()), "devices": wrong}))
    with pytest.raises(InputError, match="has no usable 'devices'"):
        Credential.load(path)


def test_the_broker_s_file_names_what_a_gateway_may_do(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    gateway(fleet)
    assert rights(fleet, 0) == [
        "topic write greenhouse/1/u",
        "topic read greenhouse/1/d",
        "topic write greenhouse/2/u",
        "topic read greenhouse/2/d",
    ]
    fleet.quarantine("hall/1")
    assert rights(fleet, 0) == ["topic write greenhouse/2/u", "topic read greenhouse/2/d"]
    assert rights(fleet, 1) == ["topic deny greenhouse/#"]
    fleet.quarantine("hall/1", on=False)
    fleet.remove("hall/2")
    assert rights(fleet, 0) == ["topic write greenhouse/1/u", "topic read greenhouse/1/d"]
    fleet.quarantine("hall")
    assert rights(fleet, 0) == rights(fleet, 1) == ["topic deny greenhouse/#"]
    assert all(member.quarantined for member in members(fleet)[:2])
    fleet.quarantine("hall", on=False)
    assert rights(fleet, 0) == ["topic write greenhouse/1/u", "topic read greenhouse/1/d"]


def test_a_gateway_that_is_removed_takes_its_devices_along(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    path = fleet.add_gateway("hall", 2)
    serial = number(Credential.load(path).certificate)
    fleet.remove("hall")
    assert [member.removed for member in members(fleet)] == [True] * 3
    assert serial in revoked(fleet)
    assert not path.exists()
    assert gateway(fleet).devices == (4, 5)  # the label is free again, an index never


def test_credentials_are_rotated_by_the_gateway_alone(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    old = gateway(fleet)
    with pytest.raises(InputError, match="the gateway 'hall' speaks for it"):
        fleet.rotate("hall/1")
    new = Credential.load(fleet.rotate("hall"))
    assert new.devices == old.devices
    assert revoked(fleet) == {number(old.certificate)}
    assert [path.name for path in fleet.rotate_all()] == ["0-hall.json"]


def test_passwords_are_a_gateway_s_too(tmp_path: Path) -> None:
    fleet = create(tmp_path, "password")
    credential = gateway(fleet)
    assert opens(fleet, "0", credential.password)
    assert not opens(fleet, "1", credential.password)


@pytest.mark.parametrize("label", ["", "x" * 64, "tab\t"])
def test_a_label_that_cannot_be_one(label: str, tmp_path: Path) -> None:
    fleet = create(tmp_path)
    with pytest.raises(InputError, match="is no name"):
        fleet.add_gateway(label, 1)
    assert members(fleet) == []


def test_a_device_is_no_gateway(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    list(fleet.add(["north", "hall/2"]))
    with pytest.raises(InputError, match="'north' is a device"):
        fleet.add_gateway("north", 1)
    with pytest.raises(StoreError, match="there is a device 'hall/2' already"):
        fleet.add_gateway("hall", 2)
    assert len(members(fleet)) == 2  # all or none


def test_a_gateway_s_file_is_no_device_s(tmp_path: Path) -> None:
    fleet = create(tmp_path, "none")
    with pytest.raises(InputError, match="is a gateway's file"):
        Device(fleet.add_gateway("hall", 1), transport=Hub())


def test_a_backup_knows_gateways_and_forgets_no_quarantine(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    gateway(fleet)
    back_up(fleet, tmp_path / "backup.tar")
    fleet.quarantine("hall/2")
    found = restore(tmp_path / "backup.tar", fleet.folder)
    assert found.forgotten == ("hall/2",)
    again = Fleet(fleet.folder)
    assert [(m.gateway, m.quarantined) for m in members(again)] == [
        (0, False), (0, False), (0, True),
    ]  # fmt: skip
    assert rights(again, 0) == ["topic write greenhouse/1/u", "topic read greenhouse/1/d"]


@pytest.mark.parametrize(
    "damage",
    ["UPDATE spoken SET gateway = 0 WHERE device = 3", "DELETE FROM spoken WHERE device = 3"],
)
def test_nobody_is_given_another_s_device_by_damage(damage: str, tmp_path: Path) -> None:
    fleet = create(tmp_path)
    list(fleet.add(["north"]))
    gateway(fleet)
    with fleet.store() as store:
        store.database.execute(damage)
    with pytest.raises(StoreError, match=r"damaged|missing"):
        fleet.store()
    with closing(Store.open(fleet.folder, to_repair=True)) as store:
        repair(store)
    kept = {member.label: member for member in members(fleet)}
    assert kept["hall/2"].quarantined == ("UPDATE" in damage)
    assert kept["hall/2"].gateway == (0 if "UPDATE" in damage else None)
    assert kept["hall/1"] == Member(2, "hall/1", "", quarantined=False, removed=False, gateway=1)


# With a real broker


class Speaking:
    """A gateway's connection, and what it hears."""

    def __init__(self, credential: Credential, *topics: str) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.link = Link(credential, topics, lambda *message: self.heard.append(message))
        self.link.open()
        until(self.link.up.is_set)

    def reaches(self, received: list[tuple[str, bytes]], topic: str) -> bool:
        """Whether what it sends to a topic is passed on, as what is sent after it is."""
        received.clear()
        self.link.send(topic, b"first")
        self.link.send("g/3/u", b"last")
        until(lambda: ("g/3/u", b"last") in received)
        return (topic, b"first") in received


@contextmanager
def listening(site: Site, received: list[tuple[str, bytes]]) -> Iterator[Link]:
    """The server's connection, with which all can be heard."""
    link = Link(site.fleet.credential(), ["g/#"], lambda *message: received.append(message))
    link.open()
    try:
        until(link.up.is_set)
        yield link
    finally:
        link.close()


@pytest.mark.parametrize("security", SECURE)
def test_a_gateway_speaks_for_its_devices_alone_and_nobody_else_for_them(
    security: Security, tmp_path: Path
) -> None:
    received: list[tuple[str, bytes]] = []
    with Site(tmp_path / "fleet", security) as site, listening(site, received) as server:
        credential = Credential.load(site.fleet.add_gateway("hall", 3))  # 2: devices 3, 4, 5
        every = [f"g/{k}/d" for k in range(6)]
        hall = Speaking(credential, *every, "g/#", "g/+/u", "$SYS/#")
        try:
            sent = {k: hall.reaches(received, f"g/{k}/u") for k in range(6)}
            assert sent == {0: False, 1: False, 2: True, 3: True, 4: True, 5: True}
            for topic in ("g/c2", "g/s", "g/0/d", "g/3/d", "x/3/u"):
                assert not hall.reaches(received, topic)
            for topic in every:
                server.send(topic, topic.encode())
            until(lambda: len(hall.heard) >= 4)
            assert {topic for topic, _ in hall.heard} == {"g/2/d", "g/3/d", "g/4/d", "g/5/d"}
            with site.link(0, "g/3/d", "g/4/d", "g/+/d") as north:
                received.clear()
                north.send("g/3/u", b"not mine")
                north.send("g/0/u", b"mine")
                until(lambda: ("g/0/u", b"mine") in received)
                assert ("g/3/u", b"not mine") not in received
            # Rights end while the connection lasts.
            site.fleet.quarantine("hall/2")
            until(lambda: not hall.reaches(received, "g/4/u"))
            site.fleet.remove("hall/3")
            until(lambda: not hall.reaches(received, "g/5/u"))
            hall.heard.clear()
            for topic in ("g/4/d", "g/5/d", "g/3/d"):
                server.send(topic, b"x")
            until(lambda: hall.heard)
            assert {topic for topic, _ in hall.heard} == {"g/3/d"}
            site.fleet.quarantine("hall/2", on=False)
            until(lambda: hall.reaches(received, "g/4/u"))
            site.fleet.remove("hall")
            until(lambda: not hall.link.up.is_set())
        finally:
            hall.link.close()


def test_devices_on_one_connection_are_served_as_others_are(tmp_path: Path) -> None:
    with Site(tmp_path / "fleet", tick_seconds=0.1) as site, site.served() as server:
        credential = Credential.load(site.fleet.add_gateway("hall", 2))
        shared = Shared(Mqtt(), credential, [credential.topics.manifest])
        shared.link.open()
        devices = [Device(credential.speaking_for(k), transport=shared) for k in (3, 4)]
        try:
            until(shared.link.up.is_set)
            assert [work(device, 3) for device in devices] == [3, 3]
            assert [device.contact(PATIENCE) for device in devices] == [True, True]
            labels = {device.label: device.messages for device in server.status().devices}
            assert labels["hall/1"] >= 3 <= labels["hall/2"]
            site.fleet.quarantine("hall/1")
            until(lambda: not devices[0].contact(0.3))
            assert work(devices[1], 1) == 1
            site.fleet.rotate("hall")  # the old certificate is good no more
            until(lambda: "certificate" in devices[1].why_not())
        finally:
            shared.link.close()
            for device in devices:
                device.close()
