"""Bounded influence: an example by hand, and what no message and no client can do."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.bounded import (
    ASIDE,
    DOUBT,
    LATEST,
    LEAST,
    OUTSIDE,
    PACE,
    PATIENCE,
    Bounded,
    BoundedState,
    _sizes_at_once,
    begin,
    scale_of,
    sizes_of,
)
from paofed.core.parts import SERVER, Message, Stamp, keys_of
from paofed.core.rules import Newest
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError

FEATURES, CLIENTS = 6, 5
RULE = Bounded(Geometric(0.5), clip=3.0)
Arrivals = list[list[Message]]  # tick after tick, from tick 4 on
FIRST = 4


def stamp(tick: int) -> Stamp:
    return Stamp(SERVER, tick, FEATURES, keys_of(0).server)


def lived(rule: Bounded, arrivals: Arrivals, clients: int = CLIENTS) -> BoundedState:
    state = rule.init(FEATURES, clients)
    for tick, messages in enumerate(arrivals, FIRST):
        state = rule.apply(state, messages, stamp(tick))
    return state


def of(client: int, sent: int, *values: float) -> Message:
    return Message(client, sent, np.arange(len(values)), np.array(values))


@st.composite
def message(draw: st.DrawFn, tick: int, client: int, age: int) -> Message:
    start, width = draw(st.integers(0, 5)), draw(st.integers(1, FEATURES))
    usual = st.floats(-10, 10).map(lambda v: round(v, 3))
    value = usual.map(lambda v: 100 * v) if client == 0 else usual
    values = draw(st.lists(value, min_size=width, max_size=width))
    return Message(client, tick - age, (start + np.arange(width)) % FEATURES, np.array(values))


@st.composite
def some(draw: st.DrawFn, tick: int) -> list[Message]:
    pair = st.tuples(st.integers(0, CLIENTS - 1), st.integers(0, 3))
    pairs = draw(st.lists(pair, unique=True, max_size=6))
    return [draw(message(tick, client, age)) for client, age in pairs]


@st.composite
def histories(draw: st.DrawFn) -> Arrivals:
    """Some ticks with messages of several clients and ages; client 0 is wild."""
    ticks = draw(st.integers(1, 8))
    return [draw(some(tick)) for tick in range(FIRST, FIRST + ticks)]


def test_an_example_by_hand() -> None:
    now = [of(0, 4, 1.0), of(1, 4, 2.0), of(2, 4, 30.0)]
    state = lived(RULE, [now])  # scale 2, so values count up to 6: (1 + 2 + 6) / 3
    assert state.w.tolist() == [3.0, 0, 0, 0, 0, 0]
    assert state.sizes[-3:].tolist() == [1.0, 2.0, 30.0]
    assert state.senders[-3:].tolist() == [0, 1, 2]
    assert state.score.tolist() == [
        0.0,
        0.0,
        6.0,
        0.0,
        0.0,
    ]  # 30 is 15 scales: 12 outside, at most 6
    # Next: one tick old, so half of what is left, and at most 6 away from 3.
    later = RULE.apply(state, [of(1, 4, -20.0)], stamp(5))
    assert later.w[0] == 3.0 - 0.5 * 6.0
    assert later.score.tolist() == [0.0, 6.0, 6.0, 0.0, 0.0]  # who is silent is not looked at


def literal_scale(state: BoundedState) -> float:
    """The smallest size at or below which half of all senders' say lies."""
    known = sorted((s, k) for s, k in zip(state.sizes, state.senders, strict=True) if s)
    counts = Counter(k for _, k in known)
    if len(counts) < 3 and len(known) < PATIENCE:
        return 0.0
    says = [Fraction(1, counts[k]) for _, k in known]
    return float(next(s for i, (s, _) in enumerate(known) if 2 * sum(says[: i + 1]) >= len(counts)))


