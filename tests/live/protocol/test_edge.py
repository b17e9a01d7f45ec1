"""The device as a state machine: what it learns, sends, repeats, believes and forgets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.intervals import Interval
from paofed.core.rules import lms_step
from paofed.errors import InputError
from paofed.live.protocol.coordinator import TOLERANCE, Send
from paofed.live.protocol.edge import Clock, Edge
from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN
from paofed.live.protocol.messages import (
    LARGEST,
    LAST_TICK,
    NO_UPDATE,
    Hello,
    Model,
    Read,
    Reply,
    Reread,
    Update,
    age_of,
    decode,
    encode,
)
from tests.live.fleets import f32, manifest, parts, server, update

WHOLE = f32(*range(1, 9))
HELLO = encode(Hello(3))
READ = encode(Read(3))
SWEEP = 4  # updates that tell 8 parameters, 2 in each


def model(tick: int, values: Sequence[float] = WHOLE.tolist(), epoch: int = 3) -> bytes:
    return encode(Model(epoch, tick, f32(*values)))


def reply(tick: int, answers: int, values: Sequence[float] = (50.0, 60.0), epoch: int = 3) -> bytes:
    return encode(Reply(epoch, tick, age_of(tick, answers), f32(*values)))


def joined(tick: int = 10, *, device: int = 1, **options: Any) -> Edge:
    """A device that has heard the model at second 0, and has no earlier life to doubt."""
    edge = Edge(options.pop("manifest", manifest()), device, **{"doubt": 0, **options})
    assert edge.contact(0.0) == HELLO
    edge.receive(model(tick), 0.0)
    return edge


def sent(edge: Edge, seconds: float) -> list[int]:
    """The ticks of what a device sends that has learned something, the newest first."""
    edge.news = 1
    payload = edge.contact(seconds)
    assert payload is not None
    message = decode(payload, shared=edge.manifest.shared, features=edge.manifest.features)
    assert isinstance(message, Update)
    return [message.tick, *(message.tick - repeat.earlier for repeat in message.repeats)]


def kept(edge: Edge) -> list[int]:
    return [update.tick for update in edge.unconfirmed]


def test_a_device_says_hello_until_it_has_the_model() -> None:
    edge = Edge(manifest(), 1)
    assert edge.tick(5.0) is None
    for unanswered in (1, 2, 3):
        assert edge.contact(float(unanswered)) == HELLO
        assert edge.unanswered == unanswered
    assert not edge.joined
    edge.receive(model(10), 4.0)
    assert edge.joined
    assert edge.w.tolist() == WHOLE.tolist()
    assert edge.w.dtype == np.float64
    assert (edge.unanswered, edge.tick(4.0)) == (0, 10)
    assert sent(edge, 5.0) == [11]


def test_learning_is_one_step_in_scaled_numbers() -> None:
    edge = joined()
    x, y = np.array([0.3, 1.7]), 12.5
    z = manifest().fourier_map(np.array([0.3, (1.7 - 0.5) / 2.0]))
    edge.learn(x, y)
    assert (
        edge.w.tobytes()
        == lms_step(WHOLE.astype(np.float64), z, (12.5 - 10.0) / 4.0, 0.4).tobytes()
    )
    assert edge.predict(x) == float(edge.w @ z) * 4.0 + 10.0
    same = joined()
    same.learn_mapped(z, 0.625)
    assert same.w.tobytes() == edge.w.tobytes()


@pytest.mark.parametrize(
    "x", [[1.0], [1.0, 2.0, 3.0], [np.nan, 1.0], [1.0, np.inf], [[1.0, 2.0]], 1.0]
)
def test_inputs_that_are_none(x: object) -> None:
    edge = joined()
    before = edge.w
    with pytest.raises(InputError, match="expected 2 finite numbers"):
        edge.learn(np.asarray(x), 1.0)
    with pytest.raises(InputError, match="expected 2 finite numbers"):
        edge.predict(np.asarray(x))
    assert edge.w is before
    assert edge.implausible == 1


@pytest.mark.parametrize("y", [np.nan, np.inf, -np.inf])
def test_targets_that_are_none(y: float) -> None:
    """Its program may catch the error and go on: the server's people have to hear of it."""
    edge = joined()
    before = edge.w
    for _ in range(2):
        with pytest.raises(InputError, match="expected a finite number"):
            edge.learn(np.array([1.0, 2.0]), y)
    assert edge.w is before
    assert edge.implausible == 2
    assert edge.recent.level == IMPLAUSIBLE


