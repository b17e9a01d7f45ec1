"""Expected errors against averages over many runs of a fleet too large for all of its futures.

A false alarm takes a mean of runs five standard errors off: less often than once in 10,000 tests.
"""

import numpy as np
import pytest

from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.simulate.engines import reference
from paofed.theory.exact.small_fleet import second_order
from tests.effort import effort, some
from tests.theory.exact.futures import SETTINGS, Habits, known, trace_of

TICKS = 20
POINTS = np.array([2, 9, 19])
FLEET = (
    Habits((0, 1), data=0.9, there=0.7, late=(0.4, 0.6), noisy=True),
    Habits((1, 2), data=1.0, there=0.8, late=(0.7, 0.3)),
    Habits((0, 2), data=0.7, there=0.3, late=(0.5, 0.5), noisy=True),
)
LATER = tuple(Habits(h.points, h.data, h.there, (0.5, 0.2, 0.3), h.noisy) for h in FLEET)
CASES = [
    (FLEET, "pao-fed-u1:shared=2"),
    (FLEET, "online-fed:subset=2"),
    (FLEET, "pao-fed-c2:shared=2,exchange=live"),
    (FLEET, "online-fedsgd"),
    (LATER, "pao-fed-u2:shared=2"),
]


def errors(fleet: tuple[Habits, ...], text: str, runs: int) -> FloatArray:
    """The learning curves of some runs, (R, N)."""
    rng, method = np.random.default_rng(8), resolve(text)
    choices = [habits.events() for habits in fleet] * TICKS
    curves = []
    for _ in range(runs):
        drawn = [
            events[rng.choice(len(events), p=[event.probability for event in events])]
            for events in choices
        ]
        drawn = [event._replace(lottery=float(rng.random())) for event in drawn]
        trace = trace_of(drawn, len(fleet))
        curves.append(reference.replay(trace, method, **SETTINGS._asdict()).mse)
    return np.array(curves)


@pytest.mark.parametrize(("fleet", "text"), some(CASES, everyday=1))
def test_expected_errors_are_those_of_runs(fleet: tuple[Habits, ...], text: str) -> None:
    small = known(fleet)
    expected = second_order(small, resolve(text), SETTINGS, POINTS).error(small).mse
    seen = errors(fleet, text, effort(everyday=40, thorough=300))[:, POINTS]
    standard_error = seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
    assert (np.abs(seen.mean(axis=0) - expected) < 5 * standard_error).all()
