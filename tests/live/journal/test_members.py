"""Who is in a fleet, what proves it, and what they have agreed on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from paofed.errors import InputError
from paofed.live.journal import confirmed
from paofed.live.journal.database import CONFIRMED, FILE, StoreError
from paofed.live.journal.members import Member
from paofed.live.journal.store import Repair, Store
from paofed.live.protocol.coordinator import Coordinator
from tests.live.fleets import manifest, opened, records, stored, update
from tests.live.stores import ask, execute, lived, made, refusal


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet with some history."""
    return made(tmp_path)


def test_devices_are_numbered_in_their_order_under_their_own_names(tmp_path: Path) -> None:
    with stored(tmp_path, devices=0) as store:
        assert [store.add(name) for name in ("north", "south", "a 'quoted' name")] == [0, 1, 2]
        with pytest.raises(StoreError, match=r"south|UNIQUE"):
            store.add("south")
        assert store.add("east") == 3
        assert [m[:2] for m in store.members()] == [
            (0, "north"),
            (1, "south"),
            (2, "a 'quoted' name"),
            (3, "east"),
        ]
        assert [store.recover().devices.knows(k) for k in range(5)] == [True] * 4 + [False]


def test_a_name_that_is_taken_is_told(fleet: Path) -> None:
    with opened(fleet) as store, pytest.raises(StoreError) as refused:
        store.add("device 1")
    assert str(refused.value) == (
        "there is a device 'device 1' already (`paofed fleet rotate` makes a new file)"
    )


def test_several_are_added_at_once(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.add_all(["east", "west"]) == [3, 4]
        assert store.add_all([]) == []
        assert store.add_all(iter(["far east"])) == [5]
        assert [m[:2] for m in store.members()[3:]] == [(3, "east"), (4, "west"), (5, "far east")]


@pytest.mark.parametrize("labels", [["east", "device 1", "west"], ["east", "west", "east"]])
def test_of_several_all_are_added_or_none(labels: list[str], fleet: Path) -> None:
    with opened(fleet) as store:
        with pytest.raises(StoreError) as refused:
            store.add_all(labels)
        taken = "device 1" if "device 1" in labels else "east"
        assert str(refused.value).startswith(f"there is a device {taken!r} already (")
        assert len(store.members()) == 3
        assert store.add_all(["east"]) == [3]


def test_a_credential_that_is_nobodys_is_revoked_too(fleet: Path) -> None:
    with opened(fleet) as store:
        store.reissue(0, "aa")
        for number in ("cc", "bb", "cc"):
            store.revoke(number)
        assert store.revoked() == ["bb", "cc"]
        store.reissue(0, "bb")
        assert store.revoked() == ["aa", "bb", "cc"]
    with opened(fleet) as store:
        assert store.revoked() == ["aa", "bb", "cc"]
        assert store.members()[0].credential == "bb"


def test_a_damaged_manifest_is_noticed(fleet: Path) -> None:
    execute(
        fleet,
        (
            "UPDATE manifest SET json = replace(json, '\"step_size\":0.4', '\"step_size\":0.6')",
            (),
        ),
    )
    with pytest.raises(InputError), opened(fleet) as store:
        store.manifest()


def test_a_manifest_that_is_garbage_is_told(fleet: Path) -> None:
    execute(fleet, ("UPDATE manifest SET json = 'x'", ()))
    assert refusal(fleet, Store.recover).startswith("the manifest in ")


@pytest.fixture
def known(fleet: Path) -> Path:
    """A fleet with credentials of every kind."""
    with opened(fleet) as store:
        store.serve_as("5e")
        for credential in ("a0", "b0"):
            store.reissue(0, credential)
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
        store.quarantine(1)
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
        lambda store: store.add("one more"),
        lambda store: store.quarantine(1),
        lambda store: store.reissue(1, "b1"),
        lambda store: store.serve_as("5f"),
        lambda store: store.remove(1),
        lambda store: store.revoke("c0"),
    ],
)
def test_a_change_that_cannot_be_counted_is_not_made_and_can_be_repeated(
    change: Callable[[Store], object], known: Path
) -> None:
    with opened(known) as store:
        before = store._held()
        count = (known / CONFIRMED).rename(known / "elsewhere")
        with pytest.raises(StoreError, match=r"fleet.sqlite-confirmed cannot be used: No such"):
            change(store)
        assert store._held() == before
        count.rename(known / CONFIRMED)
        change(store)
        assert store._held() > before