@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.floats(0, 100).map(lambda v: round(v, 2))),
        min_size=LATEST,
        max_size=LATEST,
    )
)
def test_the_scale_is_a_median_in_which_every_sender_has_one_say(
    heard: list[tuple[int, float]],
) -> None:
    senders, sizes = (np.array(column) for column in zip(*heard, strict=True))
    state = begin(1, 0)._replace(sizes=sizes.astype(float), senders=senders)
    assert scale_of(state.sizes, state.senders) == literal_scale(state)


def test_who_talks_much_has_no_larger_say() -> None:
    talker = [[of(0, tick, 1000.0)] for tick in range(4, 44)]
    others = [[of(k, 44 + k, 1.0 + k)] for k in (1, 2, 3)]
    state = lived(Bounded(Geometric(1.0), aside=False), talker + others)
    assert scale_of(state.sizes, state.senders) < 1000.0


@given(histories(), st.data())
def test_the_order_of_arrival_changes_no_bit(history: Arrivals, data: st.DataObject) -> None:
    shuffled = [data.draw(st.permutations(messages)) for messages in history]
    for one, other in zip(lived(RULE, history), lived(RULE, shuffled), strict=True):
        assert one.tobytes() == other.tobytes()


def scaled(history: Arrivals, unit: float) -> Arrivals:
    return [[m._replace(values=unit * m.values) for m in messages] for messages in history]


@given(histories(), st.sampled_from([2.0**-30, 2.0**40]))
def test_jobs_change_no_bit_of_what_is_not_in_them(history: Arrivals, unit: float) -> None:
    usual, other = lived(RULE, history), lived(RULE, scaled(history, unit))
    in_units = {"w", "sizes"}
    for name, one, two in zip(BoundedState._fields, usual, other, strict=True):
        expected = np.multiply(one, unit) if name in in_units else one
        assert expected.tobytes() == two.tobytes(), name


@given(histories(), st.floats(0.5, 10), st.booleans())
def test_influence_is_bounded(history: Arrivals, clip: float, aside: bool) -> None:
    rule = Bounded(Geometric(1.0), "coverage", clip, aside)
    state = rule.init(FEATURES, CLIENTS)
    for tick, messages in enumerate(history, FIRST):
        after = rule.apply(state, messages, stamp(tick))
        limit = clip * (scale_of(state.sizes, state.senders) or literal_scale(after))
        rounding = 1e-12 * np.abs(state.w)
        assert (np.abs(after.w - state.w) <= limit * (1 + 1e-12) + rounding).all()
        state = after


@given(histories(), st.sampled_from([1e300, -1e300, np.inf, -np.inf, np.nan]))
def test_one_message_moves_the_model_by_clip_scales_at_most(history: Arrivals, wild: float) -> None:
    state = lived(RULE, history)
    tick = FIRST + len(history)
    after = RULE.apply(state, [of(1, tick, *[wild] * FEATURES)], stamp(tick))
    scale = scale_of(state.sizes, state.senders) or literal_scale(after)
    moved = np.abs(after.w - state.w)
    assert (moved <= RULE.clip * scale * (1 + 1e-12) + 1e-12 * np.abs(state.w)).all()
    assert np.isfinite(after.w).all()
    assert np.isfinite(after.score).all()
    assert np.isfinite(after.sizes).all()


def plainly_cut(state: BoundedState, messages: list[Message], tick: int) -> bytes:
    """The paper's rule over messages of which each value is at most `clip` scales away."""
    after = RULE.apply(state, messages, stamp(tick))
    limit = RULE.clip * (scale_of(state.sizes, state.senders) or literal_scale(after))

    def cut(m: Message) -> Message:
        here = state.w[m.coordinates]
        return m._replace(values=np.minimum(np.maximum(m.values, here - limit), here + limit))

    paper = Newest(RULE.staleness)
    return paper.apply(state, [cut(m) for m in messages], stamp(tick)).w.tobytes()


@given(histories())
def test_where_nobody_is_aside_values_are_cut_and_nothing_else(history: Arrivals) -> None:
    state = RULE.init(FEATURES, CLIENTS)
    for tick, messages in enumerate(history, FIRST):
        after = RULE.apply(state, messages, stamp(tick))
        if not state.aside.any():
            assert after.w.tobytes() == plainly_cut(state, messages, tick)
            assert not after.pull.any()
            assert not after.allowed.any()
        state = after


