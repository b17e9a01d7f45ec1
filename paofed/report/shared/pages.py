"""What all pages share: templates, drawings, numbers, and the table of final errors.

Pages are templates, which escape what they are given: self-contained HTML, nothing is loaded.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, Self

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from paofed import table as written
from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.shared.looks import rank
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.result import Result
from paofed.table import COUNT, ERROR, NAME, NUMBER, ShownColumn, ShownTable, estimated, typeset

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


COORDINATES = (
    ShownColumn("sent_up", "coordinates up", COUNT),
    ShownColumn("sent_down", "coordinates down", COUNT),
)
MESSAGES = (
    ShownColumn("messages_up", "messages up", COUNT),
    ShownColumn("messages_down", "messages down", COUNT),
)
TRAFFIC = (
    *COORDINATES,
    *MESSAGES,
    ShownColumn("wire_up", "bytes up", COUNT),
    ShownColumn("wire_down", "bytes down", COUNT),
)


def finals(result: Result, tariff: Tariff | None = None) -> ShownTable:
    """Return final errors and traffic, the best first; without a tariff, as the paper counts."""
    lines = sorted(result.summary(tariff or PAYLOAD), key=lambda line: rank(line["db"]))
    columns = (
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("db", "error", ERROR, "dB", best="least"),
        ShownColumn("standard_error", "s.e.", NUMBER),
        *(COORDINATES if tariff is None else TRAFFIC),
    )
    return ShownTable(columns, [[line[column.keys[0]] for column in columns] for line in lines])