def ranged() -> Edge:
    """A device that has joined a fleet with plausible ranges."""
    agreed = manifest()
    inputs = (agreed.inputs[0], replace(agreed.inputs[1], low=-1.0, high=3.0))
    edge = Edge(replace(agreed, inputs=inputs, target=replace(agreed.target, high=50.0)), 1)
    edge.receive(model(10), 0.0)
    return edge


@pytest.mark.parametrize(("x", "y"), [([0.0, 3.1], 10.0), ([0.0, -1.5], 10.0), ([0.0, 0.0], 51.0)])
def test_an_implausible_sample_is_counted_and_not_learned_from(x: list[float], y: float) -> None:
    edge = ranged()
    before = edge.w
    assert edge.learn(np.array(x), y) is False
    assert edge.w is before
    assert (edge.implausible, edge.recent.samples) == (1, 0)
    assert edge.learn(np.array([0.0, 3.0]), 50.0) is True
    assert edge.w is not before


def test_an_update_says_how_well_the_device_predicts() -> None:
    edge = ranged()
    assert level(edge.contact(1.0)) == UNKNOWN
    x = np.array([0.0, 0.0])
    edge.begin(np.zeros(8))
    edge.learn(x, 14.0)  # one scale beside what it predicts
    assert level(edge.contact(2.0)) == 128
    edge.receive(reply(12, 12), 2.0)
    for _ in range(40):
        edge.learn(x, 1e6)
    assert level(edge.contact(3.0)) == IMPLAUSIBLE


def test_intervals_are_around_predictions_and_hold_in_the_long_run() -> None:
    """Samples of which nothing can be predicted, in the unit of the target: coverage is exact."""
    rng, edge = np.random.default_rng(0), joined()
    target, inside = edge.manifest.target, 0
    for x, y in zip(rng.normal(size=(500, 2)), rng.normal(5.0, 30.0, size=500), strict=True):
        low, high = edge.interval(x)
        assert (low + high) / 2 == pytest.approx(edge.predict(x))
        assert high - low == pytest.approx(2 * target.scale * edge.intervals.half_width)
        inside += low <= y <= high
        edge.learn(x, y)
    assert edge.intervals.coverage == inside / 500
    # Off by log(half width / 1) / (0.2 times 500), however the samples were drawn.
    assert edge.intervals.coverage == pytest.approx(0.9, abs=0.06)


def test_the_first_interval_is_the_manifests() -> None:
    edge = Edge(manifest(first_interval=0.25), device=1)
    assert edge.intervals == Interval(0.25)
    low, high = edge.interval(np.zeros(2))
    assert high - low == pytest.approx(0.5 * edge.manifest.target.scale)


def level(payload: bytes | None) -> int:
    message = decode(payload or b"", shared=2, features=8)
    assert isinstance(message, Update | Read)
    return message.level


def test_what_it_says_survives_a_power_cut() -> None:
    edge, again = ranged(), ranged()
    edge.learn(np.array([0.0, 0.0]), 30.0)
    edge.contact(1.0)
    edge.learn(np.array([0.0, 0.0]), 1e6)
    assert again.restore(edge.state())
    assert vars(again.recent) == vars(edge.recent)
    assert again.intervals == edge.intervals == Interval(1.0, 1, 1)
    assert [u.level for u in again.unconfirmed] == [u.level for u in edge.unconfirmed] != [UNKNOWN]


def test_an_update_is_the_model_on_the_uplink_window() -> None:
    edge = joined()
    edge.news = 1
    # Device 1 at tick 12 sends W(2 (12 + 1 + 1), 2) of 8.
    assert edge.contact(2.0) == update(12, 5.0, 6.0)
    edge.receive(reply(12, 12), 2.0)
    assert parts(edge.manifest).downlink(1, 12, 8).tolist() == [2, 3]
    assert edge.w.tolist() == [1.0, 2.0, 50.0, 60.0, 5.0, 6.0, 7.0, 8.0]


def test_the_tick_is_that_of_the_server_plus_the_own_clock() -> None:
    edge = Edge(manifest(tick_seconds=2.5), 1)
    edge.receive(model(10), 100.0)
    assert [edge.tick(s) for s in (90.0, 100.0, 102.4, 102.5, 125.0)] == [10, 10, 10, 11, 20]
    assert edge.tick(1e15) == LAST_TICK


