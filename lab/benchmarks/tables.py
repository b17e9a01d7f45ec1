"""The recommended setting over a table, beside every baseline and what devices did alone before."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from paofed.racing.race import race
from paofed.racing.record import Race, lms_step
from paofed.simulate.montecarlo import run
from paofed.simulate.results.estimates import Estimate, pooled_gain
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import Whose
from paofed.simulate.stopping import Report, ignored
from paofed.simulate.table.learners_alone import kind_of, without_contacts
from paofed.world.scenario import Scenario
from paofed.world.table.columns import column

METHOD = "pao-fed-u1"
CANDIDATES = f"{METHOD}:learner=auto,step_size=auto"
RECOMMENDED: Mapping[str, Any] = {
    "linear": True,
    "start": "calibration",
    "newcomers": "whole",
    "personal": True,
}
# How every fleet over a table began before there was a choice.
BEFORE: Mapping[str, Any] = {
    "linear": False,
    "start": "zeros",
    "newcomers": "windows",
    "personal": False,
    "step_size": 0.4,
}
WITHIN = 0.3  # dB: a setting nearer than this to the best baseline counts as good as it
_RACE, _RUN, _APART, _BEFORE = 0.4, 0.4, 0.1, 0.1  # shares of the work, for honest progress


class Score(NamedTuple):
    """The error on samples to come, of one learner."""

    db: float
    rmse: float  # in the target's own unit


class Compared(NamedTuple):
    """What was found on one table."""

    table: str
    target: str
    devices: int  # those with samples that count
    readings: int  # samples that count
    runs: int
    setting: str  # the algorithm with its options, as a race chose them
    choice: str  # how the setting was chosen, in a sentence
    recommended: Score  # the recommended setting's score, of the devices' models
    apart: Score  # the score of the same setting without any contact
    shared: Estimate  # dB gained by contacts, over devices
    # The score of each device alone, beginning with zeros and with Fourier features alone.
    before: Score
    gain: Estimate  # dB that the recommended setting gains over `before`, over devices
    baselines: Mapping[str, Score]
    best: str  # the best of these baselines
    # DB by which the recommended setting is worse than the best baseline, over devices.
    behind: Estimate

    @property
    def verdict(self) -> str:
        """Whether the recommended setting is as good as the best baseline."""
        if self.behind.high < 0:
            return "better than all"
        near = self.behind.mean <= WITHIN
        return f"within {WITHIN} dB" if near else f"{self.best} is better"


def compared(
    scenario: Scenario,
    *,
    runs: int,
    seed: int = 0,
    baselines: str | Sequence[str] | None = None,
    workers: int | None = None,
    report: Report = ignored,
) -> Compared:
    """Choose by a race on the calibration period, run what was chosen, compare device by device.

    Step sizes and learners are raced. Baselines that take LMS steps take them with the step size
    that was best for LMS.
    """
    setting = scenario.replace(**RECOMMENDED)
    won = race(setting, CANDIDATES, seed=seed, workers=workers, report=_part(report, 0.0, _RACE))

    parts = _parts(report, _RACE, (_RUN, _APART, _BEFORE))

    def lives_of(setting: Scenario, method: str, beside: Any) -> Lives:
        found = run(setting, method, baselines=beside, runs=runs, seed=seed,
                    clean=False, workers=workers, report=next(parts)).lives  # fmt: skip
        if found is None:
            raise AssertionError("a run over a table has lives")
        return found

    step = lms_step([won]) or scenario.step_size
    recommended = setting.replace(step_size=step)
    now = lives_of(recommended, won.winner, baselines)
    apart = lives_of(without_contacts(recommended), won.winner, "none")
    before = lives_of(scenario.replace(**BEFORE), METHOD, "alone")
    return _told(scenario, won, now, apart, before)


def _told(scenario: Scenario, won: Race, now: Lives, apart: Lives, before: Lives) -> Compared:
    # Baselines with options are devices apart, which `apart` holds.
    names = [name for name in now.baselines if kind_of(name) == name]
    scores = {name: _score(now, name, "baseline") for name in names}
    best = min(scores, key=lambda name: _or_infinite(scores[name].db))
    ours = now.by_device(won.winner, "device")
    return Compared(
        table=scenario.name,
        target=column(scenario.table.target).name,
        devices=ours.size,
        readings=int(now.samples.sum()),
        runs=len(now.sums),
        setting=won.winner,
        choice=won.sentence,
        recommended=_score(now, won.winner, "device"),
        apart=_score(apart, won.winner, "device"),
        shared=pooled_gain(apart.by_device(won.winner, "device"), ours),
        before=_score(before, "alone", "baseline"),
        gain=pooled_gain(before.by_device("alone", "baseline"), ours),
        baselines=scores,
        best=best,
        behind=pooled_gain(ours, now.by_device(best, "baseline")),
    )


def _score(lives: Lives, name: str, whose: Whose) -> Score:
    (db,) = lives.db_by(name, whose, np.zeros_like(lives.device), 1).tolist()
    return Score(db, lives.own_unit(name, whose).rmse)


def _parts(report: Report, begin: float, widths: Sequence[float]) -> Iterator[Report]:
    for width in widths:
        yield _part(report, begin, width)
        begin += width


def _part(report: Report, begin: float, width: float) -> Report:
    return lambda share: report(begin + width * share)


def _or_infinite(error: float) -> float:
    """Return the error, or infinity for NaN: a learner that diverged is never the best."""
    return math.inf if math.isnan(error) else error
