"""Pages are templates, which escape what they are given: self-contained HTML, nothing is loaded."""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Self

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from paofed.simulate.results.estimates import Estimate

_INCHES_PER_REM = 0.16  # a rem is 16 pixels
_HERE = "paofed.report"


def page(template: str, room: str = _HERE, /, *, under_way: bool = False, **values: Any) -> Markup:
    """Return a page, or a part of one: a template filled with values.

    The template is in the folder `templates` of the package `room`, and may build on those that all
    pages share. It writes the heading of a section by `heading`; the contents of the page link to
    these. A page that is `under_way` loads itself again every ten seconds.
    """
    headings: dict[str, str] = {}

    def heading(text: str) -> Markup:
        key = re.sub(r"\W+", "-", text.lower()).strip("-")
        headings[key] = text
        return Markup("<h2 id='{}'>{}</h2>").format(key, text)

    filled = _templates(room).get_template(template)
    return Markup(  # noqa: S704 (the template has escaped what it was given)
        filled.render(heading=heading, headings=headings, under_way=under_way, **values)
    )


@cache
def _templates(room: str) -> Environment:
    rooms = dict.fromkeys((room, _HERE))
    made = Environment(
        loader=ChoiceLoader([PackageLoader(one) for one in rooms]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"indented": indented}
    return made


def indented(value: Any) -> str:
    """Return a value as JSON that people read."""
    return json.dumps(value, indent=1)


class Illustration(NamedTuple):
    """A drawing in SVG with its caption, as a page has it."""

    caption: str
    title: str  # the first sentence of the caption
    widest: str  # in rem: an inch is a hundred pixels at most, so that all letters are alike
    attributes: Markup
    inside: Markup  # and its end

    @classmethod
    def of(cls, caption: str, drawing: str) -> Self:
        """Return a drawing without the lines that make it a file."""
        attributes, _, inside = drawing[drawing.index("<svg") + 4 :].partition(">")
        points = re.search(r"\bwidth=\"([\d.]+)pt\"", attributes)
        return cls(
            caption,
            re.split(r"(?<=[.;])\s", caption)[0],
            f"{float(points[1]) / 72 / _INCHES_PER_REM:.4g}" if points else "",
            Markup(attributes),  # noqa: S704 (matplotlib's, which has escaped our words)
            Markup(inside),  # noqa: S704
        )


def drawn(drawings: Mapping[str, tuple[str, str]]) -> dict[str, Illustration]:
    """Return drawings for a page; they come as name -> (caption, SVG)."""
    return {name: Illustration.of(*drawing) for name, drawing in drawings.items()}


def code(text: str) -> Markup:
    """Return an algorithm's name in a table; a long one may be broken between its options."""
    breakable = re.sub(r"[,:]", r"\g<0><wbr>", str(escape(text)))
    return Markup(f"<code>{breakable}</code>")  # noqa: S704 (escaped above)


def number(value: float, digits: int = 2) -> str:
    """Write a number as pages show it."""
    if not math.isfinite(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # and no minus zero


def significant(value: float) -> str:
    """Write a number of any size with four significant digits."""
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"


def interval(found: Estimate, digits: int = 2) -> str:
    """Write a mean with its interval, where it has one."""
    mean, low, high = (number(end, digits) for end in found[:3])
    return f"{mean} [{low}, {high}]" if math.isfinite(found.low) else mean


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: Collection[int],
    best: Collection[tuple[int, int]] = (),
) -> Markup:
    """Return a table; the columns in `numeric` are set to the right.

    `best` are the cells, by row and column, that are the best of their column. A row with fewer
    cells than the header ends in words, which go across the columns that are left.
    """

    def cell(row: Sequence[str], j: int, i: int) -> Markup:
        left, shown = len(header) - i, escape(row[i])
        shown = Markup("<strong>{}</strong>").format(shown) if (j, i) in best else shown
        if left > 1 and i == len(row) - 1:
            return Markup("<td colspan={}>{}</td>").format(left, shown)
        return Markup("<td{}>{}</td>").format(_side(i), shown)

    def _side(i: int) -> str:
        return " class=n" if i in numeric else ""

    head = Markup("").join(
        Markup("<th scope='col'{}>{}</th>").format(_side(i), name) for i, name in enumerate(header)
    )
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(cell(row, j, i) for i in range(len(row))))
        for j, row in enumerate(rows)
    )
    return Markup(
        "<div class='scroll'><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(head, body)
