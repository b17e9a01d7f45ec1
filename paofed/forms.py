"""What named arrays must look like to be a trace, a result or a model: names, types, shapes.

A form is compared with arrays, or with what a file says of its arrays before any of them is read.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from paofed.errors import unknown

Kind = Literal["f", "iu", "iuf", "b", "U", "V"]  # the letters with which NumPy names kinds of types
_KINDS: Mapping[Kind, str] = {
    "f": "a floating-point type",
    "iu": "an integer type",
    "iuf": "a type of numbers",
    "b": "bool",
    "U": "text",
    "V": "records",
}
_SOME = 12  # how many names an error shows of a file that is something else


class Form(NamedTuple):
    """What one array looks like: its type, and a letter for each of its dimensions.

    All arrays agree on the size that a letter stands for; a digit stands for itself.
    """

    kind: Kind
    letters: str = ""


class Described(Protocol):
    """An array, or the type and shape that a file claims for one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of every dimension."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its entries."""
        ...


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All arrays of one kind of thing, such as a trace."""

    arrays: Mapping[str, Form]
    sizes: Mapping[str, str]  # what each letter counts, in words
    # Groups of arrays; each group is there as a whole or not at all.
    optional: tuple[Mapping[str, Form], ...] = ()
    may_be_none: str = ""  # the letters of sizes that may be 0
    # A prefix: names that begin with it are further arrays, whose forms the reader knows.
    beside: str | None = None
    # The format's number; from the first release on, it rises with every change that an earlier
    # release cannot read.
    format: int = 1

    @property
    def known(self) -> dict[str, Form]:
        """All arrays that there may be, by name."""
        return {name: form for part in (self.arrays, *self.optional) for name, form in part.items()}

    def misnamed(self, names: Collection[str]) -> str | None:
        """Say what is wrong with the names of the arrays, or return None."""
        given = set(names)
        if given.isdisjoint(self.arrays):
            some = [name if name.isprintable() else repr(name) for name in islice(names, _SOME)]
            return f"it holds {', '.join(some) or 'nothing'}{', ...' * (len(given) > _SOME)}"
        for name in sorted(given - set(self.known)):
            if self.beside is None or not name.startswith(self.beside):
                return unknown("array", name, self.known)
        if missing := [name for name in self.arrays if name not in given]:
            return f"arrays missing: {', '.join(missing)}"
        for part in self.optional:
            there = [name for name in part if name in given]
            if there and len(there) < len(part):
                lacking = ", ".join(name for name in part if name not in given)
                return f"{there[0]} is given without {lacking}"
        return None

    def misshapen(self, arrays: Mapping[str, Described]) -> str | None:
        """Say which array has another type or shape than expected, or return None."""
        return next(self._misshapen(arrays), None)

    def _misshapen(self, arrays: Mapping[str, Described]) -> Iterator[str]:
        # For each letter its size, and the array that it was taken from.
        agreed: dict[str, tuple[int, str]] = {}
        for name, form in self.known.items():
            if name in arrays:
                yield from self._wrong_shape(name, arrays[name].shape, form.letters, agreed)
                dtype = arrays[name].dtype
                if dtype.kind not in form.kind:
                    yield f"{name} is of type {dtype}: expected {_KINDS[form.kind]}"

    def _wrong_shape(
        self, name: str, shape: tuple[int, ...], letters: str, agreed: dict[str, tuple[int, str]]
    ) -> Iterator[str]:
        if len(shape) != len(letters):
            dimensions = f"{len(letters)} dimensions, ({', '.join(letters)})"
            yield f"{name} has shape {shape}: expected {dimensions if letters else 'one value'}"
            return
        for letter, size in zip(letters, shape, strict=True):
            if letter.isdigit():
                if size != int(letter):
                    yield f"{name} has shape {shape}: expected ({', '.join(letters)})"
                continue
            counted = self.sizes[letter]
            if size == 0 and letter not in self.may_be_none:
                yield f"{name} has shape {shape}: no {counted} ({letter} = 0)"
            expected, origin = agreed.setdefault(letter, (size, name))
            if size != expected:
                yield f"{name} has {size} {counted} ({letter}), but {origin} has {expected}"
