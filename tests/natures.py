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
    linear: bool = False,
    start: bool = False,
    newcomers: bool = False,
    personal: bool = False,
    labelled: float = 1.0,
    latest: int = 0,
) -> Trace:
    """Draw a trace with gaps, delays around small age limits, lottery ties, and perhaps losses.

    Linear terms, if any, are beside so many features; newcomers may get the server's whole model,
    and devices may keep linear terms of their own. Labels may be rare, and late by up to `latest`
    ticks; one client has none then.
    """
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
    if lost:
        hit = rng.random((2, *shape)) < lost
        trace = replace(trace, lost_up=hit[0], lost_down=hit[1])
    if linear:
        low = rng.uniform(-2.0, 0.0, size=inputs)  # inputs of either side lie outside
        trace = replace(trace, linear_low=low, linear_high=low + rng.uniform(0.1, 3.0, size=inputs))
    if start:
        trace = replace(trace, start=rng.normal(size=trace.features))
    if labelled < 1 or latest:
        given = rng.random(shape) < labelled
        given[:, 1] = labelled == 1
        trace = replace(trace, labelled=given, label_delay=rng.integers(0, latest + 1, size=shape))
    kept = {"newcomers_whole": np.array([newcomers]), "personal": np.array([personal])}
    return replace(trace, **kept)


BEGINNINGS = [  # how the map is made, what all begin with, what newcomers get, what devices keep
    {"linear": linear, "start": start, "newcomers": newcomers, "personal": linear and start}
    for linear in (False, True)
    for start in (False, True)
    for newcomers in (False, True)
]


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
