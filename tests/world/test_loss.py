"""What is lost, against what the law says; see tests/world/test_laws.py for the bounds."""

import numpy as np

from paofed.world.realize import realize
from tests.world.test_laws import assert_binomial, fleet

SOMETIMES = {"kind": "bernoulli", "probabilities": [0.7, 0.4]}


def test_losses_by_group_and_direction() -> None:
    """11 comparisons: false-alarm rate below 1e-8."""
    up, down = (0.3, 0.02, 0.9), (0.5, 0.1, 0.0)
    law = {"up": list(up), "down": list(down)}
    trace = realize(fleet(60, 2000, availability=SOMETIMES, loss=law), seed=1)
    for group in range(3):
        own = slice(group, None, 3)
        there = trace.available[:, own]
        lost_up, lost_down = trace.lost_up[:, own][there], trace.lost_down[:, own][there]
        assert_binomial(lost_up, up[group])
        assert_binomial(lost_down, down[group])
        # One direction says nothing of the other, nor a tick of the next.
        if down[group]:
            assert_binomial(lost_up[lost_down], up[group])
        assert_binomial(lost_up[1:][lost_up[:-1]], up[group])


def test_loss_changes_nothing_else_of_a_trace() -> None:
    still = realize(fleet(12, 200, availability=SOMETIMES))
    lossy = realize(fleet(12, 200, availability=SOMETIMES, loss={"up": 0.5}))
    for name in ("x", "y", "has_data", "available", "delay", "lottery"):
        np.testing.assert_array_equal(getattr(lossy, name), getattr(still, name))
    assert lossy.lost_up.any()
    assert not lossy.lost_down.any()
