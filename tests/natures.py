"""Small random natures, rich in the situations that are easy to get wrong."""

from dataclasses import replace
from typing import Any

import numpy as np

from paofed.world.scenario import Scenario
from paofed.world.trace import Trace


def small_trace(
    seed: int,
    *,
    ticks: int = 24,
    clients: int = 4,
    inputs: int = 2,
    features: int = 7,
    tests: int = 6,
    longest_delay: int = 6,
    data: float = 0.8,
    available: float = 0.6,
    lost: float = 0.0,
) -> Trace:
    """Draw a trace with gaps, delays around small age limits, lottery ties, and perhaps losses."""
    rng = np.random.default_rng(seed)
    shape = (ticks, clients)
    has_data = rng.random(shape) < data
    has_data[ticks // 2] = False  # a tick with nobody there
    x, y = rng.normal(size=(*shape, inputs)), rng.normal(size=shape)
    x[~has_data], y[~has_data] = np.nan, np.inf  # must never be looked at
    present = has_data & (rng.random(shape) < available)
    trace = Trace(
        x=x,
        y=y,
        has_data=has_data,
        available=present,
        delay=np.where(present, rng.integers(0, longest_delay + 1, size=shape), -1),
        lottery=rng.integers(0, 5, size=shape) / 5,
        frequencies=rng.normal(size=(inputs, features)),
        phases=rng.uniform(0, 2 * np.pi, size=features),
        x_test=rng.normal(size=(tests, inputs)),
        y_test=rng.normal(size=tests),
    )
    if not lost:
        return trace
    return replace(trace, lost_up=rng.random(shape) < lost, lost_down=rng.random(shape) < lost)


_SETTING = Scenario.load("setting-1").model_dump()
_SMALL: dict[str, Any] = {
    "ticks": 150,
    "clients": 12,
    "features": 24,
    "test_samples": 40,
    "stream": {"samples": (50, 90, 150)},
    "availability": {"kind": "bernoulli", "probabilities": (0.5, 0.1)},
    "delay": {"kind": "geometric", "base": 0.4},
}


def small_scenario(**changes: Any) -> Scenario:
    """A small fleet in the paper's world; changes replace whole laws, and keys of the stream."""
    stream = {**_SETTING["stream"], **_SMALL["stream"], **changes.pop("stream", {})}
    return Scenario.model_validate({**_SETTING, **_SMALL, **changes, "stream": stream})