def test_one_update_per_tick() -> None:
    edge = joined()
    assert sent(edge, 1.0) == [11]
    first = edge.unconfirmed[0].values.tolist()
    edge.learn(np.array([1.0, 2.0]), 3.0)
    assert sent(edge, 1.9) == [11]
    assert edge.unconfirmed[0].values.tolist() == first
    edge.receive(reply(11, 11), 1.9)
    assert edge.contact(1.95) is None
    assert edge.unanswered == 0
    assert sent(edge, 2.0) == [12]


def test_what_is_not_confirmed_travels_again_after_a_while() -> None:
    edge = joined(patience=2)
    assert sent(edge, 1.0) == [11]
    assert sent(edge, 2.0) == [12]
    assert sent(edge, 3.0) == [13, 11]
    assert sent(edge, 4.0) == [14, 12]
    # 11 is 4 ticks old at tick 15, just in time; only the last four are kept.
    assert sent(edge, 5.0) == [15, 13]
    assert kept(edge) == [12, 13, 14, 15]
    assert sent(edge, 40.0) == [50]
    assert kept(edge) == [50]


def test_of_messages_with_the_same_head_only_what_all_carried_is_confirmed() -> None:
    edge = joined(patience=1)
    assert sent(edge, 1.0) == [11]
    assert sent(edge, 2.0) == [12, 11]
    assert sent(edge, 2.5) == [12]
    edge.receive(reply(12, 12), 2.6)
    assert kept(edge) == [11]
    assert sent(edge, 3.0) == [13, 11]
    edge.receive(reply(13, 13), 3.1)
    assert kept(edge) == []


def test_what_was_too_old_when_it_arrived_is_not_confirmed() -> None:
    edge = joined()
    sent(edge, 1.0)
    assert sent(edge, 2.0) == [12, 11]
    edge.receive(reply(16, 12), 6.0)
    assert kept(edge) == [11]
    other = joined()
    sent(other, 1.0)
    sent(other, 2.0)
    other.receive(reply(15, 12), 5.0)
    assert kept(other) == []


def test_an_older_reply_confirms_but_does_not_merge() -> None:
    edge = joined(patience=5)
    for second in (1.0, 2.0):
        sent(edge, second)
    edge.receive(reply(12, 12, (50.0, 60.0)), 2.0)
    merged = edge.w
    assert edge.merged == 12
    edge.receive(reply(11, 11, (70.0, 80.0)), 2.0)
    assert kept(edge) == []
    assert edge.w is merged
    edge.receive(reply(12, 12, (70.0, 80.0)), 2.0)
    assert edge.w is merged
    edge.receive(reply(13, 12, (70.0, 80.0)), 2.0)
    assert edge.w[parts(edge.manifest).downlink(1, 13, 8)].tolist() == [70.0, 80.0]
    assert edge.merged == 13


def test_a_reply_to_an_update_of_its_time_sets_the_clock_forward_and_never_back() -> None:
    edge = joined()
    edge.receive(reply(15, 11), 1.0)
    assert (edge.tick(1.0), edge.clock) == (15, Clock(15, 1.0))
    edge.receive(reply(15, 11), 9.0)
    edge.receive(reply(12, 11), 9.0)
    edge.receive(model(3), 9.0)
    assert (edge.tick(9.0), edge.clock) == (23, Clock(15, 1.0))
    edge.receive(model(30), 9.0)
    assert edge.tick(9.0) == 30


def test_a_reply_to_an_update_of_a_later_tick_sets_the_clock_back() -> None:
    """And no tick is used twice: the next update waits until the clock comes past the last one."""
    edge = joined(patience=2)  # its clock is 3 ticks ahead
    assert [sent(edge, second) for second in (1.0, 2.0, 3.0)] == [[11], [12], [13, 11]]
    assert edge.receive(reply(10, 12), 3.0) == {12}
    assert (edge.clock, edge.stamped) == (Clock(10, 3.0), 13)
    assert sent(edge, 4.0) == [13]
    assert edge.receive(reply(11, 13), 4.5) == {13}
    assert edge.clock == Clock(11, 4.5)
    assert sent(edge, 6.5) == [11]  # twice more: it left in a tick that was no later than 10
    assert kept(edge) == [11]
    assert sent(edge, 7.5) == [14, 11]


