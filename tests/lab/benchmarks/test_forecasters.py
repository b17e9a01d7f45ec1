"""What weighing forecasters costs: as it was measured, and how."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from lab.benchmarks import forecasters
from paofed import run
from paofed.algorithms import Algorithm, made
from paofed.simulate.results.table_result import TableResult
from tests.world.table.tables import fleet, hourly, table, write

DOCS = Path(__file__).parents[3] / "docs"
WEIGHED = made("pao-fed-u1", {"learner": "weighed", "step_size": 0.1})
OF = {
    "weighed": ("heard", "alone", "filtered"),
    "fed-ridge": ("shared", "corrected", "own", "by_filter"),
}


@pytest.mark.parametrize(
    ("whole", "name"), [(WEIGHED, "weighed"), (made("fed-ridge", {}), "fed-ridge")]
)
def test_whom_a_device_believes_changes_its_predictions_alone(
    whole: Algorithm, name: str, tmp_path: Path
) -> None:
    world = fleet(table(write(tmp_path / "t.csv", hourly(3, 80))))
    methods = [whole, *(getattr(forecasters, one) for one in OF[name])]
    found = TableResult.of(run(world, methods, engine="reference"))
    assert all(np.array_equal(model, found.models[0, 0]) for model in found.models[0])
    assert all(np.array_equal(sent, found.traffic[0, 0]) for sent in found.traffic[0])
    errors = {float(found.run_finals(one, "device")[0]) for one in found.algorithms}
    assert len(errors) == len(methods)


def test_the_document_says_what_was_measured() -> None:
    behind = defaultdict[str, list[float]](list)
    cases = defaultdict[tuple[str, ...], dict[str, float]](dict)
    with (DOCS / "data" / "forecasters.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            one = row["algorithm"].rpartition(":")[2]
            method = next((name for name, of in OF.items() if one in of), "")
            method = method or ("weighed" if "weighed" in row["algorithm"] else "fed-ridge")
            cases[method, row["table"], row["labels"]][one] = float(row["first_gain"])
    for (method, *_), gains in cases.items():
        assert gains.keys() >= {*OF[method]}
        behind[method].append(max(gains[one] for one in OF[method]))
    text = re.sub(r"\s+", " ", (DOCS / "methods.md").read_text(encoding="utf-8"))
    counts = {name: sum(gain > 0.1 for gain in gains) for name, gains in behind.items()}
    assert {name: len(gains) for name, gains in behind.items()} == {"weighed": 52, "fed-ridge": 52}
    assert f"best single forecaster in {counts['weighed']} of 52 cases" in text
    assert f"weighs four: there it is {counts['fed-ridge']} of 52 cases" in text
    better = sum(gain < 0 for gains in behind.values() for gain in gains)
    assert f"In {better} of all 104 cases weighing is better than any one of them" in text
