"""How a fleet is doing: the record."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.journal.roster import Member
from paofed.live.protocol.messages import Hello, Read, Update, encode
from paofed.live.server.concerns import KINDS, Trouble
from paofed.live.server.status import (
    STANDINGS,
    DeviceStatus,
    FleetError,
    FleetShift,
    ServiceStatus,
    Status,
    tally,
)
from paofed.live.server.validation import Validation
from tests.live.fleets import f32, records, server, update
from tests.live.server import states

counts = st.integers(0, 2**53)
decibels = st.floats(-100, 100)
words = st.text(st.characters(codec="utf-8"), max_size=12)
reasons = st.text("abc xyz:", min_size=1, max_size=12)
devices = st.builds(
    DeviceStatus,
    device=counts,
    label=words,
    standing=st.sampled_from(STANDINGS),
    last_seen=st.none() | counts,
    messages=counts,
    refused_in_a_row=counts,
    refused=counts,
    left_out=counts,
    implausible=counts,
    error=st.none() | decibels,
    usual_gap=st.none() | st.floats(0, 1e9),
    faults=st.lists(
        st.builds(Trouble, kind=st.sampled_from(KINDS), since=counts, words=words), max_size=2
    ).map(tuple),
)
errors = st.builds(
    FleetError,
    now=decibels,
    usual=decibels,
    worse_since=st.none() | counts,
    history=st.lists(st.tuples(counts, decibels), max_size=3).map(tuple),
)
tallies = st.dictionaries(
    st.sampled_from(["accepted", "duplicates", "hellos", "contacts", "left out", "implausible"])
    | reasons.map("refused: {}".format),
    counts,
)
ages = st.dictionaries(st.integers(0, 255), counts)
validations = st.builds(
    Validation,
    error=st.floats(0, 1e12),
    target=words,
    decibels=st.none() | st.floats(-300, 300),
    samples=counts,
    held=st.none() | st.floats(0, 1),
    problem=words,
)
shifts = st.builds(
    FleetShift,
    since=counts,
    until=st.none() | counts,
    most=counts,
    of=counts,
    devices=st.lists(counts, max_size=3).map(tuple),
)
services = st.builds(
    ServiceStatus,
    seconds=st.floats(0, 1e12),
    problems=st.lists(words, max_size=3).map(tuple),
    dropped=counts,
    clock_jumps=counts,
    bytes_received=counts,
    bytes_sent=counts,
    broker_refused=st.dictionaries(reasons, counts, max_size=3),
    started=st.floats(0, 1e12),
    connected=st.booleans(),
    stuck=st.booleans(),
    validation=st.none() | validations,
    clock_behind=st.floats(0, 1e12),
    snapshot_at=st.none() | st.floats(0, 1e12),
    counts=tallies,
    ages=ages,
)
statuses = st.builds(
    Status,
    fleet=st.from_regex(r"[A-Za-z0-9_-]{1,32}", fullmatch=True),
    algorithm=words,
    start=st.floats(1, 1e12),
    tick=counts,
    tick_seconds=st.floats(1e-3, 1e6),
    devices=st.lists(devices, max_size=4).map(tuple),
    counts=st.dictionaries(
        st.sampled_from(["accepted", "duplicates", "hellos"]) | reasons.map("refused: {}".format),
        counts,
    ),
    ages=ages,
    error=st.none() | errors,
    quiet_since=st.none() | counts,
    service=st.none() | services,
    heard_at=st.none() | st.floats(0, 1e12),
    clip=st.none() | st.floats(0.1, 100),
    aside=st.booleans(),
    bound=st.none() | st.floats(0.1, 100),
    target=words,
    scale=st.none() | st.floats(1e-6, 1e6),
    shift=st.none() | shifts,
)

SERVICE = replace(
    states.SERVICE,
    seconds=12.5,
    problems=("the disk is full",),
    dropped=3,
    clock_jumps=2,
    bytes_received=1000,
    bytes_sent=2000,
    broker_refused={"certificate": 4},
)


@given(statuses)
def test_it_comes_back_from_text(status: Status) -> None:
    back = Status.from_json(status.to_json())
    assert back == status
    assert Status.from_json(status.to_json().encode()) == status
    # Equal is not enough: a list is not a tuple, "3" is not 3.
    assert repr(back) == repr(status)


@pytest.mark.parametrize(("record", "key"), [((), "shift"), (("service",), "ages")])
def test_what_to_json_always_writes_must_be_there(record: tuple[str, ...], key: str) -> None:
    told = json.loads(Status.of("g", server(), [], SERVICE).to_json())
    inside = told
    for name in record:
        inside = inside[name]
    del inside[key]
    with pytest.raises(KeyError, match=key):
        Status.from_json(json.dumps(told))


def member(device: int, label: str, *, quarantined: bool = False, removed: bool = False) -> Member:
    return Member(device, label, "secret", quarantined, removed)


def test_it_is_what_the_server_knows() -> None:
    coordinator = server(3, tick_seconds=2.5, start=1234.0)
    coordinator.close(7)
    records(coordinator, 1, update(7))
    records(coordinator, 1, update(7))
    records(coordinator, 2, update(4))
    coordinator.receive(2, b"")
    coordinator.receive(2, b"")
    coordinator.close(9)
    members = [
        member(0, "north"),
        member(1, "south", quarantined=True),
        member(2, "east", removed=True, quarantined=True),
        member(40, "added a moment ago"),
    ]
    status = Status.of("greenhouse", coordinator, members, SERVICE)
    assert (status.fleet, status.algorithm) == ("greenhouse", "pao-fed-u1")
    assert (status.tick, status.tick_seconds, status.start) == (9, 2.5, 1234.0)
    assert status.service is SERVICE
    assert status.counts == {"accepted": 2, "duplicates": 1, "refused: length": 2}
    assert list(status.counts) == sorted(status.counts)
    assert status.ages == {0: 1, 3: 1}
    assert status.heard_at == 1234.0 + 7 * 2.5
    found = [(d.device, d.label, d.standing, d.last_seen, d.messages) for d in status.devices]
    assert found == [
        (0, "north", "member", None, 0),
        (1, "south", "quarantined", 7, 2),
        (2, "east", "removed", 7, 1),
        (40, "added a moment ago", "member", None, 0),
    ]
    assert [d.refused_in_a_row for d in status.devices] == [0, 0, 2, 0]
    assert [d.refused for d in status.devices] == [0, 0, 2, 0]
    assert [d.error for d in status.devices] == [None] * 4
    assert "secret" not in status.to_json()
    assert Status.from_json(status.to_json()) == status


def test_a_device_that_was_seen_in_the_first_tick_was_seen() -> None:
    coordinator = server(1)
    coordinator.receive(0, encode(Hello(3)))
    (device,) = Status.of("g", coordinator, [member(0, "x")]).devices
    assert (device.last_seen, device.messages) == (0, 1)


def test_it_is_a_copy() -> None:
    coordinator = server(1)
    records(coordinator, 0, update(0))
    status = Status.of("g", coordinator, [])
    coordinator.counts["accepted"] += 5
    coordinator.ages[0] += 5
    assert (status.counts, status.ages) == ({"accepted": 1}, {0: 1})
    assert status.service is None


def message(tick: int, level: int) -> bytes:
    return encode(Update(3, tick, f32(1.0, 2.0), (), level))


def test_it_knows_how_well_the_fleet_predicts_and_who_is_the_matter() -> None:
    coordinator = server(3)
    for tick in range(100):
        coordinator.close(tick)
        for k, level in enumerate((100, 101, 255)):
            if k != 1 or tick < 50:
                coordinator.receive(k, message(tick, level))
    coordinator.close(100)
    coordinator.wellbeing.devices["aside_since"][2] = 40
    members = [member(0, "north"), member(1, "south"), member(2, "east")]
    status = Status.of("g", coordinator, members, replace(SERVICE, problems=()))
    assert [d.error for d in status.devices] == [-21.0, -20.25, None]
    assert [d.usual_gap for d in status.devices] == [1.0, 1.0, 1.0]
    assert [d.standing for d in status.devices] == ["member", "member", "aside"]
    assert [(d.left_out, d.implausible) for d in status.devices] == [(0, 0), (0, 0), (0, 100)]
    assert status.attention == (
        "south is silent for longer than is usual for it, 1 ticks (since tick 49)",
        (
            "east is set aside: its updates lie far outside those of the others, and count as at "
            "most 0.1 usual differences, on trial; it is broken (mend it, or `paofed fleet "
            "quarantine`), or alone where it measures (wait, or `paofed fleet trust`) "
            "(since tick 40)"
        ),
        "east measures what is not plausible, time and again (since tick 0)",
    )
    assert status.problems == ()
    assert status.error is not None
    assert status.error.now == pytest.approx(-21.0, abs=0.1)
    assert status.error.history[-1] == (99, status.error.now)
    assert Status.from_json(status.to_json()) == status


def test_it_says_who_only_reads() -> None:
    coordinator = server(3)
    for tick in range(40):
        coordinator.close(tick)
        coordinator.receive(0, message(tick, 100))
        coordinator.receive(1, encode(Read(3, 0)))
        coordinator.receive(2, message(tick, 100) if tick == 24 else encode(Read(3, 100)))
    coordinator.close(40)
    members = [member(k, f"d{k}") for k in range(3)]
    status = Status.of("g", coordinator, members, replace(SERVICE, problems=()))
    assert [d.reads_only for d in status.devices] == [False, True, False]
    assert [d.last_update for d in status.devices] == [39, None, 24]
    assert [d.last_seen for d in status.devices] == [39, 39, 39]
    assert [d.usual_gap for d in status.devices] == [1.0, 1.0, 1.0]
    assert [d.error for d in status.devices] == [-21.0, None, -21.0]
    assert (status.attention, status.quiet_since) == ((), None)
    assert status.counts["reads"] == 79
    coordinator.receive(2, encode(Read(3, 100)))
    (_, _, again) = Status.of("g", coordinator, members).devices
    assert again.reads_only
    coordinator.receive(1, encode(Read(3, 255)))
    coordinator.close(41)
    (_, other, _) = Status.of("g", coordinator, members).devices
    assert not other.reads_only  # it has targets, which are not plausible
    assert [fault.kind for fault in other.faults] == ["implausible"]
    assert Status.from_json(status.to_json()) == status


def test_a_fleet_that_only_reads_is_not_quiet() -> None:
    coordinator = server(1)
    for tick in range(200):
        coordinator.close(tick)
        coordinator.receive(0, message(tick, 100) if tick < 20 else encode(Read(3, 100)))
    status = Status.of("g", coordinator, [member(0, "x")], SERVICE)
    assert status.attention == ()
    assert status.heard_at == coordinator.manifest.begins(19)


def test_a_fleet_that_has_become_worse_has_a_problem() -> None:
    coordinator = server(1)
    trend = coordinator.wellbeing.error
    for tick in range(100):
        trend.follow(tick, -15.0 if tick < 80 else -5.0)
    status = Status.of("g", coordinator, [], SERVICE)
    assert status.error is not None
    (told,) = status.problems[1:]
    assert status.problems[0] == "the disk is full"
    now, usual = (4.0 * 10 ** (x / 20) for x in (status.error.now, status.error.usual))
    assert told.startswith(
        f"the fleet predicts worse than it did: {now:.3g} y, usually {usual:.3g} y"
    )
    assert told.endswith(f"(since tick {status.error.worse_since})")
    assert Status.of("g", coordinator, []).problems == (told,)


def test_nobody_at_all_is_heard() -> None:
    coordinator = server(1)
    for tick in range(10):
        coordinator.close(tick)
        coordinator.receive(0, message(tick, 100))
    coordinator.close(200)
    words = "no device at all is heard, for longer than is usual (since tick 9)"
    for seconds, said in ((100.0, (words,)), (12.5, ())):  # one that has just started heard nobody
        service = replace(SERVICE, seconds=seconds)
        assert Status.of("g", coordinator, [member(0, "x")], service).attention == said
    # Nobody serves it: that it hears nobody is no news.
    assert Status.of("g", coordinator, [member(0, "x")]).attention == ()


def test_a_long_list_is_cut() -> None:
    coordinator = server(50)
    for tick in range(60):
        coordinator.close(tick)
        for k in range(50 if tick < 20 else 1):
            coordinator.receive(k, message(tick, 100))
    status = Status.of("g", coordinator, [member(k, f"d{k}") for k in range(50)])
    assert len(status.attention) == 21
    assert status.attention[-1] == "and 29 more"
    assert sum(bool(device.faults) for device in status.devices) == 49


def of_ages(ages: dict[int, int]) -> Status:
    coordinator = server(1)
    coordinator.ages = Counter(ages)
    return Status.of("g", coordinator, [])


@given(st.dictionaries(st.integers(0, 255), st.integers(1, 10**6)))
def test_a_quantile_is_the_least_age_that_enough_updates_do_not_exceed(
    ages: dict[int, int],
) -> None:
    whole = sum(ages.values())
    if not whole:
        assert of_ages(ages).age_quantiles() == []
        return

    def least(share: Fraction) -> int:
        return next(
            age
            for age in sorted(ages)
            if sum(n for other, n in ages.items() if other <= age) >= share * whole
        )

    shares = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
    assert of_ages(ages).age_quantiles() == [least(share) for share in shares]


def test_a_server_tallies_what_it_counts_and_what_taught_it_nothing() -> None:
    coordinator = server(2)
    coordinator.receive(0, encode(Hello(3)))
    coordinator.receive(0, message(0, 255))
    coordinator.receive(1, message(0, 100))
    coordinator.receive(1, b"")
    coordinator.close(1)
    coordinator.wellbeing.devices["left_out"][1] = 5
    assert tally(coordinator) == {
        "accepted": 2,
        "hellos": 1,
        "refused: length": 1,
        "contacts": 3,
        "left out": 5,
        "implausible": 1,
    }
