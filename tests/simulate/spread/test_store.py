"""The folder of a task: which runs are free, whatever units others make of them."""

import resource
from pathlib import Path

import numpy as np
import pytest

from paofed.simulate.results.result import RunRecord
from paofed.simulate.spread.store import FinishedUnit, UnitStore


def test_runs_that_another_claims_in_a_larger_unit_are_not_free(tmp_path: Path) -> None:
    with UnitStore(tmp_path, "key") as one, UnitStore(tmp_path, "key") as other:
        assert one.claim(range(4, 8))
        assert other.taken() == {4, 5, 6, 7}
        assert one.taken() == set()
        assert not other.claim(range(5, 6))
        assert not other.claim(range(2, 5))
        assert other.claim(range(2, 4))
        assert one.taken() == {2, 3}
    assert list(tmp_path.rglob("*.claim")) == []


def test_two_tasks_do_not_get_in_each_other_s_way(tmp_path: Path) -> None:
    with UnitStore(tmp_path, "one") as one, UnitStore(tmp_path, "other") as other:
        assert one.claim(range(4))
        assert other.claim(range(4))


def test_names_that_no_unit_has_are_passed_over(tmp_path: Path) -> None:
    """A name may claim any number of runs: none of them is counted one by one."""
    folder = tmp_path / "key"
    folder.mkdir()
    for name in ("0-999999999999", f"0-{'9' * 99}", "3", "-", "a-b", "5-2", "²-³"):
        (folder / f"{name}.npz").touch()
        (folder / f"{name}.claim").touch()
    with UnitStore(tmp_path, "key") as store:
        assert store.taken() == set()
        assert list(store.finished(range(5))) == []
        assert store.claim(range(5))


def save(store: UnitStore, unit: range) -> None:
    """Write a unit of small records."""
    shapes = [(1, 2), (1, 7, 2), (1, 3), (1, 2, 0), (1, 2, 5, 0)]
    record = RunRecord._make(np.ones(shape) for shape in shapes)
    store.save(unit, FinishedUnit(dict.fromkeys(unit, record), "a processor", 1.0), {})


def runs_in(store: UnitStore, runs: range) -> list[int]:
    return [run for unit in store.finished(runs) for run in unit.records]


def test_a_unit_that_cannot_be_read_now_is_computed_again_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """This process may open no more files, once the first unit is read."""
    with UnitStore(tmp_path, "key") as store:
        for run in range(2):
            save(store, range(run, run + 1))
        path = tmp_path / "key" / "1-1.npz"
        whole, units = path.read_bytes(), store.finished(range(2))
        assert [*next(units).records] == [0]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            assert list(units) == []
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert caplog.messages == [
            f"{path} cannot be read: Too many open files; it is computed again"
        ]
        assert path.read_bytes() == whole
        assert store.taken() == {0}
        assert store.claim(range(1, 2))
    with UnitStore(tmp_path, "key") as later:
        assert runs_in(later, range(2)) == [0, 1]


def test_a_damaged_unit_that_another_client_replaced_is_finished(tmp_path: Path) -> None:
    with UnitStore(tmp_path, "key") as one, UnitStore(tmp_path, "key") as other:
        save(one, range(2))
        (tmp_path / "key" / "0-1.npz").write_bytes(b"")
        assert runs_in(one, range(2)) == []
        assert one.taken() == set()
        save(other, range(2))
        assert one.taken() == {0, 1}
        assert runs_in(one, range(2)) == [0, 1]


def test_a_damaged_unit_whose_runs_are_in_other_units_is_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Units were cut otherwise when its runs were computed again, so nothing replaced its file."""
    with UnitStore(tmp_path, "key") as store:
        save(store, range(1))
        save(store, range(1, 2))
        (tmp_path / "key" / "0-1.npz").write_bytes(b"")
        assert runs_in(store, range(2)) == [0, 1]
        assert caplog.messages == []


def test_a_client_that_ends_leaves_the_folder_to_one_that_has_claimed_nothing_yet(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with UnitStore(tmp_path, "key") as one:
        with UnitStore(tmp_path, "key"):
            pass
        assert one.claim(range(1))
        save(one, range(1))
        assert runs_in(one, range(1)) == [0]
    assert caplog.messages == []
