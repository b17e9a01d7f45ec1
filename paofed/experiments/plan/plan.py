"""A plan: candidates within a budget race, and what is chosen is judged where nothing was chosen.

Two races follow each other, each with half of the chance to be wrong: first all candidates, then
the winners with and without the bounds that a new fleet has. Where an error is asked for, purses
and contacts are halved further as long as the smallest purse may reach the error.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
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
from paofed.experiments.plan.field import USUAL, Candidate, named, setups_of
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
from paofed.experiments.rejection import Standing, perhaps_within
from paofed.experiments.trials import Trials, student_of_trials
from paofed.simulate.engines import USUAL as ENGINE
from paofed.simulate.engines import engine_of, preferred
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Interrupted, Report, ignored, part_of
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
# About when each part of the work ends, as a share of all: few candidates are left in later rounds.
_MEASURING, _RACING, _GUARDING = 0.02, (0.57, 0.72, 0.85), 0.91


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
        raise InputError(unknown("exchange", exchange, get_args(Exchange)))
    if not 0 <= number("tolerance", tolerance) < math.inf:
        raise InputError(f"tolerance is {tolerance!r}: expected a number of dB from 0 on")
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
            f"you mean -{error:g}dB?"
        )
    return error


def _require_all(engine: str) -> None:
    """Refuse an engine that does not know all that a plan tries."""
    if all(engine_of(name).on_card for name in preferred(engine)):
        raise InputError(
            f"the {engine} engine does not know bounded servers, which a plan tries at its end: "
            f"give {engine},{ENGINE}"
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
        self._experiment = experiment
        self._trials: Trials[Candidate] | None = None
        self._runs = list[int]()
        # Smaller purses for an error that may need fewer bytes, and the candidates for each.
        self._reserve = list[tuple[float, dict[str, Candidate]]]()
        self._notes: tuple[str, ...] = ()

    def made(self) -> FleetPlan:
        """Race, and judge the winners."""
        try:
            trials = self._trials = self._begun()
            self._race(trials)
            found = self._bounded_and_judged(trials)
        except KeyboardInterrupt:
            known = None if self._trials is None else self._known(self._trials)
            said = f"{'what is known' if known else 'nothing'} in its `plan`"
            raise Interrupted(plan=known, said=said) from None
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
            self._arena, shapes, asked.tariff, self._experiment, _MEASURED,
            part_of(self._report, 0.0, _MEASURING),
        )  # fmt: skip
        most = min(asked.most, SLACK * max(rates.values()))
        purses = [part * most for part in PURSES]
        candidates = named(fitting(setups, shapes, rates, purses))
        raced = len({one.setup for one in candidates.values()})
        self._notes = left_out(total, total - len(setups), len(setups) - raced), theory.words
        every = dict(candidates)
        for part in _SMALLER if asked.target is not None else ():
            further = named(fitting(setups, shapes, rates, [*purses, part * most]))
            more = {name: one for name, one in further.items() if name not in every}
            self._reserve.append((part * most, more))
            every |= further
        student = student_of_trials(len(every), len(ROUNDS), len(purses) + len(self._reserve))
        return Trials(candidates, purses, asked.tolerance, student, asked.target)

    def _race(self, trials: Trials[Candidate]) -> None:
        """Let all candidates that are left meet in more worlds; drop those that can win nothing."""
        meetings, begun = self._meetings(self._arena.scenario), _MEASURING
        for round_, (runs, end) in enumerate(zip(ROUNDS, _RACING, strict=True), start=1):
            left = [trials.candidates[name] for name in trials.left]
            now = begun + (end - begun) / 2 if self._reserve else end
            told = part_of(self._report, begun, now)
            standings = _by_name(meetings.hold(left, runs, round_, told))
            while self._reserve and trials.needs_less(standings):
                purse, more = self._reserve.pop(0)
                trials.widen(purse, more)
                begun, now = now, now + (end - now) / 2
                told = part_of(self._report, begun, now)
                standings |= _by_name(meetings.hold(list(more.values()), runs, round_, told))
            self._reserve.clear()
            self._runs.append(runs)
            trials.heard(standings)
            if not trials.left:
                raise _nobody(trials)
            if trials.over:
                break
            begun = end
        if not trials.won():
            raise _nobody(trials)

    def _bounded_and_judged(self, trials: Trials[Candidate]) -> Judgement:
        """Give the winners bounds where these cost little, and judge them on fresh worlds."""
        asked, won = self._question, [*trials.cheapest_below(), *trials.won()]
        decided = unguarded(won, trials.candidates)
        if asked.exchange == "live":  # bounds are for live fleets alone
            decided = guard(
                won,
                trials.candidates,
                self._meetings(self._arena.scenario),
                runs=_GUARDS,
                number=_GUARDED,
                tolerance=asked.tolerance,
                independent=self._arena.over == "worlds",
                report=part_of(self._report, _RACING[-1], _GUARDING),
            )
        return judge(
            decided,
            asked.usual,
            asked.target,
            partial(self._meetings, asked.scenario),
            runs=FRESH,
            report=part_of(self._report, _GUARDING, 1.0),
        )

    def _known(self, trials: Trials[Candidate]) -> FleetPlan | None:
        """Return the plan of an interrupted race: its winners, as the race saw them."""
        if not trials.history or not trials.won():
            return None
        offers = tuple(
            offer_of(one, trials.last(one.won.winner), contacts=math.nan, reaches=math.nan,
                     gain=None)
            for one in largest(unguarded(trials.won(), trials.candidates))
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
            candidates=trials.candidates,
            tried=trials.tried(trials.won()[-1].winner, self._runs),
            notes=self._notes,
        )


def _by_name(standings: Mapping[Candidate, Standing]) -> dict[str, Standing]:
    return {str(one): standing for one, standing in standings.items()}


def _nobody(trials: Trials[Candidate]) -> PaofedError:
    """Say why no candidate is left: all that fit diverged, or even the cheapest spends too much."""
    standings = trials.history[-1]
    fits = perhaps_within(standings, trials.most).values()
    if fits and all(one.diverged for one in fits):
        return AlgorithmError("every candidate that fits diverged: give smaller step sizes")
    name = min(standings, key=lambda name: standings[name].cost)
    cheapest = standings[name]
    share = trials.candidates[name].contacts
    return nothing_fits(share, cheapest.payload + cheapest.doubt, trials.most)
