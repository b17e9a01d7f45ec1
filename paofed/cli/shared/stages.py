"""The stages of long work on the simulator's engines."""

from collections.abc import Iterator
from contextlib import contextmanager

from paofed.cli.shared.progress import Progress
from paofed.cli.shared.stderr import say
from paofed.simulate.engines import USUAL, engine_of


@contextmanager
def stage(what: str) -> Iterator[Progress]:
    """Show the progress of one stage, and say so if kernels must be compiled first."""
    with Progress(what) as progress, engine_of(USUAL).announced(say):
        yield progress