def test_every_change_is_counted(known: Path) -> None:
    with opened(known) as store:
        for device in range(3):
            store.quarantine(device)
            assert confirmed.read(known / CONFIRMED) == store._held()


def test_changes_that_are_lost_are_noticed(known: Path) -> None:
    copy = (known / FILE).read_bytes()
    with opened(known) as store:
        store.quarantine(1)
    (known / FILE).write_bytes(copy)
    assert "fleet.sqlite lacks 1 confirmed change of who is in the fleet or " in refusal(known)
    with opened(known, to_repair=True) as store:
        assert store.repair() == Repair(changes=1)
        assert not store.members()[1].quarantined
    with opened(known) as store:
        assert store.is_intact()


def test_changes_that_are_lost_are_noticed_after_a_repair_that_was_cut_off(known: Path) -> None:
    copy = (known / FILE).read_bytes()
    with opened(known) as store:
        store.quarantine(1)
    (known / FILE).write_bytes(copy)
    with opened(known, to_repair=True) as store:
        store._mend_members()
    assert "fleet.sqlite lacks 1 confirmed change of who is in the fleet or " in refusal(known)


def test_repair_quarantines_a_device_whose_row_is_damaged(known: Path) -> None:
    execute(
        known,
        ("UPDATE device SET label = 'devica 1' WHERE id = 1", ()),
        ("UPDATE revoked SET credential = 'a1'", ()),
        ("UPDATE server SET credential = '5f'", ()),
    )
    with opened(known, to_repair=True) as store:
        assert store.repair() == Repair(devices=(1,), unknown=True)
    with opened(known) as store:
        assert [m.quarantined for m in store.members()] == [False, True, False]
        assert [m.label for m in store.members()] == ["device 0", "devica 1", "device 2"]
        assert (store.revoked(), store.server()) == (["a1"], "5f")
        assert store.is_intact()


def test_repair_knows_that_all_lost_rows_are_back(known: Path) -> None:
    """The sum of the rows' checksums tells."""
    with opened(known) as store:
        before = store.revoked()
        assert before
    execute(known, ("DELETE FROM revoked", ()))
    with opened(known, to_repair=True) as store:
        assert store.repair(before) == Repair(regained=len(before))
        assert store.revoked() == before
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
        assert store.repair(["99"]) == Repair(regained=1, unknown=True)
        assert "99" in store.revoked()
        assert store.is_intact()


def test_a_quarantine_outlives_a_restart(fleet: Path) -> None:
    for on in (True, False):
        with opened(fleet) as store:
            store.quarantine(1, on=on)
        with opened(fleet) as store:
            assert store.recover().devices.quarantined[:2].tolist() == [False, on]


def test_a_member_is_found_by_what_people_call_it(fleet: Path) -> None:
    with opened(fleet) as store:
        store.reissue(1, "ab")
        store.quarantine(2)
        expected = [
            Member(0, "device 0", "", quarantined=False, removed=False),
            Member(1, "device 1", "ab", quarantined=False, removed=False),
            Member(2, "device 2", "", quarantined=True, removed=False),
        ]
        assert store.members() == expected
        assert [store.member(member.label) for member in expected] == expected