@given(histories(), st.lists(st.booleans(), min_size=CLIENTS, max_size=CLIENTS))
def test_who_is_aside_moves_the_model_by_its_allowance_at_most(
    history: Arrivals, aside: list[bool]
) -> None:
    *before, now = history
    state = lived(RULE, before)._replace(aside=np.array(aside))
    tick = FIRST + len(before)
    alone = [m for m in now if aside[m.client]]
    after = RULE.apply(state, alone, stamp(tick))
    scale = scale_of(state.sizes, state.senders) or literal_scale(after)
    allowed = after.allowed[[m.client for m in alone]]
    assert not scale or ((allowed >= LEAST) & (allowed <= OUTSIDE)).all()
    most = allowed.max(initial=0.0) * scale
    rounding = 1e-12 * (np.abs(state.w) + most)
    assert (np.abs(after.w - state.w) <= most + rounding).all()


@given(histories())
def test_a_fleet_that_grows_ends_as_one_that_was_known(history: Arrivals) -> None:
    grown, known = lived(RULE, history, clients=0), lived(RULE, history)
    clients = grown.score.size
    assert clients == 1 + max((m.client for now in history for m in now), default=-1)
    for name, one, other in zip(BoundedState._fields, grown, known, strict=True):
        of_clients = name in ("last", "score", "aside", "allowed", "trusted")
        assert one.tobytes() == (other[:clients] if of_clients else other).tobytes()
        assert not of_clients or not other[clients:].any()


@given(histories(), st.sampled_from([1.0, 0.2]))
def test_what_is_near_counts_as_in_the_paper(history: Arrivals, base: float) -> None:
    """With a bound that nothing reaches, and enough heard, the rule is the paper's."""
    wide, paper = Bounded(Geometric(base), clip=1e12, aside=False), Newest(Geometric(base))
    state = lived(wide, [[of(k, FIRST, 1.0 + k) for k in range(3)], *history])
    tick = FIRST + len(history)
    for now in history[-1:]:
        again = [m._replace(sent=m.sent + 1) for m in now]
        expected = paper.apply(state, again, stamp(tick))
        assert wide.apply(state, again, stamp(tick)).w.tobytes() == expected.w.tobytes()


def rounds(broken: Sequence[float]) -> Arrivals:
    """Everybody sends in every tick: client 0 as told, the others healthy."""
    rng = np.random.default_rng(17)
    return [
        [of(k, tick, *rng.normal(size=4) * (factor if k == 0 else 1)) for k in range(CLIENTS)]
        for tick, factor in enumerate(broken, FIRST)
    ]


def followed(rule: Bounded, arrivals: Arrivals) -> list[list[bool]]:
    """Who is aside after every tick."""
    state, found = rule.init(FEATURES, CLIENTS), []
    for tick, messages in enumerate(arrivals, FIRST):
        state = rule.apply(state, messages, stamp(tick))
        found.append(state.aside.tolist())
    return found


def test_a_broken_client_is_set_aside_and_comes_back_when_it_behaves() -> None:
    still = Bounded(Geometric(0.0))  # only fresh messages count, and all are fresh
    aside = np.array(followed(still, rounds([1.0] * 10 + [1000.0] * 10 + [1.0] * 15)))
    assert not aside[:, 1:].any()
    assert not aside[:11, 0].any()  # one wild message does not decide
    assert aside[14:20, 0].all()
    assert not aside[-1, 0]


def one_aside(pull: float, allowed: float = 1.0) -> BoundedState:
    """A state in which client 0 is aside, everybody was heard, and the others pull somewhere."""
    state = lived(RULE, [[of(k, FIRST, 1.0) for k in range(CLIENTS)]])
    aside, first = np.arange(CLIENTS) == 0, np.arange(CLIENTS) == 0
    return state._replace(
        aside=aside,
        score=np.where(first, ASIDE + 1.0, 0.0),
        allowed=np.where(first, allowed, 0.0),
        pull=np.full(FEATURES, pull),
    )