def test_an_earlier_reply_does_not_set_the_clock_back() -> None:
    edge = joined()
    sent(edge, 1.0)
    edge.receive(reply(11, 10), 1.0)
    for _ in range(2):
        edge.receive(reply(10, 11), 2.0)
        assert edge.clock == Clock(10, 0.0)


def test_a_clock_that_is_ahead_by_more_than_is_tolerated_is_right_after_one_answer() -> None:
    """Also where nothing more is learned: an update waits until the server's tick is near."""
    coordinator, edge = server(2), joined(ahead := TOLERANCE + 1, patience=2)
    edge.news = 2
    for second in range(40):
        coordinator.close(second)
        payload = edge.contact(float(second))
        effects = [*coordinator.receive(1, payload or b""), *coordinator.committed()]
        for effect in effects:
            if isinstance(effect, Send):
                edge.receive(effect.payload, float(second))
    assert coordinator.counts["refused: future"] <= ahead
    assert (edge.unanswered, edge.tick(39.0), kept(edge)) == (0, 39, [])


def test_unanswered_for_long_it_asks_for_the_time_and_may_go_back() -> None:
    edge = joined(tick=500, lost_after=3)
    for second in range(1, 5):
        assert sent(edge, float(second))[0] == 500 + second
    assert edge.unanswered == 4
    assert edge.contact(5.0) == HELLO
    assert edge.contact(5.5) == HELLO
    mine = edge.w
    edge.receive(model(502, [0.0] * 8), 6.0)
    assert edge.w is mine
    assert (edge.clock, edge.stamped, edge.unanswered) == (Clock(502, 6.0), 502, 0)
    assert kept(edge) == [501, 502]
    assert sent(edge, 6.0)[0] == 502
    assert sent(edge, 7.0)[0] == 503


def test_while_the_clock_goes_back_what_is_told_next_is_news() -> None:
    edge = joined(tick=500, lost_after=3)
    assert sent(edge, 1.0) == [501]
    edge.receive(reply(501, 501), 1.0)
    assert edge.merged == 501
    for second in range(2, 7):
        edge.contact(float(second))
    edge.receive(model(90, [0.0] * 8), 7.0)
    assert edge.merged == 90
    assert sent(edge, 8.0) == [91]
    edge.receive(reply(91, 91, (70.0, 80.0)), 8.0)
    assert edge.w[parts(edge.manifest).downlink(1, 91, 8)].tolist() == [70.0, 80.0]
    assert edge.merged == 91


def test_by_default_it_is_lost_after_all_that_can_be_late_and_a_little_more() -> None:
    edge = joined()
    assert edge.lost_after == 4 + 5
    for second in range(1, 11):
        assert edge.contact(float(second)) != HELLO
    assert edge.contact(11.0) == HELLO


def test_an_answer_of_any_kind_ends_being_lost() -> None:
    edge = joined(lost_after=1)
    for second in (1.0, 2.0, 3.0):
        edge.contact(second)
    assert edge.contact(4.0) == HELLO
    edge.receive(reply(12, 11), 5.0)
    assert edge.unanswered == 0
    edge.receive(model(12), 5.0)
    assert edge.tick(5.0) == 15
    assert sent(edge, 6.0)[0] == 16


def test_a_reply_alone_makes_nobody_a_member() -> None:
    edge = Edge(manifest(), 1)
    edge.receive(reply(20, 19), 0.0)
    assert (edge.joined, edge.tick(0.0)) == (False, 20)
    assert edge.contact(1.0) == HELLO
    edge.receive(model(18), 1.0)
    assert edge.joined
    assert edge.w.tolist() == WHOLE.tolist()
    assert edge.tick(1.0) == 21


def test_told_to_read_the_manifest_again() -> None:
    edge = joined()
    edge.receive(encode(Reread(3)), 1.0)
    assert not edge.outdated
    edge.receive(encode(Reread(4)), 1.0)
    assert edge.outdated
    edge.receive(encode(Reread(3)), 1.0)
    assert edge.outdated


def snapshot(edge: Edge) -> dict[str, Any]:
    lists = {name: array.tolist() for name, array in edge.state().items()}
    return {**lists, "clock": edge.clock, "unanswered": edge.unanswered, "outdated": edge.outdated}


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"garbage",
        reply(12, 11, epoch=4),
        model(12, epoch=2),
        reply(12, 11)[:-1],
        reply(12, 11) + b"\0",
        reply(12, 11, (np.nan, 0.0)),
        model(12, [np.inf] * 8),
        HELLO,
        update(12),
        encode(Reread(3)),
    ],
)
def test_what_is_no_answer_is_ignored(payload: bytes) -> None:
    edge = joined()
    sent(edge, 1.0)
    before = snapshot(edge)
    edge.receive(payload, 2.0)
    assert snapshot(edge) == before


