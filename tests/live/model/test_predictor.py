"""Predictions by name, and the model as JSON."""

import json
import math
from typing import Any

import numpy as np
import pytest

from paofed.errors import InputError
from paofed.live.model import predictor as module
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.predictor import FleetPredictor
from tests.live.fleets import manifest
from tests.live.model.models import (
    MEASURED,
    READING,
    levels,
    plain_model,
    seeing,
    seeing_model,
    weights,
)


def test_numbers_by_name_are_predicted_as_by_a_device() -> None:
    model = plain_model()
    expected = model.device().predict([0.5, 1.5])
    assert model.predictor.predict({"b": 1.5, "a": 0.5}).value == pytest.approx(expected, rel=1e-14)


def test_what_is_looked_back_at_is_given_and_predicted_as_by_a_device_that_remembers() -> None:
    model, hour, time = seeing_model(), 3600.0, READING["time"]
    assert isinstance(time, float)
    device = model.device()
    device.remember([0.0, 0.25, None, None, None], None, time - 2 * hour)
    device.remember([1.5, 0.0, None, None, None], 2.0, time - hour)
    expected = device.predict(list(MEASURED.values()), time)
    assert math.isfinite(expected)
    assert model.predictor.predict(READING).value == pytest.approx(expected, rel=1e-12)


def test_the_interval_lies_around_the_value_as_the_model_sees_it() -> None:
    found = plain_model().predictor
    assert found.interval is not None
    value, low, high = found.predict({"a": 0.5, "b": 1.5})
    assert low is not None
    assert high is not None
    half = 4.0 * found.interval.half_width
    assert (value - low, high - value) == pytest.approx((half, half))
    value, low, high = seeing_model().predictor.predict(READING)
    assert low is not None
    assert high is not None
    assert -1 < low < value < high
    assert np.log1p(high) - np.log1p(value) == pytest.approx(np.log1p(value) - np.log1p(low))


def test_without_reported_errors_there_is_no_interval() -> None:
    found = FleetModel(manifest(), 7, weights(8)).predictor
    assert found.interval is None
    assert found.predict({"a": 0.5, "b": 1.5})[1:] == (None, None)


def test_what_is_larger_than_numbers_are_is_infinite() -> None:
    found = FleetModel(seeing(), 7, weights(24), "", levels(254)).predictor
    value, low, high = found.predict(READING)
    assert (math.isfinite(value), low, high) == (True, -1.0, math.inf)


def test_many_are_predicted_as_one_by_one_however_many_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = plain_model().predictor
    readings = [{"a": float(i), "b": i / 3} for i in range(20)]
    one_by_one = [found.predict(reading) for reading in readings]
    for most in (1, 30, 2**20):
        monkeypatch.setattr(module, "_AT_ONCE", most)
        many = np.array(found.predict_all(readings), dtype=float)
        np.testing.assert_allclose(many, np.array(one_by_one, dtype=float), rtol=1e-14)
    assert found.predict_all([]) == []


@pytest.mark.parametrize("model", [plain_model(), seeing_model()])
def test_json_and_back(model: FleetModel) -> None:
    found = model.predictor
    back = FleetPredictor.from_json(found.to_json())
    assert (back.fleet, back.epoch, back.tick) == (model.fleet, 3, model.tick)
    assert back.to_json() == found.to_json()
    assert back.version == found.version == json.loads(found.to_json())["version"]
    reading = READING if model.fleet == "air" else {"a": 0.5, "b": 1.5}
    assert back.predict(reading) == found.predict(reading)


def test_another_model_has_another_version() -> None:
    w = weights(8)
    models = [
        FleetModel(manifest(), 7, w, "g", levels(100)),
        FleetModel(manifest(), 8, w, "g", levels(100)),
        FleetModel(manifest(), 7, w, "h", levels(100)),
        FleetModel(manifest(), 7, w, "g", levels(101)),
        FleetModel(manifest(), 7, np.nextafter(w, 1), "g", levels(100)),
        FleetModel(manifest(seed=2), 7, w, "g", levels(100)),
    ]
    assert len({model.predictor.version for model in models}) == len(models)


def asked(**changes: Any) -> dict[str, Any]:
    """What a model says of one of its inputs."""
    return {"name": "a", "kind": "number", "low": None, "high": None, "above": None, **changes}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "it is JSON of format 2, this paofed knows 1: upgrade paofed"),
        ({"weights": [1.0]}, "the sizes of its arrays do not fit 2 numbers"),
        ({"phases": [[1.0]]}, "the sizes of its arrays do not fit 2 numbers"),
        ({"linear": [[0.0, 1.0]]}, "the sizes of its arrays do not fit 2 numbers"),
        ({"weights": [math.nan] * 8}, "the sizes of its arrays do not fit 2 numbers"),
        ({"weights": "many"}, "it cannot be understood: "),
        ({"columns": 3}, "it cannot be understood: "),
        ({"interval": {"width": 3}}, "it cannot be understood: "),
        ({"target": {"transform": "compass", "name": "wind"}}, "its target is a compass"),
        ({"target": {"transform": "spline"}}, "unknown transform 'spline'"),
        *(
            ({name: value}, "it cannot be understood: int too large")
            for name in ("weights", "phases", "frequencies", "linear")
            for value in ([10**400] * 8, [[10**400, 1]])
        ),
        *(
            ({name: value}, f"its {name} is ")
            for name in ("epoch", "tick")
            for value in (math.inf, 10**400, -1, 1.5, True, "7", None)
        ),
        *(({"fleet": name}, "its fleet is ") for name in (None, 5, ["x"])),
        *(
            ({"interval": {"coverage": 0.9, "half_width": 1.0, "devices": 2, key: value}}, "its in")
            for key in ("coverage", "half_width", "devices")
            for value in (10**400, math.inf, math.nan, -1, "2", None)
        ),
        *(
            ({"inputs": [asked(**{key: value}), asked(name="b")]}, "the plausible range of its inp")
            for key in ("low", "high", "above")
            for value in (10**400, -math.inf, math.nan, "2", True, [1.0])
        ),
        ({"inputs": [asked(), asked(name="c")]}, "not those of its columns, a, b"),
        ({"inputs": [asked(kind="text"), asked(name="b")]}, "not those of its columns, a, b"),
        ({"inputs": [asked(name=["x"]), asked(name="b")]}, "not those of its columns, a, b"),
        (
            {"columns": [{"transform": "number", "name": "a", "offset": 10**400}] * 2},
            "a finite off",
        ),
        (
            {"columns": [{"transform": "number", "name": "a", "scale": math.inf}] * 2},
            "a finite sca",
        ),
        ({"format": 10**4000}, "... (4,001 characters), this paofed knows 1"),
    ],
)
def test_a_file_that_is_no_model_is_told(change: dict[str, Any], words: str) -> None:
    values = {**json.loads(plain_model().predictor.to_json()), **change}
    with pytest.raises(InputError) as refused:
        FleetPredictor.from_json(json.dumps(values))
    assert words in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is no JSON object with a format"),
        ("{}", "it is no JSON object with a format"),
        ('{"format": 1}', "it has no 'target'"),
    ],
)
def test_text_that_is_no_model_is_told(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        FleetPredictor.from_json(text)
