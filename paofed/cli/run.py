"""Run algorithms over a scenario, many times, and show what they learned and sent."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from paofed.algorithms import LINEUP, Algorithm
from paofed.algorithms.outside import file_of
from paofed.algorithms.setup import AUTO, Setup
from paofed.cli.shared import outputs, worlds
from paofed.cli.shared.crew import add_crew_options, add_engine_option, crew_of, tell_how_to_go_on
from paofed.cli.shared.progress import Progress, say
from paofed.cli.shared.worlds import add_seed
from paofed.files import require_archive
from paofed.simulate.engines import Precision, announced
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Interrupted
from paofed.simulate.table import COLD_STARTS
from paofed.simulate.table.baselines import BASELINES, ON_REQUEST
from paofed.words import counted

if TYPE_CHECKING:
    from paofed.experiments.race.record import Race
    from paofed.world.scenario import Scenario

EXAMPLE = "paofed run setting-1 --algorithm pao-fed-u1 pao-fed-u1:shared=32 --runs 20"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    worlds.add_arguments(parser, _step_size)
    add(
        "--algorithm",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="algorithms with their options, as in pao-fed-u1:shared=32,step_size=auto, or your "
        "own: file.py:name, package.module:name (default: all rows of the paper)",
    )
    add(
        "--runs",
        type=int,
        default=1,
        metavar="R",
        help="number of Monte Carlo runs (default: %(default)s)",
    )
    add_seed(parser)
    add("--same-world", action="store_true",
        help="let all runs have one map, fleet and test set (default: a new world for each "
        "run)")  # fmt: skip
    add("--every", type=int, metavar="N",
        help="ticks between two points of a curve (default: 10, or a 200th of all ticks if that "
        "is more)")  # fmt: skip
    add("--cold-starts", type=int, metavar="N",
        help="over a table: times at which each device in turn joins late; 0: never (default: "
        f"{COLD_STARTS}; none where less than two days count)")  # fmt: skip
    add("--baselines", metavar="A,B,...",
        help="over a table: baselines to run, or none: "
        f"{', '.join(n.replace(' ', '-') for n in BASELINES)} (default: all but "
        f"{', '.join(n.replace(' ', '-') for n in ON_REQUEST)})")  # fmt: skip
    add("--label-shares", type=_shares, default=(), metavar="A,B,...",
        help="over a table: shares of the samples that have labels, as in 1%%,10%%,100%%; "
        "everything is judged once more with each, which says from which share on contacts "
        "pay")  # fmt: skip
    add("--no-clean", action="store_true",
        help="with faults: do not run everything a second time without them")  # fmt: skip
    add_engine_option(parser)
    add(
        "--precision",
        choices=get_args(Precision),
        default="float32",
        help="precision of the models in the fast and gpu engines (default: %(default)s)",
    )
    add_crew_options(parser)
    add("--out", type=Path, metavar="FILE",
        help="file (.npz) to save the result to, for `paofed result` and other "
        "commands")  # fmt: skip
    outputs.add_arguments(parser)
    outputs.add_of_results(parser)


def run(args: Namespace) -> int:
    """Simulate with progress; an interrupt keeps the runs that were finished."""
    from paofed.experiments.race.choosing import choose
    from paofed.simulate.table.label_shares import at_shares

    if args.out is not None:
        require_archive(args.out)
    worlds.check(args)
    asked = _asked(args)
    scenario = worlds.world_of(args)
    at_shares(scenario, args.label_shares)  # refuses them now, not after a race
    given = [] if args.scenario is None else [args.scenario]
    code = filter(None, (file_of(setup.row) for setup in asked))
    outputs.check(args, args.out, inputs=[*given, *scenario.files, *code])
    worlds.tell(scenario, args)
    with crew_of(args) as crew:
        choice = choose(asked, partial(_raced, scenario=scenario, args=args, crew=crew))
        if args.step_size == AUTO:
            scenario = choice.with_step_of_lms(scenario)
        cold_starts = _cold_starts(scenario, choice.methods, args)
        if scenario.faults and not args.no_clean:
            say("faults: everything is run without them, too (--no-clean: not)")
        result = _simulated(scenario, choice.methods, cold_starts, args, crew)
    result = choice.kept_in(result)
    if args.out is not None:
        result.save(args.out)
    outputs.show(result, args, args.out)
    missing = (
        []
        if result.runs == args.runs
        else [f"{args.runs - result.runs:,} of {counted(args.runs, 'run')}"]
    )
    beside = [*result.provenance["baselines"], *result.provenance["apart"]]
    if result.baselines != beside:
        missing.append("the baselines")
    if args.label_shares and TableResult.of(result).label_shares is None:
        missing.append("the shares of labels")
    if cold_starts and TableResult.of(result).cold_start is None:
        missing.append("the cold starts")
    if missing:
        say(f"interrupted: kept what was finished, without {' and '.join(missing)}")
        tell_how_to_go_on(args)
        return 130
    return 0


def _step_size(text: str) -> float | str:
    """Read a step size, or the word `auto`."""
    try:
        return text if text == AUTO else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor {AUTO}") from None


def _shares(text: str) -> tuple[float, ...]:
    """Read shares of labels, each a number or a percentage."""
    try:
        return tuple(
            float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
            for word in text.split(",")
        )
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no list of shares, as in 1%,10%,100%") from None


def _asked(args: Namespace) -> list[Setup]:
    """Return the algorithms; words that are none are refused before the long work.

    With --step-size auto, each algorithm without a step size gets `auto`.
    """
    from paofed.experiments.candidates import asks
    from paofed.experiments.race.choosing import with_auto

    setups = list(map(Setup.of, args.algorithm or LINEUP))
    if args.step_size == AUTO:
        setups = list(map(with_auto, setups))
    for setup in setups:
        if not asks(setup):
            setup.algorithm()
    return setups


def _raced(setup: Setup, scenario: "Scenario", args: Namespace, crew: Crew) -> "Race":
    """Race for a setup with progress; after an interrupt, say what is known."""
    from paofed.experiments.race.race import race

    with Progress(f"{setup}, a race") as progress, announced(args.engine, say):
        try:
            return race(
                scenario,
                setup,
                seed=args.seed,
                engine=args.engine,
                precision=args.precision,
                report=progress,
                **crew._asdict(),
            )
        except Interrupted as interrupt:
            if interrupt.race is not None:
                say(str(interrupt.race))
            raise


def _simulated(
    scenario: "Scenario",
    methods: Sequence[Algorithm],
    cold_starts: int,
    args: Namespace,
    crew: Crew,
) -> Result:
    """Run the algorithms; after an interrupt, return the runs that were finished."""
    from paofed.simulate.montecarlo import run as simulate

    what = f"{scenario.name}, {counted(args.runs, 'run')}"
    with Progress(what) as progress, announced(args.engine, say):
        try:
            return simulate(
                scenario,
                methods,
                runs=args.runs,
                seed=args.seed,
                same_world=args.same_world,
                engine=args.engine,
                precision=args.precision,
                every=args.every,
                cold_starts=cold_starts,
                baselines=args.baselines,
                clean=not args.no_clean,
                label_shares=args.label_shares,
                report=progress,
                **crew._asdict(),
            )
        except Interrupted as interrupt:
            if interrupt.result is None:
                raise
            return interrupt.result


def _cold_starts(scenario: "Scenario", methods: Sequence[Algorithm], args: Namespace) -> int:
    """Return how many cold starts to run: as many as asked for, else the usual number."""
    from paofed.simulate.table.coldstart import usual_starts

    if args.cold_starts is not None:
        return int(args.cold_starts)
    usual = usual_starts(scenario, methods)
    if usual.why_none:
        say(f"no cold starts: {usual.why_none}")
    return usual.number