@given(st.binary(max_size=60))
def test_no_bytes_bring_a_device_down(payload: bytes) -> None:
    edge = joined()
    sent(edge, 1.0)
    edge.receive(payload, 2.0)
    edge.contact(3.0)
    assert np.isfinite(edge.w).all()


def test_a_state_that_was_saved_is_taken_up_all_but_the_clock() -> None:
    edge = joined(patience=1)
    for second in (1.0, 2.0, 3.0):
        sent(edge, second)
    edge.receive(reply(13, 11), 3.0)
    edge.learn(np.array([1.0, 2.0]), 3.0)
    back = Edge(manifest(), 1, doubt=0)
    back.restore(edge.state())
    assert snapshot(back) == {**snapshot(edge), "clock": None}
    assert kept(back) == [12, 13]
    assert (back.merged, back.stamped, back.joined, back.clock) == (13, 13, True, None)
    assert back.w.tobytes() == edge.w.tobytes()
    assert back.contact(0.0) == HELLO
    back.receive(model(14, [0.0] * 8), 0.0)
    assert back.w.tobytes() == edge.w.tobytes()
    assert sent(back, 0.0) == [14, 12, 13]
    back.receive(reply(14, 14), 0.0)
    assert kept(back) == []


def test_after_a_power_cut_nobody_knows_what_a_message_carried() -> None:
    edge = joined()
    for second in (1.0, 2.0):
        sent(edge, second)
    back = Edge(manifest(), 1, doubt=0)
    back.restore(edge.state())
    back.receive(model(12), 0.0)
    back.receive(reply(12, 12), 0.0)
    assert kept(back) == [11, 12]
    assert sent(back, 0.5) == [12]
    back.receive(reply(12, 12), 0.5)
    assert kept(back) == [11, 12]
    assert sent(back, 1.0) == [13, 11, 12]
    back.receive(reply(13, 13), 1.0)
    assert kept(back) == []


@pytest.mark.parametrize(("epoch", "device"), [(4, 1), (3, 2)])
def test_the_state_of_another_is_left_alone(epoch: int, device: int) -> None:
    edge = joined()
    sent(edge, 1.0)
    other = Edge(manifest(epoch=epoch), device)
    fresh = snapshot(other)
    other.restore(edge.state())
    assert snapshot(other) == fresh


def test_updates_of_a_later_time_do_not_survive_a_lost_clock() -> None:
    edge = joined(tick=500)
    sent(edge, 1.0)
    back = Edge(manifest(), 1)
    back.restore(edge.state())
    back.receive(model(20), 0.0)
    assert (kept(back), back.stamped, back.news) == ([], 20, SWEEP)
    assert back.contact(0.5) == READ  # there is one update per tick
    assert sent(back, 1.0) == [21]


@pytest.mark.parametrize("y", [1e30, -1e30, 1e200])
def test_one_wild_sample_does_not_lock_a_device_out(y: float) -> None:
    """What the server would refuse for ever is let go; the fleet's model takes its place."""
    coordinator, edge = server(2), joined(0)
    edge.learn(np.array([0.3, 1.7]), y)
    assert edge.restarts == 1
    for second in (0.0, 1.0):
        edge.news = 1
        payload = edge.contact(second)
        assert payload is not None
        effects = [*coordinator.receive(1, payload), *coordinator.committed()]
        for effect in effects:
            if isinstance(effect, Send):
                edge.receive(effect.payload, second)
    assert coordinator.counts == {"hellos": 1, "accepted": 1}
    assert (edge.restarts, kept(edge)) == (1, [])


def test_what_is_just_not_too_large_is_kept() -> None:
    edge = joined()
    edge.restore({**edge.state(), "model": np.full(8, LARGEST)})
    assert (edge.restarts, edge.joined) == (0, True)
    assert sent(edge, 1.0) == [11]


def test_a_saved_state_that_could_not_be_sent_is_let_go() -> None:
    """As a device left it that did not look."""
    edge = joined()
    sent(edge, 1.0)
    sent(edge, 2.0)
    state = edge.state()
    state["model"] = np.full(8, 2 * LARGEST)
    state["values"][0] = 2 * LARGEST
    back = Edge(manifest(), 1)
    assert back.restore(state)
    assert (back.restarts, kept(back)) == (1, [12])
    assert not back.w.any()
    back.contact(0.0)
    back.receive(model(12), 0.0)
    assert back.w.tolist() == WHOLE.tolist()


