"""The folder of a task: which runs are free, whatever units others make of them."""

from pathlib import Path

from paofed.simulate.spread.store import UnitStore


def test_runs_that_another_claims_in_a_larger_unit_are_not_free(tmp_path: Path) -> None:
    with UnitStore(tmp_path, "key") as one, UnitStore(tmp_path, "key") as other:
        assert one.claim(range(4, 8))
        assert other.taken() == {4, 5, 6, 7}
        assert one.taken() == set()
        assert not other.claim(range(5, 6))
        assert not other.claim(range(2, 5))
        assert other.claim(range(2, 4))
        assert one.taken() == {2, 3}
    assert list(tmp_path.iterdir()) == []


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
