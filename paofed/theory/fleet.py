"""What theory must know of a fleet: moments of its data, rates of its contacts, a test set."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.errors import InputError
from paofed.theory.moments import Moments, after_drifts, closed_form, estimated
from paofed.theory.sample_points import SampleSource, points_in, points_of
from paofed.world.realize import make_world
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.trace import Targets, Trace, blend
from paofed.world.value import CERTAIN

_MOST_BYTES = 1_500_000_000
_UNKNOWN = (
    "loss",
    "outages",
    "battery",
    "labels",
    "faults",
)  # laws of a scenario that theory does not know


class Contacts(NamedTuple):
    """How often clients see data and are available, and how late their messages are.

    These are rates in the long run. Theory takes every tick as independent of the others, which
    does not hold for links that stay on or off for long, recorded tables and even arrivals.
    """

    data: FloatArray  # (K,), probability of a sample at a tick
    available: FloatArray  # (K,), probability of a sample and a contact at a tick
    ages: IntArray  # (L,), the delays that occur, rising
    late: FloatArray  # (K, L), probability of each delay

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """Compute the rates from a scenario's laws."""
        _require_known(*(name for name in _UNKNOWN if getattr(scenario, name)))
        data = scenario.synthetic.samples_of(scenario.clients) / scenario.ticks
        _require_plain_beginning(scenario.start, scenario.newcomers, personal=scenario.personal)
        presence, delay = scenario.availability, scenario.delay
        if isinstance(presence, Recorded):
            there = presence.table(scenario.ticks, scenario.clients).mean(axis=0)
        else:
            there = presence.on_off(np.arange(scenario.clients)).first / CERTAIN
        if isinstance(delay, Recorded):
            ages, late = _frequencies(delay.table(scenario.ticks, scenario.clients))
        else:
            ages, by_group = delay.ladder().chances()
            late = by_group[np.arange(scenario.clients) % len(by_group)]
        used = 1.0 if scenario.contacts is None else scenario.contacts
        return cls(data, data * there * used, ages, late)

    @classmethod
    def seen(cls, trace: Trace) -> Self:
        """Count the rates in a trace."""
        _require_known(
            *(["loss"] if any(lost.any() for lost in trace.losses) else []),
            *(["labels"] if trace.sparse().labels else []),
        )
        whole, start = trace.newcomers_whole.any(), trace.start.any()
        _require_plain_beginning(
            "a model" if start else "zeros",
            "whole" if whole else "windows",
            personal=trace.sparse().heard < trace.features,
        )
        data, available = (seen.mean(axis=0) for seen in (trace.has_data, trace.available))
        ages, late = _frequencies(np.where(trace.available, trace.delay, -1))
        return cls(data, available, ages, late)


class Drifting(NamedTuple):
    """A target that changes during a run; E drifts."""

    targets: Targets  # the targets of the test set
    r: FloatArray  # (E + 1, K, D), E[z y] at the start and after each drift
    # The points of clients with their targets, at the start and after each drift.
    samples: tuple[SampleSource, ...]

    def at(self, n: int, values: Sequence[FloatArray]) -> FloatArray:
        """Interpolate what is linear in the target, given at the start and after each drift."""
        seen, done = self.targets.progress(n)
        old, new = values[max(int(seen) - 1, 0)], values[int(seen)]
        return blend(old, new, done.astype(new.dtype))