def test_a_member_that_is_unknown_is_told_with_the_nearest(fleet: Path) -> None:
    with opened(fleet) as store:
        store.remove(2)
        with pytest.raises(StoreError) as refused:
            store.member("devize 1")
        assert str(refused.value) == (
            "unknown device 'devize 1': did you mean 'device 1'? (known: device 0, device 1)"
        )
        with pytest.raises(StoreError, match="unknown device 'device 2'"):
            store.member("device 2")


def test_members_are_in_the_order_of_their_indices(tmp_path: Path) -> None:
    with stored(tmp_path, devices=12) as store:
        store.remove(3)
        store.add("device 3")
        assert [m.device for m in store.members()] == list(range(13))
        assert store.member("device 3").device == 12


def test_what_was_reissued_is_revoked(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.revoked() == []
        store.reissue(0, "cc")
        assert store.revoked() == []
        store.reissue(0, "aa")
        store.reissue(1, "bb")
        assert store.revoked() == ["cc"]
        assert [m.credential for m in store.members()] == ["aa", "bb", ""]
        store.reissue(0, "cc")
        store.reissue(0, "dd")
        assert store.revoked() == ["aa", "cc"]


def test_what_the_server_had_is_revoked(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.server() == ""
        store.serve_as("")  # without security
        store.serve_as("aa")
        assert (store.server(), store.revoked()) == ("aa", [])
        store.serve_as("bb")
        assert (store.server(), store.revoked()) == ("bb", ["aa"])
    with opened(fleet) as store:
        assert (store.server(), store.revoked()) == ("bb", ["aa"])
    assert ask(fleet, "SELECT count(*) FROM server") == [(1,)]


def test_one_that_leaves_is_revoked_and_its_index_stays_its_own(fleet: Path) -> None:
    with opened(fleet) as store:
        store.reissue(1, "aa")
        store.remove(1)
        store.remove(2)
        assert store.revoked() == ["aa"]
        assert [m.removed for m in store.members()] == [False, True, True]
        assert store.add("device 2") == 3
        with pytest.raises(StoreError, match="there is a device 'device 2' already"):
            store.add("device 2")
        store.remove(3)
        assert store.add("device 2") == 4
    with opened(fleet) as store:
        assert [(m.label, m.removed) for m in store.members()] == [
            ("device 0", False),
            ("device 1", True),
            ("device 2", True),
            ("device 2", True),
            ("device 2", False),
        ]


def test_one_that_left_is_refused_after_a_restart_and_what_it_brought_stays(fleet: Path) -> None:
    with opened(fleet) as store:
        store.remove(1)
        recovered = store.recover()
        recovered.close(25)
        assert recovered.removed == {1}
        assert recovered.digest() == lived(25).digest()
        assert records(recovered, 1, update(25)) == []
        assert recovered.counts["refused: removed"] == 1
        assert len(records(recovered, 0, update(25))) == 1
        assert store.verify().agrees


def test_the_server_is_told_who_its_devices_are(fleet: Path) -> None:
    with opened(fleet) as store:
        store.quarantine(0)
        store.remove(2)
        coordinator = Coordinator(manifest())
        for _ in range(2):
            store.introduce(coordinator)
            assert [coordinator.devices.knows(k) for k in range(4)] == [True] * 3 + [False]
            assert coordinator.devices.quarantined[:3].tolist() == [True, False, False]
            assert coordinator.removed == {2}
        store.quarantine(0, on=False)
        store.introduce(coordinator)
        assert not coordinator.devices.quarantined[0]


def test_devices_with_firmware_are_noted_and_a_damaged_note_is_told(fleet: Path) -> None:
    with opened(fleet) as store:
        store.note_firmware([2, 0])
        store.note_firmware([0])  # again, which changes nothing
        assert [member.device for member in store.firmware()] == [0, 2]
        store.note_firmware([2], on=False)
        store.remove(1)
        assert [member.device for member in store.firmware()] == [0]
    execute(fleet, ("UPDATE firmware SET device = 1", ()))
    assert "the firmware of device 1" in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        store.repair()
    with opened(fleet) as store:
        assert store.verify().agrees
