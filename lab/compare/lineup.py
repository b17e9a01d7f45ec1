"""Which entrants are compared, and what each may choose.

Equally many candidates for all, but for those that share sums, which have fewer.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from lab import grids
from paofed.algorithms import taken_by
from paofed.errors import InputError, unknown
from paofed.experiments.candidates import Axes, Choices, Entrant
from paofed.experiments.sweep.axes import Span, axis_from_text
from paofed.report.comparison.page import PAO_FED

SEARCH = 24  # the number of candidates of an entrant, and the most of one that shares sums

_STEPS: Axes = {"step_size": grids.COMPARED}
_MORE_STEPS: Axes = {"step_size": grids.COMPARED_FINE}
_AGES: Axes = {"staleness": (1.0, 0.2)}
# Widths that suit the budgets: the second is that of the paper; None is the whole model.
_WIDTHS: Axes = {"shared": (1, 4, 32, 128)}
_OR_WHOLE: Axes = {"shared": (1, 4, 32, None)}
_LARGEST: Axes = {"k": (4, 32), "down": (1, 8)}

LINEUP: Mapping[str, Entrant] = {
    # The paper's family: uncoordinated, coordinated, with a subset, and whole models.
    "pao-fed-u": Entrant.of("pao-fed-u1", {**_WIDTHS, **_STEPS, **_AGES}),
    "pao-fed-c": Entrant.of("pao-fed-c1", {**_WIDTHS, **_STEPS, **_AGES}),
    "pso-fed": Entrant.of("pso-fed", {"shared": (4, 32), "subset": (0.1, 0.3), **_STEPS, **_AGES}),
    "online-fed": Entrant.of("online-fed", {"subset": (0.02, 0.1, 0.3, 0.6), **_STEPS, **_AGES}),
    "online-fedsgd": Entrant.of(
        "online-fedsgd",
        {"step_size": grids.COMPARED_FINEST, "staleness": (1.0, 0.5, 0.2)},
    ),
    # Asynchronous servers.
    "fed-async": Entrant.of("fed-async", {**_OR_WHOLE, **_STEPS, "alpha": (0.6, 0.1)}),
    "fed-buff": Entrant.of("fed-buff", {**_OR_WHOLE, **_STEPS, "buffer": (10, 40)}),
    "cached-mean": Entrant.of("cached-mean", {**_OR_WHOLE, **_MORE_STEPS}),
    "ace": Entrant.of("ace", {**_OR_WHOLE, **_STEPS, "rate": (1.0, 0.1)}),
    "ca2fl": Entrant.of("ca2fl", {**_OR_WHOLE, **_STEPS, "buffer": (10, 40)}),
    "temporally-weighted": Entrant.of("temporally-weighted", {**_OR_WHOLE, **_MORE_STEPS}),
    "aso-fed": Entrant.of("aso-fed", {**_OR_WHOLE, **_STEPS, "pull": (1.0, 0.1)}),
    "fed-at": Entrant.of("fed-at", {**_OR_WHOLE, **_STEPS, "tiers": (2, 5)}),
    # Other channels: what travels.
    "masked": Entrant.of("masked", {**_WIDTHS, **_STEPS, **_AGES}),
    "quantised-8": Entrant.of("quantised:bits=8,down_bits=8", {**_WIDTHS, **_STEPS, **_AGES}),
    "quantised-4": Entrant.of("quantised:bits=4,down_bits=4", {**_WIDTHS, **_STEPS, **_AGES}),
    "top-k": Entrant.of("top-k", {**_LARGEST, **_STEPS, **_AGES}),
    "ternary": Entrant.of("ternary", {**_LARGEST, **_MORE_STEPS}),
    "triggered": Entrant.of(
        "triggered:staleness=0.2", {**_WIDTHS, **_STEPS, "threshold": (0.1, 0.3)}
    ),
    "triggered-by-chance": Entrant.of(
        "triggered:rule=stochastic,staleness=0.2",
        {**_WIDTHS, **_STEPS, "threshold": (0.1, 0.3)},
    ),
    "wide-down": Entrant.of("wide-down", {"up": (1, 4), "down": (16, 64), **_STEPS, **_AGES}),
    # Other devices: what a device does with a sample; and a server with momentum.
    "fed-prox": Entrant.of("fed-prox", {**_OR_WHOLE, **_STEPS, "pull": (0.1, 0.01)}),
    "decaying": Entrant.of("decaying", {**_WIDTHS, **_STEPS, "half": (500.0, 2000.0)}),
    "server-momentum": Entrant.of(
        "server-momentum", {**_OR_WHOLE, **_STEPS, "momentum": (0.9, 0.5)}
    ),
    # Sums instead of models. No step size changes a sum, and many features take long to run: few
    # candidates, widths that end where the budgets do.
    "one-shot-ridge": Entrant.of(
        "one-shot-ridge", {"after": (100, 400), "most": (16, 36, 128, None)}
    ),
    "fed-ridge": Entrant.of("fed-ridge", {"shared": (2, 8, 32, 128), "most": (40, 120)}),
    # Several of these together.
    "quantised-clipped": Entrant.of(
        "quantised:bits=8,down_bits=8,clip=6", {**_WIDTHS, **_STEPS, **_AGES}
    ),
    "cached-quantised": Entrant.of("cached-mean:bits=8", {**_WIDTHS, **_MORE_STEPS}),
}
_NO_NAME = re.compile(r"[^\w.-]+")  # what a name has not, since the files of entrants bear names


def entrants_of(names: str | None, own: Iterable[Sequence[str]] = ()) -> dict[str, Entrant]:
    """Return entrants by name, with commas; None for all of them; and those of one's own.

    PAO-Fed is always among them, since the others are compared with it. Each of `own` is what
    `own_entrant` takes.
    """
    chosen = list(LINEUP) if names is None else [*PAO_FED, *names.split(",")]
    for name in chosen:
        if name not in LINEUP:
            raise InputError(unknown("entrant", name, LINEUP))
    found = {name: LINEUP[name] for name in LINEUP if name in chosen}
    for word, *grid in own:
        name = _NO_NAME.sub("-", word)
        if name in found:
            raise InputError(f"{word} is an entrant already: name each of them once")
        found[name] = own_entrant(word, grid)
    return found


def own_entrant(word: str, grid: Sequence[str]) -> Entrant:
    """Return an algorithm's word with what it may choose from, as in `shared=1,4` for an option.

    >>> print(*own_entrant("online-fed:step_size=0.4", ["subset=0.1,0.3"]).candidates())
    online-fed:step_size=0.4,subset=0.1 online-fed:step_size=0.4,subset=0.3
    """
    axes = dict(map(_axis, grid))
    if len(axes) < len(grid):
        raise InputError(f"{word} {' '.join(grid)}: expected each option once")
    entrant = Entrant.of(word, axes)
    known = taken_by(entrant.setup.row)
    for key in axes:
        if key not in known:
            raise InputError(f"{word}: {unknown('option', key, known)}", key=key)
    if taken := axes.keys() & entrant.setup.values.keys():
        raise InputError(f"{word} {' '.join(grid)}: {taken.pop()} is given twice")
    if (tried := prod(map(len, axes.values()))) > SEARCH:
        raise InputError(
            f"{word} has {tried} candidates: expected at most {SEARCH}, as many as every other "
            f"entrant has"
        )
    for candidate in entrant.candidates():
        candidate.algorithm()  # an option that the method does not take is refused now
    return entrant


def _axis(text: str) -> tuple[str, Choices]:
    """Read an option and the values to choose from."""
    key, values = axis_from_text(text)
    if isinstance(values, Span):
        raise InputError(f"{text} is a span: expected values, as in {key}=0.3,0.7,1.2")
    return key, values
