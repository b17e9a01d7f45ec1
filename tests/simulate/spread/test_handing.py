"""Units that seem lost, and come back all the same."""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from paofed.simulate.spread import handing
from paofed.simulate.spread.handing import Delivery, Handing, Order

UNITS = [range(i, i + 1) for i in range(4)]


class ByHand(Executor):
    """Does nothing: what was submitted is brought back by whoever holds it."""

    def __init__(self) -> None:
        self.out: list[tuple[int, Future[bytes]]] = []

    def submit(self, _: Callable[..., Any], /, *args: Any, **__: Any) -> Future[Any]:
        future: Future[bytes] = Future()
        self.out.append((args[-1].start, future))
        return future

    def bring(self, place: int) -> None:
        run, future = self.out[place]
        future.set_result(pickle.dumps(Delivery("here", "cpu", {run: None})))  # type: ignore[dict-item]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which passes when we say so."""
    time = [0.0]
    monkeypatch.setattr("paofed.simulate.spread.handing.time.monotonic", lambda: time[0])
    return time


@pytest.fixture
def held(now: list[float]) -> tuple[ByHand, Handing]:
    """One with room for two units, which has handed out the first two at time 0."""
    assert now == [0.0]
    executor = ByHand()
    hands = Handing(executor, Order({}, {}, b""), _room=2)
    hands._hand_out(iter(UNITS[:2]))
    return executor, hands


def lose_all(hands: Handing, now: list[float]) -> None:
    now[0] += handing.PATIENCE * handing._AT_FIRST + 1.0
    hands._give_up_lost()
    assert list(hands._again) == UNITS[:2]


def rest(executor: ByHand, hands: Handing) -> Iterator[int]:
    """Bring back everything that is handed out from now on, in its order."""
    while hands._hand_out(iter(())):
        place = next(i for i, (_, future) in enumerate(executor.out) if not future.done())
        executor.bring(place)
        yield from (unit.start for unit, _ in hands._taken_back(executor.out[place][1]))


def test_a_unit_that_comes_back_while_it_waits_to_go_again_does_not(
    held: tuple[ByHand, Handing], now: list[float]
) -> None:
    executor, hands = held
    lose_all(hands, now)
    executor.bring(0)
    assert [unit for unit, _ in hands._taken_back(executor.out[0][1])] == UNITS[:1]
    assert list(rest(executor, hands)) == [1]
    assert [run for run, _ in executor.out].count(0) == 1


def test_a_unit_that_seemed_lost_and_then_fails_goes_again_once(
    held: tuple[ByHand, Handing], now: list[float]
) -> None:
    executor, hands = held
    lose_all(hands, now)
    executor.out[0][1].set_exception(ConnectionError("a worker is gone"))
    assert not list(hands._taken_back(executor.out[0][1]))
    assert list(hands._again) == UNITS[:2]
    assert sorted(rest(executor, hands)) == [0, 1]
    assert [run for run, _ in executor.out].count(0) == 2


def test_before_anything_is_back_nobody_knows_how_long_a_unit_takes(
    held: tuple[ByHand, Handing], now: list[float]
) -> None:
    executor, hands = held
    now[0] = handing.PATIENCE * handing._AT_FIRST
    hands._give_up_lost()
    assert not hands._again
    now[0] = 1.0
    executor.bring(0)
    list(hands._taken_back(executor.out[0][1]))
    now[0] = handing.PATIENCE + 1.0
    hands._give_up_lost()
    assert list(hands._again) == UNITS[1:2]


def test_a_unit_that_seems_lost_again_and_again_is_waited_for_twice_as_long_each_time(
    held: tuple[ByHand, Handing], now: list[float]
) -> None:
    """A unit that takes longer than anybody expected is not handed out for ever."""
    _, hands = held
    for lost in range(3):
        patience = handing.PATIENCE * handing._AT_FIRST * 2**lost
        now[0] += patience
        hands._give_up_lost()
        assert not hands._again
        now[0] += 1.0
        hands._give_up_lost()
        assert list(hands._again) == UNITS[:2]
        hands._hand_out(iter(()))
