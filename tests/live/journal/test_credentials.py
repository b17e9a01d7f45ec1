"""Credentials that are good for a while beside those that took their place."""

from pathlib import Path

import pytest

from paofed.live.journal.credentials import NOBODY, Expiring
from paofed.live.journal.repair import Repair, repair
from tests.live.fleets import opened, stored
from tests.live.stores import execute, refusal


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three devices with certificates 10, 11 and 12, which are replaced by 20, 21 and 22."""
    folder = tmp_path / "fleet"
    with stored(folder) as store:
        for device in range(3):
            store.roster.reissue(device, f"1{device}")
            store.roster.reissue(device, f"2{device}", until=1000.0 + device)
    return folder


def test_they_are_revoked_when_their_time_is_over(fleet: Path) -> None:
    with opened(fleet) as store:
        assert [m.credential for m in store.roster.members()] == ["20", "21", "22"]
        assert store.credentials.expiring() == [Expiring(f"1{k}", k, 1000 + k) for k in range(3)]
        assert store.credentials.revoked() == []
        store.credentials.expire(999.9)
        assert store.credentials.revoked() == []
        store.credentials.expire(1001.0)
        assert store.credentials.revoked() == ["10", "11"]
        assert store.credentials.expiring() == [Expiring("12", 2, 1002)]
    with opened(fleet) as store:
        store.credentials.expire(5000.0)
        assert store.credentials.revoked() == ["10", "11", "12"]
        assert store.credentials.expiring() == []


def test_a_second_rotation_leaves_the_first_one_s_time_or_ends_all_there_was(fleet: Path) -> None:
    with opened(fleet) as store:
        store.roster.reissue(0, "30", until=2000.0)
        assert store.credentials.expiring()[0] == Expiring("10", 0, 1000)
        assert store.credentials.expiring()[-1] == Expiring("20", 0, 2000)
        store.roster.reissue(0, "40")
        assert store.credentials.revoked() == ["10", "20", "30"]
        store.roster.remove(1)
        assert store.credentials.revoked() == ["10", "11", "20", "21", "30"]
        assert store.credentials.expiring() == [Expiring("12", 2, 1002)]


def test_what_is_lent_is_nobody_s(fleet: Path) -> None:
    with opened(fleet) as store:
        store.credentials.lend(["99"], 500.5)
        assert store.credentials.due(500.0) == [Expiring("99", NOBODY, 500)]
        store.credentials.expire(500.0)
        assert store.credentials.revoked() == ["99"]


def test_one_that_was_never_issued_does_not_expire(tmp_path: Path) -> None:
    with stored(tmp_path / "fleet") as store:
        store.roster.reissue(0, "10", until=1000.0)
        assert store.credentials.expiring() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE expiring SET until = until + 1000000 WHERE device = 1",
        "UPDATE expiring SET credential = '77' WHERE device = 1",
    ],
)
def test_damage_is_noticed_and_what_is_doubtful_is_revoked(statement: str, fleet: Path) -> None:
    execute(fleet, (statement, ()))
    assert "a credential that will be revoked" in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        assert repair(store) == Repair(unknown=True)
    with opened(fleet) as store:
        assert [found.device for found in store.credentials.expiring()] == [0, 2]
        assert len(store.credentials.revoked()) == 1  # nobody can tell until when it was good
        assert store.is_intact()


def test_a_row_that_is_missing_is_noticed(fleet: Path) -> None:
    """One that was deleted behind the back of its checksums, as a lost page would be."""
    execute(
        fleet,
        ("CREATE TEMP TABLE was AS SELECT total FROM seal", ()),
        ("DELETE FROM expiring WHERE device = 1", ()),
        ("UPDATE seal SET total = (SELECT total FROM was)", ()),
    )
    assert "are missing" in refusal(fleet)
