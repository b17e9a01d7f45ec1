"""Arms over common worlds: how they meet there, what they did, and what they spent."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.core.tariffs import Tariff
from paofed.experiments.arena import Arena
from paofed.experiments.rejection import Standing, behind
from paofed.simulate.engines import USUAL, Precision
from paofed.simulate.montecarlo import run
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Interrupted, Report, parts_of
from paofed.world.scenario import Scenario
from paofed.world.worlds import Setting

POINTS = 100  # points of a curve: five of them are in the last 5 % of the ticks
JUDGEMENT = 0  # the number of the meeting whose worlds have no part in any choice
_APART = 2**63  # how far the seeds of meetings are from the seed of the run
# Worlds of one's own know no seeds: each seed of a meeting has so many of their numbers for itself.
_NUMBERS, _SEEDS = 10_000, 400_000


class Arm(NamedTuple):
    """What is tried: a method over a setting."""

    setting: Setting
    method: Algorithm

    @property
    def cost(self) -> float:
        """How long one world takes, for honest progress."""
        return float(self.setting.ticks * self.setting.clients)


Arms = Mapping[Any, Arm]  # by a key of whoever runs them


def seed_of(seed: int, number: int) -> int:
    """Return the seed of a numbered meeting, whose worlds are apart from those of the run."""
    return (seed + _APART + number) % 2**64


class Experiment(NamedTuple):
    """How arms are run: the same for all meetings, whose worlds have numbers.

    The worlds of a numbered meeting are those of `seed_of` that number, and None stands for the
    worlds of the seed itself. Worlds of one's own are told apart by their numbers: those of
    numbered meetings begin at 10,000.
    """

    seed: int
    crew: Crew
    engine: str = USUAL
    precision: Precision = "float32"
    points: int | None = POINTS  # points of a curve, if it has so many ticks; None: as in `run`
    same_world: bool = False
    at_once: int | None = None  # arms of one call of `run`; None: all arms of a setting

    def meet(
        self,
        arms: Arms,
        runs: int,
        number: int | None,
        report: Report,
        keep: Callable[[Arms, Result], None],
        *,
        partly: bool = False,
    ) -> None:
        """Run arms in the same worlds, setting by setting, and hand on what each setting gave.

        With `partly`, `keep` also takes what an interrupt leaves of a setting.
        """
        together = self._together(arms)
        costs = [sum(arm.cost for arm in some.values()) for some in together]
        for some, told in zip(together, parts_of(report, costs), strict=True):
            setting = next(iter(some.values())).setting
            try:
                result = self.run(
                    setting, [arm.method for arm in some.values()], runs, number, told
                )
            except Interrupted as interrupt:
                if partly and interrupt.result is not None:
                    keep(some, interrupt.result)
                raise
            keep(some, result)

    def judge(
        self, arms: Arms, runs: int, report: Report, keep: Callable[[Arms, Result], None]
    ) -> None:
        """Run what was chosen once more, in worlds that had no part in any choice."""
        self.meet(arms, runs, JUDGEMENT, report, keep)

    def run(
        self,
        setting: Setting,
        methods: Sequence[Algorithm],
        runs: int,
        number: int | None,
        report: Report | None = None,
        *,
        first: int = 0,
        every: int | None = None,
    ) -> Result:
        """Run methods over one setting, from its `first` world on.

        `every` is the number of ticks between points of a curve, if that is not left to `points`.
        """
        if every is None and self.points is not None:
            every = max(1, setting.ticks // self.points)
        seed, begin = self.worlds(setting, number)
        return run(
            setting, methods, runs=runs, seed=seed, first=begin + first, every=every,
            same_world=self.same_world, engine=self.engine, precision=self.precision,
            baselines="none", clean=False, report=report, **self.crew._asdict(),
        )  # fmt: skip

    def worlds(self, setting: Setting, number: int | None) -> tuple[int, int]:
        """Return the seed of a meeting, and the number of its first world."""
        if number is None:
            return self.seed, 0
        seed = seed_of(self.seed, number)
        own = not isinstance(setting, Scenario)
        return seed, _NUMBERS * (1 + (seed - _APART) % _SEEDS) if own else 0

    def _together(self, arms: Arms) -> list[dict[Any, Arm]]:
        """Return the arms of each setting, in the order in which settings come first."""
        of_setting: dict[int, list[Any]] = {}
        for key, arm in arms.items():
            of_setting.setdefault(id(arm.setting), []).append(key)
        most = self.at_once or len(arms)
        return [
            {key: arms[key] for key in keys[begin : begin + most]}
            for keys in of_setting.values()
            for begin in range(0, len(keys), most)
        ]


class Findings:
    """What arms did in the worlds where they met: values by arm and world, and what they spent."""

    def __init__(
        self,
        experiment: Experiment,
        arena: Arena,
        tariff: Tariff | str = "payload",
        per: float = 1.0,
    ) -> None:
        self._experiment, self._arena, self._tariff, self._per = experiment, arena, tariff, per
        self._arms, self._results = dict[Any, Arm](), dict[Any, list[Result]]()

    def meet(
        self, arms: Arms, runs: int, number: int | None, report: Report
    ) -> dict[Any, Standing]:
        """Run arms in the worlds of a meeting; return how they stand after all of theirs."""
        self._experiment.meet(arms, runs, number, report, self._keep)
        return {key: self.standing(key) for key in arms}

    def judge(self, arms: Arms, runs: int, report: Report) -> dict[Any, Standing]:
        """Run arms in worlds that had no part in any choice; return how they stand there."""
        self._experiment.judge(arms, runs, report, self._keep)
        return {key: self.standing(key) for key in arms}

    def _keep(self, arms: Arms, result: Result) -> None:
        self._arms |= arms
        for key in arms:
            self._results.setdefault(key, []).append(result)

    def standing(self, key: Any) -> Standing:
        """Return how an arm stands after its meetings; bytes are divided by `per`."""
        arm, results = self._arms[key], self._results[key]
        bytes_of = estimate(spent_by_run(results, arm.method.name, self._tariff))
        return Standing(
            self.values(key),
            payload=bytes_of.mean / self._per,
            kept=kept_by(arm.method, arm.setting.features),
            doubt=(bytes_of.high - bytes_of.mean) / self._per,
        )

    def values(self, key: Any) -> FloatArray:
        """Return what an arm scored, in dB by unit."""
        return self._arena.values(self._results[key], self._arms[key].method.name)

    def spent(self, key: Any, tariff: Tariff | str) -> float:
        """Return the bytes on the wire of a whole run, mean over runs."""
        return spent(self._results[key], self._arms[key].method.name, tariff)

    def score(self, key: Any) -> Estimate:
        """Return an arm's error in dB, with its 95 % interval."""
        return estimate(self.values(key))

    def gain(self, key: Any, over: Any) -> Estimate:
        """Return by how many dB an arm is better than another, unit by unit."""
        return behind(self.standing(over), self.standing(key))

    def contacts(self, key: Any) -> float:
        """Return the contacts of a run, divided by `per`."""
        name = self._arms[key].method.name
        totals = [result.run_traffic(name).contacts[:, -1] for result in self._results[key]]
        return float(sum(t.sum() for t in totals) / sum(t.size for t in totals)) / self._per


def spent(results: Sequence[Result], name: str, tariff: Tariff | str) -> float:
    """Return the bytes on the wire of a whole run, mean over runs."""
    return float(spent_by_run(results, name, tariff).mean())


def spent_by_run(results: Sequence[Result], name: str, tariff: Tariff | str) -> FloatArray:
    """Return the bytes on the wire of every run."""
    return np.concatenate([result.run_wire(name, tariff).both[:, -1] for result in results])


def kept_by(method: Algorithm, features: int) -> int:
    """Return how many numbers a device keeps: what it learns with, and its memory of its uplink."""
    kept = (*method.learner.init(features), *method.uplink.init(features))
    return sum(np.size(part) for part in kept)
