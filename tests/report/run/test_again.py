"""What a page says of how its run is repeated."""

from paofed.report.run.again import again
from paofed.simulate.montecarlo import run
from tests.natures import small_scenario


def test_a_part_says_with_which_run_it_begins() -> None:
    parts = [run(small_scenario(), "pao-fed-u1", first=first, workers=1) for first in (0, 3)]
    told = [
        "runs from number 3 on: in Python, run(..., first=3)" in "".join(again(p)) for p in parts
    ]
    assert told == [False, True]
