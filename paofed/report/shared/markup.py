"""The parts that pages are made of: self-contained HTML; nothing is loaded from anywhere."""

import html
import math
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from paofed import table as written
from paofed.files import read_text
from paofed.simulate.results.estimates import Estimate
from paofed.table import code as code  # for pages
from paofed.table import estimated, typeset

_STYLE = read_text(Path(__file__).with_name("page.css"))
_INCHES_PER_REM = 0.16  # a rem is 16 pixels
_HEADING = re.compile(r"<h2 id='(.*?)'>(.*?)</h2>")


def document(
    title: str, lead: Iterable[str], parts: Iterable[str], *, under_way: bool = False
) -> str:
    """Return a whole page: its title, links to its sections, what it says in short, the rest.

    `lead` is what the first screen shows: a sentence and a picture. A page that is `under_way`
    loads itself again every ten seconds.
    """
    again = "<meta http-equiv='refresh' content='10'>" if under_way else ""
    name, first, rest = html.escape(title), "\n".join(lead), "\n".join(parts)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"{again}"
        f"<title>{name}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{name}</h1>{_contents(rest)}\n{first}\n{rest}</body></html>\n"
    )


def _contents(parts: str) -> str:
    """Return links to the sections of a page; nothing where there are none yet."""
    links = "".join(
        f"<li><a href='#{key}'>{text}</a></li>" for key, text in _HEADING.findall(parts)
    )
    return f"<nav aria-label='Contents'><ul>{links}</ul></nav>" if links else ""


def heading(text: str) -> str:
    """Return the heading of a section, which the contents of the page link to."""
    key = re.sub(r"\W+", "-", text.lower()).strip("-")
    return f"<h2 id='{key}'>{html.escape(text)}</h2>"


def lead(*sentences: str) -> str:
    """Return what the page says before all else."""
    return f"<p class='lead'>{html.escape(' '.join(sentences))}</p>"


def figure(caption: str, drawing: str) -> str:
    """Return a drawing in SVG with its caption, the first sentence of which is its title.

    An inch of the drawing is a hundred pixels at most, so that letters of all drawings are alike.
    """
    inline = drawing[drawing.index("<svg") :]  # without the lines that make it a file
    said, title = html.escape(caption), html.escape(re.split(r"(?<=[.;])\s", caption)[0])
    points = re.match(r"<svg[^>]*\bwidth=\"([\d.]+)pt\"", inline)
    widest = (
        f" style='max-width: {float(points[1]) / 72 / _INCHES_PER_REM:.4g}rem'" if points else ""
    )
    named = inline.replace("<svg", f"<svg role='img'{widest}", 1)
    named = named.replace(">", f"><title>{title}</title><desc>{said}</desc>", 1)
    return f"<figure>{named}<figcaption>{said}</figcaption></figure>"


def note(text: str) -> str:
    """Return a remark in small letters."""
    return f"<p class='note'>{text}</p>"


def bullets(sentences: Iterable[str]) -> str:
    """Return a list with a point for each sentence."""
    return f"<ul>{''.join(f'<li>{html.escape(sentence)}</li>' for sentence in sentences)}</ul>"


def preformatted(text: str) -> str:
    """Return a text as it stands, with its line breaks."""
    return f"<pre>{html.escape(text)}</pre>"


def details(summary: str, inside: str) -> str:
    """Return what is shown when somebody asks for it, under a line that says what it is."""
    return f"<details><summary>{html.escape(summary)}</summary>{inside}</details>"


def number(value: float, digits: int = 2) -> str:
    """Write a number as pages show it."""
    return typeset(written.number(value, digits))


def significant(value: float) -> str:
    """Write a number of any size with four significant digits."""
    return typeset(written.significant(value))


def interval(found: Estimate, digits: int = 2) -> str:
    """Write a mean with its interval, where it has one."""
    if not math.isfinite(found.mean):
        return number(found.mean)
    return typeset(estimated(found, "brackets", digits=digits))


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: Collection[int],
    best: Collection[tuple[int, int]] = (),
) -> str:
    """Return a table; the columns in `numeric` are set to the right.

    `best` are the cells, by row and column, that are the best of their column. A row with fewer
    cells than the header ends in words, which go across the columns that are left.
    """

    def cell(row: Sequence[str], j: int, i: int) -> str:
        left, shown = len(header) - i, f"<strong>{row[i]}</strong>" if (j, i) in best else row[i]
        if left > 1 and i == len(row) - 1:
            return f"<td colspan={left}>{shown}</td>"
        return f"<td{_side(i)}>{shown}</td>"

    def _side(i: int) -> str:
        return " class=n" if i in numeric else ""

    head = "".join(f"<th scope='col'{_side(i)}>{name}</th>" for i, name in enumerate(header))
    body = "".join(
        f"<tr>{''.join(cell(row, j, i) for i in range(len(row)))}</tr>"
        for j, row in enumerate(rows)
    )
    return (
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        "</div>"
    )
