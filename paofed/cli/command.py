"""A command: one verb, or one action of a verb."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from inspect import getdoc
from typing import NamedTuple


class Command(NamedTuple):
    """What a command declares, what it does, an example, and what its help says of it."""

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    example: str
    about: str | None = None  # None: the docstring of `run`

    @property
    def description(self) -> str | None:
        """What the help says of it."""
        return getdoc(self.run) if self.about is None else self.about
