"""Fleets so small that every future of them can be run on the reference engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
import pytest

from paofed.algorithms import Algorithm
from paofed.algorithms.base import Settled
from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.core.parts import keys_of
from paofed.simulate.engines import reference
from paofed.theory.exact.sample_moments import SampleLaw, SampleMoments
from paofed.theory.exact.small_fleet import SmallFleet
from paofed.theory.fleet import Contacts
from paofed.world.trace import SparseTrace, Trace

SETTINGS = Settled(step_size=0.7, max_age=10)
FEATURES = 3  # with two shared, windows wrap, and begin again after three ticks

_RNG = np.random.default_rng(3)
POINTS, TARGETS = _RNG.normal(size=(3, 2)), _RNG.normal(size=3)
MAP = FourierMap(_RNG.normal(size=(2, FEATURES)), _RNG.uniform(0, 6, size=FEATURES))
_KEYS = keys_of(0)  # of random numbers that nobody draws
NOISE = 0.5  # added to a target or taken from it


class Event(NamedTuple):
    """What may happen to a client at a tick."""

    probability: float
    point: int = 0
    data: bool = True
    noise: float = 0.0
    there: bool = False
    delay: int = 0
    lottery: float = 0.0


@dataclass(frozen=True)
class Habits:
    """A client: which points it sees, how often it is there, how late its messages are."""

    points: tuple[int, ...] = (0,)
    data: float = 1.0
    there: float = 1.0
    late: tuple[float, ...] = (1.0,)  # by age
    noisy: bool = False
    numbers: tuple[float, ...] = (0.0,)  # of the lottery, all equally likely

    def events(self) -> list[Event]:
        """All that may happen to it."""
        signs = (-NOISE, NOISE) if self.noisy else (0.0,)
        found = [Event(1 - self.data, data=False)]
        for point, noise in product(self.points, signs):
            share = 1 / (len(self.points) * len(signs))
            found.append(Event((self.data - self.there) * share, point, noise=noise))
            for number, (delay, chance) in product(self.numbers, enumerate(self.late)):
                met = self.there * share * chance / len(self.numbers)
                found.append(Event(met, point, True, noise, True, delay, number))
        return [event for event in found if event.probability > 0]


def trace_of(events: Sequence[Event], clients: int) -> Trace:
    """One future, tick by tick and in it client by client."""
    columns = (np.array(column).reshape(-1, clients) for column in zip(*events, strict=True))
    _, point, data, noise, there, delay, lottery = columns
    return Trace(
        x=POINTS[point],
        y=TARGETS[point] + noise,
        has_data=data,
        available=there,
        delay=delay,
        lottery=lottery,
        frequencies=MAP.frequencies,
        phases=MAP.phases,
        x_test=POINTS,
        y_test=TARGETS,
    )


@cache
def futures(fleet: tuple[Habits, ...], ticks: int) -> list[tuple[float, SparseTrace]]:
    """All of them, with their probabilities."""
    return [
        (prod(event.probability for event in events), trace_of(events, len(fleet)).sparse())
        for events in product(*([habits.events() for habits in fleet] * ticks))
    ]


def known(fleet: tuple[Habits, ...]) -> SmallFleet:
    """What theory is told of it."""
    z = MAP(POINTS)
    laws = [
        SampleLaw(z[seen], TARGETS[seen], np.full(len(seen), 1 / len(seen)))
        for seen in (list(habits.points) for habits in fleet)
    ]
    ages = np.arange(max(len(habits.late) for habits in fleet))
    late = [np.pad(habits.late, (0, ages.size - len(habits.late))) for habits in fleet]
    contacts = Contacts(
        np.array([habits.data for habits in fleet]),
        np.array([habits.there for habits in fleet]),
        ages,
        np.array(late),
    )
    samples = SampleMoments.of(laws, [NOISE**2 * habits.noisy for habits in fleet])
    return SmallFleet(samples, contacts, z, TARGETS)


class Averages(NamedTuple):
    """Means over all futures, after every tick."""

    models: FloatArray  # (N, D)
    squares: FloatArray  # (N, D, D)
    mse: FloatArray  # (N,)


def over_futures(fleet: tuple[Habits, ...], method: Algorithm, ticks: int) -> Averages:
    """Run them all."""
    total, models = 0.0, np.zeros((ticks, FEATURES))
    squares, mse = np.zeros((ticks, FEATURES, FEATURES)), np.zeros(ticks)
    for probability, trace in futures(fleet, ticks):
        states = reference.ticks(trace, method, **SETTINGS._asdict(), keys=_KEYS)
        w = np.array([state.server for state, _ in states])
        models += probability * w
        squares += probability * w[:, :, None] * w[:, None, :]
        mse += probability * np.mean((TARGETS - w @ MAP(POINTS).T) ** 2, axis=1)
        total += probability
    assert total == pytest.approx(1.0, abs=1e-12)
    return Averages(models, squares, mse)
