"""Counting lines of the journal by time."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Record
from tests.effort import effort
from tests.live.fleets import f32, live, stored
from tests.live.in_memory import folder_in_memory


def test_an_empty_journal(tmp_path: Path) -> None:
    with stored(tmp_path / "fleet") as store:
        assert store.tallies.between([0.0, 10.0, 20.0]) == [0, 0]
        assert store.tallies.since(0.0, 5.0, 10).shape == (0, 4)


def test_who_was_heard_when(tmp_path: Path) -> None:
    with stored(tmp_path / "fleet", start=100.0, tick_seconds=2.0) as store:
        live(store, store.recover(), range(20), snapshots=8)
        # Ticks 0 to 19 begin at 100, 102, ...; the journal has those behind the oldest snapshot.
        found = store.tallies.since(0.0, 10.0, 1_000_000)
        kept = list(store.lines.read())
        assert found[:, 3].sum() == len(kept)
        bins = {int((100 + 2 * record.arrived) // 10) for record in kept}
        assert set(found[:, 0].tolist()) == bins
        assert set(found[:, 1].tolist()) == {0, 1, 2}
        assert store.tallies.since(0.0, 10.0, 6)[:, 3].sum() == 6  # no more than are asked for
        assert store.tallies.since(136.0, 10.0, 100)[:, 3].sum() == 6  # since tick 18


@settings(max_examples=effort(everyday=12, thorough=25))
@given(st.lists(st.integers(0, 12), max_size=40), st.lists(st.integers(90, 130), min_size=2))
def test_every_line_is_between_two_times(arrived: list[int], times: list[int]) -> None:
    edges = sorted(float(time) for time in times)
    with (
        folder_in_memory() as folder,
        stored(folder / "fleet", start=100.0, tick_seconds=2.0) as store,
    ):
        write(store, sorted(arrived))
        found = store.tallies.between(edges)
    begins = np.array([100 + 2 * tick for tick in sorted(arrived)])
    # A time within a tick is that tick: its lines count behind it.
    ticks = [100 + 2 * max((edge - 100) // 2, 0) for edge in edges]
    places = [int((begins < tick).sum()) for tick in ticks]
    assert found == np.diff(places).tolist()


def write(store: Store, arrived: list[int]) -> None:
    store.write([Record(tick, 0, tick, f32(1.0, 2.0), 1) for tick in arrived])