def test_the_allowance_grows_unless_the_others_pull_back() -> None:
    said = [of(k, FIRST + 1, 50.0, 50.0) for k in range(CLIENTS)]
    for pull in (0.0, -DOUBT, -0.5, 0.5):
        after = RULE.apply(one_aside(pull), said, stamp(FIRST + 1))
        assert after.allowed[0] == 1.0 + PACE * (DOUBT + pull)
        # One that sends as often as all others together goes no faster than they do.
        again = RULE.apply(after._replace(pull=after.pull * 0), [of(0, FIRST + 2, 50.0)], stamp(6))
        once_more = RULE.apply(again, [of(0, FIRST + 3, 50.0)], stamp(7))
        factor = once_more.allowed[0] / again.allowed[0]
        assert factor == pytest.approx(1.0 + PACE * DOUBT / CLIENTS)
    other_way = [of(0, FIRST + 1, -50.0, -50.0)]
    assert RULE.apply(one_aside(-0.5), other_way, stamp(FIRST + 1)).allowed[0] > 1.0


@pytest.mark.parametrize(("pull", "end"), [(0.0, OUTSIDE), (-3.0, LEAST)])
def test_the_allowance_stays_in_its_bounds(pull: float, end: float) -> None:
    said = [of(k, FIRST + 1, 50.0) for k in range(CLIENTS)]
    allowed = 1.0
    for _ in range(100):
        allowed = float(RULE.apply(one_aside(pull, allowed), said, stamp(FIRST + 1)).allowed[0])
    assert allowed == end


def test_who_is_aside_does_not_make_the_scale() -> None:
    before = one_aside(0.0)
    after = RULE.apply(before, [of(0, FIRST + 1, 50.0), of(1, FIRST + 1, 4.0)], stamp(FIRST + 1))
    assert after.senders[-1] == 1
    assert after.sizes[:-1].tobytes() == before.sizes[1:].tobytes()


def test_who_is_aside_moves_the_model_by_the_share_of_others_that_it_has_heard() -> None:
    state = one_aside(0.0)
    scale = scale_of(state.sizes, state.senders)
    tick = FIRST
    for others in ([1, 2, 3, 4], [1, 2], [3], [], [1, 2, 3, 4, 1, 2]):
        for k in others:  # in ticks of their own, so that client 0 alone moves the model below
            tick += 1
            state = RULE.apply(state, [of(k, tick, *state.w[:1] + 0.01 * scale)], stamp(tick))
        tick += 1
        scale = scale_of(state.sizes, state.senders)
        after = RULE.apply(state, [of(0, tick, 50.0)], stamp(tick))
        limit = after.allowed[0] * min(len(others) / (CLIENTS - 1), 1.0) * scale
        assert after.w[0] - state.w[0] == pytest.approx(limit, abs=1e-12)
        state = after


def test_a_tick_in_which_all_are_heard_is_a_whole_share() -> None:
    state = one_aside(0.0)
    for tick in (FIRST + 1, FIRST + 2):
        said = [of(k, tick, state.w[0] + (50.0 if k == 0 else 1e-9)) for k in range(CLIENTS)]
        after = RULE.apply(state, said, stamp(tick))
        limit = after.allowed[0] * scale_of(state.sizes, state.senders)
        assert after.w[0] - state.w[0] == pytest.approx(limit / CLIENTS)
        state = after


