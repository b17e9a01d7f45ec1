"""What the equations do not show at a glance, worked out by hand: small numbers, few ticks."""

from math import e

import numpy as np
import pytest

from paofed.algorithms.rivals.servers import SERVERS
from paofed.algorithms.rivals.servers.aso_fed import begin_device, learn, merge
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message, Part, ServerRule
from tests.algorithms.rivals.servers.histories import part, said, stamp_at


def after(server: object, clients: int, *ticks: list[Message]) -> list[list[float]]:
    """The models of two features after each of some ticks, the first of them tick 0."""
    assert isinstance(server, ServerRule)
    state, models = server.init(2, clients), []
    for tick, messages in enumerate(ticks):
        state = server.apply(state, messages, stamp_at(tick, 2))
        model: FloatArray = server.model(state)
        models.append(model.tolist())
    return models


def test_the_hinge_of_fed_async() -> None:
    """Up to age 2 a message counts in full: half of (4, 8). At age 3 it weighs 0.5 / (1 + 1)."""
    server = SERVERS["fed-async"](alpha=0.5, hinge=2, slope=1).server
    late = [said(0, 0, 4.0, 8.0)], [said(1, 0, 6.0, 0.0)]
    assert after(server, 2, [], [], *late) == [[0.0, 0.0]] * 2 + [[2.0, 4.0], [3.0, 3.0]]


def test_fed_buff() -> None:
    """Steps (4, 8) and (2, 0): the mean is (3, 4). Then, three ticks late, (5, 6) from (0, 0).

    It weighs 1/2 and waits until a step (1, 0) from (3, 4) comes: (3.5, 3) / 2 more.
    """
    server = SERVERS["fed-buff"](buffer=2).server
    both = [said(0, 0, 4.0, 8.0), said(1, 0, 2.0, 0.0)]
    late, last = [said(2, 0, 5.0, 6.0)], [said(0, 4, 4.0, 4.0)]
    models = after(server, 3, both, [], [], late, last)
    assert models == [[3.0, 4.0]] * 4 + [[4.75, 5.5]]


def test_a_message_from_before_all_that_is_kept() -> None:
    """The model goes 0, 4, 6, 7. One past model is kept: 6, and 7 less 6, not 7 less 0, counts."""
    server = SERVERS["fed-buff"](buffer=1, memory=1).server
    steps = [[part(0, 0, 0, 4.0)], [part(0, 1, 0, 6.0)], [part(0, 2, 0, 7.0)]]
    kept = after(server, 1, *steps, [part(0, 0, 0, 7.0)])
    assert kept == [[4.0, 0.0], [6.0, 0.0], [7.0, 0.0], [7.5, 0.0]]
    enough = SERVERS["fed-buff"](buffer=1, memory=3).server
    assert after(enough, 1, *steps, [part(0, 0, 0, 7.0)])[-1] == [7.0 + 7.0 / 2, 0.0]


def test_cached_mean() -> None:
    """(4, 8) alone; with (2, 0) the mean is (3, 4); client 0 says 6 in place of 4: (6 + 2) / 2.

    What client 0 said before that comes later and changes nothing.
    """
    server = SERVERS["cached-mean"]().server
    ticks = [said(0, 0, 4.0, 8.0)], [said(1, 1, 2.0, 0.0)], [part(0, 2, 0, 6.0)]
    models = after(server, 9, *map(list, ticks), [part(0, 1, 0, -50.0)])
    assert models == [[4.0, 8.0], [3.0, 4.0], [4.0, 4.0], [4.0, 4.0]]


def test_a_quantised_cache() -> None:
    """Two bits: -s, 0 or s. Client 0 steps by (4, 8) in full, and is kept as (0, 8) or (8, 8).

    Its next step, (1, 0), is calibrated by what was kept, and h is half of that.
    """
    server = SERVERS["ca2fl"](buffer=1, bits=2).server
    ticks = [said(0, 0, 4.0, 8.0)], [said(0, 1, 5.0, 8.0)]
    first, second = after(server, 2, *map(list, ticks))
    assert first == [4.0, 8.0]
    by_chance = [4.0 + 1 + kept / 2 - kept for kept in (0.0, 8.0)]
    assert min(abs(second[0] - model) for model in by_chance) < 1e-5  # the scale is a float32
    assert second[1] == pytest.approx(8.0 + 8.0 / 2 - 8.0, abs=1e-5)


def test_temporally_weighted_counts_what_a_client_said_at_a_tick_once() -> None:
    """Client 0 said 4 at tick 0: another value of the same tick, come later, is no news."""
    server = SERVERS["temporally-weighted"](base=2.0).server
    models = after(server, 1, [part(0, 0, 0, 4.0)], [part(0, 0, 0, 9.0)])
    assert models == [[4.0, 0.0], [4.0, 0.0]]


def test_a_device_of_aso_fed() -> None:
    """Pull 1, beta 1/2, steps of 1/2, one feature of 1, always y = 4.

    Tick 0, heard 2: gradient -2, so 3. Tick 1: gradient -1 and the pull 1 make 0; less -2 is a
    step down of 2 / 2: 2; h becomes half of -2. Tick 2: gradient -2, less 0, plus -1: 3.5.
    """
    state = merge(begin_device(1), Part(np.array([0]), np.array([2.0])))
    models = []
    for tick in range(3):
        state = learn(1.0, 0.5, True, state, np.ones(1), 4.0, 0.5, tick)
        models.append(state.w[0])
    assert models == [3.0, 2.0, 3.5]


def test_steps_of_aso_fed_grow_with_the_gaps() -> None:
    """Contacts at ticks 0 and 100: a step of log 100 times the usual, unless it is told not to."""
    for dynamic, times in ((True, np.log(100)), (False, 1.0)):
        state = begin_device(1)
        for tick in (0, 100):
            state = merge(state, Part(np.array([0]), np.zeros(1)))
            state = learn(0.0, 1.0, dynamic, state, np.ones(1) * tick, 1.0, 1e-3, tick)
        assert state.w[0] == pytest.approx(times * 1e-3 * 100)


def test_the_published_base() -> None:
    assert SERVERS["temporally-weighted"]().server.apply.args == (e / 2,)  # type: ignore[union-attr]
