"""Whatever is measured, the device in C and its twin learn and predict the same, bit for bit."""

import json
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.device_c.agreed import agreed_in_c
from tests.device_c.building import host_program
from tests.device_c.driven import Driven
from tests.device_c.twin import Twin
from tests.live.fleets import manifest

USUAL = st.floats(-10, 10, width=32)
MEASURED = USUAL | st.floats(width=32)  # of any size, infinite, and what is no number
SAMPLES = st.lists(st.tuples(MEASURED, MEASURED, MEASURED), min_size=1, max_size=12)
FLEETS = (
    manifest(),
    manifest(bound=3.0, linear=((-1.0, 0.5), (-0.25, 3.0))),
    manifest(learner="two-speed", bound=2.0),
)


@lru_cache
def device() -> Driven:
    return Driven(host_program("driver"))


@given(SAMPLES, st.sampled_from(range(len(FLEETS))), st.booleans())
def test_any_samples(samples: list[tuple[float, ...]], fleet: int, drawn: bool) -> None:
    agreed, c = FLEETS[fleet], device()
    twin = Twin(json.loads(agreed.to_json()), 3, drawn=drawn)
    c.forget()
    c.agree(agreed_in_c(agreed, drawn=drawn))
    c.begin(3)
    for *x, y in samples:
        predicted = np.float32(twin.predict(x))
        np.testing.assert_array_equal(c.predict(x), predicted)
        assert c.learn(x, y) == twin.learn(x, y)
        told = c.state()
        assert told.w.tobytes() == twin.w.tobytes()
        assert told.passed_over == twin.passed_over
        assert told.level == twin.level.byte()
        assert np.isfinite(told.recent).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_not_learned_from_and_predicts_none(wrong: float) -> None:
    c = device()
    c.forget()
    c.agree(agreed_in_c(manifest()))
    c.begin(3)
    assert not c.learn([wrong, 1.0], 2.0)
    assert not c.learn([1.0, 1.0], wrong)
    assert c.state().passed_over == 2
    assert np.isnan(c.predict([1.0, wrong]))
