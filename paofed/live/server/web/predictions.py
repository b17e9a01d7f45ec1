"""Predictions for applications, from the model that the server's loop hands out.

POST /predict   one reading, or a list of them: predictions, or a sentence why there are none
GET /model      the model as JSON, with all that is needed to compute its predictions

Nothing here asks the loop, so that many questions do not slow down the fleet.
"""

import json
from collections.abc import Callable
from typing import Any

from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.predictor import FleetPredictor
from paofed.live.server.validation import Validation
from paofed.live.server.web.answers import JSON, Answer, Question, Routes, as_json, in_words
from paofed.table import known

MOST_READINGS = 1000
_NO_MODEL = "the fleet has learned nothing yet: ask again when its devices have been heard"
_NO_INTERVAL = "no device has reported its errors yet"
# Devices report the errors of their own models, which follow what they measure; the server's model
# does not. So nobody knows how often this interval holds, unless it was tried.
_NOT_MEASURED = (
    "made from the errors that devices report of their own models; how often it holds around the "
    "server's predictions was not measured (the setting `validation` of the fleet measures it)"
)
_MEASURED = "measured on the fleet's validation file"


def routes(
    model: Callable[[], FleetModel], validation: Callable[[], Validation | None] = lambda: None
) -> Routes:
    """Return the routes that answer by the present model, and what was found of it by samples."""

    def predict(predictor: FleetPredictor, question: Question) -> Answer:
        return _predict(predictor, question, validation())

    return {
        ("POST", "/predict"): lambda question: _learned(model(), question, predict),
        ("GET", "/model"): lambda question: _learned(model(), question, _model),
    }


def _learned(
    model: FleetModel, question: Question, answer: Callable[[FleetPredictor, Question], Answer]
) -> Answer:
    return answer(model.predictor, question) if model.w.any() else in_words(503, _NO_MODEL)


def _predict(
    predictor: FleetPredictor, question: Question, validation: Validation | None
) -> Answer:
    try:
        asked = json.loads(question.content)
    except (ValueError, RecursionError) as error:
        return in_words(400, f"the content is not JSON: {error}")
    readings = asked if isinstance(asked, list) else [asked]
    if len(readings) > MOST_READINGS:
        words = f"{len(readings):,} readings were sent: expected {MOST_READINGS:,} at most"
        return in_words(413, words)
    try:
        predicted = predictor.predict_all(readings)
    except InputError as error:
        return in_words(422, str(error))
    except RecursionError:  # from quoting the value in that error
        return in_words(422, "a value is nested too deeply: expected numbers and texts")
    return as_json(
        200,
        {
            **_about(predictor),
            "target": predictor.target.name,
            "interval": _interval(predictor, validation),
            "predictions": [known(one._asdict()) for one in predicted],
        },
    )


def _about(predictor: FleetPredictor) -> dict[str, Any]:
    names = ("fleet", "epoch", "tick", "version")
    return {name: getattr(predictor, name) for name in names}


def _interval(predictor: FleetPredictor, validation: Validation | None) -> dict[str, Any]:
    """Return how often the interval held, on how many samples, where anybody has measured it."""
    found = predictor.interval
    if found is None:
        return {"coverage": None, "devices": 0, "why": _NO_INTERVAL}
    if validation is None or validation.held is None:
        return {"coverage": None, "devices": found.devices, "why": _NOT_MEASURED}
    measured = {"coverage": round(validation.held, 3), "samples": validation.samples}
    return {**measured, "devices": found.devices, "why": _MEASURED}


def _model(predictor: FleetPredictor, question: Question) -> Answer:
    tag = f'"{predictor.version}"'
    fields = (("ETag", tag), ("Cache-Control", "no-cache"))
    known = question.fields.get("If-None-Match", "").split(",")
    if {tag, "*"} & {one.strip().removeprefix("W/") for one in known}:
        return Answer(304, JSON, b"", fields)
    return Answer(200, JSON, f"{predictor.to_json()}\n".encode(), fields)
