"""A result as a notebook shows it: a table, and a small picture of the curves beside it.

The picture is SVG that this module writes itself, so that nobody waits for matplotlib.
"""

import html
import math
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.report.shared.captions import best_places, rank
from paofed.report.shared.looks import Style, styles
from paofed.report.shared.markup import number, significant
from paofed.report.shared.own_unit import in_own_unit, own_unit_words, why_otherwise
from paofed.simulate.results.estimates import Final
from paofed.simulate.results.result import Result
from paofed.simulate.results.words import finals_of, headline
from paofed.words import size

# Points: the size of the picture, and the room to the left of its axes and below them.
_WIDTH, _HEIGHT, _LEFT, _BELOW = 300, 150, 38, 24
_MOST_COLOURS = 12  # the most algorithms that have a colour and a curve
_MOST_ROWS = 30
_CELL = "style='padding:1px 8px;text-align:{};white-space:nowrap'"
_WORDS, _NUMBERS = _CELL.format("left"), _CELL.format("right")
_HEAD = _NUMBERS.replace("nowrap", "normal;vertical-align:bottom")


def as_html(result: Result) -> str:
    """Return a result as HTML: a headline, a table with the best algorithm first, and curves."""
    order = sorted(result.algorithms, key=lambda name: rank(_finals(result, name)[0].db))
    looks, shown = styles(order[:_MOST_COLOURS]), order[:_MOST_ROWS]
    columns = list(_columns(result, shown))
    rows = [
        _row(name, looks.get(name), cells)
        for name, *cells in zip(shown, *(column.cells for column in columns), strict=True)
    ]
    if len(order) > len(rows):
        rows.append(f"<tr><td {_WORDS}>and {len(order) - len(rows)} more</td></tr>")
    heads = "".join(f"<th scope='col' {_HEAD}>{column.head}</th>" for column in columns)
    about = (
        "Error over the last 5 % of the ticks, and its curve"
        if result.progressive is None
        else "Error on all samples that count, and that of the devices until each tick"
    )
    return (
        f"<div><strong>{html.escape(headline(result))}</strong>"
        "<div style='display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start'>"
        "<table style='border-collapse:collapse;font-size:90%'>"
        f"<tr><th scope='col' {_WORDS}>algorithm</th>{heads}</tr>{''.join(rows)}</table>"
        f"{_picture(result, looks)}</div>{_in_unit(result)}"
        f"<small>{about}; mean over runs with its standard error, payload of a run.</small></div>"
    )


class _Column(NamedTuple):
    head: str
    cells: list[str]


def _finals(result: Result, name: str) -> list[Final]:
    return list(finals_of(result, name).values())


def _columns(result: Result, names: Sequence[str]) -> Iterator[_Column]:
    """Yield errors, with the best of each column in bold, and what was sent."""
    for i, whose in enumerate(finals_of(result, names[0])):
        finals = [_finals(result, name)[i] for name in names]
        db = [final.db for final in finals]
        texts = [number(value) if math.isfinite(value) else "diverged" for value in db]
        yield _Column(f"{whose} (dB)", _bold(texts, best_places(db)))
        yield _Column("s.e.", [number(final.standard_error) for final in finals])
    if result.lives is not None:
        own = [result.lives.own_unit(name, "device") for name in names]
        for head, values in (("RMSE", [one.rmse for one in own]), ("R²", [one.r2 for one in own])):
            best = best_places(values, most=head == "R²")
            yield _Column(f"device {head}", _bold([significant(value) for value in values], best))
    wires = [result.run_wire(name) for name in names]
    yield _Column("sent up", [size(float(wire.up[:, -1].mean())) for wire in wires])
    yield _Column("sent down", [size(float(wire.down[:, -1].mean())) for wire in wires])


def _bold(texts: Sequence[str], best: Collection[int]) -> list[str]:
    return [f"<strong>{text}</strong>" if i in best else text for i, text in enumerate(texts)]


def _row(name: str, look: Style | None, cells: Sequence[str]) -> str:
    line = (
        ""
        if look is None
        else f"<svg width='24' height='8' aria-hidden='true'>{_line('0,4 24,4', look)}</svg>"
    )
    told = "".join(f"<td {_NUMBERS}>{cell}</td>" for cell in cells)
    return f"<tr><td {_WORDS}>{line} <code>{html.escape(name)}</code></td>{told}</tr>"


def _in_unit(result: Result) -> str:
    """Say who is best in the target's own unit, baselines included; only for runs over a table."""
    if result.lives is None:
        return ""
    found = in_own_unit(result, result.lives)
    said = own_unit_words(found) + (f" {why_otherwise(found)}" if found.disagrees else "")
    return f"<p>{html.escape(said)}</p>"


def _picture(result: Result, looks: dict[str, Style]) -> str:
    """Return the mean curves in dB over ticks as SVG, with the ends of both axes labelled.

    Baselines of a table are not drawn. There is no picture where all curves have diverged.
    """
    curves = {name: _curve(result, name) for name in looks}
    finite = [db[np.isfinite(db)] for db in curves.values()]
    every = np.concatenate([part for part in finite if part.size] or [np.zeros(0)])
    if not every.size:
        return ""
    low, high = float(every.min()), float(every.max())
    room, ticks = (high - low) or 1.0, int(result.ticks[-1]) + 1
    across, down = _WIDTH - _LEFT - 6, _HEIGHT - _BELOW - 10
    x = _LEFT + (result.ticks + 1) / ticks * across
    lines = [
        _polyline(x, 6 + (high - db) / room * down, looks[name]) for name, db in curves.items()
    ]
    bottom = 6 + down
    axes = (
        f"<path d='M{_LEFT} 6V{bottom}H{_LEFT + across}' fill='none' stroke='#888'/>"
        f"<g font-size='11' fill='currentColor' font-family='sans-serif'>"
        f"<text x='{_LEFT - 4}' y='14' text-anchor='end'>{number(high, 1)}</text>"
        f"<text x='{_LEFT - 4}' y='{bottom}' text-anchor='end'>{number(low, 1)}</text>"
        f"<text x='{_LEFT - 4}' y='{(bottom + 14) / 2}' text-anchor='end'>dB</text>"
        f"<text x='{_LEFT}' y='{bottom + 14}'>0</text>"
        f"<text x='{_LEFT + across / 2}' y='{bottom + 14}' text-anchor='middle'>tick</text>"
        f"<text x='{_LEFT + across}' y='{bottom + 14}' text-anchor='end'>{ticks:,}</text></g>"
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{_HEIGHT}' "
        f"viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='error over ticks'>"
        f"{axes}{''.join(lines)}</svg>"
    )


def _curve(result: Result, name: str) -> FloatArray:
    judged = result.progressive
    return result.curve_db(name)[0] if judged is None else judged.until_db(name, "device")


def _polyline(x: FloatArray, y: FloatArray, look: Style) -> str:
    shown = np.isfinite(y)
    points = zip(x[shown], y[shown], strict=True)
    return _line(" ".join(f"{across:.1f},{down:.1f}" for across, down in points), look)


def _line(points: str, look: Style) -> str:
    dashes = "none" if isinstance(look.dashes, str) else " ".join(map(str, look.dashes[1]))
    return (
        f"<polyline points='{points}' fill='none' stroke='{look.colour}' "
        f"stroke-width='1.4' stroke-dasharray='{dashes}'/>"
    )
