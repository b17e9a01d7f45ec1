"""Who is in a fleet, what proves it, and what they have agreed on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from paofed.live.journal import confirmation
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE, StoreError
from paofed.live.journal.repair import Repair, mend, repair
from paofed.live.journal.roster import Member
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from tests.live.fleets import manifest, opened, records, stored, update
from tests.live.stores import ask, execute, lived, refusal


def test_devices_are_numbered_in_their_order_under_their_own_names(tmp_path: Path) -> None:
    with stored(tmp_path, devices=0) as store:
        names = "north", "south", "a 'quoted' name"
        assert [store.roster.add(name) for name in names] == [0, 1, 2]
        assert store.roster.add_all([]) == []
        assert store.roster.add_all(iter(f"{k}" for k in range(3, 12))) == list(range(3, 12))
        expected = [*names, *map(str, range(3, 12))]
        assert [m[:2] for m in store.roster.members()] == list(enumerate(expected))
        assert [store.recover().devices.knows(k) for k in (0, 11, 12)] == [True, True, False]


@pytest.mark.parametrize("labels", [["east", "device 1", "west"], ["east", "west", "east"]])
def test_of_several_all_are_added_or_none(labels: list[str], fleet: Path) -> None:
    with opened(fleet) as store:
        with pytest.raises(StoreError) as refused:
            store.roster.add_all(labels)
        taken = "device 1" if "device 1" in labels else "east"
        assert str(refused.value) == (
            f"there is a device {taken!r} already (`paofed fleet rotate` makes a new file)"
        )
        assert len(store.roster.members()) == 3
        assert store.roster.add_all(["east"]) == [3]


@pytest.fixture
def known(fleet: Path) -> Path:
    """A fleet with credentials of every kind."""
    with opened(fleet) as store:
        store.credentials.serve_as("5e")
        for credential in ("a0", "b0"):
            store.roster.reissue(0, credential)
    return fleet


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE device SET label = 'devica 1' WHERE id = 1", "device 1"),
        ("UPDATE device SET credential = 'b1' WHERE id = 0", "device 0"),
        ("UPDATE device SET quarantined = 1 WHERE id = 2", "device 2"),
        ("UPDATE device SET removed = 1 WHERE id = 2", "device 2"),
        ("UPDATE device SET checksum = checksum + 1 WHERE id = 2", "device 2"),
        ("UPDATE device SET id = 3 WHERE id = 2", "device 3"),
        ("UPDATE revoked SET credential = 'a1'", "a revocation"),
        ("UPDATE revoked SET checksum = 'x'", "a revocation"),
        ("UPDATE server SET credential = x'ff'", "the server's credential"),
    ],
)
def test_a_damaged_row_is_noticed(change: str, what: str, known: Path) -> None:
    execute(known, (change, ()))
    says = refusal(known)
    assert says.startswith(f"{what} in {known / FILE} is damaged: `paofed fleet repair` goes on")


@pytest.mark.parametrize("table", ["device", "revoked", "server"])
def test_a_missing_row_is_noticed(table: str, known: Path) -> None:
    trigger = "DROP TRIGGER server_gone"
    ((made,),) = ask(known, "SELECT sql FROM sqlite_master WHERE name = 'server_gone'")
    execute(
        known,
        (trigger, ()),
        (f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})", ()),  # noqa: S608
        (made, ()),
    )
    assert "rows of devices, credentials or manifests in " in refusal(known)


def test_an_older_form_of_a_row_is_noticed(known: Path) -> None:
    ((before,),) = ask(known, "SELECT checksum FROM device WHERE id = 1")
    with opened(known) as store:
        store.roster.quarantine(1)
    ((made,),) = ask(known, "SELECT sql FROM sqlite_master WHERE name = 'device_changed'")
    execute(
        known,
        ("DROP TRIGGER device_changed", ()),
        ("UPDATE device SET quarantined = 0, checksum = ? WHERE id = 1", (before,)),
        (made, ()),
    )
    assert "are missing" in refusal(known)


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.roster.add("one more"),
        lambda store: store.roster.quarantine(1),
        lambda store: store.roster.reissue(1, "b1"),
        lambda store: store.credentials.serve_as("5f"),
        lambda store: store.roster.remove(1),
        lambda store: store.credentials.revoke("c0"),
    ],
)
def test_a_change_that_cannot_be_counted_is_not_made_and_can_be_repeated(
    change: Callable[[Store], object], known: Path
) -> None:
    with opened(known) as store:
        before = store.database.counts()
        count = (known / CONFIRMED).rename(known / "elsewhere")
        with pytest.raises(StoreError, match=r"fleet.sqlite-confirmed cannot be used: No such"):
            change(store)
        assert store.database.counts() == before
        count.rename(known / CONFIRMED)
        change(store)
        assert store.database.counts() > before
        assert confirmation.read(known / CONFIRMED) == store.database.counts()


def test_changes_that_are_lost_are_noticed(known: Path) -> None:
    copy = (known / FILE).read_bytes()
    with opened(known) as store:
        store.roster.quarantine(1)
    (known / FILE).write_bytes(copy)
    lacks = "fleet.sqlite lacks 1 confirmed change of who is in the fleet or "
    assert lacks in refusal(known)
    with opened(known, to_repair=True) as store:
        mend(store)  # as a repair does that is then cut off
    assert lacks in refusal(known)
    with opened(known, to_repair=True) as store:
        assert repair(store) == Repair(changes=1)
        assert not store.roster.members()[1].quarantined
    with opened(known) as store:
        assert store.is_intact()


def test_repair_quarantines_a_device_whose_row_is_damaged(known: Path) -> None:
    execute(
        known,
        ("UPDATE device SET label = 'devica 1' WHERE id = 1", ()),
        ("UPDATE revoked SET credential = 'a1'", ()),
        ("UPDATE server SET credential = '5f'", ()),
    )
    with opened(known, to_repair=True) as store:
        assert repair(store) == Repair(devices=(1,), unknown=True)
    with opened(known) as store:
        assert [m.quarantined for m in store.roster.members()] == [False, True, False]
        assert [m.label for m in store.roster.members()] == ["device 0", "devica 1", "device 2"]
        assert (store.credentials.revoked(), store.credentials.server()) == (["a1"], "5f")
        assert store.is_intact()


def test_repair_knows_that_all_lost_rows_are_back(known: Path) -> None:
    """The sum of the rows' checksums tells."""
    with opened(known) as store:
        before = store.credentials.revoked()
        assert before
    execute(known, ("DELETE FROM revoked", ()))
    with opened(known, to_repair=True) as store:
        assert repair(store, before) == Repair(regained=len(before))
        assert store.credentials.revoked() == before
        assert store.is_intact()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM device WHERE id = 2",
        "DELETE FROM revoked",
        "UPDATE server SET credential = '5f'",
        "UPDATE revoked SET credential = x'00'",
        "UPDATE revoked SET credential = NULL",
    ],
)
def test_repair_says_that_rows_are_lost_which_nobody_knows(statement: str, known: Path) -> None:
    execute(known, (statement, ()))
    with opened(known, to_repair=True) as store:
        assert repair(store, ["99"]) == Repair(regained=1, unknown=True)
        assert "99" in store.credentials.revoked()
        assert store.is_intact()


