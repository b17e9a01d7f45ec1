"""A plan: candidates within a budget race, and what is chosen is judged where nothing was chosen.

Two races follow each other, each with half of the chance to be wrong: first all candidates, then
the winners with and without the bounds that a new fleet has. Where an error is asked for, purses
and contacts are halved further as long as the smallest purse may reach the error.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple, get_args

from paofed.algorithms.base import Exchange
from paofed.algorithms.setup import Setup
from paofed.core.random import key_of
from paofed.core.tariffs import Tariff, tariff_of
from paofed.errors import AlgorithmError, InputError, PaofedError, unknown, whole
from paofed.experiments import TOLERANCE
from paofed.experiments.arena import Arena, arena_of
from paofed.experiments.experiment import Experiment
from paofed.experiments.plan.budget import Budget, budget_of, error_of, number
from paofed.experiments.plan.field import USUAL, Candidate, setups_of
from paofed.experiments.plan.guards import guard, unguarded
from paofed.experiments.plan.judgement import Judgement, judge, largest, offer_of
from paofed.experiments.plan.meetings import Meetings
from paofed.experiments.plan.record import FleetPlan
from paofed.experiments.plan.screening import (
    SLACK,
    advance,
    fitting,
    left_out,
    nothing_fits,
    rates_of,
    stable,
)
from paofed.experiments.rejection import perhaps_within
from paofed.experiments.trials import Trials, student_of_trials
from paofed.simulate.engines import USUAL as ENGINE
from paofed.simulate.engines import engine_of, preferred
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report, ignored, keeping, parts_of
from paofed.world.scenario import Scenario
from paofed.world.table.columns import column
from paofed.world.table.spec import Table
from paofed.world.worlds import MakesTrace, Setting, Worlds, setting_of

# Parts of the budget; the best is sought within each. Where an error is asked for, smaller parts
# follow as long as the error may be reached.
PURSES = (1.0, 1 / 2, 1 / 4, 1 / 8)
_SMALLER = (1 / 16, 1 / 32, 1 / 64, 1 / 128)
ROUNDS = (8, 8, 16)  # how many worlds each round has
_GUARDS, FRESH = 12, 16  # worlds of the race of bounds, and of the last judgement
_MEASURED, _GUARDED = 100, 101  # the numbers of these meetings; rounds begin at 1
# About how long each part of the work takes: measuring, the rounds, in the later of which few
# candidates are left, the race of bounds, and the judgement.
_PARTS = 0.02, 0.55, 0.15, 0.13, 0.06, 0.09


def plan(
    scenario: Scenario | Worlds | MakesTrace | str | Path,
    *,
    budget: Budget | str | None = None,
    error: float | str | None = None,
    tariff: Tariff | str = "mqtt-tls",
    algorithms: Sequence[str] | str | None = None,
    exchange: Exchange = "live",
    tolerance: float = TOLERANCE,
    engine: str = ENGINE,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    store: Path | str | None = None,
    report: Report | None = None,
) -> FleetPlan:
    """Find settings for a fleet: the least error for a budget, or the least bytes for an error.

    `scenario` is as in `run`; of Worlds, a plan takes numbers from 10,000 on, and their budget is
    one of a whole run. `budget` is in words, as in 2kB/day/device, of bytes on the wire under a
    `tariff`, a Tariff or its name; `error` is in dB, as in -7dB. One of the two is needed.

    `algorithms` names the methods that are tried (None: those that a live fleet can follow), and
    `exchange` is the order of a contact. Cheaper settings are taken that are worse than the best by
    no more than `tolerance`, in dB. `seed`, `engine`, `workers`, `executor`, `store` and `report`
    are as in `run`. An interrupt (Ctrl-C) raises Interrupted, whose `plan` says what is known.
    """
    setting = setting_of(scenario)
    if budget is None and error is None:
        raise InputError("a plan needs a budget, as in 2kB/day/device, or an error, as in -7dB")
    if exchange not in get_args(Exchange):
        raise InputError(unknown("exchange", exchange, get_args(Exchange)), key="exchange")
    if not 0 <= number("tolerance", tolerance) < math.inf:
        raise InputError(
            f"tolerance is {tolerance!r}: expected a number of dB from 0 on", key="tolerance"
        )
    key_of(whole("seed", seed))  # a wrong seed is refused now, not in a thread
    _require_all(engine)
    asked = None if budget is None else budget_of(budget)
    question = _Question(
        scenario=setting,
        budget=asked,
        most=math.inf if asked is None else asked.per_device_and_tick(setting),
        target=None if error is None else _target(error, setting),
        tariff=tariff_of(tariff),
        shapes=setups_of(setting, algorithms, exchange),
        exchange=exchange,
        tolerance=tolerance,
    )
    experiment = Experiment(seed, Crew(workers, executor, store), engine)
    return _Planning(question, arena_of(setting), experiment, report or ignored).made()


def _target(given: float | str, scenario: Setting) -> float:
    """Return the error to stay below; one above 0 dB has probably lost its sign.

    Only a raw target, whose errors are in its own unit, may have useful errors above 0 dB.
    """
    error = error_of(given)
    raw = isinstance(scenario.stream, Table) and column(scenario.stream.target).transform == "raw"
    if error > 0 and not raw:
        raise InputError(
            f"error is {error:g} dB: expected one below 0 dB, from where on a model is of use; did "
            f"you mean -{error:g}dB?",
            key="error",
        )
    return error


def _require_all(engine: str) -> None:
    """Refuse an engine that does not know all that a plan tries."""
    if all(engine_of(name).on_card for name in preferred(engine)):
        raise InputError(
            f"the {engine} engine does not know bounded servers, which a plan tries at its end: "
            f"give {engine},{ENGINE}",
            key="engine",
        )


class _Question(NamedTuple):
    """What was asked of a plan, checked."""

    scenario: Setting
    budget: Budget | None
    most: float  # bytes per device and tick
    target: float | None
    tariff: Tariff
    shapes: Mapping[Setup, Setup]  # the shape of each setup that is tried
    exchange: Exchange
    tolerance: float

    @property
    def usual(self) -> Candidate:
        """The candidate of a fleet without a plan: few parameters, and every contact."""
        few, step = min(4, self.scenario.features), self.scenario.step_size
        usual = Setup(USUAL).with_(shared=few, step_size=step, exchange=self.exchange)
        return Candidate(usual, 1.0)


class _Planning:
    """One plan: its races, and what is known after each."""

    def __init__(
        self, question: _Question, arena: Arena, experiment: Experiment, report: Report
    ) -> None:
        self._question, self._arena, self._report = question, arena, report
        self._experiment, self._parts = experiment, parts_of(report, _PARTS)
        self._trials: Trials[Candidate] | None = None
        self._runs = list[int]()
        # Smaller purses for an error that may need fewer bytes, and the candidates for each.
        self._reserve = list[tuple[float, list[Candidate]]]()
        self._notes: tuple[str, ...] = ()

    def made(self) -> FleetPlan:
        """Race, and judge the winners."""
        with keeping("plan", self._known):
            trials = self._trials = self._begun()
            self._race(trials)
            found = self._bounded_and_judged(trials)
        self._report(1.0)
        return self._record(trials, found, worlds=FRESH)

    def _begun(self) -> Trials[Candidate]:
        """Leave out candidates that cannot be stable or cost too much."""
        asked, total = self._question, len(self._question.shapes)
        theory = advance(self._arena.scenario, self._experiment.seed)
        setups = stable(asked.shapes, asked.scenario, theory.limit)
        if not setups:
            raise AlgorithmError(f"{theory.words}, and there are no others: give smaller ones")
        shapes = {setup: asked.shapes[setup] for setup in setups}
        rates = rates_of(
            self._arena, shapes, asked.tariff, self._experiment, _MEASURED, self._parts[0]
        )  # fmt: skip
        most = min(asked.most, SLACK * max(rates.values()))
        purses = [part * most for part in PURSES]
        candidates = fitting(setups, shapes, rates, purses)
        raced = len({one.setup for one in candidates})
        self._notes = left_out(total, total - len(setups), len(setups) - raced), theory.words
        every = set(candidates)
        for part in _SMALLER if asked.target is not None else ():
            further = fitting(setups, shapes, rates, [*purses, part * most])
            self._reserve.append((part * most, [one for one in further if one not in every]))
            every |= set(further)
        student = student_of_trials(len(every), len(ROUNDS), len(purses) + len(self._reserve))
        return Trials(candidates, purses, asked.tolerance, student, asked.target)

    def _race(self, trials: Trials[Candidate]) -> None:
        """Let all candidates that are left meet in more worlds; drop those that can win nothing."""
        meetings = self._meetings(self._arena.scenario)
        for round_, (runs, rest) in enumerate(zip(ROUNDS, self._parts[1:-2], strict=True), start=1):
            # Nobody knows whether smaller purses follow: each is reported as half of what was left.
            told, rest = parts_of(rest, (1, 1)) if self._reserve else (rest, ignored)
            standings = meetings.meet(meetings.arms(trials.left), runs, round_, told)
            while self._reserve and trials.needs_less(standings):
                purse, more = self._reserve.pop(0)
                trials.widen(purse, more)
                told, rest = parts_of(rest, (1, 1))
                standings |= meetings.meet(meetings.arms(more), runs, round_, told)
            self._reserve.clear()
            self._runs.append(runs)
            trials.heard(standings)
            if not trials.left:
                raise _nobody(trials)
            if trials.over:
                break
        if not trials.won():
            raise _nobody(trials)

    def _bounded_and_judged(self, trials: Trials[Candidate]) -> Judgement:
        """Give the winners bounds where these cost little, and judge them on fresh worlds."""
        asked, won = self._question, [*trials.cheapest_below(), *trials.won()]
        decided = unguarded(won)
        if asked.exchange == "live":  # bounds are for live fleets alone
            decided = guard(
                won,
                trials.candidates,
                self._meetings(self._arena.scenario),
                runs=_GUARDS,
                number=_GUARDED,
                tolerance=asked.tolerance,
                independent=self._arena.over == "worlds",
                report=self._parts[-2],
            )
        return judge(
            decided,
            asked.usual,
            asked.target,
            self._meetings(asked.scenario),
            runs=FRESH,
            report=self._parts[-1],
        )

    def _known(self) -> FleetPlan | None:
        """Return the plan of an interrupted race: its winners, as the race saw them."""
        trials = self._trials
        if trials is None or not trials.history or not trials.won():
            return None
        offers = tuple(
            offer_of(one, trials.last(one.won.winner), contacts=math.nan, reaches=math.nan,
                     gain=None)
            for one in largest(unguarded(trials.won()))
        )  # fmt: skip
        found = Judgement(offers, offers[-1], reached=False)
        return self._record(trials, found, worlds=0)

    def _meetings(self, scenario: Setting) -> Meetings:
        return Meetings(self._arena, scenario, self._question.tariff, self._experiment)

    def _record(self, trials: Trials[Candidate], found: Judgement, worlds: int) -> FleetPlan:
        asked = self._question
        return FleetPlan(
            **found._asdict(),
            scenario=asked.scenario,
            budget=None if asked.budget is None else asked.budget.word,
            tariff=asked.tariff.word or asked.tariff.name,
            target=asked.target,
            where=self._arena.where,
            over=self._arena.over,
            tolerance=asked.tolerance,
            worlds=worlds,
            usual=str(asked.usual),
            candidates={str(one): one for one in trials.candidates},
            tried=trials.tried(trials.won()[-1].winner, self._runs),
            notes=self._notes,
        )


def _nobody(trials: Trials[Candidate]) -> PaofedError:
    """Say why no candidate is left: all that fit diverged, or even the cheapest spends too much."""
    standings = trials.history[-1]
    fits = perhaps_within(standings, trials.most).values()
    if fits and all(one.diverged for one in fits):
        return AlgorithmError("every candidate that fits diverged: give smaller step sizes")
    cheapest = min(standings, key=lambda one: standings[one].cost)
    spends = standings[cheapest].payload + standings[cheapest].doubt
    return nothing_fits(cheapest.contacts, spends, trials.most)
