"""Cold start: what a device gains that joins late, having learned nothing, each in turn.

Until the device joins, the fleet learns without it. Then it takes part. It begins with the server's
whole model (`whole`: one download of D numbers), or with the model with which the fleet began
(`windows`: the server's model comes with the contacts, a window at a time). Compared with these two
are the same device if it had learned all along (`old`), a device that never has a contact, and one
that repeats its last value.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from paofed.algebra import one_thread_algebra
from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.due import due_of
from paofed.core.parts import Keys, keys_of
from paofed.core.random import some_of
from paofed.errors import InputError
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast.family import Simulation, in_family, settle
from paofed.simulate.engines.fast.nature import joining, without
from paofed.simulate.engines.fast.own.compiler import refusal
from paofed.simulate.engines.fast.own.simulation import General
from paofed.simulate.results.progressive import WAYS, ColdStart
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.stopping import Report, stoppable
from paofed.simulate.table import COLD_STARTS
from paofed.simulate.table.baselines import Alone, Learned, SampleBatch, repeated
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.trace import SparseTrace

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

_SPANS = (86_400.0, 604_800.0, 2_592_000.0)  # a day, a week, thirty days, in seconds
_OF_HOURS = (24, 168, 720)  # the same in ticks of an hour, where the length of a tick is not known
_MOST_NEWCOMERS = 24  # the most devices that join: each takes as long as a run of the whole fleet


def may_join(method: Algorithm) -> bool:
    """Whether newcomers to an algorithm's fleet can be simulated: the compiled engine takes it."""
    return in_family(method) or refusal(method) is None


class Starts(NamedTuple):
    """Which devices join, at which ticks, and for how long they are watched."""

    devices: IntArray  # (K,)
    begins: IntArray  # (S,) ticks
    horizons: IntArray  # (H,) ticks, rising


