"""Which world a verb works in: a scenario, with values of one's own, or the fleet of a table."""

from argparse import ArgumentParser, BooleanOptionalAction, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from paofed.algorithms.setup import AUTO
from paofed.cli.program import SCENARIO_FIRST
from paofed.cli.shared.progress import say
from paofed.errors import InputError, ScenarioError, with_names
from paofed.world.names import MISSING, PRESETS, Duplicates, NewcomersKind, StartKind

if TYPE_CHECKING:
    from paofed.world.scenario import Scenario

_REQUIRED = ("time", "target", "inputs")
_LISTS = ("time", "inputs", "missing")
_OPTIONAL = (
    "device",
    "wide",
    "calibration",
    "score_from",
    "until",
    "tick",
    "time_format",
    "zone",
    "duplicates",
    "missing",
    "group",
    "separator",
    "decimal",
)
_VALUES = (
    *("features", "kernel_width", "step_size", "linear", "start", "newcomers", "personal"),
    "contacts",
)
_AS_OPTIONS = {key: f"--{key.replace('_', '-')}" for key in (*_REQUIRED, *_OPTIONAL, *_VALUES)}


def add_arguments(
    parser: ArgumentParser, read_step_size: Callable[[str], float | str] = float
) -> None:
    """Declare the scenario, its values, and what makes a fleet of a table."""
    add = parser.add_argument
    add("scenario", nargs="?", metavar="SCENARIO",
        help=f"a TOML file or a preset: {', '.join(PRESETS)}")  # fmt: skip
    chosen = "" if read_step_size is float else ", or auto to have a race choose one"
    add("--step-size", type=read_step_size, metavar="MU",
        help=f"step size of algorithms that name none of their own{chosen} (default: the "
        "scenario's)")  # fmt: skip
    parser_of_values = parser.add_argument_group("values in the place of the scenario's own")
    add = parser_of_values.add_argument
    add("--features", type=int, metavar="D", help="number of features, the size of the model")
    add("--kernel-width", type=float, metavar="SIGMA", help="width of the Gaussian kernel")
    add("--linear", action=BooleanOptionalAction,
        help="over a table: whether the inputs themselves and a constant are features, too (with "
        "--table: yes)")  # fmt: skip
    add("--start", choices=get_args(StartKind),
        help="the model that all devices begin with: zeros, or over a table a fit to the "
        "calibration period (with --table: calibration)")  # fmt: skip
    add("--newcomers", choices=get_args(NewcomersKind),
        help="what a device gets at its first contact: a window of the model as at any contact, "
        "or the whole model (with --table: whole)")  # fmt: skip
    add("--personal", action=BooleanOptionalAction,
        help="over a table: whether each device keeps linear terms of its own (with --table: "
        "yes)")  # fmt: skip
    add("--contacts", type=float, metavar="SHARE",
        help="share of the contacts that clients could make and do make, by chance, from 0 to 1 "
        "(default: 1)")  # fmt: skip
    add_labels(parser_of_values)
    add("--tick", metavar="LENGTH",
        help="length of a tick: 15min, 1h, ... (over a table: the usual step, or "
        "less)")  # fmt: skip
    add("--fault", action="append", default=[], metavar="F",
        help="a fault of some clients beside the scenario's own faults, as in "
        "scaled:by=10,clients=0.1; give --fault several times for several faults")  # fmt: skip
    add = parser.add_argument_group("readings of your own, with the laws of SCENARIO").add_argument
    add("--table", type=Path, metavar="FILE",
        help="file of readings: .csv or .tsv, both also with .gz, or .parquet")  # fmt: skip
    add("--device", metavar="COL", help="column that names the device")
    add("--wide", metavar="NAME",
        help="in the place of --device: every column but the time is a device, which measures "
        "NAME")  # fmt: skip
    add("--time", metavar="COLS", help="column of the time, or several: year,month,day,hour")
    add("--target", metavar="COL",
        help="column to predict, with a transform after a colon: O3:log1p")  # fmt: skip
    add("--inputs", metavar="COLS",
        help="columns to predict from, with transforms: "
        "TEMP,SO2:log1p,wd:compass,O3:lag=1,time:hour")  # fmt: skip
    add("--calibration", metavar="UNTIL",
        help="end of the calibration period: a time, a length (30d) or a share of all ticks "
        "(default: 10%%)")  # fmt: skip
    add("--score-from", metavar="TIME",
        help="when errors begin to count: a time, a length or a share (default: with the first "
        "tick after the calibration period)")  # fmt: skip
    add("--until", metavar="TIME",
        help="time, length or share after which rows are left out (default: all rows "
        "count)")  # fmt: skip
    add("--time-format", metavar="FORM",
        help="form of the times: as in strptime, or unix, unix-ms, number (default: ISO 8601, "
        "numbers, or dates as in 20140301)")  # fmt: skip
    add("--zone", metavar="ZONE",
        help="time zone of times that name none, as in Europe/Oslo (default: UTC)")  # fmt: skip
    add("--duplicates", choices=get_args(Duplicates),
        help="what to do with two readings of a device in one tick: refuse the table, or keep the "
        "first or the last (default: refuse)")  # fmt: skip
    add("--missing", metavar="WORDS",
        help="words that mean that a value is missing; an empty cell always does (default: "
        f"{','.join(MISSING[1:])})")  # fmt: skip
    add("--group", metavar="COL",
        help="column with the group of a device, by which errors are told, too (default: devices "
        "in quarters by their number of readings)")  # fmt: skip
    add("--separator", metavar="CHAR",
        help="character between the columns of a CSV (default: a comma; a semicolon where numbers "
        "have a decimal comma; a tab in a .tsv)")  # fmt: skip
    add("--decimal", choices=(".", ","),
        help="decimal point of the numbers in a CSV (default: .)")  # fmt: skip


