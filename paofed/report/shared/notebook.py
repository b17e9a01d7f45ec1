"""A result as a notebook shows it: a table, and a small picture of the curves beside it.

The picture is SVG that this module writes itself, so that nobody waits for matplotlib.
"""

import html
import math

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.report.shared.captions import rank
from paofed.report.shared.looks import Style, styles
from paofed.report.shared.markup import number
from paofed.simulate.results.result import Result
from paofed.simulate.results.statistics import Final
from paofed.simulate.results.words import finals_of, headline
from paofed.words import size

# Points: the size of the picture, and the room to the left of its axes and below them.
_WIDTH, _HEIGHT, _LEFT, _BELOW = 300, 150, 38, 24
_MOST_COLOURS = 12  # the most algorithms that have a colour and a curve
_MOST_ROWS = 30
_CELL = "style='padding:1px 8px;text-align:{};white-space:nowrap'"
_WORDS, _NUMBERS = _CELL.format("left"), _CELL.format("right")


def as_html(result: Result) -> str:
    """Return a result as HTML: a headline, a table with the best algorithm first, and curves."""
    finals = {name: list(finals_of(result, name).values()) for name in result.algorithms}
    order = sorted(finals, key=lambda name: rank(finals[name][0].db))
    looks = styles(order[:_MOST_COLOURS])
    rows = [_row(result, name, finals[name], looks.get(name)) for name in order[:_MOST_ROWS]]
    if len(order) > len(rows):
        rows.append(f"<tr><td {_WORDS}>and {len(order) - len(rows)} more</td></tr>")
    errors = [cell for whose in finals_of(result, order[0]) for cell in (f"{whose} (dB)", "s.e.")]
    heads = "".join(f"<th {_NUMBERS}>{text}</th>" for text in (*errors, "sent up", "sent down"))
    about = (
        "Error over the last 5 % of the ticks, and its curve"
        if result.progressive is None
        else "Error on all samples that count, and that of the devices until each tick"
    )
    return (
        f"<div><strong>{html.escape(headline(result))}</strong>"
        "<div style='display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start'>"
        "<table style='border-collapse:collapse;font-size:90%'>"
        f"<tr><th {_WORDS}>algorithm</th>{heads}</tr>{''.join(rows)}</table>"
        f"{_picture(result, looks)}</div>"
        f"<small>{about}; mean over runs with its standard error, payload of a run.</small></div>"
    )


def _row(result: Result, name: str, finals: list[Final], look: Style | None) -> str:
    wire = result.run_wire(name)
    sent = [size(float(way[:, -1].mean())) for way in (wire.up, wire.down)]
    errors = [
        cell
        for final in finals
        for cell in (
            number(final.db) if math.isfinite(final.db) else "diverged",
            number(final.standard_error),
        )
    ]
    line = "" if look is None else f"<svg width='24' height='8'>{_line('0,4 24,4', look)}</svg>"
    cells = "".join(f"<td {_NUMBERS}>{cell}</td>" for cell in (*errors, *sent))
    return f"<tr><td {_WORDS}>{line} <code>{html.escape(name)}</code></td>{cells}</tr>"


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
        f"<g font-size='10' fill='currentColor' font-family='sans-serif'>"
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