def starts_of(readings: "Readings", count: int) -> Starts:
    """Return starts evenly over the ticks that count, each with the longest horizon after it.

    The very beginning is left out, where the fleet may know nothing yet. Of many devices, only some
    join.
    """
    line, ticks = readings.timeline, readings.ticks - readings.scored
    wanted = [round(span / line.tick) for span in _SPANS] if line.calendar else _OF_HOURS
    # Longer horizons would leave the starts no room but the beginning.
    horizons = np.unique([h for h in wanted if 0 < h <= ticks // 2])
    if not horizons.size:
        shortest = "two days" if line.calendar else f"{2 * _OF_HOURS[0]} ticks"
        raise InputError(f"the table is too short for cold starts: expected at least {shortest}")
    evenly = np.linspace(readings.scored, readings.ticks - horizons[-1], count + 1)[1:]
    there = np.unique(readings.device)
    begins = np.unique(np.ceil(evenly).astype(np.int64))
    return Starts(there[some_of(there.size, _MOST_NEWCOMERS)], begins, horizons)


class UsualStarts(NamedTuple):
    """How many times devices join late where nobody says it, and why never over this table."""

    number: int
    why_none: str = ""


def usual_starts(scenario: Scenario, methods: Sequence[Algorithm]) -> UsualStarts:
    """Return the usual number of cold starts; none without a table, or one that is too short."""
    if not isinstance(scenario.stream, Table) or not any(map(may_join, methods)):
        return UsualStarts(0)
    if scenario.faults:
        return UsualStarts(0, "they are for fleets without faults")
    try:
        starts_of(read(scenario.table), COLD_STARTS)
    except InputError as error:
        return UsualStarts(0, str(error))
    return UsualStarts(COLD_STARTS)


def with_cold_starts(
    result: TableResult,
    scenario: Scenario,
    methods: Sequence[Algorithm],
    starts: Starts,
    workers: int,
    report: Report,
) -> TableResult:
    """Let devices of a table join late, each in turn, in the world of every run of a result.

    The compiled engine must take the algorithms. `report` hears of parts of runs.
    """
    readings, precision = read(scenario.table), result.provenance["precision"]
    settled = [settle(method, scenario.step_size, scenario.max_age) for method in methods]
    inside = np.array([in_family(method) for method in settled])
    order = np.argsort(np.argsort(~inside, kind="stable"))
    joined, alone, last_label = [], [], []
    for world, run in result.places:
        seed = result.provenance["seed"]
        trace = realize_samples(scenario, world, run, seed=seed)
        fleets = [
            kind(trace, chosen, precision, keys_of(seed, world, run))
            for kind, these in ((_Family, inside), (_Own, ~inside))
            if (chosen := [method for method, one in zip(settled, these, strict=True) if one])
        ]
        with ThreadPoolExecutor(workers) as pool, stoppable(report) as heard:
            job = partial(_newcomer, fleets, starts, heard)
            young = np.stack(list(pool.map(job, starts.devices.tolist())), axis=-2)
        old = np.concatenate([_old(fleet, readings, starts) for fleet in fleets])
        joined.append(np.concatenate([young, old[:, None]], axis=1)[order])
        with one_thread_algebra():
            alone.append(_alone(trace, starts, scenario.step_size))
        if scenario.labels is not None:
            known = repeated(readings, trace.labels)
            last_label.append(_summed(known**2, readings, starts))
    found = ColdStart(
        algorithms=np.array([method.name for method in methods]),
        devices=starts.devices,
        starts=starts.begins,
        horizons=starts.horizons,
        errors=np.stack(joined),
        alone=np.stack(alone),
        last_value=_summed(repeated(readings) ** 2, readings, starts),
        samples=_summed(np.ones(len(readings.y)), readings, starts).astype(np.int64),
        last_label=np.stack(last_label) if last_label else None,
    )
    return replace(result, cold_start=found)


class _Joining(Protocol):
    """A fleet that learns without a device until that one joins."""

    def advance(self, begin: int, end: int) -> None:
        """Run the ticks from `begin` up to `end`."""
        ...

    def joined_at(self, begin: int, *, whole: bool) -> "_Judged":
        """Return the fleet as it goes on from now on with the device, which joins at `begin`."""
        ...


class _Judged(Protocol):
    """A simulation that keeps the errors of all models on every sample."""

    def advance(self, begin: int, end: int) -> None:
        """Run the ticks from `begin` up to `end`."""
        ...

    @property
    def errors(self) -> NDArray[Any]:
        """Errors of the devices' and the server's models on every sample, (A, 2, M)."""
        ...


class _Family(NamedTuple):
    """Fleets of algorithms that numbers describe."""

    trace: SparseTrace
    methods: Sequence[Algorithm]
    precision: Precision
    keys: Keys  # these algorithms draw no numbers

    def judged(self) -> _Judged:
        """Return the fleet with all its devices from the beginning on."""
        return Simulation.over(self.trace, self.methods, self.precision, judged=True)

    def without(self, device: int) -> _Joining:
        """Return the fleet without a device, which may join."""
        return _FamilyWithout(Simulation.over(self.trace, self.methods, self.precision), device)


class _FamilyWithout:
    def __init__(self, fleet: Simulation, device: int) -> None:
        # Made over the whole trace, for the ages of all messages; then without the device's.
        self._all, fleet.nature = fleet.nature, without(fleet.nature, device)
        self._fleet, self._device = fleet, device
        self.advance = fleet.advance

    def joined_at(self, begin: int, *, whole: bool) -> _Judged:
        newcomer = self._fleet.branch(joining(self._all, self._device, begin))
        newcomer.join(self._device, whole=whole)
        return newcomer


class _Own(NamedTuple):
    """Fleets of algorithms with rules of their own."""

    trace: SparseTrace
    methods: Sequence[Algorithm]
    precision: Precision
    keys: Keys

    def judged(self) -> _Judged:
        """Return the fleet with all its devices from the beginning on."""
        return General.over(self.trace, self.methods, self.keys, self.precision, judged=True)

    def without(self, device: int) -> _Joining:
        """Return the fleet without a device, which may join."""
        return _OwnWithout(self, device)


class _OwnWithout:
    def __init__(self, whose: _Own, device: int) -> None:
        self._whose, self._mine = whose, whose.trace.client == device
        # A device that is never available tells nobody anything; what it learns is forgotten when
        # it joins.
        silent = replace(whose.trace, available=whose.trace.available & ~self._mine)
        self._fleet = General.over(silent, whose.methods, whose.keys, whose.precision)
        self._device = device
        self.advance = self._fleet.advance

    def joined_at(self, begin: int, *, whole: bool) -> _Judged:
        trace, labels = self._whose.trace, self._whose.trace.labels
        if labels is not None:  # those of samples from before it came never come to it
            missed = self._mine & (trace.tick < begin)
            trace = replace(trace, labels=labels._replace(given=labels.given & ~missed))
        newcomer = self._fleet.branch(trace, self._whose.precision)
        newcomer.join(self._device, whole=whole)
        return newcomer


@np.errstate(over="ignore", invalid="ignore")  # algorithms may diverge
def _newcomer(
    fleets: Sequence[_Family | _Own], starts: Starts, report: Report, device: int
) -> FloatArray:
    """Return the errors (A, 2, S, H) of one device that joins at each start, for both ways."""
    part = 1 / (starts.devices.size * starts.begins.size * len(fleets))
    return np.concatenate([_joined(fleet, starts, device, report, part) for fleet in fleets])


def _joined(
    whose: _Family | _Own, starts: Starts, device: int, report: Report, part: float
) -> FloatArray:
    """Return the errors (A, 2, S, H) of a device in fleets of one kind; report each start."""
    fleet, trace, ways = whose.without(device), whose.trace, WAYS[:2]
    shape = len(whose.methods), len(ways), starts.begins.size, starts.horizons.size
    errors = np.empty(shape)
    for s, begin in enumerate(starts.begins.tolist()):
        own = np.flatnonzero((trace.client == device) & (trace.tick >= begin))
        since = trace.tick[own] - begin
        fleet.advance(int(starts.begins[s - 1]) if s else 0, begin)
        for w, way in enumerate(ways):
            newcomer = fleet.joined_at(begin, whole=way == "whole")
            newcomer.advance(begin, begin + int(starts.horizons[-1]))
            squared = newcomer.errors[:, 0, own].astype(np.float64) ** 2
            for h, horizon in enumerate(starts.horizons.tolist()):
                errors[:, w, s, h] = squared[:, since < horizon].sum(axis=-1)
        report(part)
    return errors


@np.errstate(over="ignore", invalid="ignore")  # algorithms may diverge
def _old(whose: _Family | _Own, readings: "Readings", starts: Starts) -> FloatArray:
    """Return the errors (A, S, K, H) over the same times of devices that were there all along."""
    fleet = whose.judged()
    fleet.advance(0, int(starts.begins[-1] + starts.horizons[-1]))
    squared = fleet.errors[:, 0].astype(np.float64) ** 2
    return np.stack([_summed(own, readings, starts) for own in squared])


# A step size that is too large overflows; the errors then say so.
@np.errstate(over="ignore", invalid="ignore")
def _alone(trace: SparseTrace, starts: Starts, step_size: float) -> FloatArray:
    """Return the errors (S, K, H) of devices that begin like the fleet and have no contact."""
    squared = []
    for begin, seen in zip(starts.begins, _after(starts, trace.tick, trace.client), strict=True):
        z = trace.fourier_map(trace.x[seen])
        part = SampleBatch(z, trace.y[seen], trace.tick[seen], trace.client[seen])
        if trace.labels is not None:
            due = due_of(part.tick, part.device, trace.labels.at(seen))
            part = part._replace(learned=Learned(due, z[due.sample], part.y[due.sample]))
        errors = Alone(trace.clients, trace.start, step_size).follow(part)
        squared.append(_by_horizon(errors**2, part.tick - begin, part.device, starts))
    return np.stack(squared)


def _summed(values: FloatArray, readings: "Readings", starts: Starts) -> FloatArray:
    """Sum the values of all readings over the horizons after each start: (S, K, H)."""
    tick, device = readings.tick, readings.device
    return np.stack(
        [
            _by_horizon(values[seen], tick[seen] - begin, device[seen], starts)
            for begin, seen in zip(starts.begins, _after(starts, tick, device), strict=True)
        ]
    )


def _after(starts: Starts, tick: IntArray, device: IntArray) -> list[IntArray]:
    """Return the samples, by index, of devices that join, up to the longest horizon.

    One array for each start.
    """
    joins = np.flatnonzero(np.isin(device, starts.devices))
    ends = np.searchsorted(tick[joins], starts.begins[:, None] + [0, starts.horizons[-1]])
    return [joins[begin:end] for begin, end in ends.tolist()]


def _by_horizon(
    values: FloatArray, since: IntArray, device: IntArray, starts: Starts
) -> FloatArray:
    """Sum the values of samples up to each horizon, (K, H).

    `since` says how many ticks after the start each sample is.
    """
    who, count = np.searchsorted(starts.devices, device), starts.devices.size
    within = [since < horizon for horizon in starts.horizons.tolist()]
    return np.stack([np.bincount(who[w], values[w], count) for w in within], axis=-1)
