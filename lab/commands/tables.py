"""Compare the recommended setting with every baseline, over one table after the other.

Learner and step size are raced on the calibration period of each table. Errors are those of the
devices' models on samples to come, paired with the best baseline device by device. An interrupt
(Ctrl-C) keeps the tables that were finished.
"""

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import Setup
from paofed.cli.shared.progress import Progress, say
from paofed.errors import InputError
from paofed.experiments.race.race import race
from paofed.experiments.race.record import Race, lms_step
from paofed.files import require_writable
from paofed.simulate.engines import USUAL, engine_of
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.estimates import Estimate, pooled_gain
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.stopping import Report, ignored, parts_of
from paofed.simulate.table.baselines import chosen
from paofed.simulate.table.comparisons import require_times
from paofed.simulate.table.learners_alone import kind_of, without_contacts
from paofed.table import estimated, in_files
from paofed.words import counted, table
from paofed.world.scenario import Scenario
from paofed.world.table.columns import column

EXAMPLE = "python -m lab tables air-quality storms.toml --runs 4 --out tables.csv"
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
_PARTS = 0.4, 0.4, 0.1, 0.1  # about how long each part of the work takes, for honest progress


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


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("scenarios", nargs="*", default=["air-quality"], metavar="SCENARIO",
        help="TOML files over tables (default: air-quality, the sample of the "
        "package)")  # fmt: skip
    add("--runs", type=int, default=4, metavar="R",
        help="number of runs over each table (default: %(default)s)")  # fmt: skip
    add(
        "--seed", type=int, default=0, metavar="S", help="seed of the worlds (default: %(default)s)"
    )
    add(
        "--baselines",
        metavar="A,B,...",
        help="baselines to run, as in `paofed run` (default: the usual ones)",
    )
    add("--workers", type=int, metavar="N", help="number of threads (default: all cores)")
    add("--out", type=Path, metavar="FILE",
        help="CSV file to write one line for each table to, with every digit")  # fmt: skip


def run(args: Namespace) -> int:
    """Go through the tables, keeping each that is finished."""
    if not (names := chosen(args.baselines)):
        raise InputError("there is nothing to compare with: name at least one baseline")
    if args.out is not None:
        require_writable(args.out)
    scenarios = [Scenario.load(name) for name in args.scenarios]
    for scenario in scenarios:
        require_times(names, scenario.table)  # also refuses one without a table, before all work
    found: list[Compared] = []
    try:
        for scenario in scenarios:
            found.append(_compared(scenario, names, args))
            _write(found, args.out)
    except KeyboardInterrupt:
        if not found:
            raise
        said = f"{len(found)} of {counted(len(scenarios), 'table')}"
        say(f"interrupted: kept what was finished, {said}")
    print(_text(found))
    return 0 if len(found) == len(scenarios) else 130


def _compared(scenario: Scenario, names: tuple[str, ...], args: Namespace) -> Compared:
    with Progress(scenario.name) as progress, engine_of(USUAL).announced(say):
        found = compared(
            scenario,
            runs=args.runs,
            seed=args.seed,
            baselines=names,
            workers=args.workers,
            report=progress,
        )
    say(f"{scenario.name}: {found.choice}")
    return found


def _text(found: list[Compared]) -> str:
    """Return all tables side by side, since names of learners are long and numbers are short."""
    rows = [
        ["predicted", *(one.target for one in found)],
        ["devices", *(f"{one.devices:,}" for one in found)],
        ["readings of one, mean", *(f"{one.readings / one.devices:,.0f}" for one in found)],
        ["learner, step size", *(_options(one.setting) for one in found)],
        ["recommended, RMSE", *(f"{one.recommended.rmse:.4g}" for one in found)],
        ["recommended (dB)", *(f"{one.recommended.db:.2f}" for one in found)],
        ["without contacts (dB)", *(f"{one.apart.db:.2f}" for one in found)],
        ["gain by contacts (dB)", *(estimated(one.shared, sign="+") for one in found)],
        ["alone, as before (dB)", *(f"{one.before.db:.2f}" for one in found)],
        ["gain over that (dB)", *(estimated(one.gain, sign="+") for one in found)],
        *(
            [f"{name} (dB)", *(f"{one.baselines[name].db:.2f}" for one in found)]
            for name in found[0].baselines
        ),
        ["best baseline", *(one.best for one in found)],
        ["behind it (dB)", *(estimated(one.behind, sign="+") for one in found)],
        ["verdict", *(one.verdict for one in found)],
    ]
    note = "errors of the devices' models on samples to come; 95 % intervals over devices"
    return f"{table(['', *(one.table for one in found)], rows)}\n\n{note}"


def _options(setting: str) -> str:
    options = Setup.of(setting).values
    return f"{options.get('learner', 'lms')}, {options['step_size']:g}"


def _write(found: list[Compared], path: Path | None) -> None:
    """Write one line for every table, with every digit."""
    if path is None:
        return
    lines = [_line(one) for one in found]
    in_files(lines[0], [[*line.values()] for line in lines]).csv(path)


def _line(one: Compared) -> dict[str, object]:
    ours = {"recommended": one.recommended, "apart": one.apart, "before": one.before}
    scores = {**ours, **one.baselines}
    told = ("table", "target", "devices", "readings", "runs", "setting")
    return {
        **{key: getattr(one, key) for key in told},
        **{
            f"{name.replace(' ', '_')}_{key}": getattr(score, key)
            for name, score in scores.items()
            for key in Score._fields
        },
        **_ends("gain_by_contacts", one.shared),
        **_ends("gain_over_before", one.gain),
        "best": one.best,
        **_ends("behind", one.behind),
        "verdict": one.verdict,
    }


def _ends(name: str, found: Estimate) -> dict[str, object]:
    return {f"{name}_db": found.mean, f"{name}_low": found.low, f"{name}_high": found.high}


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
    parts = iter(parts_of(report, _PARTS))
    won = race(setting, CANDIDATES, seed=seed, workers=workers, report=next(parts))

    def lives_of(setting: Scenario, method: str | Algorithm, beside: Any) -> Lives:
        found = simulate(setting, method, baselines=beside, runs=runs, seed=seed,
                    clean=False, workers=workers, report=next(parts))  # fmt: skip
        return TableResult.of(found).lives

    step = lms_step([won]) or scenario.step_size
    recommended = setting.replace(step_size=step)
    now = lives_of(recommended, won.best, baselines)
    apart = lives_of(without_contacts(recommended), won.best, "none")
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


def _or_infinite(error: float) -> float:
    """Return the error, or infinity for NaN: a learner that diverged is never the best."""
    return math.inf if math.isnan(error) else error