class FleetInTheory(NamedTuple):
    """One world as theory sees it."""

    moments: Moments
    contacts: Contacts
    z_test: FloatArray  # (T, D)
    y_test: FloatArray  # (T,)
    samples: SampleSource  # points that stand for the samples that clients see
    test_noise: float  # variance of the noise of the test targets; 0: not known separately
    # How many times the target changes; if any, r and y_test hold for a part of the run alone.
    drifts: int = 0
    drifting: Drifting | None = None  # how the target changes, where its laws are known

    @classmethod
    def of(cls, scenario: Scenario, *, seed: int = 0, world: int = 0) -> Self:
        """Return a scenario's fleet in one world; exact where its laws are."""
        _require_room(scenario.clients, scenario.features)
        contacts = Contacts.of(scenario)
        made = make_world(scenario, seed, world)
        moments = closed_form(made.fourier_map, made.laws)
        z_test = made.fourier_map(made.x_test)
        targets = made.test_targets
        drifts = targets.drifts.size
        drifting = None
        if drifts:
            laws = made.fourier_map, made.laws
            sources = tuple(points_of(*laws, seen) for seen in range(drifts + 1))
            drifting = Drifting(targets, after_drifts(*laws, drifts), sources)
        samples = points_of(made.fourier_map, made.laws)
        noise = float(np.mean(made.laws.noise**2))
        return cls(moments, contacts, z_test, targets.y[0], samples, noise, drifts, drifting)

    def at(self, n: int, values: Sequence[FloatArray]) -> FloatArray:
        """Interpolate what is linear in the target, given at the start and after each drift."""
        return values[0] if self.drifting is None else self.drifting.at(n, values)

    @property
    def r_after_drifts(self) -> FloatArray:
        """Return E[z y] at the start and after each drift, (E + 1, K, D)."""
        return self.moments.r[None] if self.drifting is None else self.drifting.r

    def targets_after_drifts(self, clients: IntArray, points: int) -> list[FloatArray]:
        """Return the targets of clients' points at the start and after each drift, (K, P) each."""
        sources = (self.samples,) if self.drifting is None else self.drifting.samples
        return [source(clients, points).y for source in sources]

    def last_change(self, n: int) -> int:
        """Return the tick up to n from which on the target is that of tick n; 0 without drifts."""
        if self.drifting is None:
            return 0
        drifts, _, takes = self.drifting.targets
        ends = drifts + np.maximum(takes, 1) - 1
        begun = drifts <= n
        return int(np.minimum(ends[begun], n).max(initial=0))

    def tests_at(self, ticks: IntArray) -> FloatArray:
        """Return the test targets after each of the ticks (P,), of shape (P, T)."""
        if self.drifting is None:
            return np.broadcast_to(self.y_test, (ticks.size, self.y_test.size))
        return self.drifting.targets.at(ticks)

    @classmethod
    def seen(cls, trace: Trace) -> Self:
        """Return the fleet of a trace, estimated from the trace."""
        _require_room(trace.clients, trace.features)
        z_test = trace.fourier_map(trace.x_test)
        contacts = Contacts.seen(trace)
        samples = points_in(trace)
        drifts = trace.drifts.size
        return cls(estimated(trace), contacts, z_test, trace.y_test, samples, 0.0, drifts)


def _require_known(*laws: str) -> None:
    """Refuse laws that theory cannot follow: lost or wrong messages, late labels, ..."""
    if laws:
        raise InputError(
            f"theory knows no {' and no '.join(laws)}: every message is true and arrives, every "
            f"sample has its label, and contacts are independent; leave "
            f"{'it' if len(laws) == 1 else 'them'} out, or simulate"
        )


def _require_plain_beginning(start: str, newcomers: str, *, personal: bool) -> None:
    """Refuse fleets that begin otherwise than the paper's, or whose devices keep own parameters."""
    got: dict[str, object] = {"start": start, "newcomers": newcomers, "personal": personal}
    known: dict[str, object] = {"start": "zeros", "newcomers": "windows", "personal": False}
    for key in known:
        if got[key] != known[key]:
            raise InputError(
                f"theory begins with zeros, and devices take over all that windows hold: {key} is "
                f"{got[key]!r}, expected {known[key]!r}; or simulate"
            )


def _require_room(clients: int, features: int) -> None:
    """Refuse a fleet whose correlation matrices are too large to be multiplied at every tick."""
    size = 8 * clients * features**2
    if size > _MOST_BYTES:
        raise InputError(
            f"{clients} clients with {features} features need {size / 1e9:.1f} GB of correlation "
            f"matrices: theory goes up to {_MOST_BYTES / 1e9:.0f} GB; take a smaller fleet with "
            f"the same groups"
        )


def _frequencies(delays: IntArray) -> tuple[IntArray, FloatArray]:
    """Return which delays occur and how often, by client (column).

    Negative entries do not count.
    """
    ages = np.unique(delays[delays >= 0]) if (delays >= 0).any() else np.zeros(1, dtype=np.int64)
    counts = np.stack([(delays == age).sum(axis=0) for age in ages], axis=1)
    return ages, counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
