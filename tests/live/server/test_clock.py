"""The server's time: ticks go on with the wall clock, and never back."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.protocol.messages import LAST_TICK
from paofed.live.server.clock import TickClock
from tests.live.fleets import manifest

START = 1000.0


@dataclass
class World:
    """A wall clock that can be set, and one that cannot."""

    wall: float = START
    steady: float = 77.0
    said: list[str] = field(default_factory=list)

    def clock(self, tick_seconds: float = 10.0) -> TickClock:
        return TickClock(
            manifest(start=START, tick_seconds=tick_seconds),
            self.said.append,
            wall=lambda: self.wall,
            steady=lambda: self.steady,
        )

    def passes(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def jumps(self, seconds: float) -> None:
        self.wall += seconds


def test_a_server_that_slept_closes_all_at_once_and_that_is_no_jump() -> None:
    world = World()
    clock = world.clock()
    world.passes(500.0)
    assert clock.tick(3) == 50
    assert world.said == []


def test_there_is_a_last_tick() -> None:
    world = World(wall=1e15)
    assert world.clock(1.0).tick(0) == LAST_TICK


def test_a_jump_forward_is_told_with_what_it_closes() -> None:
    world = World()
    clock = world.clock()
    world.passes(12.0)
    assert clock.tick(0) == 1
    world.jumps(60.0)
    assert clock.tick(1) == 7
    assert world.said == ["the clock jumped by +60.0 s: ticks 1 to 6 close with what had arrived"]
    assert (clock.jumps, clock.behind) == (1, 0.0)
    world.passes(10.0)
    assert clock.tick(7) == 8
    assert len(world.said) == 1


def test_a_jump_back_holds_the_tick_and_says_how_long() -> None:
    world = World()
    clock = world.clock()
    world.passes(75.0)
    assert clock.tick(0) == 7
    world.jumps(-40.0)
    assert clock.tick(7) == 7
    assert clock.behind == 35.0
    assert world.said == ["the clock jumped by -40.0 s: tick 7 stays open for 35 s"]
    for passed, behind in ((20.0, 15.0), (10.0, 5.0), (5.0, 0.0), (9.0, 0.0)):
        world.passes(passed)
        assert clock.tick(7) == 7
        assert clock.behind == behind
    world.passes(1.0)
    assert clock.tick(7) == 8
    assert (clock.jumps, len(world.said)) == (1, 1)


@pytest.mark.parametrize(("within", "jump"), [(1.0, 12.0), (9.5, 10.0), (19.0, -14.0)])
def test_a_jump_that_changes_no_tick_is_told_as_such(within: float, jump: float) -> None:
    world = World(wall=START + 30.0)
    clock = world.clock()
    assert clock.tick(3) == 3
    world.passes(within)
    world.jumps(jump)
    assert clock.tick(3) in (3, 4)
    assert world.said == [f"the clock jumped by {jump:+.1f} s: no tick is affected"]


@pytest.mark.parametrize(
    ("tick_seconds", "quiet", "noticed"), [(10.0, 9.9, 10.0), (0.5, 1.9, 2.0), (60.0, 59.0, 60.0)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_small_correction_is_not_told(
    tick_seconds: float, quiet: float, noticed: float, sign: int
) -> None:
    world = World()
    clock = world.clock(tick_seconds)
    world.jumps(sign * quiet)
    clock.tick(0)
    assert (clock.jumps, world.said) == (0, [])
    world.jumps(-sign * quiet)
    clock.tick(0)
    world.jumps(sign * noticed)
    clock.tick(0)
    assert clock.jumps == len(world.said) == 1


@pytest.mark.parametrize("drift", [0.5, -0.5, 1.9, -1.9])
def test_small_corrections_do_not_add_up_to_a_jump(drift: float) -> None:
    world = World(wall=START + 10_000.0)
    clock, tick = world.clock(1.0), 0
    for _ in range(100):
        world.passes(60.0)
        world.jumps(drift)
        tick = clock.tick(tick)
    assert (clock.jumps, world.said) == (0, [])
    assert tick == int(world.wall - START)
    # What is noticed is measured from where the clock has come to.
    world.jumps(50.0)
    clock.tick(tick)
    (said,) = world.said
    assert said.startswith("the clock jumped by +50.0 s: ")


def test_what_remains_of_a_tick() -> None:
    world = World(wall=START + 32.5)
    clock = world.clock()
    assert [clock.remaining(tick) for tick in (3, 4, 2)] == [7.5, 17.5, 0.0]
    world.jumps(-30.0)
    assert clock.remaining(3) == 37.5
    world.jumps(-102.5)  # before the fleet's start
    assert (clock.tick(0), clock.behind, clock.remaining(0)) == (0, 100.0, 110.0)


def test_it_takes_the_machines_own_clocks() -> None:
    clock = TickClock(manifest(start=1.0, tick_seconds=1.0))
    first = clock.tick(0)
    assert first > 1_700_000_000
    assert first <= clock.tick(first) <= first + 60
    assert 0.0 <= clock.remaining(clock.tick(first)) <= 1.0


events = st.tuples(st.sampled_from(["passes", "jumps"]), st.integers(-10_000, 10_000))


@given(st.integers(-200, 200), st.sampled_from([0.5, 1.0, 7.0]), st.lists(events, max_size=30))
def test_it_never_goes_back_and_catches_up(
    offset: int, tick_seconds: float, history: list[tuple[str, int]]
) -> None:
    world = World(wall=START + offset)
    clock, tick = world.clock(tick_seconds), 0
    for event, seconds in history:
        if event == "passes":
            world.passes(abs(seconds) / 10)
        else:
            world.jumps(seconds)
        before, tick = tick, clock.tick(tick)
        assert tick >= before
        right = max(int((world.wall - START) // tick_seconds), 0)
        assert tick == max(before, right)
        assert clock.behind == pytest.approx(max(0.0, START + before * tick_seconds - world.wall))
        assert clock.jumps == len(world.said)
    clock.tick(tick)
    world.passes(clock.behind + 1.5 * tick_seconds)
    assert clock.tick(tick) > tick
    assert clock.behind == 0.0
