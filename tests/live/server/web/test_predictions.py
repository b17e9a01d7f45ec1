"""Predictions over HTTP, from the model that the loop hands out."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from paofed import predictor
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.validated import Validated
from paofed.live.server.validation import validation_of
from paofed.live.server.web import predictions
from paofed.live.server.web.answers import Answer, Fields, Question
from tests.live.fleets import manifest
from tests.live.model.models import READING, levels, plain_model, seeing_model, weights

MODEL = plain_model()
GOOD = {"a": 0.5, "b": 1.5}


def ask(content: object, model: Callable[[], FleetModel] = lambda: MODEL) -> Answer:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return predictions.routes(model)["POST", "/predict"](Question("", Fields([]), body))


def get(known: str = "", model: FleetModel = MODEL) -> Answer:
    fields = Fields([("If-None-Match", known)] if known else [])
    return predictions.routes(lambda: model)["GET", "/model"](Question("", fields))


def value(answer: Answer) -> Any:
    assert isinstance(answer.content, bytes)
    return json.loads(answer.content)


def test_one_reading_and_many_are_answered_alike() -> None:
    found = value(ask(GOOD))
    about = {key: found[key] for key in ("fleet", "epoch", "tick", "version", "target")}
    assert about == {
        "fleet": "greenhouse",
        "epoch": 3,
        "tick": 7,
        "version": MODEL.predictor.version,
        "target": "y",
    }
    assert found["interval"].keys() == {"coverage", "devices", "why"}
    assert (found["interval"]["coverage"], found["interval"]["devices"]) == (None, 3)
    assert found["predictions"] == [MODEL.predictor.predict(GOOD)._asdict()]
    many = [{"a": float(i), "b": 1.0} for i in range(predictions.MOST_READINGS)]
    found = value(ask(many))
    expected = [one.value for one in MODEL.predictor.predict_all(many)]
    assert [one["value"] for one in found["predictions"]] == expected
    assert value(ask([]))["predictions"] == []


def test_what_was_measured_on_samples_is_said_and_nothing_else() -> None:
    found = validation_of(Validated(3.0, 120, 0.418), MODEL.manifest)
    question = Question("", Fields([]), json.dumps(GOOD).encode())
    routes = predictions.routes(lambda: MODEL, lambda: found)
    interval = value(routes["POST", "/predict"](question))["interval"]
    assert (interval["coverage"], interval["samples"], interval["devices"]) == (0.418, 120, 3)
    assert "0.9" not in json.dumps(value(ask(GOOD))["interval"])


def test_without_reported_errors_there_is_a_word_why_there_is_no_interval() -> None:
    found = value(ask(GOOD, lambda: FleetModel(manifest(), 7, weights(8))))
    assert found["interval"] == {
        "coverage": None,
        "devices": 0,
        "why": "no device has reported its errors yet",
    }
    assert found["predictions"][0]["low"] is found["predictions"][0]["high"] is None


def test_what_is_larger_than_numbers_are_is_null() -> None:
    model = FleetModel(seeing_model().manifest, 9, weights(24), "air", levels(254))
    found = value(ask(READING, lambda: model))
    assert found["predictions"][0]["high"] is None


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"", 400, "the content is not JSON: "),
        (b"a=1", 400, "the content is not JSON: "),
        (b"\xff\xfe{", 400, "the content is not JSON: "),
        (b"[" * 100_000, 400, "the content is not JSON: "),
        (3, 422, "readings[0]: it is 3: expected values by name"),
        ({"a": 0.5}, 422, "readings[0]: b is missing"),
        ({**GOOD, "bb": 1.0}, 422, "readings[0]: unknown input 'bb': did you mean 'b'?"),
        ({**GOOD, "a": "warm"}, 422, "readings[0]: a is 'warm': expected a finite number"),
        (b'{"a": NaN, "b": 1}', 422, "readings[0]: a is NaN: expected a finite number"),
        ([GOOD, {**GOOD, "a": None}], 422, "readings[1]: a is null: expected a finite number"),
        ([GOOD] * 1001, 413, "1,001 readings were sent: expected 1,000 at most"),
    ],
)
def test_a_bad_reading_is_told_and_nothing_is_answered_beside(
    content: object, code: int, words: str
) -> None:
    answer = ask(content)
    assert (answer.code, answer.kind) == (code, "text/plain")
    assert isinstance(answer.content, bytes)
    assert answer.content.decode().startswith(words)


@pytest.mark.parametrize("shape", ["%s", '{"a": %s}'])
def test_every_depth_of_nesting_is_answered(shape: str) -> None:
    """Some are read, and are too deep to be quoted in the error that they cause."""
    depths = range(800, 1001)
    asked = [(shape % ("[" * depth + "]" * depth)).encode() for depth in depths]
    assert {ask(content).code for content in asked} <= {400, 422}


def test_a_fleet_that_has_learned_nothing_has_no_model_yet() -> None:
    empty = FleetModel(manifest(), 0, np.zeros(8))
    for answer in (ask(GOOD, lambda: empty), get(model=empty)):
        assert answer.code == 503
        assert isinstance(answer.content, bytes)
        assert answer.content.startswith(b"the fleet has learned nothing yet")


def test_the_model_is_the_file_s_and_predicts_the_same() -> None:
    answer = get()
    assert (answer.code, answer.kind) == (200, "application/json")
    assert isinstance(answer.content, bytes)
    assert predictor(answer.content).predict(GOOD) == MODEL.predictor.predict(GOOD)
    assert dict(answer.fields)["ETag"] == f'"{MODEL.predictor.version}"'


def test_whoever_has_the_model_is_told_so() -> None:
    tag = dict(get().fields)["ETag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = get(known)
        assert (answer.code, answer.content) == (304, b"")
        assert dict(answer.fields)["ETag"] == tag
    for known in ("", '"other"', tag.strip('"')):
        assert get(known).code == 200


def test_the_model_of_now_is_taken_for_every_question() -> None:
    now = [MODEL]
    assert value(ask(GOOD, lambda: now[0]))["fleet"] == "greenhouse"
    now[0] = seeing_model()
    assert value(ask(READING, lambda: now[0]))["fleet"] == "air"
