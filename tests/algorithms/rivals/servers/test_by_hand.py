"""One example of every rule, worked out by hand: small numbers, two or three ticks."""

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


def test_fed_async() -> None:
    """0.5 of (4, 8) is (2, 4); at age 3 the weight is 0.5 / 2: (2, 4) + (6 - 2, 0 - 4) / 4."""
    server = SERVERS["fed-async"](alpha=0.5, decay=0.5).server
    models = after(server, 2, [said(0, 0, 4.0, 8.0)], [], [], [said(1, 0, 6.0, 0.0)])
    assert models == [[2.0, 4.0], [2.0, 4.0], [2.0, 4.0], [3.0, 3.0]]


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


def test_ace() -> None:
    """Two clients. A step of (4, 8) moves by half of it. From (2, 4), client 1 steps by (2, 0).

    Both last steps together are (6, 8), so the model moves by (3, 4); so it does again when client
    0 steps by nothing in place of (4, 8): the mean of (0, 0) and (2, 0) is (1, 0).
    """
    server = SERVERS["ace"]().server
    models = after(
        server, 2, [said(0, 0, 4.0, 8.0)], [said(1, 1, 4.0, 4.0)], [said(0, 2, 5.0, 8.0)]
    )
    assert models == [[2.0, 4.0], [5.0, 8.0], [6.0, 8.0]]


def test_aced() -> None:
    """Three clients, steps count for two ticks. Client 0 alone steps by (4, 8), client 1 by (2, 0).

    Their mean is (3, 4). At tick 3 the step of client 0 is too old: client 1 alone, which steps by
    nothing from (7, 12), leaves the model. A message that is three ticks old counts for nothing,
    and nobody else is recent at tick 6.
    """
    server = SERVERS["aced"](recent=2).server
    early = [said(0, 0, 4.0, 8.0)], [said(1, 1, 6.0, 8.0)], list[Message]()
    late = [said(1, 3, 7.0, 12.0)], list[Message](), list[Message](), [said(2, 3, 90.0, 90.0)]
    models = after(server, 3, *early, *late)
    assert models == [[4.0, 8.0]] + [[7.0, 12.0]] * 6


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


def test_ca2fl() -> None:
    """Four clients, buffers of two. Steps (4, 8) and (2, 0): h is 0, so the mean (3, 4) is added.

    Then h is (6, 8) / 4. From (3, 4), client 0 steps by (1, 0), client 2 by (1, 2): their news are
    (1 - 4, 0 - 8) and (1, 2), with mean (-1, -3): h and this are (0.5, -1).
    """
    server = SERVERS["ca2fl"](buffer=2).server
    first = [said(0, 0, 4.0, 8.0), said(1, 0, 2.0, 0.0)]
    models = after(server, 4, first, [said(0, 1, 4.0, 4.0)], [said(2, 2, 4.0, 6.0)])
    assert models == [[3.0, 4.0], [3.0, 4.0], [3.5, 3.0]]


def test_temporally_weighted() -> None:
    """Base 2. Client 0 said 4 at tick 0, client 1 says 1 at tick 1: (4 / 2 + 1) / (1 / 2 + 1) = 2.

    At tick 2 client 1 says 7 instead: (4 / 4 + 7) / (1 / 4 + 1).
    """
    server = SERVERS["temporally-weighted"](base=2.0).server
    ticks = [part(0, 0, 0, 4.0)], [part(1, 1, 0, 1.0)], [part(1, 2, 0, 7.0)]
    models = after(server, 2, *map(list, ticks))
    np.testing.assert_allclose(models, [[4.0, 0.0], [2.0, 0.0], [6.4, 0.0]])


def test_temporally_weighted_counts_what_a_client_said_at_a_tick_once() -> None:
    """Client 0 said 4 at tick 0: another value of the same tick, come later, is no news."""
    server = SERVERS["temporally-weighted"](base=2.0).server
    models = after(server, 1, [part(0, 0, 0, 4.0)], [part(0, 0, 0, 9.0)])
    assert models == [[4.0, 0.0], [4.0, 0.0]]


def test_aso_fed() -> None:
    """The first message is all there is: a step of 4. Then client 1, half of two messages.

    It says 6, a step of 2 from 4: 1 is added. Client 0, with two of three, steps from 5 by 3: 2.
    """
    server = SERVERS["aso-fed"]().server
    ticks = [part(0, 0, 0, 4.0)], [part(1, 1, 0, 6.0)], [part(0, 2, 0, 8.0)]
    models = after(server, 3, *map(list, ticks))
    np.testing.assert_allclose(models, [[4.0, 0.0], [5.0, 0.0], [7.0, 0.0]])


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


def test_fed_at() -> None:
    """Two tiers. Client 0 is fast: it says 4 at once. The slow tier has no say yet, and its no say
    is what the fast one weighs: the model stays 0.

    Tick 2: client 1, two ticks late, says 6: one round each, (4 + 6) / 2. Tick 3: client 0 says 7;
    the fast tier has had 2 rounds, the slow one 1: 1/3 of 7 and 2/3 of 6.
    """
    server = SERVERS["fed-at"](tiers=2).server
    ticks = [[part(0, 0, 0, 4.0)], [], [part(1, 0, 0, 6.0)], [part(0, 3, 0, 7.0)]]
    models = after(server, 2, *ticks)
    np.testing.assert_allclose(models, [[0.0, 0.0], [0.0, 0.0], [5.0, 0.0], [19 / 3, 0.0]])


def test_the_published_base() -> None:
    assert SERVERS["temporally-weighted"]().server.apply.args == (e / 2,)  # type: ignore[union-attr]
