"""How far back a journal reaches, and that nothing beyond that is kept for long."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.journal.host import Host
from paofed.live.journal.retention import ALWAYS, Snapshot, deletable, kept
from tests.effort import effort, long
from tests.live.fleets import live, manifest, opened, stored, update
from tests.live.stores import ask


def rows(ticks: list[int], generations: list[int] | None = None) -> list[Snapshot]:
    marks = sorted(generations or [1] * len(ticks))
    return [Snapshot(t, n, g) for n, (t, g) in enumerate(zip(sorted(ticks), marks, strict=True))]


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 3)), min_size=1, max_size=60),
    st.integers(0, 10**6),
)
def test_every_tick_since_the_oldest_can_be_reached(
    found: list[tuple[int, int]], oldest: int
) -> None:
    snapshots = rows([t for t, _ in found], [g for _, g in found])
    keep = kept(snapshots, oldest)
    assert keep == [snapshot for snapshot in snapshots if snapshot in keep]  # in their order
    assert snapshots[-ALWAYS:] == keep[-ALWAYS:]
    # The tick in which a manifest began belongs to the one before.
    first = {snapshot.generation: snapshot.tick for snapshot in reversed(snapshots)}
    reaching = [s for s in snapshots if s.tick <= oldest and first[s.generation] < oldest]
    assert not reaching or first[keep[0].generation] < oldest >= keep[0].tick
    assert reaching or keep[0] == snapshots[0]
    since = snapshots[snapshots.index(keep[0]) :]
    for generation in {snapshot.generation for snapshot in since}:
        assert next(snapshot for snapshot in since if snapshot.generation == generation) in keep
    now = snapshots[-1].tick
    for older, newer in pairwise(keep):
        between = [s for s in since if older < s < newer and s.tick > older.tick]
        assert not between or newer.tick - older.tick <= (now - newer.tick) / 2


def test_snapshots_thin_out_with_age() -> None:
    """As many as the logarithm of the time that they reach back, whenever one looks."""
    snapshots: list[Snapshot] = []
    for tick in range(0, 100_000, 10):
        snapshots = kept([*snapshots, Snapshot(tick, tick, 1)], tick - 50_000)
        assert len(snapshots) <= 50
    ages = [snapshots[-1].tick - snapshot.tick for snapshot in snapshots]
    assert 50_000 <= ages[0] <= 75_000
    assert ages[-4:] == [30, 20, 10, 0]


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**6))
def test_what_is_deleted_at_once_is_bounded_and_more_than_comes(
    first: int, until: int, came: int
) -> None:
    last = deletable(first, until, came)
    assert last <= until
    assert last == until or came < last - first <= 2 * came + 10_000


KEEP = 40


def host_of(store_folder: Path, ticks: int, keep: float) -> None:
    """Let a fleet live, each device heard in each tick."""
    with stored(store_folder) as store:
        host = Host(store, lambda _: None, snapshot_every=5, keep=keep)
        for tick in range(ticks):
            for device in range(3):
                host.receive(device, update(tick, device + 3.0 * tick, device - tick))
            host.advance(tick + 1)


def test_the_journal_reaches_back_as_far_as_it_is_told_and_not_much_farther(tmp_path: Path) -> None:
    ticks_lived = effort(everyday=150, thorough=300)
    host_of(tmp_path / "young", 30, keep=KEEP)
    with opened(tmp_path / "young") as store:
        assert (store.lines.count(), store.snapshots.all()[0].tick) == (90, 0)
    host_of(tmp_path, ticks_lived, keep=KEEP)
    with opened(tmp_path) as store:
        ticks = [snapshot.tick for snapshot in store.snapshots.all()]
        assert ticks[0] <= ticks_lived - KEEP
        assert ticks[0] >= ticks_lived - KEEP - KEEP / 2 - 5
        assert store.lines.count() == 3 * (ticks_lived - ticks[0])
        assert len(ticks) <= 12
        assert store.verify().agrees
        assert store.verify().lines == store.lines.count()
    assert ask(tmp_path, "SELECT min(line) FROM journal") == [(3 * ticks[0] + 1,)]


def test_the_age_is_that_of_the_ticks_as_they_were(tmp_path: Path) -> None:
    """Under a manifest whose ticks are ten times as long, as many seconds are fewer ticks."""
    with stored(tmp_path) as store:
        coordinator = store.recover()
        live(store, coordinator, range(100), snapshots=10, keep=1e6)
        slow = manifest(tick_seconds=10.0, from_tick=100, from_time=101.0)
        begun = coordinator.under(slow)
        begun.rule.restore(coordinator.rule.arrays())
        store.begin_epoch(begun, "slower")
        assert [store.epochs.tick_at(1.0 + s) for s in (0, 50, 99.5, 100, 109, 110)] == [
            *(0, 50, 99, 100),
            *(100, 101),
        ]
        live(store, begun, range(100, 103))
        store.snapshot(begun, keep=50.0)  # of which 30 are ticks of this length
        assert store.snapshots.all()[0].tick == 80


def test_manifests_go_with_their_lines(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        coordinator = store.recover()
        for epoch in range(4):
            ticks = range(10 * epoch, 10 * epoch + 10)
            live(store, coordinator, ticks, snapshots=5, keep=1e6)
            begun = coordinator.under(coordinator.manifest)
            begun.rule.restore(coordinator.rule.arrays())
            store.begin_epoch(begun, f"again {epoch}")
            coordinator = begun
        live(store, coordinator, range(40, 43))
        store.snapshot(coordinator, keep=15.0)
        assert [epoch.generation for epoch in store.epochs.all()] == [3, 4, 5]
        assert store.is_intact()
        store.snapshot(coordinator)
        assert [epoch.generation for epoch in store.epochs.all()] == [5]
        assert store.is_intact()


@long
def test_the_disk_that_is_expected_is_about_what_it_takes(tmp_path: Path) -> None:
    """The estimate of a young journal, against what an old one takes."""
    host_of(tmp_path / "young", 100, keep=500)
    host_of(tmp_path / "old", 1000, keep=500)
    with opened(tmp_path / "young") as young, opened(tmp_path / "old") as old:
        expected, takes = young.disk(500).expected, old.disk(500).now
        assert takes < expected < 3 * takes
        disk = old.disk(500)
        assert disk.expected == pytest.approx(disk.most, rel=0.01)  # all are heard in every tick
        line = 48 + 2 * 4  # bytes of one, of which every tick has three
        assert young.disk(1000).expected > expected + 500 * 3 * line


def test_what_an_epoch_began_with_stays_though_nobody_is_heard(tmp_path: Path) -> None:
    """Its first ticks cannot be computed from anything else."""
    with stored(tmp_path / "fleet") as store:
        coordinator = store.recover()
        for tick in (5, 9):
            coordinator.close(tick)
            store.snapshot(coordinator, keep=100.0)
        assert store.disk(1000).expected < store.disk(1000).most
        assert [snapshot.tick for snapshot in store.snapshots.all()] == [0, 9]
        assert {snapshot.line for snapshot in store.snapshots.all()} == {0}
        assert store.verify().agrees
        assert store.recover().tick == 9