def add_labels(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Declare the option --labels."""
    parser.add_argument(
        "--labels",
        metavar="LAW",
        help="which samples have a label, how late it comes, and which devices have labels, as in "
        "10%%,late=24,devices=25%%, or devices=A+B, or group=NAME (default: every sample, at once)",
    )


def add_seed(parser: ArgumentParser) -> None:
    """Declare the option --seed."""
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="seed of every random number, from 0 to 2^64 - 1: the same seed gives the same "
        "events everywhere (default: %(default)s)",
    )


def add_world(parser: ArgumentParser) -> None:
    """Declare the options --seed and --world of verbs that look at one world."""
    add_seed(parser)
    parser.add_argument(
        "--world",
        type=int,
        default=0,
        metavar="W",
        help="number of the world (default: %(default)s)",
    )


def check(args: Namespace) -> None:
    """Refuse options that do not go together, before any file is read."""
    if args.table is not None:
        missing = [name for name in _REQUIRED if getattr(args, name) is None]
        if args.device is None and args.wide is None:
            missing = ["device", *missing]
        if missing:
            raise InputError(
                f"--table needs {', '.join(map(_AS_OPTIONS.__getitem__, missing))} too"
            )
    elif stray := _given(args, tuple(k for k in (*_REQUIRED, *_OPTIONAL) if k != "tick")):
        raise InputError(
            f"{_AS_OPTIONS[next(iter(stray))]} says something about a table: give --table too"
        )
    elif args.scenario is None:
        first = f" ({SCENARIO_FIRST})" if "algorithm" in args else ""
        raise InputError(
            f"no SCENARIO was given{first}, and no --table FILE: expected a TOML file or a preset "
            f"({', '.join(PRESETS)})"
        )


def world_of(args: Namespace) -> "Scenario":
    """Make the scenario that was asked for."""
    from paofed.world.faults import worded
    from paofed.world.scenario import LAWS, Scenario

    check(args)
    changes = {key: value for key, value in _given(args, _VALUES).items() if value != AUTO}
    if args.table is None and args.tick is not None:
        changes["tick"] = args.tick
    if args.labels is not None:
        changes["labels"] = labels_of(args.labels)
    base = Scenario.load(args.scenario or LAWS)
    if args.table is None and not (changes or args.fault):
        return base
    changes["faults"] = [*base.model_dump()["faults"], *map(_fault, args.fault)]
    with _told_as_typed([*map(worded, base.faults), *args.fault], args.labels):
        if args.table is not None:
            return Scenario.of_table(args.table, _stream(args), base, **changes)
        return Scenario.made({**base.model_dump(), **changes}, "")


def labels_of(text: str) -> dict[str, Any]:
    """Read the law of labels that was typed as one word."""
    from paofed.world.labels import parted

    try:
        return parted(text)
    except ScenarioError as error:
        raise ScenarioError(f"--labels {error}") from None


def with_labels(scenario: "Scenario", text: str | None) -> "Scenario":
    """Return the scenario with the law of labels that was typed, if one was.

    It is for verbs that have no other option for a value of the scenario.
    """
    if text is None:
        return scenario
    with _told_as_typed([], text, options=()):
        return scenario.replace(labels=labels_of(text))


def _fault(text: str) -> dict[str, Any]:
    from paofed.world.faults import parted

    try:
        return parted(text)
    except ScenarioError as error:
        raise ScenarioError(f"--fault {error}") from None


@contextmanager
def _told_as_typed(
    faults: Sequence[str], labels: str | None, options: Iterable[str] = _AS_OPTIONS
) -> Iterator[None]:
    """Let errors name `options` of the command line where they name keys of a file."""
    others = {key: f"the scenario's `{key}`" for key in _AS_OPTIONS if key not in options}
    names = _AS_OPTIONS | others
    try:
        yield
    except ScenarioError as error:
        match (error.key or "").split("."):
            case ["faults", number, *inside]:
                begin, known = f"--fault {faults[int(number)]}: ", ".".join(inside)
            case ["labels", *inside] if labels is not None:
                begin, known = f"--labels {labels}: ", ".".join(inside)
            case ["stream", key, *_] | [key]:
                begin, known = "", names.get(key, "")
            case _:
                begin = known = ""
        own = {error.key: known} if error.key and known else {}
        raise ScenarioError(f"{begin}{error.told(names | own)}") from None


def _stream(args: Namespace) -> dict[str, Any]:
    """Return what was said of the table."""
    stream = _given(args, (*_REQUIRED, *_OPTIONAL))
    for key in _LISTS:
        if key in stream:
            stream[key] = [part.strip() for part in stream[key].split(",")]
    return stream


def tell(scenario: "Scenario", args: Namespace) -> None:
    """Say what was found in a table, and what that decided."""
    from paofed.world.table.door import read
    from paofed.world.table.spec import Table

    if not isinstance(scenario.stream, Table):
        return
    if args.scenario is None:
        say("everyone is always there and no message is late: name a scenario for other laws")
    readings = read(scenario.stream)
    for fact in readings.facts():
        said = fact if args.table is None else with_names(fact, _AS_OPTIONS)
        say(f"{Path(scenario.stream.file).name}: {said}")
    if scenario.kernel_width == readings.kernel_width:
        say(
            f"kernel width {scenario.kernel_width:.3g}: the median distance between two inputs of "
            f"the calibration period"
        )


def _given(args: Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}