def test_where_half_of_all_are_aside_they_make_the_scale_and_wait_for_nobody() -> None:
    state = one_aside(0.0)._replace(aside=np.arange(CLIENTS) <= CLIENTS // 2)
    for tick in (FIRST + 1, FIRST + 2):
        after = RULE.apply(state, [of(0, tick, 50.0)], stamp(tick))
        limit = after.allowed[0] * scale_of(state.sizes, state.senders)
        assert after.w[0] - state.w[0] == pytest.approx(limit)
        assert after.senders[-1] == 0
        state = after


def test_where_the_others_pull_is_remembered_while_somebody_is_aside() -> None:
    said = [of(k, FIRST + 1, 1.0 if k == 0 else 0.0) for k in range(CLIENTS)]
    after = RULE.apply(one_aside(0.0), said, stamp(FIRST + 1))
    assert after.pull[0] < 0.0
    assert not after.pull[1:].any()
    nobody = RULE.apply(after._replace(aside=np.zeros(CLIENTS, dtype=bool)), said, stamp(FIRST + 2))
    assert not nobody.pull.any()


def test_who_is_trusted_is_never_set_aside() -> None:
    rule, arrivals = Bounded(Geometric(0.0)), rounds([1000.0] * 20)
    state = rule.init(FEATURES, CLIENTS)._replace(trusted=np.arange(CLIENTS) == 0)
    for tick, messages in enumerate(arrivals, FIRST):
        state = rule.apply(state, messages, stamp(tick))
        assert not state.aside.any()
    assert state.score[0] > ASIDE


def test_nobody_is_set_aside_where_that_is_left_out() -> None:
    rule = Bounded(Geometric(1.0), aside=False)
    arrivals = rounds([1000.0] * 20)
    assert not np.any(followed(rule, arrivals))
    assert lived(rule, arrivals).score[0] > ASIDE  # but scored


def test_one_alone_is_heard_once_it_is_clear_that_there_are_no_more() -> None:
    alone = [[of(0, tick, 7.0)] for tick in range(4, 4 + PATIENCE)]
    assert not lived(RULE, alone[:-1]).w.any()
    assert lived(RULE, alone).w[0] == 7.0


def test_of_very_many_messages_some_of_all_clients_are_kept() -> None:
    many = [of(k, 4, 1.0 + k) for k in range(10 * LATEST)]
    state = lived(RULE, [many], clients=0)
    assert np.diff(state.senders).tolist() == [10] * (LATEST - 1)


@pytest.mark.parametrize("clip", [0, np.nan, True, "6"])
def test_a_clip_that_is_none(clip: float) -> None:
    with pytest.raises(AlgorithmError, match=r"^clip is .*: expected a finite number above 0"):
        Bounded(Geometric(1.0), clip=clip)


def test_what_else_is_refused() -> None:
    with pytest.raises(AlgorithmError, match=r"^aside is 1: expected yes or no$"):
        Bounded(Geometric(1.0), aside=1)  # type: ignore[arg-type]
    with pytest.raises(AlgorithmError, match=r"^staleness is 0.5: expected a function$"):
        Bounded(0.5)  # type: ignore[arg-type]
    with pytest.raises(AlgorithmError, match=r"^unknown divisor 'many'"):
        Bounded(Geometric(1.0), "many")  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [(np.nan, np.nan, 1.0), (np.nan, 2.0, 3.0), (np.nan,)])
def test_what_is_no_number_is_infinitely_far_away(values: tuple[float, ...]) -> None:
    """Counted as near, a broken device would hide behind numbers that it does not have."""
    said = [of(0, FIRST, *values)]
    away = np.where(np.isnan(values), np.inf, values)
    w = np.zeros(len(values))
    assert sizes_of(w, said).tolist() == [np.median(away)]
    assert _sizes_at_once(w[None], np.array([values])).tolist() == [np.median(away)]


def test_who_was_aside_is_back_where_that_is_left_out() -> None:
    """As when a fleet that sets devices aside is changed to one that does not."""
    state = lived(RULE, [[of(c, t, 1.0 if c else 1e3) for c in range(5)] for t in range(4, 9)])
    assert state.aside.tolist() == [True, False, False, False, False]
    still_wild = [of(c, 9, 1.0 if c else 1e3) for c in range(5)]
    after = Bounded(Geometric(0.5), clip=3.0, aside=False).apply(state, still_wild, stamp(9))
    assert not after.aside.any()
