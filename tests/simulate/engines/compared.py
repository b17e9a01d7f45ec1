"""What two engines made of one trace, compared; and a method in the compiled form for any rules."""

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.parts import keys_of
from paofed.simulate.engines.fast import family
from paofed.simulate.engines.fast.curves import outcome
from paofed.simulate.engines.fast.own.simulation import General
from paofed.simulate.results.outcome import Outcome
from paofed.world.trace import Trace


def equal(got: Outcome, expected: Outcome) -> None:
    np.testing.assert_array_equal(got.traffic, expected.traffic)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got.server_model, expected.server_model, rtol=0, atol=1e-9)


def in_general_form(trace: Trace, method: Algorithm) -> Outcome:
    settled = family.settle(method, 0.4, 10)
    return outcome(General.over(trace.sparse(), [settled], keys_of(0)), trace)
