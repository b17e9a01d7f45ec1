"""A sweep as it is asked for: checked whole before anything is run, and read from TOML."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import Setup, methods_of
from paofed.core.random import key_of
from paofed.errors import AlgorithmError, InputError, about, shown, unknown, whole
from paofed.experiments.sweep import RUNS
from paofed.experiments.sweep.axes import Axes, Span, axis_of, drawn, grid
from paofed.experiments.sweep.points import Layout, laid_out, name_of
from paofed.files import read_text
from paofed.toml import toml_of
from paofed.world.names import PRESETS
from paofed.world.scenario import Scenario
from paofed.world.scenario_text import place_in_text, toml_value
from paofed.world.worlds import MakesTrace, Setting, Worlds, setting_of

_KEYS = ("scenario", "algorithms", "random", "runs", "seed", "fresh", "over")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep: what is tried, and where; made by `asked_for`, which checks it."""

    scenario: Setting
    methods: tuple[Setup | Algorithm, ...]
    axes: Axes
    random: int | None  # how many combinations are drawn; None: all combinations are tried
    runs: int  # worlds, the same for all points
    seed: int
    fresh: int  # worlds that have no part in the choice, for judging the best
    layout: Layout

    @property
    def words(self) -> list[str]:
        """The names of the methods."""
        return list(map(name_of, self.methods))


def asked_for(
    scenario: Scenario | Worlds | MakesTrace | str | Path,
    methods: str | Setup | Algorithm | Sequence[str | Setup | Algorithm],
    over: object,
    *,
    random: int | None = None,
    runs: int = RUNS,
    seed: int = 0,
    fresh: int = 0,
) -> Sweep:
    """Check what is asked for, down to the last point."""
    with about("algorithms"):
        listed = _listed(methods)
    if not isinstance(over, Mapping) or not over:
        raise InputError(
            f"over is {over!r}: expected keys, each with what is tried for it", key="over"
        )
    axes = {key: axis_of(str(key), given) for key, given in over.items()}
    seed, runs = whole("seed", seed), whole("runs", runs, least=1)
    key_of(seed)  # a wrong seed is refused now, not in a thread
    with about("scenario"):
        setting = setting_of(scenario)
    rows = grid(axes) if random is None else drawn(axes, whole("random", random, least=1), seed)
    return Sweep(
        scenario=setting,
        methods=listed,
        axes=axes,
        random=random,
        runs=runs,
        seed=seed,
        fresh=whole("fresh", fresh, least=0),
        layout=laid_out(setting, listed, rows),
    )


def _listed(
    methods: str | Setup | Algorithm | Sequence[str | Setup | Algorithm],
) -> tuple[Setup | Algorithm, ...]:
    """Return the methods that people give, each once."""
    listed = tuple(methods_of(methods))
    if not listed:
        raise AlgorithmError("no algorithm was given: name at least one")
    for one, other in combinations(listed, 2):
        if name_of(one) == name_of(other):
            raise AlgorithmError(f"{name_of(one)} is given twice: give each algorithm once")
        if _content(one) == _content(other):
            raise AlgorithmError(f"{one} and {other} are the same: give each algorithm once")
    return listed


def _content(method: Setup | Algorithm) -> object:
    """Return what a method is, however its options are written and ordered."""
    return (method.row, method.values) if isinstance(method, Setup) else method


def is_sweep(path: str | Path) -> bool:
    """Whether a file is a sweep rather than a scenario: a sweep has a key `over`."""
    if str(path) in PRESETS or not Path(path).is_file():
        return False
    return (
        re.search(r"^[ \t]*(\[over\b|over\b.*=)", read_text(Path(path)), re.MULTILINE) is not None
    )


def load(path: str | Path, **instead: Any) -> Sweep:
    """Read a sweep from TOML; values given by keyword replace the file's.

    Every error names the place of the mistake in the file.
    """
    path, text = Path(path), read_text(Path(path))
    try:
        values = toml_of(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    for key in values:
        if key not in _KEYS:
            raise InputError(f"{_at(key, text, path)}{unknown('key', key, _KEYS)}")
    for key, kind, expected in (
        ("scenario", str, "the name of a preset or of a file"),
        ("algorithms", list, "a list of names"),
        ("over", dict, "a table of keys, each with what is tried for it"),
    ):
        if key not in values:
            raise InputError(f"{path}: {key} is missing: expected {expected}")
        if not isinstance(values[key], kind):
            got = f"{key} is {shown(values[key])}"
            raise InputError(f"{_at(key, text, path)}{got}: expected {expected}")
    for word in values["algorithms"]:
        if not isinstance(word, str):
            where = _at("algorithms", text, path)
            raise InputError(f"{where}algorithms holds {shown(word)}: expected names")
    over = _flat(values.pop("over"))
    scenario, methods = values.pop("scenario"), values.pop("algorithms")
    try:
        return asked_for(_beside(path, scenario), methods, over, **values | instead)
    except InputError as error:
        key = f"over.{error.key}" if error.key in over else error.key or ""
        raise type(error)(f"{_at(key, text, path)}{error}", key=key) from None


def _beside(path: Path, scenario: str) -> str | Path:
    """Return a preset's name, or the path of a scenario file relative to the sweep's file."""
    return scenario if scenario in PRESETS else path.parent / scenario


def _at(key: str, text: str, path: Path) -> str:
    return place_in_text([part for part in key.split(".") if part], text, str(path))


def _flat(over: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return keys with dots for tables in tables: TOML makes tables of `loss.up = [...]`."""
    found: dict[str, Any] = {}
    for key, value in over.items():
        if isinstance(value, dict) and not {"from", "to"} & value.keys():
            found |= _flat(value, f"{above}{key}.")
        else:
            found[f"{above}{key}"] = value
    return found


def to_toml(about: Mapping[str, Any], scenario: str) -> str:
    """Write what a sweep says of itself as a file that `load` reads, apart from its scenario."""
    lines = [
        f"scenario = {toml_value(scenario)}",
        f"algorithms = {toml_value(about['methods'])}",
        f"runs = {about['runs_requested']}",
        f"seed = {about['seed']}",
    ]
    lines += [] if about["random"] is None else [f"random = {about['random']}"]
    lines += [f"fresh = {about['fresh_requested']}"] if about["fresh_requested"] else []
    lines += ["", "[over]"]
    for key, axis in about["axes"].items():
        lines.append(f"{toml_value(key)} = {toml_value(axis.get('values', axis))}")
    return "\n".join(lines) + "\n"


def described(axes: Axes) -> dict[str, Any]:
    """Return what is tried for every key, for provenance."""
    return {
        key: {"from": axis.low, "to": axis.high, "scale": axis.scale}
        if isinstance(axis, Span)
        else {"values": list(axis)}
        for key, axis in axes.items()
    }
