"""The server as a state machine: what it takes, what it refuses, what it answers."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.parts import Message
from paofed.core.rules import aggregate
from paofed.live.protocol.coordinator import (
    MOST_HELLOS,
    MOST_PER_TICK,
    REPORT_AFTER,
    TOLERANCE,
    Coordinator,
    Send,
    Suspect,
)
from paofed.live.protocol.messages import (
    LARGEST,
    NO_UPDATE,
    Hello,
    Model,
    Read,
    Reply,
    Reread,
    Update,
    encode,
)
from paofed.live.protocol.quantity import ManifestError
from paofed.live.protocol.served import served_names
from tests.live.fleets import f32, manifest, parts, records, server, update


def replies(coordinator: Coordinator) -> list[tuple[int, Reply]]:
    """What the commit releases."""
    released = []
    for device, payload in coordinator.committed():
        message = coordinator.manifest.read(payload)
        assert isinstance(message, Reply)
        released.append((device, message))
    return released


Day = list[tuple[int, int, int, tuple[float, float]]]


def at(tick: int, **changes: Any) -> Coordinator:
    coordinator = server(**changes)
    coordinator.close(tick)
    return coordinator


def expected(
    coordinator: Coordinator, tick: int, *sent: tuple[int, int, tuple[float, ...]]
) -> bytes:
    """The model after some updates (device, tick, values) have been applied at a tick."""
    features = coordinator.manifest.features
    _, up, rule = parts(coordinator.manifest)
    messages = [
        Message(k, n, up(k, n, features), f32(*values).astype(np.float64)) for k, n, values in sent
    ]
    return aggregate(np.zeros(features), messages, tick, rule.staleness, rule.divisor).tobytes()


def test_an_update_is_recorded_and_applied_when_its_tick_closes() -> None:
    coordinator = at(7)
    (record,) = records(coordinator, 1, update(7, 1.5, -2.5))
    assert record[:3] == (7, 1, 7)
    assert record.values.tolist() == [1.5, -2.5]
    assert not coordinator.w.any()
    assert [line[:3] for line in coordinator.waiting()] == [(7, 1, 7)]
    coordinator.close(8)
    # Device 1 at tick 7 sends W(2 (7 + 1 + 1), 2) of 8.
    assert coordinator.w.tolist() == [0.0, 0.0, 1.5, -2.5, 0.0, 0.0, 0.0, 0.0]
    assert coordinator.waiting() == []
    assert coordinator.counts["accepted"] == 1
    assert coordinator.devices.last_seen[1] == 7


def test_a_late_update_counts_when_it_arrives() -> None:
    coordinator = at(7, algorithm="pao-fed-u2")
    (late,) = records(coordinator, 1, update(3, 1.0, 2.0))
    (fresh,) = records(coordinator, 2, update(7, 4.0, 8.0))
    assert (late[:3], fresh[:3]) == ((7, 1, 3), (7, 2, 7))
    coordinator.close(8)
    right = expected(coordinator, 7, (1, 3, (1.0, 2.0)), (2, 7, (4.0, 8.0)))
    assert coordinator.w.tobytes() == right
    assert np.flatnonzero(coordinator.w).tolist() == [2, 3, 4, 5]


def test_the_oldest_that_is_in_time() -> None:
    for tick, accepted in ((3, True), (2, False)):
        coordinator = at(7)
        assert bool(records(coordinator, 0, update(tick))) == accepted
        assert coordinator.counts["refused: too old"] == (not accepted)


@pytest.mark.parametrize("ahead", [1, TOLERANCE])
def test_a_device_that_is_ahead_a_little(ahead: int) -> None:
    coordinator = at(7)
    (record,) = records(coordinator, 0, update(7 + ahead, 1.0, 2.0))
    assert record[:3] == (7 + ahead, 0, 7 + ahead)
    coordinator.close(7 + ahead)
    assert not coordinator.w.any()
    coordinator.close(8 + ahead)
    assert coordinator.w.tobytes() == expected(coordinator, 7 + ahead, (0, 7 + ahead, (1.0, 2.0)))
    assert records(coordinator, 0, update(7 + ahead, 9.0, 9.0)) == []
    (answered, again) = [reply for _, reply in replies(coordinator)]
    assert (answered.tick, answered.answers) == (7, 7 + ahead)
    assert (again.tick, again.answers) == (8 + ahead, 7 + ahead)


def test_a_repeat_of_the_same_message_is_answered_and_not_counted() -> None:
    coordinator = at(7)
    assert len(records(coordinator, 1, update(7, 1.0, 2.0))) == 1
    before = coordinator.digest()
    assert records(coordinator, 1, update(7, 5.0, 6.0)) == []
    assert coordinator.digest() == before
    assert len(replies(coordinator)) == 2
    coordinator.close(10)
    assert records(coordinator, 1, update(7, 5.0, 6.0)) == []
    ((device, reply),) = replies(coordinator)
    assert (device, reply.tick, reply.age) == (1, 10, 3)
    assert (coordinator.counts["accepted"], coordinator.counts["duplicates"]) == (1, 2)


def test_repeats_are_each_taken_once_while_in_time() -> None:
    coordinator = at(10)
    assert len(records(coordinator, 1, update(9, 9.0, 9.0))) == 1
    old = [(1, (9.0, 9.0)), (4, (6.0, 6.0)), (5, (5.0, 5.0))]
    taken = records(coordinator, 1, update(10, 1.0, 1.0, repeats=old))
    assert [record[:3] for record in taken] == [(10, 1, 10), (10, 1, 6)]
    assert [record.values.tolist() for record in taken] == [[1.0, 1.0], [6.0, 6.0]]
    assert coordinator.counts["duplicates"] == 1
    assert coordinator.counts["repeats too old"] == 1
    assert coordinator.counts["accepted"] == 3


def test_the_same_repeat_twice_in_one_message_counts_once() -> None:
    coordinator = at(10)
    taken = records(coordinator, 1, update(10, repeats=[(1, (1.0, 1.0)), (1, (2.0, 2.0))]))
    assert [record.sent for record in taken] == [10, 9]
    assert taken[1].values.tolist() == [1.0, 1.0]


GOOD, READ = update(20), encode(Read(3))
REFUSED: dict[str, list[bytes]] = {
    "length": [b"", b"\x10\x03", GOOD[:-1], GOOD + b"\0", READ[:-1], READ + b"\0"],
    "tick": [READ[:2] + b"\1" + READ[3:]],
    "version": [b"\x30" + GOOD[1:], b"\x00" + GOOD[1:]],
    "kind": [
        b"\x26" + GOOD[1:],
        encode(Reply(3, 20, 0, f32(1, 2))),
        encode(Model(3, 20, f32(*range(8)))),
        encode(Reread(3)),
    ],
    "not finite": [update(20, np.nan, 0), update(20, repeats=[(1, (0.0, np.inf))])],
    "repeat": [update(20, repeats=[(0, (1.0, 1.0))])],
    "future": [update(20 + TOLERANCE + 1), update(2**32 - 1)],
    "too old": [update(15), update(0)],
    "too large": [
        update(20, 0.0, 2 * LARGEST),
        update(20, -2 * LARGEST, 0.0),
        update(20, repeats=[(1, (0.0, 2 * LARGEST))]),
    ],
}


@pytest.mark.parametrize(
    ("reason", "payload"), [(why, payload) for why, all_of in REFUSED.items() for payload in all_of]
)
def test_what_is_refused_is_counted_and_changes_nothing(reason: str, payload: bytes) -> None:
    coordinator = at(20)
    records(coordinator, 0, update(19))
    coordinator.committed()
    before, seen = coordinator.digest(), coordinator.devices.last_seen.tolist()
    assert coordinator.receive(0, payload) == []
    assert coordinator.digest() == before
    assert coordinator.counts == {"accepted": 1, f"refused: {reason}": 1}
    assert coordinator.devices.refused[0] == 1
    assert coordinator.devices.last_seen.tolist() == seen
    assert coordinator.committed() == []


@given(st.binary(max_size=60), st.integers(-3, 10))
def test_arbitrary_bytes_change_nothing(data: bytes, device: int) -> None:
    coordinator = at(20)
    before = coordinator.digest()
    payload = data if data[:2] != b"\x10\x03" else b"\x1f" + data
    effects = coordinator.receive(device, payload)
    assert all(isinstance(effect, Send) for effect in effects)
    assert coordinator.digest() == before
    assert coordinator.committed() == []


@pytest.mark.parametrize("device", [-1, 3, 7, 8, 999, 2**40])
def test_unknown_devices_are_not_answered(device: int) -> None:
    coordinator = at(20)
    before = coordinator.digest()
    for payload in (GOOD, encode(Hello(3)), b"", encode(Hello(4))):
        assert coordinator.receive(device, payload) == []
    assert coordinator.digest() == before
    assert coordinator.counts == {"refused: unknown device": 4}


def test_a_device_that_is_refused_again_and_again_is_reported_once() -> None:
    coordinator = at(20)
    effects = [coordinator.receive(1, update(20, np.nan, 0)) for _ in range(2 * REPORT_AFTER)]
    assert effects.pop(REPORT_AFTER - 1) == [Suspect(1, "not finite")]
    assert effects == [[]] * (2 * REPORT_AFTER - 1)


def test_a_good_update_clears_a_device() -> None:
    coordinator = at(20)
    for good in (update(20), update(20), READ):
        for _ in range(REPORT_AFTER - 1):
            assert coordinator.receive(1, b"") == []
        coordinator.receive(1, good)
        assert coordinator.devices.refused[1] == 0
        coordinator.close(coordinator.tick + 1)  # or it were a flood
    for _ in range(REPORT_AFTER - 1):
        coordinator.receive(1, b"")
        coordinator.receive(2, update(20))
    assert coordinator.receive(1, b"") == [Suspect(1, "length")]


def test_a_hello_says_nothing_of_updates() -> None:
    coordinator = at(20)
    for _ in range(REPORT_AFTER - 1):
        assert coordinator.receive(1, b"") == []
    coordinator.receive(1, encode(Hello(3)))
    assert coordinator.devices.last_seen[1] == 20
    assert coordinator.receive(1, b"") == [Suspect(1, "length")]


def test_quarantine_refuses_everything_until_it_ends() -> None:
    coordinator = at(20)
    coordinator.quarantine(1)
    before = coordinator.digest()
    for payload in (GOOD, encode(Hello(3)), encode(Hello(4)), b""):
        assert coordinator.receive(1, payload) == []
    assert coordinator.digest() == before
    assert coordinator.counts == {"refused: quarantined": 4}
    assert coordinator.committed() == []
    assert len(records(coordinator, 2, GOOD)) == 1
    coordinator.quarantine(1, on=False)
    assert len(records(coordinator, 1, GOOD)) == 1


def test_a_hello_is_answered_with_the_whole_model_a_few_times_per_tick() -> None:
    coordinator = at(20)
    records(coordinator, 0, update(20, 0.1, 0.2))
    coordinator.close(21)
    before = coordinator.digest()
    (answer,) = coordinator.receive(1, encode(Hello(3)))
    assert isinstance(answer, Send)
    assert answer.device == 1
    message = coordinator.manifest.read(answer.payload)
    assert isinstance(message, Model)
    assert message.tick == 21
    assert message.values.tobytes() == coordinator.w.astype("<f4").tobytes()
    assert message.values.any()
    # An answer may be lost: it can ask again at once, but not for ever.
    for _ in range(MOST_HELLOS - 1):
        assert coordinator.receive(1, encode(Hello(3))) == [answer]
    for _ in range(2):
        assert coordinator.receive(1, encode(Hello(3))) == []
    assert coordinator.receive(2, encode(Hello(3))) != []
    assert coordinator.digest() == before
    assert coordinator.counts["hellos"] == MOST_HELLOS + 1 == 4
    assert coordinator.counts["refused: hello again"] == 2
    assert coordinator.devices.messages[1] == MOST_HELLOS
    coordinator.close(21)
    assert coordinator.receive(1, encode(Hello(3))) == []
    assert len(records(coordinator, 1, update(21))) == 1  # its updates are taken nevertheless
    coordinator.close(22)
    assert len(coordinator.receive(1, encode(Hello(3)))) == 1


def test_hellos_of_another_epoch_are_no_hellos() -> None:
    coordinator = at(20)
    for _ in range(MOST_HELLOS + 3):
        assert coordinator.receive(1, encode(Hello(4))) == [Send(1, encode(Reread(3)))]
    assert len(coordinator.receive(1, encode(Hello(3)))) == 1


@pytest.mark.parametrize(
    "payload", [update(20, epoch=4), encode(Hello(2)), update(20, epoch=0)[:11], update(0, epoch=1)]
)
def test_another_epoch_is_told_to_read_the_manifest_again(payload: bytes) -> None:
    coordinator = at(20)
    before = coordinator.digest()
    assert coordinator.receive(1, payload) == [Send(1, encode(Reread(3)))]
    assert coordinator.digest() == before
    assert coordinator.counts == {"refused: epoch": 1}
    assert (coordinator.devices.refused[1], coordinator.devices.refusals[1]) == (1, 1)


def test_replies_wait_for_the_commit_and_leave_once() -> None:
    coordinator = at(20)
    effects = coordinator.receive(1, update(20)) + coordinator.receive(0, update(20))
    assert not any(isinstance(effect, Send) for effect in effects)
    assert [device for device, _ in replies(coordinator)] == [1, 0]
    assert coordinator.committed() == []


@pytest.mark.parametrize("name", served_names())
def test_a_reply_is_the_model_before_this_tick_on_the_downlink_window(name: str) -> None:
    coordinator = at(20, algorithm=name, shared=8 if name == "online-fedsgd" else 2)
    coordinator.rule.begin(np.arange(8.0) + 0.1)
    up, down = coordinator.manifest.up, coordinator.manifest.down
    records(coordinator, 1, encode(Update(3, 18, up.block(np.full(up.shared, 0.5)))))
    ((device, reply),) = replies(coordinator)
    assert (device, reply.epoch, reply.tick, reply.age) == (1, 3, 20, 2)
    window = down.coordinates(1, 20)
    assert reply.values.dtype == np.dtype("<f4")
    assert reply.values.tobytes() == (np.arange(8) + 0.1).astype("<f4")[window].tobytes()


def test_ticks_that_pass_empty_change_only_the_time() -> None:
    coordinator = at(3)
    records(coordinator, 0, update(3, 1.0, 2.0))
    coordinator.close(4)
    w = coordinator.w
    coordinator.close(1_000_000)
    assert coordinator.tick == 1_000_000
    assert coordinator.w is w
    assert not coordinator.devices.accepted.any()
    assert len(records(coordinator, 0, update(1_000_000))) == 1


def test_time_does_not_go_back() -> None:
    coordinator = at(9)
    records(coordinator, 0, update(9))
    before = coordinator.digest()
    coordinator.close(5)
    coordinator.close(9)
    assert coordinator.tick == 9
    assert coordinator.digest() == before


def test_several_ticks_close_in_their_order() -> None:
    coordinator = at(7)
    records(coordinator, 0, update(9, 1.0, 1.0))
    records(coordinator, 2, update(7, 3.0, 3.0))
    one_by_one = at(7)
    records(one_by_one, 2, update(7, 3.0, 3.0))
    records(one_by_one, 0, update(9, 1.0, 1.0))
    coordinator.close(20)
    for tick in range(8, 21):
        one_by_one.close(tick)
    assert coordinator.digest() == one_by_one.digest()


def test_the_bits_of_a_tick_are_not_taken_for_those_of_a_later_one() -> None:
    window = 4 + TOLERANCE + 1
    coordinator = at(7)
    assert len(records(coordinator, 0, update(7))) == 1
    for tick in range(8, 8 + window):
        coordinator.close(tick)
        if tick - 7 <= 4:
            assert records(coordinator, 0, update(7)) == []
    assert len(records(coordinator, 0, update(7 + window))) == 1


@st.composite
def days(draw: st.DrawFn) -> Day:
    """Messages as (arrival tick, device, sent, values), from behind to ahead of time."""
    numbers = st.floats(-10, 10, width=32)
    day = st.tuples(
        st.integers(5, 12),
        st.integers(0, 2),
        st.integers(-4, TOLERANCE),
        st.tuples(numbers, numbers),
    )
    messages = draw(st.lists(day, max_size=30))
    return sorted((n, k, n + shift, values) for n, k, shift, values in messages)


def run(
    coordinator: Coordinator, day: Day, until: int = 20
) -> list[tuple[int, int, int, list[float]]]:
    lines = []
    for arrives, device, sent, values in day:
        coordinator.close(arrives)
        taken = records(coordinator, device, update(sent, *values))
        lines += [(*record[:3], record.values.tolist()) for record in taken]
    coordinator.close(until)
    return lines


@given(days(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_within_a_tick_changes_no_bit(day: Day, random: Random) -> None:
    # Of two messages with the same stamp, the first counts: keep one.
    kept = list({(k, sent): (n, k, sent, values) for n, k, sent, values in day}.values())
    shuffled = list(kept)
    random.shuffle(shuffled)
    in_order = sorted(kept, key=lambda message: message[0])
    other = sorted(shuffled, key=lambda message: message[0])
    one, two = server(algorithm="pao-fed-c2"), server(algorithm="pao-fed-c2")
    run(one, in_order)
    run(two, other)
    assert one.w.tobytes() == two.w.tobytes()
    assert one.digest() == two.digest()


@given(days(), st.integers(13, 25))
def test_recovering_from_the_journal_is_having_lived_it(day: Day, until: int) -> None:
    lived, recovered = server(), server()
    lines = []
    for arrives, device, sent, values in day:
        lived.close(arrives)
        lines += records(lived, device, update(sent, *values))
    recovered.recover(lines)
    assert recovered.tick <= lived.tick
    recovered.close(lived.tick)
    assert recovered.digest() == lived.digest()
    assert recovered.counts["accepted"] == lived.counts["accepted"] == len(lines)
    assert recovered.ages == lived.ages
    assert [r[:3] for r in recovered.waiting()] == [r[:3] for r in lived.waiting()]
    for coordinator in (lived, recovered):
        coordinator.close(until)
    assert recovered.digest() == lived.digest()


@given(days(), st.integers(5, 14))
def test_a_state_that_was_saved_goes_on_as_if_nothing_had_happened(day: Day, cut: int) -> None:
    lived, first = server(), server()
    lines = run(lived, [message for message in day if message[0] < cut], cut)
    run(first, [message for message in day if message[0] < cut], cut)
    back = Coordinator(manifest())
    back.restore(dict(first.state()))
    assert back.digest() == first.digest()
    assert (back.counts, back.ages) == (first.counts, first.ages)
    assert back.devices.last_seen.tolist() == first.devices.arrays()["last_seen"].tolist()
    lines += run(lived, [message for message in day if message[0] >= cut])
    run(back, [message for message in day if message[0] >= cut])
    assert back.digest() == lived.digest()
    assert back.counts == lived.counts
    for arrived, device, sent, _ in lines:
        assert 0 <= arrived - sent <= 4, f"device {device}"
    assert len({line[1:3] for line in lines}) == len(lines)


def test_the_digest_sees_every_part_that_matters() -> None:
    def changed(change: Callable[[Coordinator], object]) -> bytes:
        coordinator = at(7)
        records(coordinator, 0, update(8))
        change(coordinator)
        return coordinator.digest()

    unchanged = changed(lambda _: None)
    assert changed(lambda c: c.receive(0, b"")) == unchanged
    assert changed(lambda c: c.close(8)) != unchanged
    assert changed(lambda c: c.w.__setitem__(0, 1e-300)) != unchanged
    assert changed(lambda c: c.devices.mark(1, 7)) != unchanged
    assert changed(lambda c: c.receive(1, update(7))) != unchanged


def test_one_that_left_is_refused_for_good_and_what_it_brought_stays() -> None:
    coordinator = at(20)
    assert len(records(coordinator, 1, update(20, 1.0, 2.0))) == 1
    coordinator.remove(1)
    coordinator.quarantine(1)
    before = coordinator.digest()
    coordinator.committed()
    for payload in (update(19), encode(Hello(3)), encode(Hello(4)), b""):
        assert coordinator.receive(1, payload) == []
    assert coordinator.digest() == before
    assert coordinator.counts == {"accepted": 1, "refused: removed": 4}
    assert coordinator.committed() == []
    coordinator.add(1)
    coordinator.quarantine(1, on=False)
    assert records(coordinator, 1, update(19)) == []
    assert len(records(coordinator, 2, update(19))) == 1
    coordinator.close(21)
    sent = (1, 20, (1.0, 2.0)), (2, 19, (1.0, -2.0))
    assert coordinator.w.tobytes() == expected(coordinator, 20, *sent)


@pytest.mark.parametrize("payload", [update(20), b"", encode(Hello(4))])
def test_a_flood_is_not_looked_at_until_the_tick_is_over(payload: bytes) -> None:
    coordinator = at(20)
    for _ in range(MOST_PER_TICK):
        coordinator.receive(1, payload)
    assert coordinator.counts["refused: flood"] == 0
    coordinator.committed()
    before = coordinator.digest()
    for count in (1, 2, 3):
        assert not any(isinstance(e, Send) for e in coordinator.receive(1, update(19)))
        assert coordinator.counts["refused: flood"] == count
    assert coordinator.digest() == before
    assert coordinator.committed() == []
    assert len(records(coordinator, 2, update(20))) == 1
    coordinator.close(20)
    coordinator.receive(1, update(19))
    assert coordinator.counts["refused: flood"] == 4
    coordinator.close(21)
    assert len(records(coordinator, 1, update(19))) == 1
    assert coordinator.counts["refused: flood"] == 4


def test_what_is_refused_for_other_reasons_is_no_flood() -> None:
    coordinator = at(20)
    coordinator.quarantine(1)
    for _ in range(2 * MOST_PER_TICK):
        coordinator.receive(1, GOOD)
    coordinator.quarantine(1, on=False)
    assert len(records(coordinator, 1, GOOD)) == 1
    assert coordinator.counts["refused: flood"] == 0


def test_ages_are_those_of_what_was_accepted() -> None:
    coordinator = at(20)
    records(coordinator, 0, update(20))
    records(coordinator, 0, update(20))  # again
    records(coordinator, 1, update(21))  # ahead
    records(coordinator, 2, update(18, repeats=[(2, (1.0, 1.0)), (3, (1.0, 1.0))]))
    records(coordinator, 2, update(2))  # too old
    assert coordinator.ages == {0: 2, 2: 1, 4: 1}
    assert coordinator.ages.total() == coordinator.counts["accepted"] == 4


def test_lines_behind_a_snapshot_are_counted_once() -> None:
    coordinator = at(20)
    records(coordinator, 0, update(20))
    state = dict(coordinator.state())
    lines = records(coordinator, 1, update(18)) + records(coordinator, 2, update(21))
    records(coordinator, 1, update(18))  # again: it is in no journal
    back = Coordinator(manifest())
    back.restore(state)
    back.recover(lines)
    assert back.counts == {"accepted": 3}
    assert back.ages == coordinator.ages == {0: 2, 2: 1}


# Reads


def test_a_read_is_answered_at_once_and_changes_nothing_that_is_replayed() -> None:
    coordinator = at(20)
    records(coordinator, 0, update(20, 0.1, 0.2))
    coordinator.close(21)
    coordinator.committed()
    before = coordinator.digest()
    (sent,) = coordinator.receive(1, READ)
    assert isinstance(sent, Send)
    answer = coordinator.manifest.read(sent.payload)
    assert isinstance(answer, Reply)
    assert (sent.device, answer.tick, answer.age) == (1, 21, NO_UPDATE)
    window = coordinator.w[parts(coordinator.manifest).downlink(1, 21, 8)]
    assert answer.values.tolist() == window.astype("<f4").tolist()
    assert coordinator.digest() == before
    assert (coordinator.waiting(), coordinator.committed()) == ([], [])
    assert coordinator.counts == {"accepted": 1, "reads": 1}
    assert (coordinator.devices.last_seen[1], coordinator.devices.messages[1]) == (21, 1)
    w = coordinator.w.tobytes()
    coordinator.close(30)
    assert coordinator.w.tobytes() == w


def test_an_age_that_stands_for_no_update_is_older_than_any_update() -> None:
    assert manifest(max_age=200).max_age < NO_UPDATE
    with pytest.raises(ManifestError):
        manifest(max_age=NO_UPDATE)


def test_a_read_is_bound_by_the_limits_of_other_messages() -> None:
    coordinator = at(20)
    for _ in range(MOST_PER_TICK):
        assert len(coordinator.receive(1, READ)) == 1
    assert coordinator.receive(1, READ) == []
    assert coordinator.counts["refused: flood"] == 1
    coordinator.close(21)
    assert coordinator.receive(1, encode(Read(4))) == [Send(1, encode(Reread(3)))]
    coordinator.quarantine(1)
    coordinator.remove(2)
    for device in (1, 2, 7):
        assert coordinator.receive(device, READ) == []
    assert coordinator.counts["reads"] == MOST_PER_TICK


def test_reads_are_counted_until_the_next_update() -> None:
    coordinator = at(20)
    for tick in range(20, 25):
        coordinator.close(tick)
        coordinator.receive(1, READ)
        coordinator.receive(2, READ if tick < 22 else update(tick))
    assert coordinator.devices.reads[:3].tolist() == [0, 5, 0]
    again = server()
    again.restore(coordinator.state())
    assert again.devices.reads[:3].tolist() == [0, 5, 0]
