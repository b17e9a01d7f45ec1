"""Run methods with many settings over the same worlds, and ask what is best.

What is tried is said in a TOML file, or by --over: values of options of the methods and of keys of
the scenario. All combinations are run or, with --random, so many that are drawn. A file that an
earlier sweep has saved (swept.npz) is shown again.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from paofed.cli.shared.outputs import add_tariff
from paofed.cli.shared.progress import Progress, say
from paofed.cli.shared.spread_options import (
    add_crew_options,
    add_engine_option,
    crew_of,
    tell_how_to_go_on,
)
from paofed.cli.shared.worlds import add_labels, with_labels
from paofed.errors import InputError
from paofed.experiments.sweep import RUNS
from paofed.experiments.sweep.axes import Axis, axis_from_text
from paofed.files import make_folder, require_folder
from paofed.simulate.engines import Precision, announced, preferred
from paofed.simulate.stopping import Interrupted
from paofed.words import counted

if TYPE_CHECKING:
    from paofed.experiments.sweep.asked import Sweep
    from paofed.experiments.sweep.swept import Swept

EXAMPLE = "paofed sweep setting-1 --algorithm pao-fed-u1 --over step_size=0.2,0.4,0.8 shared=1,4,16"
_SAVED = ".npz"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("what", type=Path, metavar="SWEEP",
        help="TOML file that says everything; or, with --over, a scenario (a file or a preset); "
        "or a saved sweep (.npz) to show again")  # fmt: skip
    add("--algorithm", nargs="+", action="extend", metavar="NAME",
        help="methods, with options that are not swept over, as in pao-fed-u1:max_age=5; your "
        "own: file.py:name")  # fmt: skip
    add("--over", nargs="+", action="extend", metavar="KEY=VALUES",
        help="values to try, as in shared=1,4,16 or loss.up=0,0.1; with --random also a span to "
        "draw from, as in step_size=0.05..1.6, by logarithms unless it begins at 0 or ends in "
        ":linear")  # fmt: skip
    add_labels(parser)
    add("--random", type=int, metavar="N",
        help="number of combinations to draw (default: run all of them)")  # fmt: skip
    add("--runs", type=int, metavar="R",
        help="number of worlds, the same for all points (default: the file's, or "
        f"{RUNS})")  # fmt: skip
    add("--seed", type=int, metavar="S",
        help="seed of the worlds and of what is drawn (default: the file's, or 0)")  # fmt: skip
    add("--fresh", type=int, metavar="N",
        help="number of fresh worlds in which the best of each method is run again (default: the "
        "file's, or 0)")  # fmt: skip
    add_engine_option(parser)
    add("--precision", choices=get_args(Precision), default="float32",
        help="precision of the models in the fast and gpu engines (default: "
        "%(default)s)")  # fmt: skip
    add_crew_options(parser)
    add("--out", type=Path, default=Path("swept"), metavar="DIR",
        help="folder to write the page and the numbers to, made if it is not there (default: "
        "%(default)s)")  # fmt: skip
    add("--json", action="store_true", help="print the best as JSON")
    add_tariff(parser)


def run(args: Namespace) -> int:
    """Sweep with progress, then write the page; an interrupt keeps what was finished."""
    from paofed.experiments.sweep.sweep import swept_by
    from paofed.experiments.sweep.swept import Swept

    if args.what.suffix == _SAVED:
        _require_nothing_else(args)
        swept = Swept.load(args.what)
        require_folder(args.out)
        _show(swept, args)
        return 0
    asked = _asked(args)
    require_folder(args.out)
    points, worlds = counted(len(asked.layout.points), "point"), counted(asked.runs, "world")
    code = 0
    with (
        crew_of(args) as crew,
        Progress(f"{asked.scenario.name}, {points}") as progress,
        announced(args.engine, say),
    ):
        say(f"{points}, each in {worlds}")
        try:
            swept = swept_by(
                asked, engine=args.engine, precision=args.precision, crew=crew, report=progress
            )
        except Interrupted as interrupt:
            if interrupt.swept is None:
                raise
            swept, code = interrupt.swept, 130
    for name, reason in swept.provenance["refused"].items():
        say(f"another engine than {preferred(args.engine)[0]} takes {name}: {reason}")
    make_folder(args.out)
    swept.save(args.out / f"swept{_SAVED}")
    _show(swept, args)
    if code:
        say(f"interrupted: what was finished is kept in {args.out}")
        tell_how_to_go_on(args)
    return code


def _asked(args: Namespace) -> "Sweep":
    """Return the sweep that a file or the options ask for."""
    from paofed.experiments.sweep.asked import asked_for, is_sweep, load
    from paofed.world.scenario import Scenario

    numbers = {
        key: value
        for key in ("random", "runs", "seed", "fresh")
        if (value := getattr(args, key)) is not None
    }
    if is_sweep(args.what):
        for name in ("algorithm", "over", "labels"):
            if getattr(args, name) is not None:
                raise InputError(f"{args.what} says what is swept: leave out --{name}")
        return load(args.what, **numbers)
    if args.over is None:
        Scenario.load(args.what)  # says if there is no such file, or what is wrong with it
        raise InputError(
            f"nothing to sweep over: give --over KEY=VALUES, or a TOML file with a table [over] "
            f"instead of {args.what}"
        )
    if args.algorithm is None:
        raise InputError("no algorithm was given: name some with --algorithm")
    scenario = with_labels(Scenario.load(args.what), args.labels) if args.labels else str(args.what)
    return asked_for(scenario, args.algorithm, _over(args.over), **numbers)


def _over(words: Sequence[str]) -> dict[str, Axis]:
    found: dict[str, Axis] = {}
    for word in words:
        try:
            key, axis = axis_from_text(word)
        except InputError as error:
            raise InputError(f"--over {error}") from None
        if key in found:
            raise InputError(f"--over {word}: {key} is given twice")
        found[key] = axis
    return found


def _require_nothing_else(args: Namespace) -> None:
    for name in ("algorithm", "over", "labels", "random", "runs", "seed", "fresh"):
        if getattr(args, name) is not None:
            raise InputError(f"{args.what} is a sweep that was run: leave out --{name}")


def _show(swept: "Swept", args: Namespace) -> None:
    from paofed.report.sweep.page import write
    from paofed.report.sweep.words import as_json, as_text

    make_folder(args.out)
    write(swept, args.out, args.tariff)
    print(json.dumps(as_json(swept, args.tariff)) if args.json else as_text(swept, args.tariff))
    say(f"open {args.out / 'report.html'}")
