"""Triggered windows against the published rules, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.rivals.channels.triggered import RULES, triggered
from paofed.core.arrays import FloatArray
from paofed.core.parts import draws
from tests.algorithms.rivals.cases import (
    FEATURES,
    models,
    seeds,
    stamp,
    told_over,
)


def published_triggers(
    sent: FloatArray, rule: str, threshold: float, heartbeat: int, shared: int
) -> list[bool]:
    """When to send: send-on-delta, or unless zeta <= exp(-1/2 z' Y z) with Y = I / threshold^2."""
    last, silent, said = np.zeros(sent.shape[1]), 0, []
    for tick, w in enumerate(sent):
        window = (shared * (tick + 1) + np.arange(shared)) % sent.shape[1]
        z = w[window] - last[window]
        if rule == "delta":
            quiet = np.abs(z).max() <= threshold
        else:
            Y = np.eye(shared) / threshold**2  # noqa: N806
            quiet = draws(stamp(tick=tick), 1)[0] <= np.exp(-0.5 * z @ Y @ z)
        if quiet and silent < heartbeat:
            silent += 1
        else:
            last[window], silent = w[window], 0
        said.append(silent == 0)
    return said


@given(
    seeds,
    st.sampled_from(["delta", "stochastic"]),
    st.floats(0.1, 8),
    st.integers(0, 5),
    st.integers(1, 5),
)
def test_a_window_is_sent_when_the_published_rule_says_so(
    seed: int, rule: str, threshold: float, heartbeat: int, shared: int
) -> None:
    sent = models(seed, 20)
    method = triggered(shared=shared, threshold=threshold, heartbeat=heartbeat, rule=rule)
    told = told_over(method.uplink, sent)
    said = [part.coordinates.size > 0 for part, *_ in told]
    assert said == published_triggers(sent, rule, threshold, heartbeat, shared)
    for tick, (part, _, size) in enumerate(told):
        assert size == (4 * shared if said[tick] else 0)
        np.testing.assert_array_equal(part.values, sent[tick][part.coordinates])


@pytest.mark.parametrize("rule", RULES)
def test_a_model_that_has_diverged_is_sent(rule: str) -> None:
    told = told_over(triggered(rule=rule).uplink, np.full((2, FEATURES), np.nan))
    assert all(part.coordinates.size for part, *_ in told)