def test_after_a_restart_a_reply_confirms_the_head_alone_for_a_while() -> None:
    for doubt, confirmed in ((1, [11, 13]), (5, [13])):
        edge = joined(doubt=doubt)
        assert sent(edge, 1.0) == [11]
        assert sent(edge, 3.0) == [13, 11]
        edge.receive(reply(13, 13), 3.0)
        assert kept(edge) == [tick for tick in (11, 13) if tick not in confirmed]


def test_a_reply_says_what_it_confirms() -> None:
    edge = joined()
    for second, ticks in ((1.0, [11]), (2.0, [12, 11]), (3.0, [13, 11, 12])):
        assert sent(edge, second) == ticks
    assert edge.receive(reply(13, 12), 3.0) == {11, 12}
    assert edge.receive(reply(13, 12), 3.0) == frozenset()
    assert edge.receive(reply(13, 13), 3.0) == {13}
    assert kept(edge) == []


@pytest.mark.parametrize(
    "payload", [reply(11, 10), model(12), encode(Reread(4))], ids=["reply", "model", "reread"]
)
def test_whatever_answers_no_update_confirms_nothing(payload: bytes) -> None:
    edge = joined()
    assert sent(edge, 1.0) == [11]
    assert edge.receive(payload, 1.0) == frozenset()
    assert kept(edge) == [11]
    assert edge.receive(reply(11, 11), 1.0) == {11}


# Without news


def answer(tick: int, values: Sequence[float] = (50.0, 60.0)) -> bytes:
    """What a server says to a read."""
    return encode(Reply(3, tick, NO_UPDATE, f32(*values)))


def reads(edge: Edge, seconds: float) -> bool:
    """Whether a contact now is a read."""
    payload = edge.contact(seconds)
    assert payload is not None
    return isinstance(edge.manifest.read(payload), Read)


def learned(edge: Edge) -> Edge:
    assert edge.learn(np.array([0.3, 1.7]), 12.5)
    return edge


def test_who_has_learned_nothing_reads() -> None:
    edge = joined()
    for second in (1.0, 1.5):
        assert edge.contact(second) == READ
    assert edge.unanswered == 2
    assert edge.receive(answer(11), 1.5) == frozenset()
    assert edge.w[parts(edge.manifest).downlink(1, 11, 8)].tolist() == [50.0, 60.0]
    assert (edge.unanswered, edge.contact(1.6)) == (0, None)  # it has the values of this tick
    assert edge.contact(2.0) == READ
    assert (kept(edge), edge.stamped) == ([], -1)


def swept(edge: Edge, tick: int, updates: int = SWEEP) -> list[int]:
    """What news is after each of some updates, the first of this tick; all are confirmed."""
    left = []
    for now in range(tick, tick + updates):
        assert not reads(edge, now - 10.0)
        assert edge.receive(reply(now, now), now - 10.0) == {now}
        left.append(edge.news)
    return left


def test_a_sample_gives_updates_for_one_sweep_over_the_model() -> None:
    edge = learned(joined())
    windows = [parts(edge.manifest).uplink(1, tick, 8) for tick in range(11, 15)]
    assert sorted(np.concatenate(windows).tolist()) == [*range(8)]
    assert swept(edge, 11) == [3, 2, 1, 0]
    assert reads(edge, 5.0)
    assert not reads(learned(edge), 5.5)
    assert (kept(edge), edge.news) == ([15], 3)  # an update in the tick of a read
    edge.receive(reply(15, 15), 5.5)
    assert edge.contact(5.6) is None  # one update per tick, whatever is left
    assert swept(learned(edge), 16) == [3, 2, 1, 0]  # another sample begins another sweep


@pytest.mark.parametrize(
    ("features", "shared", "updates"), [(8, 3, 3), (8, 8, 1), (254, 1, 254), (600, 2, 254)]
)
def test_how_many_updates_a_sweep_is(features: int, shared: int, updates: int) -> None:
    edge = Edge(manifest(features=features, shared=shared), 1)
    edge.begin(np.zeros(features))
    assert edge.news == 0
    assert learned(edge).news == updates