def test_a_member_is_found_by_what_people_call_it(fleet: Path) -> None:
    with opened(fleet) as store:
        store.roster.reissue(1, "ab")
        store.roster.quarantine(2)
        expected = [
            Member(0, "device 0", "", quarantined=False, removed=False),
            Member(1, "device 1", "ab", quarantined=False, removed=False),
            Member(2, "device 2", "", quarantined=True, removed=False),
        ]
        assert store.roster.members() == expected
        assert [store.roster.member(member.label) for member in expected] == expected
        store.roster.remove(2)
        with pytest.raises(StoreError) as refused:
            store.roster.member("devize 1")
        assert str(refused.value) == (
            "unknown device 'devize 1': did you mean 'device 1'? (known: device 0, device 1)"
        )
        with pytest.raises(StoreError, match="unknown device 'device 2'"):
            store.roster.member("device 2")


def test_one_is_looked_up_without_the_others(fleet: Path) -> None:
    with opened(fleet) as store:
        execute(fleet, ("UPDATE device SET credential = 'x' WHERE id = 2", ()))
        assert store.roster.member("device 1") == store.roster.at(1)
        assert store.roster.find("device 9") is None
        with pytest.raises(StoreError, match=r"^device 2 in .* is damaged"):
            store.roster.members()


def test_what_was_reissued_is_revoked(fleet: Path) -> None:
    with opened(fleet) as store:
        store.roster.reissue(0, "cc")
        assert store.credentials.revoked() == []
        store.roster.reissue(0, "aa")
        store.roster.reissue(1, "bb")
        assert store.credentials.revoked() == ["cc"]
        assert [m.credential for m in store.roster.members()] == ["aa", "bb", ""]
        store.roster.reissue(0, "cc")
        store.roster.reissue(0, "dd")
        for number in ("ff", "ee", "ff"):  # of nobody
            store.credentials.revoke(number)
    with opened(fleet) as store:
        assert store.credentials.revoked() == ["aa", "cc", "ee", "ff"]
        assert store.roster.members()[0].credential == "dd"


