"""Compare methods at equal bytes, each with its own best settings, in one setting after another.

Settings are chosen on other worlds than those of the judgement, among equally many candidates for
every method. What is finished stays in the folder: a second start goes on where the first ended.
"""

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lab.compare.lineup import LINEUP, SEARCH, entrants_of
from lab.compare.settings import FULL, QUICK, setting_of
from lab.compare.settings import USUAL as SETTINGS
from paofed.cli.shared.crew import add_crew_options, stage
from paofed.cli.shared.worlds import add_seed
from paofed.core.random import key_of
from paofed.core.tariffs import tariff_of
from paofed.errors import InputError, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lab.compare.comparison import Plan
    from paofed.experiments.candidates import Entrant
    from paofed.report.comparison.page import Judged

EXAMPLE = "python -m lab compare setting-1 --entrants fed-async,top-k --quick --out compared"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("settings", nargs="*", default=list(SETTINGS), metavar="SETTING",
        help="TOML files, presets, or settings of the comparison (default: "
        f"{', '.join(SETTINGS)})")  # fmt: skip
    add("--entrants", metavar="A,B,...",
        help="methods to compare with PAO-Fed, which is always there (default: "
        f"{', '.join(LINEUP)})")  # fmt: skip
    add("--own", nargs="+", action="append", default=[], metavar=("NAME", "KEY=VALUES"),
        help="an entrant of your own, as in file.py:name or fed-async:alpha=0.3, and the values "
        "that it may choose from, as in shared=1,4,32 step_size=0.4,0.8: at most "
        f"{SEARCH} combinations; may be given several times")  # fmt: skip
    add("--tariffs", default="payload,mqtt", metavar="A,B,...",
        help="tariffs under which bytes are equal, as --tariff of `paofed run` takes them "
        "(default: %(default)s)")  # fmt: skip
    add("--runs", type=int, metavar="R",
        help="worlds in which the choices are judged, at least 2 (default: "
        f"{FULL.runs})")  # fmt: skip
    add_seed(parser)
    add_crew_options(parser)
    add("--quick", action="store_true", help="take a first look, with few worlds")
    add("--out", type=Path, default=Path("compared"), metavar="DIR",
        help="folder to write to, made if it is not there (default: %(default)s)")  # fmt: skip


def run(args: Namespace) -> int:
    """Compare job by job, then write what is found."""
    from lab.compare.comparison import Plan, run_comparison
    from lab.study_folder import crew_in_folder

    extent = QUICK if args.quick else FULL
    if args.runs is not None:
        extent = extent._replace(runs=whole("runs", args.runs, least=2))
    # Wrong input is refused now, not after the folder is made, or after an hour.
    key_of(args.seed)
    entrants = entrants_of(args.entrants, args.own)
    _require_fits(entrants, args.settings)
    plan = Plan(
        settings=args.settings,
        entrants=entrants,
        tariffs=[tariff_of(name).word or "payload" for name in _words(args.tariffs)],
        extent=extent,
        seed=args.seed,
    )
    command = _command(plan, args)
    with crew_in_folder(args, command) as crew:
        found = run_comparison(plan, stage, crew)
    _write(found, plan, command, args.out)
    _print(found, args.out)
    return 0


def _require_fits(entrants: "Mapping[str, Entrant]", settings: "Sequence[str]") -> None:
    """Refuse settings of the same name, and entrants that cannot be run in one of the settings."""
    named = [Path(setting).stem for setting in settings]
    if len(set(named)) < len(named):
        raise InputError(f"settings are {', '.join(named)}: expected each name once")
    for setting in settings:
        features = setting_of(setting).features
        for entrant in entrants.values():
            setups = entrant.candidates(features)
            if not setups:
                what = f"{entrant.setup} has no window of at most {features}"
                raise InputError(f"{what} in {setting}")
            for setup in setups:
                setup.algorithm().require_fits(features)


def _words(text: str) -> list[str]:
    """Split names at commas; a tariff in numbers has commas of its own."""
    if "=" in text:
        return [text]
    names = text.split(",")
    if len(set(names)) < len(names):
        raise InputError(f"tariffs is {text!r}: expected each of them once")
    return names


def _command(plan: "Plan", args: Namespace) -> str:
    """Return the command that makes the same comparison again."""
    words = ["python -m lab compare", *(args.settings if args.settings != list(SETTINGS) else ())]
    words += [f"--runs {plan.extent.runs} --seed {plan.seed} --tariffs {args.tariffs}"]
    words += [f"--entrants {args.entrants}"] if args.entrants else []
    words += [f"--own {shlex.join(own)}" for own in args.own]
    return " ".join([*words, *(["--quick"] if args.quick else [])])


def _write(found: "list[Judged]", plan: "Plan", command: str, folder: Path) -> None:
    from lab.compare.page import build
    from paofed.report.comparison.page import every_number, figures
    from paofed.report.shared.figures import write_page

    worlds = [f"{plan.extent_in(setting).runs} in {setting}" for setting in plan.settings]
    judged_on = f"Worlds of the judgement: {', '.join(worlds)}."
    write_page(
        folder / "compare.html",
        figures(found),
        lambda drawings: build(found, drawings, command, judged_on),
        [("compare", every_number(found))],
    )


def _print(found: "list[Judged]", folder: Path) -> None:
    """Print for every budget what PAO-Fed reaches, and what reaches the least error."""
    from paofed.report.comparison.page import digest_table, summary

    print(f"{digest_table(found).text()}\n\n{summary(found)}\nopen {folder / 'compare.html'}")
