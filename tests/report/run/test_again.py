"""What a page says of how its run is repeated."""

from dataclasses import replace

from paofed.report.run.again import processors
from paofed.report.run.page import build
from paofed.simulate.montecarlo import run
from tests.natures import small_scenario
from tests.page_tree import parse


def test_a_part_says_with_which_run_it_begins() -> None:
    parts = [run(small_scenario(), "pao-fed-u1", first=first, workers=1) for first in (0, 3)]
    told = [
        "runs from number 3 on: in Python, run(..., first=3)" in words_of(build(part, {}))
        for part in parts
    ]
    assert told == [False, True]


def words_of(page: str) -> str:
    return parse(page).text()


def test_types_of_processors_are_told_where_there_are_several() -> None:
    result = run(small_scenario(), "pao-fed-u1", runs=3, workers=1)
    about = result.provenance

    def on(**changes: object) -> str:
        told = {key: value for key, value in {**about, **changes}.items() if value is not None}
        other = replace(result, provenance=told)
        words = processors(other)
        assert ("processors" in words_of(build(other, {}))) == bool(words)
        return words

    assert on() == on(cpus=None) == ""  # nor in what an earlier version wrote
    both = on(cpus={"Alpha": [0, 2], "Beta": [1]})
    assert both.endswith("on 2 types of processors, whose last digits may differ: "
                         "Alpha (2 runs); Beta (1 run)")  # fmt: skip
    assert "on 2 types of processors" in on(cpus={"Alpha and Beta": [0, 1, 2]})
