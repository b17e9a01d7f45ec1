"""Predictions for applications, from the model that the server's loop hands out.

POST /predict   one reading, or a list of them: predictions, or a sentence why there are none
GET /model      the model as JSON, with all that is needed to compute its predictions

Nothing here asks the loop, so that many questions do not slow down the fleet.
"""

import json
import math
from collections.abc import Callable
from typing import Any

from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.predictor import FleetPredictor, Predicted
from paofed.live.server.web.answers import JSON, Answer, Question, Routes, as_json, in_words

MOST_READINGS = 1000
_NO_MODEL = "the fleet has learned nothing yet: ask again when its devices have been heard"
_NO_INTERVAL = "no device has reported its errors yet"


def routes(model: Callable[[], FleetModel]) -> Routes:
    """Return the routes that answer by the present model."""
    return {
        ("POST", "/predict"): lambda question: _learned(model(), question, _predict),
        ("GET", "/model"): lambda question: _learned(model(), question, _model),
    }


def _learned(
    model: FleetModel, question: Question, answer: Callable[[FleetPredictor, Question], Answer]
) -> Answer:
    return answer(model.predictor, question) if model.w.any() else in_words(503, _NO_MODEL)


def _predict(predictor: FleetPredictor, question: Question) -> Answer:
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
            "interval": _interval(predictor),
            "predictions": [_finite(one) for one in predicted],
        },
    )


def _finite(predicted: Predicted) -> dict[str, float | None]:
    """Replace infinite numbers by None, since JSON has no infinity."""
    return {
        name: value if value is not None and math.isfinite(value) else None
        for name, value in predicted._asdict().items()
    }


def _about(predictor: FleetPredictor) -> dict[str, Any]:
    names = ("fleet", "epoch", "tick", "version")
    return {name: getattr(predictor, name) for name in names}


def _interval(predictor: FleetPredictor) -> dict[str, Any]:
    """Return how often the interval is to hold and by how many devices, or why there is none."""
    found = predictor.interval
    if found is None:
        return {"coverage": None, "devices": 0, "why": _NO_INTERVAL}
    return {"coverage": found.coverage, "devices": found.devices}


def _model(predictor: FleetPredictor, question: Question) -> Answer:
    tag = f'"{predictor.version}"'
    fields = (("ETag", tag), ("Cache-Control", "no-cache"))
    known = question.fields.get("If-None-Match", "").split(",")
    if {tag, "*"} & {one.strip().removeprefix("W/") for one in known}:
        return Answer(304, JSON, b"", fields)
    return Answer(200, JSON, f"{predictor.to_json()}\n".encode(), fields)
