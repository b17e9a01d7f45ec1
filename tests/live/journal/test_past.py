"""What a fleet's model was: the journal's answer, and that of a server that was there."""

from pathlib import Path

import pytest

from paofed.live.journal.database import StoreError
from paofed.live.journal.store import Store
from tests.effort import some
from tests.live.fleets import live, manifest, opened, records, stored, update
from tests.live.stores import lived


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three devices, 60 ticks, snapshots that have thinned out."""
    with stored(tmp_path) as store:
        live(store, store.recover(), range(60), snapshots=4, keep=1e6)
    return tmp_path


def test_every_tick_that_was_is_computed_bit_for_bit(fleet: Path) -> None:
    with opened(fleet) as store:
        assert len(store.snapshots.all()) < 12
        for tick in (*some(range(60), everyday=12), 60):
            moment = store.past.at(tick)
            assert moment.server.digest() == lived(tick).digest()
            assert store.past.count_since(moment) == 3 * (60 - tick)


def test_what_was_accepted_ahead_of_time_counts_when_it_arrived(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        coordinator = store.recover()
        models = {0: coordinator.w.copy()}
        for tick in range(12):
            # The first device is always two ticks ahead, the second one in time.
            group = records(coordinator, 0, update(tick + 2, tick, 1.0))
            group += records(coordinator, 1, update(tick, 2.0, -tick))
            store.write(group)
            coordinator.close(tick + 1)
            models[tick + 1] = coordinator.w.copy()
            if tick % 5 == 2:
                store.snapshot(coordinator, keep=1e6)
        for tick, w in models.items():
            moment = store.past.at(tick)
            assert moment.server.w.tobytes() == w.tobytes()
            # All that came since makes the present of it.
            moment.server.recover(
                record
                for record in store.past.since(moment)
                if record not in moment.server.waiting()
            )
            moment.server.close(12)
            assert moment.server.w.tobytes() == coordinator.w.tobytes()


def test_a_tick_before_an_epoch_is_computed_under_what_held_then(fleet: Path) -> None:
    with opened(fleet) as store:
        coordinator = store.recover()
        begun = coordinator.under(manifest(epoch=4, step_size=0.1))
        begun.rule.begin(coordinator.w / 2)
        store.begin_epoch(begun, "tried")
        live(store, begun, range(60, 70), snapshots=5, keep=1e6)
        expected = {tick: lived(tick).w.tobytes() for tick in (30, 59, 60)}
        for tick, w in expected.items():
            moment = store.past.at(tick)
            assert moment.server.w.tobytes() == w
            assert moment.server.manifest == manifest()
        assert store.past.at(70).server.w.tobytes() == begun.w.tobytes()
        assert store.past.at(61).server.manifest == begun.manifest
        assert store.verify().agrees


def test_what_is_no_longer_there_is_refused(fleet: Path) -> None:
    with opened(fleet) as store:
        coordinator = store.recover()
        coordinator.close(64)
        store.snapshot(coordinator, keep=10)
        oldest = store.past.reaches()
        assert 0 < oldest <= 54
        store.past.at(oldest)
        with pytest.raises(StoreError, match=f"begins with tick {oldest}"):
            store.past.at(oldest - 1)


def test_the_tick_in_which_an_epoch_began_is_that_of_before_or_refused(tmp_path: Path) -> None:
    """However long ago: it never becomes the model that the epoch began with."""
    with stored(tmp_path) as store:
        before = store.recover()
        live(store, before, range(6))
        begun = before.under(manifest(epoch=4, lineage=1))
        begun.rule.begin(before.w / 2)
        store.begin_epoch(begun, "rolled back")
        begun.close(16)
        store.snapshot(begun, keep=10.0)  # seconds: just back to tick 6, in which the epoch began
        assert store.past.at(6).server.w.tobytes() == before.w.tobytes()
        store.snapshot(begun, keep=9.0)
        assert store.past.reaches() == 7
        assert store.past.at(7).server.w.tobytes() == begun.w.tobytes()
        with pytest.raises(StoreError, match="begins with tick 7"):
            store.past.at(6)


def test_messages_are_replayed_within_one_lineage_alone(fleet: Path) -> None:
    def begin(store: Store, **changes: object) -> None:
        coordinator = store.recover()
        begun = coordinator.under(manifest(**changes))
        begun.rule.carry(coordinator.rule.arrays())
        store.begin_epoch(begun, "in words")
        live(store, begun, range(begun.tick, begun.tick + 5), snapshots=5, keep=1e6)

    with opened(fleet) as store:
        begin(store, epoch=4, step_size=0.1)
        store.past.require_unbroken(10)  # a step size is no matter of the server's
        begin(store, epoch=5, step_size=0.1, lineage=1)
        store.past.require_unbroken(66)
        with pytest.raises(StoreError, match=r"has begun anew .* \(in words\)"):
            store.past.require_unbroken(65)
        begin(store, epoch=6, lineage=1, algorithm="pao-fed-c1")
        with pytest.raises(StoreError, match="before tick 70"):
            store.past.require_unbroken(66)