def test_what_is_not_confirmed_travels_again_though_nothing_was_learned() -> None:
    edge = learned(joined())
    swept(edge, 11, SWEEP - 1)
    last = edge.contact(4.0)
    for second in (4.5, 5.0, 7.0):
        assert edge.contact(second) == last
    assert edge.receive(reply(17, 14), 7.0) == {14}
    assert reads(edge, 8.0)


def test_an_update_that_becomes_too_old_begins_the_sweep_anew() -> None:
    edge = learned(joined())
    swept(edge, 11, SWEEP - 1)
    assert not reads(edge, 4.0)
    assert (kept(edge), edge.news) == ([14], 0)
    assert not reads(edge, 9.0)  # 14 is 5 ticks old, and at most 4 are allowed
    assert (kept(edge), edge.news) == ([19], SWEEP - 1)


def test_an_update_that_has_no_room_begins_the_sweep_anew() -> None:
    edge = learned(joined())
    for second in (1.0, 2.0, 3.0):
        edge.contact(second)
    assert learned(edge).news == SWEEP
    edge.contact(4.0)
    assert (kept(edge), edge.news) == ([11, 12, 13, 14], SWEEP - 1)
    edge.contact(5.0)
    assert (kept(edge), edge.news) == ([12, 13, 14, 15], SWEEP - 1)


def test_who_is_set_back_begins_the_sweep_anew() -> None:
    edge = learned(joined(lost_after=3))
    for second in range(1, 5):
        edge.contact(float(second))
    assert (kept(edge), edge.news) == ([11, 12, 13, 14], 0)
    assert edge.contact(5.0) == HELLO
    edge.receive(model(14), 5.0)
    assert (kept(edge), edge.news) == ([11, 12, 13, 14], 0)  # none was given up
    for second in range(6, 10):
        edge.unanswered = 9
        edge.contact(float(second))
    edge.receive(model(12), 9.0)
    assert (kept(edge), edge.news) == ([11, 12], SWEEP)


def test_who_joins_anew_has_nothing_to_say_of_what_was_given_up() -> None:
    edge = learned(joined())
    edge.contact(1.0)
    edge.learn(np.array([0.3, 1.7]), 1e30)
    assert (edge.joined, kept(edge)) == (False, [11])
    back = Edge(manifest(), 1)
    assert back.restore(edge.state())
    back.contact(0.0)
    back.receive(model(9), 0.0)
    assert (back.w.tolist(), kept(back), back.news) == (WHOLE.tolist(), [], 0)


def test_the_answer_to_a_read_confirms_nothing() -> None:
    """Also in the tick of an update, and of a tick so late that its age would be that of one."""
    edge = joined()
    assert edge.contact(1.0) == READ
    assert sent(learned(edge), 1.0) == [11]
    for tick in (10, 11, 13, 11 + NO_UPDATE):
        assert edge.receive(answer(tick), 1.5) == frozenset()
    assert kept(edge) == [11]


@pytest.mark.parametrize("updates", range(SWEEP + 1))
def test_news_survives_a_power_cut(updates: int) -> None:
    edge = learned(joined())
    swept(edge, 11, updates)
    back = Edge(manifest(), 1)
    assert back.restore(edge.state())
    assert back.news == SWEEP - updates
    back.receive(model(16), 0.0)
    assert reads(back, 1.0) == (updates == SWEEP)


@pytest.mark.parametrize("updates", [0, 2])
@pytest.mark.parametrize(("lineage", "news"), [(0, 8), (1, 0)])
def test_a_manifest_with_the_same_model_begins_the_sweep_anew(
    lineage: int, news: int, updates: int
) -> None:
    edge = learned(joined())
    swept(edge, 11, updates)
    edge = edge.under(manifest(epoch=4, lineage=lineage, shared=1))
    assert edge.contact(0.0) == encode(Hello(4))
    edge.receive(model(13, epoch=4), 0.0)
    assert edge.news == news
    assert reads(edge, 1.0) == (not news)


@pytest.mark.parametrize("confirmed", [False, True])
def test_under_a_new_manifest_what_was_not_confirmed_is_told_anew(confirmed: bool) -> None:
    edge = learned(joined())
    swept(edge, 11, SWEEP - 1)
    edge.contact(4.0)
    if confirmed:
        edge.receive(reply(14, 14), 4.0)
    assert edge.news == 0
    assert edge.under(manifest(epoch=4)).news == (0 if confirmed else SWEEP)
