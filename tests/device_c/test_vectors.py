"""The device in C lives the lives of docs/vectors, which the Python edge made."""

import json
import math
from typing import Any

import numpy as np
import pytest

from paofed.device_c.agreed import agreed_in_c
from paofed.live.protocol.manifest import Manifest
from tests.device_c.building import host_program
from tests.device_c.driven import Driven
from tests.device_c.seeing import Seeing
from tests.device_c.test_conversations import parted
from tests.live.lives import LIVES, Life
from tests.live.vectors import lived

APART = 2.0**-16  # of the largest parameter, or of 1: these lives are short


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.about)
def test_whole_lives(life: Life) -> None:
    agreed = life.manifest
    seeing = None if agreed.seen is None else Seeing(agreed, life.device)
    device = Driven(host_program("driver")) if seeing is None else seeing.c
    device.agree(agreed_in_c(agreed))
    device.begin(life.device)
    for event in lived(life):
        if "adopts" in event:
            agreed = Manifest.from_json(json.dumps(event["adopts"]))
            device.adopt(agreed_in_c(agreed))
        else:
            _require_same(device, seeing, event, agreed, life.device)
        w = np.array(event["model"])
        scale = max(float(np.abs(w).max()), 1.0)
        assert np.abs(device.state().w - w).max() <= APART * scale, event


def _require_same(
    device: Driven, seeing: Seeing | None, event: dict[str, Any], agreed: Manifest, number: int
) -> None:
    at = event["at"]
    if "time" in event:
        assert seeing is not None
        _require_same_at_a_time(seeing, event)
    elif "learn" in event:
        device.learn(event["learn"]["x"], event["learn"]["y"])
    elif "predict" in event:
        far = APART * agreed.target.scale * max(abs(event["gives"]), 1.0)
        assert device.predict(event["predict"]) == pytest.approx(event["gives"], abs=far)
    elif "receives" in event:
        payload = bytes.fromhex(event["receives"])
        assert device.receive(payload, at) == event["confirms"], event
    elif "restarts" in event:
        assert device.save()
        device.at(at)
        assert device.begin(number)
    else:
        said, sends = device.contact(at), event["sends"]
        assert (said is None) == (sends is None), event
        if said is not None:
            frame, values, levels = parted(said, agreed)
            right = parted(bytes.fromhex(sends), agreed)
            assert frame == right[0], event
            far = APART * max(float(np.abs(right[1]).max(initial=0.0)), 1.0)
            assert np.abs(values - right[1]).max(initial=0.0) <= far, event
            assert np.abs(levels - right[2]).max(initial=0) <= 1, event


def _require_same_at_a_time(seeing: Seeing, event: dict[str, Any]) -> None:
    """What depends on when a sample was measured."""
    time = event["time"]
    if "learn" in event:
        seeing.learn(event["learn"]["x"], event["learn"]["y"], time)
    elif "remember" in event:
        seeing.remember(event["remember"]["x"], event["remember"]["y"], time)
    else:
        gives = math.nan if event["gives"] is None else event["gives"]
        right = pytest.approx(gives, rel=2.0**-14, nan_ok=True)
        assert seeing.predict(event["predict"], time) == right
