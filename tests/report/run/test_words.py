"""A run in words ends in advice, and its page in how it is repeated."""

import json
from dataclasses import replace
from pathlib import Path

from paofed.core.tariffs import TARIFFS
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import sentences
from paofed.report.run.page import build
from paofed.report.run.words import as_json, as_table, processors
from paofed.simulate.montecarlo import run
from tests.natures import small_scenario
from tests.page_tree import parse
from tests.report.run.by_hand import result

MADE = result({"u1": [-2.0] * 3}, {"alone": [0.0] * 3}, stream={"target": "y"})


def test_the_last_words_are_the_advice() -> None:
    advice = advise(MADE, "mqtt")
    said = ["what to do", "", *sentences(advice)]
    assert as_table(MADE, TARIFFS["mqtt"]).splitlines()[-len(said) :] == said
    saved = as_table(MADE, TARIFFS["mqtt"], Path("r.npz")).splitlines()
    assert saved[-1] == "The fleet: paofed fleet init FOLDER --from r.npz"
    assert saved[-1 - len(said) : -1] == said


def test_the_advice_as_json() -> None:
    told = json.loads(json.dumps(as_json(MADE, TARIFFS["mqtt"]), allow_nan=False))["advice"]
    assert (told["verdict"], told["advised"], told["cost"]["tariff"]) == ("pays", "u1", "mqtt")
    (pays, *_, model) = told["numbers"]
    assert round(pays["value"], 9) == 2.0
    assert (model["over"], model["low"]) == ("whole model", None)


def test_the_best_of_each_column_has_a_star() -> None:
    """In the unit of the target another learner is the best than in dB."""
    beside = {"alone": [0.0] * 3, "last value": [1.0] * 3}
    said = as_table(result({"u1": [-2.0] * 3}, beside, own={"last value": 0.25}))
    starred = [line.split("  ")[0] for line in said.splitlines() if "*  " in line]
    assert starred == ["alone", "last value"]
    own = next(line for line in reversed(said.splitlines()) if line.startswith("last value"))
    rmse, mae, r2 = own.split()[2:5]
    assert (rmse, mae[-1], r2) == ("0.5612*", "*", "0.9685*")


def test_a_result_at_a_prompt_and_in_a_notebook_judges_in_the_unit() -> None:
    beside = {"alone": [0.0] * 3, "last value": [1.0] * 3}
    made = result({"u1": [-2.0] * 3, "c1": [-1.0] * 3}, beside, own={"last value": 0.25})
    assert "device RMSE 0.7946 (R2 0.937)" in repr(made)
    page = made._repr_html_()
    assert "device RMSE</th>" in page
    assert "<strong>0.7946</strong>" in page
    assert "In the unit of y, last value has the least error on devices" in page
    assert "dB say otherwise" in page


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
        other = replace(result, provenance={**about, **changes})
        words = processors(other)
        assert ("processors" in words_of(build(other, {}))) == bool(words)
        return words

    assert on() == ""
    both = on(cpus={"Alpha": [0, 2], "Beta": [1]})
    assert both.endswith("on 2 types of processors, whose last digits may differ: "
                         "Alpha (2 runs); Beta (1 run)")  # fmt: skip
    assert "on 2 types of processors" in on(cpus={"Alpha and Beta": [0, 1, 2]})
