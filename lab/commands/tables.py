"""Compare the recommended setting with every baseline, over one table after the other.

Learner and step size are raced on the calibration period of each table. Errors are those of the
devices' models on samples to come, paired with the best baseline device by device. An interrupt
(Ctrl-C) keeps the tables that were finished.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from paofed.algorithms.spec import parted
from paofed.cli.shared.progress import Progress, say
from paofed.errors import InputError
from paofed.files import require_writable, write_table
from paofed.simulate.engines import USUAL, engine_of
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.table.baselines import chosen
from paofed.table import estimated
from paofed.words import counted, table

if TYPE_CHECKING:
    from lab.benchmarks.tables import Compared
    from paofed.world.scenario import Scenario

EXAMPLE = "python -m lab tables air-quality storms.toml --runs 4 --out tables.csv"


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
        help="baselines to run, as in `paofed run` (default: all but boost)",
    )
    add("--workers", type=int, metavar="N", help="number of threads (default: all cores)")
    add("--out", type=Path, metavar="FILE",
        help="CSV file to write one line for each table to, with every digit")  # fmt: skip


def run(args: Namespace) -> int:
    """Go through the tables, keeping each that is finished."""
    from paofed.world.scenario import Scenario

    if not (names := chosen(args.baselines)):
        raise InputError("there is nothing to compare with: name at least one baseline")
    if args.out is not None:
        require_writable(args.out)
    scenarios = [Scenario.load(name) for name in args.scenarios]
    for scenario in scenarios:
        _ = scenario.table  # a scenario without a table is refused now, not after hours
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


def _compared(scenario: "Scenario", names: tuple[str, ...], args: Namespace) -> "Compared":
    from lab.benchmarks.tables import compared

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


def _text(found: "list[Compared]") -> str:
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
    _, options = parted(setting)
    return f"{options.get('learner', 'lms')}, {options['step_size']:g}"


def _write(found: "list[Compared]", path: Path | None) -> None:
    """Write one line for every table, with every digit."""
    if path is None:
        return
    lines = [_line(one) for one in found]
    write_table(path, list(lines[0]), [list(line.values()) for line in lines])


def _line(one: "Compared") -> dict[str, object]:
    from lab.benchmarks.tables import Score

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
