"""How algorithms look in every figure: told apart in print and in colour blindness."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


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
