"""A question over HTTP and its answer, as records: routes are functions from one to the other."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

TEXT, JSON = "text/plain", "application/json"


class Fields(Mapping[str, str]):
    """The header fields of a question by name, in large or small letters."""

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        self._values = {name.lower(): value for name, value in fields}

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Question(NamedTuple):
    """A question: the query part of its address, its header fields and its content."""

    query: str
    fields: Mapping[str, str]
    content: bytes = b""


class Answer(NamedTuple):
    """An answer. Content that is an iterator is sent piece by piece, until somebody hangs up.

    An answer without an end has an iterator as its content, and no length.
    """

    code: int
    kind: str
    content: bytes | Iterator[bytes]
    fields: tuple[tuple[str, str], ...] = ()


Route = Callable[[Question], Answer]
Routes = Mapping[tuple[str, str], Route]  # by method and path, ("GET", "/health") say


def in_words(code: int, words: str) -> Answer:
    """Return an answer that is a sentence."""
    return Answer(code, TEXT, f"{words}\n".encode())


def as_json(code: int, value: object) -> Answer:
    """Return an answer that is JSON."""
    return Answer(code, JSON, f"{json.dumps(value)}\n".encode())
