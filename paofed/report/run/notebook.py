"""A result as a notebook shows it: a table, and a small picture of the curves beside it.

The picture is SVG that a template writes, so that nobody waits for matplotlib.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.report.run.advice import in_own_unit
from paofed.report.run.advice_words import own_unit_words, why_otherwise
from paofed.report.shared.looks import rank, styles
from paofed.report.shared.pages import number, page, significant
from paofed.simulate.results.estimates import Final, over_runs_db
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.results.words import finals_of, headline
from paofed.table import best_places, error, typeset
from paofed.words import size

_MOST_COLOURS = 12  # the most algorithms that have a colour and a curve
_MOST_ROWS = 30


class _Column(NamedTuple):
    head: str
    cells: list[str]
    best: Collection[int] = ()


class _Picture(NamedTuple):
    """Curves as points, in a frame with the ends of both axes."""

    high: str
    low: str
    ticks: int
    lines: dict[str, str]
    width: int = 300
    height: int = 150
    left: int = 38
    top: int = 6
    across: int = 256  # the room between the axes
    down: int = 116


def as_html(result: Result) -> str:
    """Return a result as HTML: a headline, a table with the best algorithm first, and curves."""
    order = sorted(result.algorithms, key=lambda name: rank(_finals(result, name)[0].db))
    looks, shown = styles(order[:_MOST_COLOURS]), order[:_MOST_ROWS]
    return page(
        "notebook.html.j2",
        headline=headline(result),
        names=shown,
        looks=looks,
        columns=list(_columns(result, shown)),
        more=len(order) - len(shown),
        picture=_picture(result, looks),
        in_unit=_in_unit(result),
    )


def _finals(result: Result, name: str) -> list[Final]:
    return list(finals_of(result, name).values())


def _columns(result: Result, names: Sequence[str]) -> Iterator[_Column]:
    """Yield errors, with the best of each column, and what was sent."""
    for i, whose in enumerate(finals_of(result, names[0])):
        finals = [_finals(result, name)[i] for name in names]
        db = [final.db for final in finals]
        yield _Column(f"{whose} (dB)", [typeset(error(value)) for value in db], best_places(db))
        yield _Column("s.e.", [number(final.standard_error) for final in finals])
    if own := list(filter(None, (result.own_unit(name, "device") for name in names))):
        for head, values in (("RMSE", [one.rmse for one in own]), ("R²", [one.r2 for one in own])):
            best = best_places(values, most=head == "R²")
            yield _Column(f"device {head}", [significant(value) for value in values], best)
    wires = [result.run_wire(name) for name in names]
    yield _Column("sent up", [size(float(wire.up[:, -1].mean())) for wire in wires])
    yield _Column("sent down", [size(float(wire.down[:, -1].mean())) for wire in wires])


def _in_unit(result: Result) -> str:
    """Say who is best in the target's own unit, baselines included; only for runs over a table."""
    if not isinstance(result, TableResult):
        return ""
    found = in_own_unit(result, result.lives)
    return own_unit_words(found) + (f" {why_otherwise(found)}" if found.disagrees else "")


def _picture(result: Result, names: Iterable[str]) -> _Picture | None:
    """Return the mean curves in dB over ticks.

    Baselines of a table are not drawn. There is no picture where all curves have diverged.
    """
    whose = result.judged_models[0]
    curves = {name: over_runs_db(result.run_curves_of(name, whose))[0] for name in names}
    finite = [db[np.isfinite(db)] for db in curves.values()]
    every = np.concatenate([part for part in finite if part.size] or [np.zeros(0)])
    if not every.size:
        return None
    low, high = float(every.min()), float(every.max())
    empty = _Picture(number(high, 1), number(low, 1), int(result.ticks[-1]) + 1, {})
    x = empty.left + (result.ticks + 1) / empty.ticks * empty.across
    scale = empty.down / ((high - low) or 1.0)
    lines = {name: _points(x, empty.top + (high - db) * scale) for name, db in curves.items()}
    return empty._replace(lines=lines)


def _points(x: FloatArray, y: FloatArray) -> str:
    shown = np.isfinite(y)
    points = zip(x[shown], y[shown], strict=True)
    return " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
