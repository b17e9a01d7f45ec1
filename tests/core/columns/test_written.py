import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.core.columns.written import KINDS, read, written
from paofed.errors import InputError

VECTORS = json.loads(
    (Path(__file__).parents[3] / "docs/vectors/columns.json").read_text(encoding="utf-8")
)
RECORDS = [
    *dict.fromkeys(read(one["column"]) for one in VECTORS),
    Number("O3", 1 / 3, 2e-7, logarithm=True, lag=2),
    Number("O3", -5.0, 2.0, diff=24),
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_survives_json(record: Transform) -> None:
    assert read(json.loads(json.dumps(written(record)))) == record


def test_every_kind_is_written_in_some_test() -> None:
    assert {record.kind for record in RECORDS} == set(KINDS)
    found = {field.name for record in RECORDS for field in fields(record)}
    said = {key for record in RECORDS for key in written(record)}
    assert found == said - {"transform"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"transform": "wavelet", "name": "a"}, r"unknown transform 'wavelet'.*: upgrade paofed$"),
        ({"transform": "number", "name": "a", "power": 2}, r"'power'.*: upgrade paofed$"),
        ([], "unknown transform 'None'"),
        ({"transform": "cyclic", "name": "a"}, "a column of cyclic has no 'period'"),
        ({"transform": "number", "name": 7}, "the name of number is 7: expected a text"),
        ({"transform": "number", "name": "a", "scale": True}, "expected a number"),
        ({"transform": "number", "name": "a", "scale": 10**400}, "a finite scale"),
        ({"transform": "number", "name": "a", "logarithm": 1}, "expected true or false"),
        ({"transform": "one-hot", "name": "a", "categories": [1]}, "expected a list of texts"),
    ],
)
def test_what_is_no_record(value: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        read(value)
