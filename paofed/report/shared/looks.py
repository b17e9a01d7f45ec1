"""How figures call what they show, and how it looks: titles, names, step sizes, colours, dashes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, NamedTuple

from paofed.algorithms.outside import split
from paofed.algorithms.pao_fed import VERSIONS
from paofed.errors import InputError, unknown
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result
from paofed.simulate.table.learners_alone import kind_of
from paofed.words import counted


class Style(NamedTuple):
    """How an algorithm looks in every figure."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]


# Okabe and Ito's colours, told apart by all; coordinated versions are dashed.
_DASHED, DOTTED = (0, (5, 2)), (0, (1.5, 1.5))
STYLES: Mapping[str, Style] = {
    "online-fedsgd": Style("#000000", "-"),
    "online-fed": Style("#000000", DOTTED),
    "pso-fed": Style("#009E73", "-"),
    "pao-fed-c0": Style("#999999", _DASHED),
    "pao-fed-u0": Style("#999999", "-"),
    "pao-fed-c1": Style("#E69F00", _DASHED),
    "pao-fed-u1": Style("#D55E00", "-"),
    "pao-fed-c2": Style("#56B4E9", _DASHED),
    "pao-fed-u2": Style("#0072B2", "-"),
    "pao-fed-u1:shared=1": Style("#CC79A7", DOTTED),
    "pao-fed-u1:shared=32": Style("#CC79A7", "-"),
    "online-fed:subset=0.02": Style("#000000", DOTTED),
    "online-fed:subset=0.1": Style("#000000", _DASHED),
    "online-fed:subset=0.5": Style("#000000", (0, (8, 2, 1, 2))),
}
_SPARE = ("#4B0082", "#5F9E00", "#7B3F00", "#B22222")  # for variants and one's own algorithms
UNNAMED = Style("#BBBBBB", "-")  # for algorithms that the legend does not name


