"""How baselines look in every figure: grey, brown or green, beside the algorithms' colours."""

from collections.abc import Mapping
from typing import NamedTuple

from paofed.simulate.results.progressive import Whose
from paofed.simulate.table.learners_alone import kind_of


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
