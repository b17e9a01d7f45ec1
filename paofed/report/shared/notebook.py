"""A result as a notebook shows it: a table, and a small picture of the curves beside it.

The picture is SVG, written here: whoever looks at a result need not wait for matplotlib.
"""

import html
import math

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.report.shared.captions import rank
from paofed.report.shared.looks import UNNAMED, Style, styles
from paofed.report.shared.markup import number
from paofed.simulate.results.result import Result
from paofed.simulate.results.words import headline
from paofed.words import size

_WIDTH, _HEIGHT, _LEFT, _BELOW = 300, 150, 38, 24  # points: of the picture, and beside its axes
_MOST_COLOURS = 12  # algorithms that have one of their own
_MOST_ROWS = 30
_CELL = "style='padding:1px 8px;text-align:{};white-space:nowrap'"
_WORDS, _NUMBERS = _CELL.format("left"), _CELL.format("right")


def as_html(result: Result) -> str:
    """The headline, the table with the best first, and the curves."""
    order = sorted(result.algorithms, key=lambda name: rank(result.final(name).db))
    looks = styles(order[:_MOST_COLOURS])
    rows = [_row(result, name, looks.get(name, UNNAMED)) for name in order[:_MOST_ROWS]]
    if len(order) > len(rows):
        rows.append(f"<tr><td {_WORDS}>and {len(order) - len(rows)} more</td></tr>")
    heads = "".join(
        f"<th {look}>{text}</th>"
        for text, look in (
            ("algorithm", _WORDS),
            ("error (dB)", _NUMBERS),
            ("s.e.", _NUMBERS),
            ("sent up", _NUMBERS),
            ("sent down", _NUMBERS),
        )
    )
    about = (
        "Error on all samples that count" if result.progressive is not None
        else "Error over the last 5 % of the ticks"
    )  # fmt: skip
    return (
        f"<div><strong>{html.escape(headline(result))}</strong>"
        "<div style='display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start'>"
        f"<table style='border-collapse:collapse;font-size:90%'><tr>{heads}</tr>{''.join(rows)}"
        f"</table>{_picture(result, looks)}</div>"
        f"<small>{about}, mean over runs and its standard error; payload of a run.</small></div>"
    )


def _row(result: Result, name: str, look: Style) -> str:
    final, wire = result.final(name), result.run_wire(name)
    error = number(final.db) if math.isfinite(final.db) else "diverged"
    sent = [size(float(way[:, -1].mean())) for way in (wire.up, wire.down)]
    mark = f"<span style='color:{look.colour}'>&#9632;</span>"
    cells = "".join(
        f"<td {_NUMBERS}>{cell}</td>" for cell in (error, number(final.standard_error), *sent)
    )
    return f"<tr><td {_WORDS}>{mark} <code>{html.escape(name)}</code></td>{cells}</tr>"


def _picture(result: Result, looks: dict[str, Style]) -> str:
    """The mean curves in dB over ticks, with the ends of both axes named; none where all diverged.

    Baselines of a table are not in it.
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
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[shown], y[shown], strict=True))
    dashes = "none" if isinstance(look.dashes, str) else " ".join(map(str, look.dashes[1]))
    return (
        f"<polyline points='{points}' fill='none' stroke='{look.colour}' stroke-width='1.4' "
        f"stroke-dasharray='{dashes}'/>"
    )
