"""A healthy client at a place of its own teaches the model; a broken one among others does not."""

from functools import cache

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.simulate.engines import engine_of
from paofed.simulate.results.outcome import Outcome
from paofed.world.trace import Trace
from tests.effort import some

CLIENTS, FEATURES, TICKS = 12, 40, 2000
COMMON, LONELY, LONER = 0.0, -2.0, CLIENTS - 1  # in units of the kernel's width
BOUNDED, PAPER = "pao-fed-u1:clip=6,bound=6,exchange=live", "pao-fed-u1:exchange=live"


@cache
def trace(place: float, wrong: float, ticks: int) -> Trace:
    """Eleven clients at one place; the last one at `place`, with a target that is `wrong` off."""
    rng = np.random.default_rng(5)
    at = np.full(CLIENTS, COMMON)
    at[LONER] = place
    x = at[:, None] + 0.3 * rng.normal(size=(ticks, CLIENTS, 1))
    y = _truth(x) + 0.1 * rng.normal(size=(ticks, CLIENTS))
    y[:, LONER] += wrong
    everybody = np.ones((ticks, CLIENTS), dtype=bool)
    tests = LONELY + 0.3 * rng.normal(size=(200, 1)) if place == LONELY else x[0]
    return Trace(
        x=x,
        y=y,
        has_data=everybody,
        available=everybody,
        delay=np.zeros((ticks, CLIENTS), dtype=np.int64),
        lottery=np.zeros((ticks, CLIENTS)),
        frequencies=rng.normal(size=(1, FEATURES)),
        phases=rng.uniform(0, 2 * np.pi, size=FEATURES),
        x_test=tests,
        y_test=_truth(tests),
    )


def _truth(x: FloatArray) -> FloatArray:
    y: FloatArray = 0.3 * x[..., 0]
    return y


@cache
def lived(place: float, wrong: float, method: str) -> Outcome:
    return engine_of("fast").replay(trace(place, wrong, TICKS), method)


def late(outcome: Outcome) -> float:
    """The root of the error over the last tenth of the ticks."""
    return float(np.sqrt(np.mean(outcome.mse[-outcome.mse.size // 10 :])))


def test_the_place_of_a_lonely_client_is_learned_nearly_as_without_bounds() -> None:
    bounded, paper = lived(LONELY, 0.0, BOUNDED), lived(LONELY, 0.0, PAPER)
    assert late(bounded) < 2 * late(paper)  # 12 times, if clients aside taught nothing


@pytest.mark.parametrize("wrong", some([0.6, 3.0], everyday=1))
def test_a_broken_client_among_the_others_teaches_nothing(wrong: float) -> None:
    healthy, broken = (lived(COMMON, off, BOUNDED) for off in (0.0, wrong))
    paper = lived(COMMON, wrong, PAPER)
    assert late(broken) < 1.1 * late(healthy)
    assert late(paper) > 4 * late(healthy)
