"""The header of one fleet as C text, and the folder with all that a firmware needs of paofed."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.device_c.agreed import AgreedInC, Floats32
from paofed.device_c.columns_in_c import SeenInC
from paofed.files import make_folder, write_text

HEADER = "paofed_fleet.h"
LIBRARY = tuple(
    f"paofed_{part}.c"
    for part in ("seen", "past", "double", "map", "learn", "block", "edge", "kept", "manifest")
)
SOURCES = ("paofed.h", *LIBRARY)
EXAMPLES = ("example.c", "posix.c")  # files to be changed by their users
_PLAIN = frozenset(f"{ascii_letters}{digits} .,:;<>=()+*/-_")
_IN_A_LINE = 6  # how many numbers a line of the header has
_ARRAYS = ("frequencies", "phases", "start", "linear", "numbers", "probes")
_TEXT = """\
/*
 * {about}
 *
 * Made by paofed: do not edit. The sizes are for the library; the numbers are for one C file of the
 * firmware, which defines PAOFED_FLEET_HERE before it includes this header.
 */
#ifndef PAOFED_FLEET_H
#define PAOFED_FLEET_H

#define PAOFED_FEATURES {features}
#define PAOFED_SHARED {shared}
#define PAOFED_BLOCK {block} /* bytes of the shared values in a message */
#define PAOFED_INPUTS {inputs}
#define PAOFED_SEEN {sees} /* numbers that the model sees of the inputs */
#define PAOFED_TRANSFORMS {transforms} /* whether these are more than inputs, scaled */
#define PAOFED_PAST {past} /* values that are remembered of a tick */
#define PAOFED_REACH {reach} /* ticks back that they are remembered */
#define PAOFED_TWO_SPEED {two_speed}
#define PAOFED_DRAWS {draws}
#define PAOFED_FEW_BITS {few_bits}

#endif

#if defined(PAOFED_FLEET_HERE) && !defined(PAOFED_FLEET_NUMBERS)
#define PAOFED_FLEET_NUMBERS

#include "paofed.h"

{arrays}
static const struct paofed_agreed paofed_fleet = {{
{fields}
}};

#endif
"""
_SEEN = """\
static const struct paofed_seen paofed_seen = {{
    .origin = {origin},
    .count = {count}u,
    .timed = {timed},
    .columns = paofed_columns,
    .remembered = {remembered},
}};
"""


def header(agreed: AgreedInC, about: str) -> str:
    """Return the header as C text; `about` says in a line which fleet it is for."""
    present = {name: getattr(agreed, name) for name in _ARRAYS}
    arrays = [_array(name, value) for name, value in present.items() if value is not None]
    seen = agreed.seen
    return _TEXT.format(
        about=about.replace("*/", "* /").replace("/*", "/ *"),
        features=agreed.features,
        shared=agreed.shared,
        block=agreed.block,
        inputs=agreed.inputs,
        sees=agreed.sees,
        transforms=int(seen is not None),
        past=len(seen.remembered) if seen else 0,
        reach=seen.reach if seen else 0,
        two_speed=int(agreed.is_two_speed),
        draws=int(agreed.frequencies is None),
        few_bits=int(agreed.has_few_bits),
        arrays="\n".join([*arrays, *(_seen_arrays(seen) if seen else ())]),
        fields="\n".join(f"    .{name} = {value}," for name, value in _fields(agreed)),
    )


def write_kit(folder: Path, agreed: AgreedInC, about: str) -> list[str]:
    """Write the header, the library and examples; return the names of the files written.

    An example that exists is not overwritten: somebody may have changed it.
    """
    make_folder(folder)
    texts = {HEADER: header(agreed, about)}
    texts |= {name: source(name) for name in SOURCES}
    texts |= {name: source(name) for name in EXAMPLES if not (folder / name).exists()}
    for name, text in texts.items():
        write_text(folder / name, text)
    return list(texts)


def source(name: str) -> str:
    """Return the text of one of the package's files in C."""
    return (files("paofed.device_c") / "c" / name).read_text(encoding="utf-8")


def _fields(agreed: AgreedInC) -> Iterator[tuple[str, str]]:
    """Yield the fields of the record in their order, each with its value in C."""
    for name, value in vars(agreed).items():
        # Probes stand apart in the header: a firmware may do without them. A block is a size.
        if name == "seen" and value is not None:
            yield name, "&paofed_seen"
        elif name not in ("probes", "block", "seen"):
            yield name, _value(name, value)


def _value(name: str, value: Any) -> str:
    if name in _ARRAYS:
        return "NULL" if value is None else f"paofed_{name}"
    if isinstance(value, tuple):
        return f"{{{value[0]}u, {value[1]}u}}"
    return _number(value) if isinstance(value, np.float32) else f"{value}u"


def _array(name: str, values: Floats32 | FloatArray) -> str:
    if name in ("linear", "numbers"):
        kind = "linear" if name == "linear" else "number"
        rows = [f"    {{{', '.join(map(_number, row))}}}," for row in values]
        return _declared(f"struct paofed_{kind}", name, len(values), rows)
    flat = [_number(value) for value in values.ravel()]
    lines = [flat[i : i + _IN_A_LINE] for i in range(0, len(flat), _IN_A_LINE)]
    return _declared("float", name, len(flat), [f"    {', '.join(line)}," for line in lines])


def _declared(kind: str, name: str, count: int, lines: list[str]) -> str:
    body = "\n".join(lines)
    return f"static const {kind} paofed_{name}[{count}] = {{\n{body}\n}};\n"


def _number(value: np.floating[Any]) -> str:
    """Write a number with as many digits as tell it from all others of its size."""
    text = np.format_float_scientific(value, unique=True, trim="0")
    return f"{text}f" if value.dtype == np.float32 else text


def _seen_arrays(seen: SeenInC) -> Iterator[str]:
    """Yield what `struct paofed_seen` points to, and the record itself."""
    zones = list(dict.fromkeys(column.clocks for column in seen.columns if column.clocks))
    for place, clocks in enumerate(zones):
        rows = [f"    {{{since!r}, {ahead!r}}}," for since, ahead in clocks]
        yield _declared("struct paofed_clocks", f"clocks_{place}", len(rows), rows)
    columns = []
    for place, column in enumerate(seen.columns):
        told = {"kind": f"PAOFED_{column.kind}"}
        told |= {name: f"{value}u" for name, value in column.counts().items() if value}
        told |= {"offset": repr(float(column.offset)), "scale": repr(float(column.scale))}
        if column.texts:
            rows = [f"    {_quoted(text)}," for text in column.texts]
            yield _declared("char *const", f"texts_{place}", len(rows), rows)
            told["texts"] = f"paofed_texts_{place}"
        if column.clocks:
            told["clocks"] = f"paofed_clocks_{zones.index(column.clocks)}"
        columns.append(f"    {{{', '.join(f'.{name} = {text}' for name, text in told.items())}}},")
    yield _declared("struct paofed_column", "columns", len(columns), columns)
    if seen.remembered:
        rows = [f"    {place}u," for place in seen.remembered]
        yield _declared("uint16_t", "remembered", len(rows), rows)
    yield _SEEN.format(
        origin=repr(float(seen.origin)),
        count=len(seen.columns) - 1,
        timed=str(seen.timed).lower(),
        remembered="paofed_remembered" if seen.remembered else "NULL",
    )


def _quoted(text: str) -> str:
    """Write a text in C: its bytes that are no plain characters as octal numbers."""
    return '"' + "".join(map(_character, text.encode())) + '"'


def _character(byte: int) -> str:
    return chr(byte) if chr(byte) in _PLAIN else f"\\{byte:03o}"