def styles(names: Sequence[str]) -> dict[str, Style]:
    """Return one style per algorithm: its own for a row of the table, spare ones for others."""
    chosen: dict[str, Style] = {name: STYLES[name] for name in names if name in STYLES}
    for name in (name for name in names if name not in chosen):
        known = STYLES.get(split(name)[0])
        if known is None or known in chosen.values():
            spare = sum(style.colour in _SPARE for style in chosen.values())
            dashes = ("-", _DASHED, DOTTED)[spare // len(_SPARE) % 3]
            known = Style(_SPARE[spare % len(_SPARE)], dashes)
        chosen[name] = known
    return {name: chosen[name] for name in names}


# Methods that have a name in the literature; every other identifier stands for itself.
_NAMES: Mapping[str, str] = {
    "online-fedsgd": "Online-FedSGD",
    "online-fed": "Online-Fed",
    "pso-fed": "PSO-Fed",
    **{f"pao-fed-{version}": f"PAO-Fed-{version.upper()}" for version in VERSIONS},
    "fed-async": "FedAsync",
    "fed-buff": "FedBuff",
    "ace": "ACE",
    "aced": "ACED",
    "ca2fl": "CA2FL",
    "aso-fed": "ASO-Fed",
    "fed-at": "FedAT",
    "fed-prox": "FedProx",
}


def method_name(identifier: str) -> str:
    """Return how a figure calls an algorithm: the name of its method, then its options in words.

    The identifier of a method without a name in the literature is returned as it is.

    >>> method_name("pao-fed-u1:shared=32,step_size=0.2")
    'PAO-Fed-U1, shared 32, step size 0.2'
    """
    base, options = split(identifier)
    if base not in _NAMES:
        return identifier
    words = (options or "").replace("=", " ").replace("_", " ")
    return ", ".join(filter(None, (_NAMES[base], *words.split(","))))


class BaselineLook(NamedTuple):
    """How a baseline looks, and beside whose models it is drawn over time."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str
    whose: Whose


_BASELINES: Mapping[str, BaselineLook] = {
    "last value": BaselineLook("#777777", (0, (1.5, 1.5)), "x", "device"),
    "seasonal naive": BaselineLook("#777777", (0, (5, 2)), "1", "device"),
    "alone": BaselineLook("#777777", "-", "|", "device"),
    "rls": BaselineLook("#5B7F5B", "-", "s", "device"),
    "start": BaselineLook("#5B7F5B", (0, (1.5, 1.5)), "*", "device"),
    "start alone": BaselineLook("#5B7F5B", (0, (5, 2)), "P", "device"),
    "central": BaselineLook("#8C6D31", "-", "D", "server"),
    "batch fourier": BaselineLook("#8C6D31", (0, (5, 2)), "^", "server"),
    "batch linear": BaselineLook("#8C6D31", (0, (1.5, 1.5)), "v", "server"),
    "boost": BaselineLook("#8C6D31", (0, (8, 2, 1, 2)), "p", "server"),
    "mondrian": BaselineLook("#8C6D31", (0, (3, 1, 1, 1)), "<", "server"),
    "adaptive forest": BaselineLook("#8C6D31", (0, (3, 1, 1, 1, 1, 1)), ">", "server"),
}
# Dashes of devices that learn like an algorithm's; the rest is as for the baseline.
_APART = (0, (8, 2, 1, 2))


def baseline_look(name: str) -> BaselineLook:
    """Return how a baseline looks."""
    look = _BASELINES[kind_of(name)]
    return look if name in _BASELINES else look._replace(dashes=_APART)


_MOST = 12  # curves that the eye can tell apart
_EXTREMES = 5  # of more curves, so many of the best and of the worst have names


class Cast(NamedTuple):
    """Which algorithms a figure names, and which it only draws."""

    named: list[str]
    others: list[str]

    @property
    def others_label(self) -> str:
        """The legend's label of algorithms without a name."""
        return f"{counted(len(self.others), 'other')}, between these"


def cast(errors: Mapping[str, float]) -> Cast:
    """Choose who is named: all where they can be told apart, else the best and the worst.

    `errors` are final errors in dB; NaN is the error of an algorithm that has diverged.
    """
    if len(errors) <= _MOST:
        return Cast(list(errors), [])
    order = sorted(errors, key=lambda name: rank(errors[name]))
    between = set(order[_EXTREMES:-_EXTREMES])
    return Cast(
        [name for name in errors if name not in between],
        [name for name in errors if name in between],
    )


def rank(db: float) -> float:
    """Return what to sort errors by: NaN, of an algorithm that has diverged, comes last."""
    return math.inf if math.isnan(db) else db


def default_title(result: Result, names: Iterable[str] | None = None) -> str:
    """Say what was run, with the step size and kernel width that hold for all that is shown."""
    scenario = result.provenance["scenario"]
    said = counted(result.runs, "run"), step_size(result, names), _kernel_width(scenario)
    return f"{scenario['name']}: {', '.join(filter(None, said))}"


def _kernel_width(scenario: Mapping[str, Any]) -> str:
    """Say the kernel width, where there is one for all runs."""
    if "kernel_width" not in scenario:  # worlds of one's own have none
        return ""
    width = float(f"{scenario['kernel_width']:.4g}")  # the width of a table has all its digits
    return f"kernel width {width}"


def step_size(result: Result, names: Iterable[str] | None = None) -> str:
    """Say the step size: that of all that is shown, or of those whose name has none."""
    used, usual = _used(result, names), result.provenance["scenario"]["step_size"]
    if len(used) == 1:
        return f"step size {used.pop()}"
    return f"step size {usual} where none is named" if usual in used else ""


def entries(result: Result, names: Sequence[str]) -> dict[str, str]:
    """Return what a legend calls algorithms: their methods, with step sizes where these differ."""
    own, differ = _own(result), len(_used(result, names)) > 1

    def untold(name: str) -> bool:
        return differ and name in own and "step_size=" not in name

    return {
        name: f"{method_name(name)}, step size {own[name]}" if untold(name) else method_name(name)
        for name in names
    }


def bands(runs: int) -> str:
    """Say what the bands are."""
    return f"bands: 95 % intervals\nof the mean of {counted(runs, 'run')}"


Bands = Literal["interval", "standard error"] | tuple[float, float] | None


def band_words(bands: Bands, runs: int) -> str | None:
    """Return what the legend says of bands; None where there are no bands to draw."""
    words = {"interval": "95 % interval", "standard error": "standard error"}
    if bands is None:
        return None
    if isinstance(bands, str):
        if bands not in words:
            raise InputError(f"{unknown('bands', bands, words)}, two percentiles, or None")
        said = words[bands]
    else:
        low, high = _percentiles(bands)
        said = f"{low:g}th to {high:g}th percentile"
    return said if runs > 1 else None


def _percentiles(bands: object) -> tuple[float, float]:
    """Take two rising percentiles, as a tuple or a list."""
    ends = list(bands) if isinstance(bands, tuple | list) else []
    numbers = len(ends) == 2 and all(isinstance(end, Real) for end in ends)
    if not numbers or not 0 <= ends[0] < ends[1] <= 100:
        raise InputError(f"bands is {bands!r}: expected two rising percentiles, as in (10, 90)")
    return ends[0], ends[1]


def _own(result: Result) -> dict[str, float]:
    """Return the step sizes of algorithms that do not leave it to the scenario."""
    described = result.provenance["algorithms"]
    return {d["name"]: d["step_size"] for d in described if d.get("step_size") is not None}


def _used(result: Result, names: Iterable[str] | None) -> set[float]:
    """Return the step sizes in a figure; baselines have the scenario's."""
    own, usual = _own(result), result.provenance["scenario"]["step_size"]
    used = {own.get(name, usual) for name in (result.algorithms if names is None else names)}
    return used | {usual} if result.baselines else used
