"""Every rule does what a plain transcription of its equation does, on random histories."""

from math import e
from typing import Any

import numpy as np
import pytest

from paofed.algorithms.rivals.servers import SERVERS
from paofed.algorithms.rivals.servers.aso_fed import begin_device, learn, merge
from paofed.core.parts import Part, ServerRule
from tests.algorithms.rivals.servers import equations
from tests.algorithms.rivals.servers.histories import OLDEST, history, lived
from tests.effort import effort

SEEDS = range(effort(everyday=4, thorough=20))
ENOUGH = {"memory": OLDEST}  # past models that tell the step of every message
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("fed-async", {"alpha": 0.6, "decay": 0.5}, {}),
    ("fed-async", {"alpha": 0.3, "decay": 0}, {}),
    ("fed-async", {"alpha": 0.6, "hinge": 4, "slope": 10.0}, {}),
    ("fed-async", {"alpha": 0.9, "hinge": 0, "slope": 0.5}, {}),
    ("fed-buff", {"buffer": 3, "rate": 0.5}, ENOUGH),
    ("fed-buff", {"buffer": 1, "rate": 1.0}, ENOUGH),
    ("cached-mean", {}, {}),
    ("ace", {"rate": 0.5}, ENOUGH),
    ("aced", {"rate": 0.5, "recent": 12}, ENOUGH),
    ("aced", {"rate": 0.5, "recent": 3}, ENOUGH),  # some messages are older when they arrive
    ("ca2fl", {"buffer": 3, "rate": 0.5}, ENOUGH),
    ("ca2fl", {"buffer": 3, "rate": 0.5, "bits": 4}, ENOUGH),
    ("temporally-weighted", {"base": e / 2}, {}),
    ("temporally-weighted", {"base": 1}, {}),
    ("aso-fed", {}, ENOUGH),
    ("fed-at", {"tiers": 1}, {}),
    ("fed-at", {"tiers": 3}, {}),
]


@pytest.mark.parametrize(("name", "options", "more"), CASES)
def test_a_rule_is_its_equation(name: str, options: dict[str, Any], more: dict[str, Any]) -> None:
    equation = getattr(equations, name.replace("-", "_"))
    server = SERVERS[name](**options, **more).server
    assert isinstance(server, ServerRule)
    for seed in SEEDS:
        arrivals = history(seed)
        expected = equation(arrivals, **options)
        assert np.abs(expected).max() > 0.1  # something happened
        np.testing.assert_allclose(lived(server, arrivals), expected, rtol=1e-10, atol=1e-12)


def test_every_server_has_an_equation() -> None:
    assert {name for name, *_ in CASES} == set(SERVERS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_device_of_aso_fed_is_its_equations(seed: int) -> None:
    """With s = (y - w.z)^2 / 2 + pull / 2 |w - w_server|^2: steps are grad s - grad s' + h."""
    rng = np.random.default_rng(seed)
    pull, beta, mu = rng.uniform(size=3)
    state = begin_device(3)
    w, server, before, h = np.zeros((4, 3))
    contacts: list[int] = []
    for tick in np.cumsum(rng.integers(1, 30, size=40)).tolist():
        if rng.random() < 0.4:
            told = Part(rng.permutation(3)[:2], rng.normal(size=2))
            state = merge(state, told)
            w[told.coordinates] = server[told.coordinates] = told.values
            contacts.append(tick)
        z, y = rng.normal(size=3) / 2, rng.normal()
        state = learn(pull, beta, True, state, z, y, mu, tick)
        gradient = -(y - w @ z) * z + pull * (w - server)
        gap = np.mean(np.diff(contacts)) if len(contacts) > 1 else 1.0
        r = max(1.0, np.log(gap))
        w = w - r * mu * (gradient - before + h)
        h = beta * h + (1 - beta) * before
        before = gradient
        np.testing.assert_allclose(state.w, w, rtol=1e-9, atol=1e-12)
