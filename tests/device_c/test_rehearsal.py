"""Devices in C among others, through every fault of a rehearsal, under sanitizers."""

from collections import Counter

from lab.rehearsal.auditor import BrokenPromiseError
from lab.rehearsal.rehearsal import rehearse
from paofed.errors import PaofedError
from tests.device_c.rehearsed import POINTS, UnluckyInC
from tests.effort import effort, seeds
from tests.live.in_memory import folder_in_memory

SEEDS = seeds(everyday=2, thorough=80)
MISSED = effort(everyday=3, thorough=0)  # points: few seeds miss the rare ones


def one(seed: int) -> Counter[str]:
    with folder_in_memory() as folder:
        try:
            return rehearse(seed, folder / "fleet", UnluckyInC)
        except (PaofedError, AssertionError) as error:
            raise BrokenPromiseError(f"seed {seed}: {error}") from None


def test_devices_in_c_keep_every_promise() -> None:
    hits: Counter[str] = Counter()
    for seed in range(SEEDS):
        hits += one(seed)
    assert hits["device in C"]
    assert len([point for point in POINTS if not hits[point]]) <= MISSED
