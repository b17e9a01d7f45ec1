"""The summary of a run over a table ends in advice."""

import json
from pathlib import Path

from paofed.cli.shared.summary import as_json, as_table
from paofed.core.tariffs import TARIFFS
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import sentences
from tests.report.run.by_hand import result

MADE = result({"u1": [-2.0] * 3}, {"alone": [0.0] * 3}, stream={"target": "y"})


def test_the_last_words_are_the_advice() -> None:
    advice = advise(MADE, "mqtt")
    assert advice is not None
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
