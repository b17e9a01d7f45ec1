"""Say what contacts are worth over tables whose labels are rare, late or missing.

Each method runs over each table under each law of labels. What is `auto` in its options is raced
once for a table, on its calibration period, in which every sample has a label. Its devices with
labels are compared with the best way of being alone, those without with the best way that learns
nothing, and both with the better batch fit and with the first of the methods, device by device.
`python -m lab goals` judges the rows. An interrupt (Ctrl-C) keeps what was finished.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import Setup
from paofed.cli.shared.progress import Progress, say
from paofed.cli.shared.worlds import with_labels
from paofed.experiments.candidates import asks
from paofed.experiments.race.choosing import choose
from paofed.experiments.race.race import race
from paofed.experiments.race.record import Race
from paofed.files import require_writable
from paofed.report.run import tables
from paofed.report.run.by_labels import by_labels
from paofed.simulate.engines import USUAL, engine_of
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import ALONE, ON_REQUEST, POOLED
from paofed.simulate.table.comparisons import require_times
from paofed.table import ERROR, GAIN, NAME, ShownColumn, ShownTable
from paofed.words import counted
from paofed.world.scenario import Scenario

EXAMPLE = "python -m lab labels air-quality storms.toml --runs 4 --out labels.csv"
METHODS = "pao-fed-u1:learner=auto,step_size=auto", "fed-ridge"
LAWS = "all", "10%", "late=1d", "devices=25%"
# The best ways of being alone, and the pooled fits, that cost no time to speak of.
BASELINES = [name for name in (*ALONE, *POOLED) if name not in ON_REQUEST]
_WHERE = ShownColumn("table", "table"), ShownColumn("labels", "labels")
_FIRST = (
    ShownColumn(("first_gain", "first_low", "first_high"), "gain", GAIN, "dB"),
    ShownColumn("first", "over the first", NAME),
    ShownColumn("first_db", "its error", ERROR, "dB"),
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("scenarios", nargs="*", default=["air-quality"], metavar="SCENARIO",
        help="TOML files over tables (default: air-quality, the sample of the "
        "package)")  # fmt: skip
    add("--labels", nargs="+", default=[*LAWS], metavar="LAW",
        help="laws of labels, as `paofed run --labels` takes them; all: every sample has its label "
        "at once; late=1d is a tick where times are plain numbers "
        f"(default: {' '.join(LAWS).replace('%', '%%')})")  # fmt: skip
    add("--algorithm", nargs="+", default=[*METHODS], metavar="NAME",
        help="methods with their options, `auto` for what a race is to choose (default: "
        f"{' '.join(METHODS)})")  # fmt: skip
    add("--runs", type=int, default=4, metavar="R",
        help="number of runs over each table (default: %(default)s)")  # fmt: skip
    add(
        "--seed", type=int, default=0, metavar="S", help="seed of the worlds (default: %(default)s)"
    )
    add("--workers", type=int, metavar="N", help="number of threads (default: all cores)")
    add("--out", type=Path, metavar="FILE", help="CSV file to write every row to")


def run(args: Namespace) -> int:
    """Go through tables and laws, keeping what is finished."""
    if args.out is not None:
        require_writable(args.out)
    scenarios = [Scenario.load(name) for name in args.scenarios]
    for scenario in scenarios:
        require_times(BASELINES, scenario.table)  # also refuses one without a table
    setups = [Setup.of(name) for name in args.algorithm]
    for setup in setups:
        if not asks(setup):
            setup.algorithm()
    laws = [laws_over(args.labels, scenario) for scenario in scenarios]
    under = [
        [(law, with_labels(scenario, None if law == "all" else law)) for law in some]
        for scenario, some in zip(scenarios, laws, strict=True)
    ]
    rows: list[list[Any]] = []
    finished, runs = 0, len(scenarios) * len(args.labels)
    try:
        for scenario, some in zip(scenarios, under, strict=True):
            methods = choose(setups, partial(_raced, scenario, args)).methods
            for law, labelled in some:
                rows += _rows(labelled, law, methods, args)
                finished += 1
                if args.out is not None:
                    _shown(rows).csv(args.out)
    except KeyboardInterrupt:
        if not rows:
            raise
        say(f"interrupted: kept what was finished, {finished} of {counted(runs, 'run')}")
    print(_shown(rows).text())
    return 0 if finished == runs else 130


def laws_over(laws: Sequence[str], scenario: Scenario) -> list[str]:
    """Return the laws; where times are plain numbers, which have no days, a day is a tick."""
    if scenario.tick_seconds is not None:
        return [*laws]
    return [re.sub(r"\blate=1d\b", "late=1", law) for law in laws]


def _raced(scenario: Scenario, args: Namespace, setup: Setup) -> Race:
    """Race for a setup, and say what was chosen."""
    with Progress(f"{scenario.name}, a race") as progress, engine_of(USUAL).announced(say):
        found = race(scenario, setup, seed=args.seed, workers=args.workers, report=progress)
    say(f"{scenario.name}: {found.sentence}")
    return found


def _rows(
    scenario: Scenario, law: str, methods: Sequence[Algorithm], args: Namespace
) -> list[list[Any]]:
    """Run the methods over a table under one law, and return what each is worth."""
    with (
        Progress(f"{scenario.name}, labels {law}") as progress,
        engine_of(USUAL).announced(say),
    ):
        found = simulate(scenario, methods, baselines=BASELINES, runs=args.runs, seed=args.seed,
            clean=False, workers=args.workers, report=progress)  # fmt: skip
    worths = list(by_labels(TableResult.of(found).progressive))
    return [
        [scenario.name, law, *row, worth.first.gain, worth.first.name, worth.first.db]
        for row, worth in zip(tables.by_labels(worths).rows, worths, strict=True)
    ]


def _shown(rows: Iterable[list[Any]]) -> ShownTable:
    plain = tables.by_labels([])
    return ShownTable((*_WHERE, *plain.columns, *_FIRST), [*rows], plain.title)
