"""The parts that pages are made of: self-contained HTML; nothing is loaded from anywhere."""

import html
import math
from collections.abc import Iterable, Sequence

from paofed.simulate.results.estimates import Estimate

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; margin: 0 auto; padding: 1rem;
  max-width: 60rem; overflow-wrap: anywhere; } table, pre { overflow-wrap: normal; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { margin-top: 2.5rem; } h3 { margin-bottom: .3rem; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; }
figcaption, .note { color: #555; font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; padding: .1rem .5rem; border-radius: .6rem; }
.holds { background: #cfe3f5; color: #08375e; }
.does-not-hold { background: #f8dcc9; color: #6b2600; }
.tie { background: #e6e6e6; } .inconclusive { background: #fff; outline: 1px dashed #999; }
.maps { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.maps table { font-size: .8rem; } .maps caption { text-align: left; max-width: 20rem; }
.maps td { text-align: center; border: 1px solid #fff; min-width: 3.2rem; }
.verdicts th { padding-top: .9rem; } .verdicts td:nth-child(2) { white-space: nowrap; }
@media (max-width: 36rem) {
  .verdicts tr { display: block; border-bottom: 1px solid #ddd; padding: .3rem 0; }
  .verdicts td, .verdicts th { display: inline-block; border: 0; padding: .1rem .4rem; }
}
code, pre { font-size: .85rem; } td code { white-space: nowrap; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f5f5f5; padding: .6rem; }
"""


def document(title: str, parts: Iterable[str], *, under_way: bool = False) -> str:
    """Return a whole page; one that is `under_way` loads itself again every ten seconds."""
    again = "<meta http-equiv='refresh' content='10'>" if under_way else ""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"{again}"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def figure(caption: str, drawing: str) -> str:
    """Return a drawing in SVG with its caption."""
    inline = drawing[drawing.index("<svg") :]  # without the lines that make it a file
    return f"<figure>{inline}<figcaption>{html.escape(caption)}</figcaption></figure>"


def note(text: str) -> str:
    """Return a remark in small letters."""
    return f"<p class='note'>{text}</p>"


def bullets(sentences: Iterable[str]) -> str:
    """Return a list with a point for each sentence."""
    return f"<ul>{''.join(f'<li>{html.escape(sentence)}</li>' for sentence in sentences)}</ul>"


def preformatted(text: str) -> str:
    """Return a text as it stands, with its line breaks."""
    return f"<pre>{html.escape(text)}</pre>"


def number(value: float, digits: int = 2) -> str:
    """Write a number as pages show it."""
    if not math.isfinite(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # and no minus zero


def significant(value: float) -> str:
    """Write a number of any size with four significant digits."""
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"


def interval(found: Estimate) -> str:
    """Write a mean with its interval, where it has one."""
    if not math.isfinite(found.low):
        return number(found.mean)
    return f"{number(found.mean)} [{number(found.low)}, {number(found.high)}]"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int]) -> str:
    """Return a table; the columns in `numeric` are set to the right.

    A row with fewer cells than the header ends in words, which go across the columns that are left.
    """

    def cell(row: Sequence[str], i: int) -> str:
        left = len(header) - i
        if left > 1 and i == len(row) - 1:
            return f"<td colspan={left}>{row[i]}</td>"
        return f"<td{' class=n' if i in numeric else ''}>{row[i]}</td>"

    head = "".join(f"<th>{name}</th>" for name in header)
    body = "".join(f"<tr>{''.join(cell(row, i) for i in range(len(row)))}</tr>" for row in rows)
    return f"<div class='scroll'><table><tr>{head}</tr>{body}</table></div>"