def test_what_the_server_had_is_revoked(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.credentials.server() == ""
        store.credentials.serve_as("")  # without security
        store.credentials.serve_as("aa")
        assert (store.credentials.server(), store.credentials.revoked()) == ("aa", [])
        store.credentials.serve_as("bb")
        assert (store.credentials.server(), store.credentials.revoked()) == ("bb", ["aa"])
    with opened(fleet) as store:
        assert (store.credentials.server(), store.credentials.revoked()) == ("bb", ["aa"])
    assert ask(fleet, "SELECT count(*) FROM server") == [(1,)]


def test_one_that_leaves_is_revoked_and_its_index_stays_its_own(fleet: Path) -> None:
    with opened(fleet) as store:
        store.roster.reissue(1, "aa")
        store.roster.remove(1)
        store.roster.remove(2)
        assert store.credentials.revoked() == ["aa"]
        assert [m.removed for m in store.roster.members()] == [False, True, True]
        assert store.roster.add("device 2") == 3
        with pytest.raises(StoreError, match="there is a device 'device 2' already"):
            store.roster.add("device 2")
        store.roster.remove(3)
        assert store.roster.add("device 2") == 4
    with opened(fleet) as store:
        assert [(m.label, m.removed) for m in store.roster.members()] == [
            ("device 0", False),
            ("device 1", True),
            ("device 2", True),
            ("device 2", True),
            ("device 2", False),
        ]


def test_one_that_left_is_refused_after_a_restart_and_what_it_brought_stays(fleet: Path) -> None:
    with opened(fleet) as store:
        store.roster.remove(1)
        recovered = store.recover()
        recovered.close(25)
        assert recovered.removed == {1}
        assert recovered.digest() == lived(25).digest()
        assert records(recovered, 1, update(25)) == []
        assert recovered.counts["refused: removed"] == 1
        assert len(records(recovered, 0, update(25))) == 1
        assert store.verify().agrees


def test_the_server_is_told_who_its_devices_are(fleet: Path) -> None:
    coordinator = Coordinator(manifest())
    with opened(fleet) as store:
        store.roster.quarantine(0)
        store.roster.remove(2)
    with opened(fleet) as store:
        for _ in range(2):
            store.roster.introduce(coordinator)
            assert [coordinator.devices.knows(k) for k in range(4)] == [True] * 3 + [False]
            assert coordinator.devices.quarantined[:3].tolist() == [True, False, False]
            assert coordinator.removed == {2}
        assert store.recover().devices.quarantined[:3].tolist() == [True, False, False]
        store.roster.quarantine(0, on=False)
        store.roster.introduce(coordinator)
        assert not coordinator.devices.quarantined[0]


def test_devices_with_firmware_are_noted_and_a_damaged_note_is_told(fleet: Path) -> None:
    with opened(fleet) as store:
        store.roster.note_firmware([2, 0])
        store.roster.note_firmware([0])  # again, which changes nothing
        assert [member.device for member in store.roster.firmware()] == [0, 2]
        store.roster.note_firmware([2], on=False)
        store.roster.remove(1)
        assert [member.device for member in store.roster.firmware()] == [0]
    execute(fleet, ("UPDATE firmware SET device = 1", ()))
    assert "the firmware of device 1" in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        repair(store)
    with opened(fleet) as store:
        assert store.verify().agrees
