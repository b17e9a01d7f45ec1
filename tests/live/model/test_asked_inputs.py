"""What a reading has to say, and what is refused."""

import math
from typing import Any

import pytest

from paofed.core.columns.calendar import Calendar
from paofed.core.columns.numbers import Number
from paofed.errors import InputError
from paofed.live.model.asked_inputs import inputs_of, instant, values_of
from paofed.live.protocol.quantity import Quantity
from tests.live.model.models import READING, seeing_model

INPUTS = seeing_model().predictor.inputs


def test_what_is_asked_for_is_what_the_columns_are_made_of() -> None:
    kinds = {asked.name: asked.kind for asked in INPUTS}
    assert set(kinds) == set(READING)
    assert (kinds["wind"], kinds["kind"], kinds["time"]) == ("direction", "text", "time")
    assert {kinds[name] for name in ("a", "a[n-1]", "b", "b[n-2]", "y[n-1]")} == {"number"}


def test_ranges_hold_for_earlier_values_too_and_logarithms_have_theirs() -> None:
    found = {asked.name: asked[2:] for asked in INPUTS}
    assert found["a"] == found["a[n-1]"] == (-5.0, 5.0, None)
    assert found["b"] == found["b[n-2]"] == (None, None, -1.0)
    assert found["y[n-1]"] == (-0.9, None, None)


def test_values_are_arrays_in_the_order_of_the_readings() -> None:
    found = values_of(INPUTS, [READING, {**READING, "a": 3, "wind": " N "}])
    assert list(found) == [asked.name for asked in INPUTS]
    assert found["a"].tolist() == [2.5, 3.0]
    assert found["wind"].tolist() == ["sw", "N"]
    assert all(len(array) == 0 for array in values_of(INPUTS, []).values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": None}, "a is null: expected a finite number"),
        ({"a": "2.5"}, "a is '2.5': expected a finite number"),
        ({"a": True}, "a is true: expected a finite number"),
        ({"a": math.nan}, "a is NaN: expected a finite number"),
        ({"a": -math.inf}, "a is -Infinity: expected a finite number"),
        ({"b": 10**400}, f"b is 1{'0' * 59}...: expected a finite number"),
        ({"a": [1.0]}, "a is [1.0]: expected a finite number"),
        ({"a": 5.5}, "a is 5.5: expected -5 to 5"),
        ({"a[n-1]": -6}, "a[n-1] is -6: expected -5 to 5"),
        ({"y[n-1]": -0.95}, "y[n-1] is -0.95: expected -0.9 or more"),
        ({"b": -1}, "b is -1: expected more than -1, for its logarithm"),
        ({"wind": "north"}, "wind is 'north': expected N, NNE, NE,"),
        ({"kind": 3}, "kind is 3: expected a text"),
        ({"kind": "  "}, "kind is '  ': expected a text"),
        ({"time": "yesterday"}, "time is 'yesterday': expected seconds since 1970, or a time"),
        ({"time": 1e18}, "time is 1e+18: expected -2.20899e+09 to 7.25812e+09"),
        ({"angel": 3.0}, "unknown input 'angel': did you mean 'angle'? (known: a, a[n-1], "),
        ({"y": 3.0}, "unknown input 'y'"),
    ],
)
def test_a_bad_value_is_told_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refused:
        values_of(INPUTS, [READING, {**READING, **change}])
    assert str(refused.value).startswith(f"readings[1]: {words}")


def test_a_missing_value_and_what_is_no_reading() -> None:
    without = {name: value for name, value in READING.items() if name != "a[n-1]"}
    with pytest.raises(InputError, match=r"^readings\[0\]: a\[n-1\] is missing$"):
        values_of(INPUTS, [without])
    reading: Any = [1.0, 2.0]
    with pytest.raises(InputError, match=r"it is \[1.0, 2.0\]: expected values by name"):
        values_of(INPUTS, [reading])


def test_a_name_cannot_be_both_an_input_and_the_time() -> None:
    columns = (Number("time"), Calendar("time", "hour"))
    with pytest.raises(InputError, match="time is both an input and the time of a reading"):
        inputs_of(columns, [Quantity(name="time")])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (12.5, 12.5),
        ("1970-01-01T00:01", 60.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-02", 86400.0),
        ("soon", math.nan),
        (None, math.nan),
        (True, math.nan),
        ("0001-01-01T00:00+12:00", -62135640000.0),
    ],
)
def test_an_instant(value: object, seconds: float) -> None:
    assert instant(value) == pytest.approx(seconds, nan_ok=True)
