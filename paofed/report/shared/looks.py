"""How figures call algorithms and baselines, and how these look: told apart in print, too."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from paofed.algorithms.outside import split
from paofed.algorithms.pao_fed import VERSIONS
from paofed.simulate.results.progressive import Whose
from paofed.simulate.table.learners_alone import kind_of


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
        known = STYLES.get(name.partition(":")[0])
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
    "alone": BaselineLook("#777777", "-", "|", "device"),
    "rls": BaselineLook("#5B7F5B", "-", "s", "device"),
    "start": BaselineLook("#5B7F5B", (0, (1.5, 1.5)), "*", "device"),
    "start alone": BaselineLook("#5B7F5B", (0, (5, 2)), "P", "device"),
    "central": BaselineLook("#8C6D31", "-", "D", "server"),
    "batch fourier": BaselineLook("#8C6D31", (0, (5, 2)), "^", "server"),
    "batch linear": BaselineLook("#8C6D31", (0, (1.5, 1.5)), "v", "server"),
    "boost": BaselineLook("#8C6D31", (0, (8, 2, 1, 2)), "p", "server"),
}
# A baseline of a file that a newer version wrote.
_UNKNOWN = BaselineLook("#777777", (0, (5, 2)), "+", "server")
# Dashes of devices that learn like an algorithm's; the rest is as for the baseline.
_APART = (0, (8, 2, 1, 2))


def baseline_look(name: str) -> BaselineLook:
    """Return how a baseline looks; one of a newer version has a look of its own."""
    look = _BASELINES.get(kind_of(name), _UNKNOWN)
    return look if name in _BASELINES else look._replace(dashes=_APART)
