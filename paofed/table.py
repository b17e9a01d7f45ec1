"""What is said in rows: one table, shown in a terminal and on pages, written as CSV and JSON.

A number, and a mean with its interval, become text here and nowhere else.
"""

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from paofed import words
from paofed.files import write_table

Shown = Literal["half", "brackets", "to"]
_UNKNOWN, _DIVERGED = "-", "diverged"


class _Interval(Protocol):
    """A mean and the ends of its interval, which are not finite where it has none."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


def number(value: float, digits: int = 2, sign: str = "") -> str:
    """Write a number; a dash for one that is not finite.

    >>> number(-7.648), number(-0.001), number(0.5, sign="+"), number(math.nan)
    ('-7.65', '0.00', '+0.50', '-')
    """
    if not math.isfinite(value):
        return _UNKNOWN
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}"  # adding 0.0 turns -0.0 into 0.0


def at_most(bound: float) -> str:
    """Write how much better anything else can be: rounded up, so that it stays a bound.

    >>> at_most(0.121), at_most(-0.5), at_most(math.inf)
    ('0.13', '0.00', '-')
    """
    if not bound < math.inf:
        return _UNKNOWN
    return number(math.ceil(100 * max(bound, 0.0)) / 100)


def significant(value: float) -> str:
    """Write a number of any size with four significant digits; a dash for one not finite."""
    return f"{value:.4g}" if math.isfinite(value) else _UNKNOWN


def error(db: float, unit: str = "") -> str:
    """Write an error in dB: NaN or infinite if an algorithm diverged, -inf if there was none."""
    if math.isfinite(db):
        return f"{number(db)}{unit}"
    return f"{db}{unit}" if db < 0 else _DIVERGED


def error_if_any(db: float) -> str:
    """Write an error in dB that may not be known, which is not to say that it diverged."""
    return _UNKNOWN if math.isnan(db) else error(db)


def give_or_take(value: float, half: float, digits: int = 2, sign: str = "") -> str:
    """Write a number with its standard error or half of its interval, where it has one.

    >>> give_or_take(0.5, 0.25, sign="+"), give_or_take(0.5, math.nan)
    ('+0.50 ± 0.25', '0.50')
    """
    said = number(value, digits, sign)
    return f"{said} ± {number(half, digits)}" if math.isfinite(half) else said


def ends(found: _Interval, digits: int = 2) -> str:
    """Write the ends of an interval, in brackets."""
    return f"[{number(found.low, digits)}, {number(found.high, digits)}]"


def estimated(
    found: _Interval, shown: Shown = "half", *, digits: int = 2, sign: str = "", unit: str = ""
) -> str:
    """Write a mean with its interval, where it has one, in one of three ways.

    >>> from paofed.simulate.results.estimates import Estimate
    >>> found = Estimate(-2.104, -2.6, -1.6, 8)
    >>> estimated(found), estimated(found, "brackets"), estimated(found, "to", unit=" dB")
    ('-2.10 ± 0.50', '-2.10 [-2.60, -1.60]', '-2.10 dB (-2.60 to -1.60)')
    """
    if not math.isfinite(found.mean):
        return _DIVERGED
    if shown == "half":
        return give_or_take(found.mean, (found.high - found.low) / 2, digits, sign) + unit
    mean = f"{number(found.mean, digits, sign)}{unit}"
    if not math.isfinite(found.low):
        return mean
    if shown == "brackets":
        return f"{mean} {ends(found, digits)}"
    return f"{mean} ({number(found.low, digits)} to {number(found.high, digits)})"


def known(value: Any) -> Any:
    """Replace numbers that are not finite by None, anywhere in a value: JSON has neither NaN.

    >>> known({"db": math.nan, "ends": (1.0, math.inf)})
    {'db': None, 'ends': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [known(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def typeset(said: str) -> str:
    """Return a number in HTML: with a true minus sign, and a longer dash where there is none."""
    return "–" if said == _UNKNOWN else html.escape(said.replace("-", "−"))


def code(text: str) -> str:
    """Return an algorithm's name in HTML; a long one may be broken between its options."""
    breakable = re.sub(r"[,:]", r"\g<0><wbr>", html.escape(text))
    return f"<code>{breakable}</code>"


class Words(str):
    """A name of words, as a baseline has, in a column of algorithms."""

    __slots__ = ()


def _name(value: str) -> str:
    return html.escape(value).replace(" ", "&nbsp;") if isinstance(value, Words) else code(value)


class CellForm(NamedTuple):
    """How the values of a column are written: in a terminal, and on a page in HTML."""

    text: Callable[[Any], str]
    page: Callable[[Any], str]
    is_number: bool = True


def numeric(text: Callable[[Any], str], page: Callable[[Any], str] | None = None) -> CellForm:
    """Return the form of numbers; `page` writes those of pages, where they look otherwise."""
    shown = page or text
    return CellForm(text, lambda value: typeset(shown(value)))


def number_or(word: str) -> CellForm:
    """Return the form of numbers in which a word stands for one that there is not."""
    return numeric(lambda value: number(value) if math.isfinite(value) else word)


def _gain(shown: Shown, sign: str = "") -> Callable[[_Interval], str]:
    """Write gains, of which some cannot be: where there is nobody to gain on, or both diverged."""
    return lambda found: _UNKNOWN if math.isnan(found.mean) else estimated(found, shown, sign=sign)


WORDS = CellForm(str, html.escape, is_number=False)
NAME = CellForm(str, _name, is_number=False)
NUMBER, SIGNIFICANT, AT_MOST = numeric(number), numeric(significant), numeric(at_most)
ERROR, ERROR_IF_ANY = numeric(error), numeric(error_if_any)
COUNT = numeric(lambda value: _UNKNOWN if math.isnan(value) else f"{value:,.0f}")
WHOLE, BYTES = numeric(str), numeric(words.size)
ESTIMATE = numeric(estimated, lambda found: estimated(found, "brackets"))
GAIN = numeric(_gain("half", "+"), _gain("brackets"))


class ShownColumn(NamedTuple):
    """What one column says."""

    # Its name in files; several names are for the parts of an estimate: the mean, its interval, the
    # number of runs.
    key: str | tuple[str, ...]
    head: str | None = None  # the heading, for people; None: the column is in files alone
    form: CellForm = WORDS
    unit: str = ""
    best: Literal["least", "most"] | None = None  # which of its numbers is marked as the best
    missing: str = ""  # what stands for None

    @property
    def keys(self) -> tuple[str, ...]:
        """All its names in files."""
        return (self.key,) if isinstance(self.key, str) else self.key

    @property
    def heading(self) -> str:
        """The heading with its unit."""
        return f"{self.head} ({self.unit})" if self.unit else self.head or ""

    def places(self, values: Sequence[Any]) -> set[int]:
        """Return where the best of its numbers stand."""
        if self.best is None:
            return set()
        numbers = [math.nan if isinstance(v, str | None) else v for v in values]
        return best_places(numbers, most=self.best == "most")


def best_places(values: Sequence[float], *, most: bool = False) -> set[int]:
    """Return where the least of some numbers stands, or the `most`; nowhere if none is to compare.

    >>> best_places([3.0, 1.0, math.nan, 1.0]), best_places([math.nan, 1.0])
    ({1, 3}, set())
    """
    finite = [value for value in values if math.isfinite(value)]
    best = (max if most else min)(finite, default=math.nan)
    return {i for i, value in enumerate(values) if value == best and len(finite) > 1}


@dataclass(frozen=True)
class ShownTable:
    """What is said in rows.

    A row with fewer values than there are columns ends in words, which go across the columns that
    are left.
    """

    columns: Sequence[ShownColumn]
    rows: Sequence[Sequence[Any]]
    title: str = ""  # what stands above it, on a terminal
    notes: Sequence[str] = ()  # what stands below it, on a terminal

    def without(self, *keys: str) -> "ShownTable":
        """Return the table without some columns, by their first names in files."""
        kept = [i for i, column in enumerate(self.columns) if column.keys[0] not in keys]
        rows = [[row[i] for i in kept if i < len(row)] for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in kept], rows=rows)

    def _shown(self) -> "ShownTable":
        """Return the table as people see it: without the columns that are in files alone."""
        return self.without(*(c.keys[0] for c in self.columns if c.head is None))

    def _best(self) -> set[tuple[int, int]]:
        """Return the cells that are the best of their column, by row and column."""
        return {
            (j, i)
            for i, column in enumerate(self.columns)
            for j in column.places([row[i] if i < len(row) else None for row in self.rows])
        }

    def text(self) -> str:
        """Lay out the table for a terminal; a star marks the best of a column."""
        shown = self._shown()
        best, columns = shown._best(), shown.columns
        starred = {i for _, i in best}

        def cell(value: Any, j: int, i: int) -> str:
            column = columns[i]
            said = column.missing if value is None else column.form.text(value)
            # A blank for all others, so that the digits of all numbers stay below each other.
            return said + ("*" if (j, i) in best else " ") if i in starred else said

        rows = [
            [cell(value, j, i) for i, value in enumerate(row)] for j, row in enumerate(shown.rows)
        ]
        left = [i for i, column in enumerate(columns) if not column.form.is_number]
        laid_out = words.table([column.heading for column in columns], rows, left)
        return "\n\n".join(filter(None, [self.title, laid_out, *self.notes]))

    def html(self) -> str:
        """Return the table for a page; the best of a column is bold.

        It is no template, since results are read and printed where Jinja2 is not installed.
        """
        shown = self._shown()
        best, columns, width = shown._best(), shown.columns, len(shown.columns)

        def cell(value: Any, j: int, i: int, last: int) -> str:
            column = columns[i]
            if i == last and last < width - 1:
                return f"<td colspan={width - i}>{html.escape(value)}</td>"
            said = html.escape(column.missing) if value is None else column.form.page(value)
            said = f"<strong>{said}</strong>" if (j, i) in best else said
            return f"<td{_side(column)}>{said}</td>"

        head = "".join(
            f"<th scope='col'{_side(column)}>{_breakable(column.heading)}</th>"
            for column in columns
        )
        body = "".join(
            f"<tr>{''.join(cell(value, j, i, len(row) - 1) for i, value in enumerate(row))}</tr>"
            for j, row in enumerate(shown.rows)
        )
        return (
            f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            "</table></div>"
        )

    __html__ = html  # what templates with autoescape ask for

    @property
    def header(self) -> list[str]:
        """The names of the columns in files."""
        return [key for column in self.columns for key in column.keys]

    def csv(self, path: Path) -> None:
        """Write the table as CSV: every digit, and an empty cell for what there is not."""
        write_table(path, self.header, map(self._flat, self.rows))

    def _flat(self, row: Sequence[Any]) -> Iterable[Any]:
        for column, value in zip(self.columns, row, strict=True):
            if isinstance(column.key, str):
                yield "" if value is None else value
            else:
                yield from [""] * len(column.key) if value is None else value[: len(column.key)]

    def json(self) -> list[dict[str, Any]]:
        """Return a record for every row, as JSON can hold it."""
        records = [
            {
                column.keys[0]: value if isinstance(column.key, str) else _parts(value)
                for column, value in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]
        told: list[dict[str, Any]] = known(records)
        return told


def in_files(keys: Iterable[str | tuple[str, ...]], rows: Iterable[Sequence[Any]]) -> ShownTable:
    """Return a table for files alone, by the names of its columns there."""
    return ShownTable([*map(ShownColumn, keys)], [*rows])


def _parts(found: _Interval | None) -> dict[str, float] | None:
    """Return an estimate as JSON has it inside a record."""
    return None if found is None else {"mean": found.mean, "low": found.low, "high": found.high}


def _breakable(heading: str) -> str:
    """Return a heading that may be broken between units."""
    return html.escape(heading).replace("/", "/<wbr>")


def _side(column: ShownColumn) -> str:
    return " class=n" if column.form.is_number else ""
