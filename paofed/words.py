"""Numbers and names in sentences, and tables for people."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import fields
from reprlib import Repr

# The mean over worlds of the error of each world in dB. "Error (dB)" is another number: the mean
# error over runs, in dB.
MEAN_DB = "mean dB"
_NAMED = 5  # how many names a sentence has room for
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxother = 2, 60  # levels of nested lists, and letters of other values


def counted(number: int, noun: str) -> str:
    """Say how many of something there are.

    >>> counted(1, "run"), counted(0, "run"), counted(1200, "device")
    ('1 run', '0 runs', '1,200 devices')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def number_or_text(text: str) -> int | float | str:
    """Read what people type for a value: a number if the text is one, else the text.

    >>> number_or_text("1"), number_or_text("0.5"), number_or_text("red")
    (1, 0.5, 'red')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def listed(names: Sequence[str]) -> str:
    """Say all names where they are few, else the first ones and how many more there are.

    >>> listed(["a", "b"]), listed([f"d{k}" for k in range(300)])
    ('a, b', 'd0, d1, d2, d3, d4 and 295 more')
    """
    if len(names) <= _NAMED + 1:  # one more name takes no more room than "and 1 more"
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED:,} more"


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key with which numbers inside names stand in their numerical order.

    >>> sorted(["north-10", "north-2", "900 m"], key=natural)
    ['north-2', 'north-10', '900 m']
    """
    parts: list[str] = re.findall(r"\d+|\D+", name)
    return [(int(part) if part.isdecimal() else -1, part) for part in parts]


def size(number: float) -> str:
    """Write a number of bytes as people say it; a dash for NaN.

    >>> size(950), size(384_000)
    ('950 B', '384.0 kB')
    """
    if math.isnan(number):
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("unreachable")


def times_less(ratio: float) -> str:
    """Say by how many times one thing is less than another, which is `ratio` times as much.

    >>> times_less(22.4), times_less(4.94), times_less(0.5)
    ('22 times less', '4.9 times less', '2.0 times more')
    """
    times, said = (ratio, "less") if ratio >= 1 else (1 / ratio, "more")
    return f"{times:.{0 if times >= 10 else 1}f} times {said}"


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)
) -> str:
    """Lay out rows under a header; columns of words are `left`-aligned, numbers to the right.

    >>> print(table(["name", "dB"], [["u1", "-7.65"], ["fedsgd", "-8.95"]]))
    name       dB
    u1      -7.65
    fedsgd  -8.95
    """
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


class ShapesShown:
    """A dataclass of arrays whose repr has their shapes: nobody wants their numbers at a prompt."""

    def __repr__(self) -> str:
        told = []
        for field in fields(self):  # type: ignore[arg-type]  # those who inherit are dataclasses
            value = getattr(self, field.name)
            if not hasattr(value, "shape"):
                told.append(f"{field.name} {_SHORT.repr(value)}")
            elif value.size:
                told.append(f"{field.name} {value.shape}")
        return f"<{type(self).__name__}: {', '.join(told)}>"
