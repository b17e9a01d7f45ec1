"""Who does the work of a verb, on this machine or on a cluster, and where its parts are kept."""

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from paofed.cli.shared.progress import Progress, say
from paofed.errors import InputError, whole
from paofed.files import require_folder
from paofed.simulate.engines import ENGINES, USUAL, engine_of
from paofed.simulate.spread.crew import Crew
from paofed.words import counted


def add_engine_option(parser: ArgumentParser) -> None:
    """Declare which engines run the algorithms of a verb."""
    parser.add_argument(
        "--engine", default=USUAL, metavar="ENGINE[,ENGINE]",
        help=f"engine that simulates: {', '.join(ENGINES)}; fast leaves algorithms that it does "
        "not know to reference, gpu refuses them; of several engines, as in gpu,fast, the first "
        "that takes an algorithm runs it (default: %(default)s)",
    )  # fmt: skip


def add_crew_options(parser: ArgumentParser) -> None:
    """Declare the options of verbs whose work can be spread and interrupted."""
    add = parser.add_argument_group("who computes, and where finished work is kept").add_argument
    add("--workers", type=int, metavar="N",
        help="number of threads (fast engine) or processes (reference engine, --on dask) "
        "(default: all cores)")  # fmt: skip
    add("--on", metavar="WHERE",
        help="cluster that computes: dask:ADDRESS as in dask:tcp://host:8786, or dask for "
        "processes on this machine; needs paofed[cluster] (default: this machine's "
        "cores)")  # fmt: skip
    add("--store", type=Path, metavar="DIR",
        help="folder in which finished jobs of the work are kept, so that a second start, or "
        "another machine, computes only what is missing")  # fmt: skip


@contextmanager
def crew_of(args: Namespace) -> Iterator[Crew]:
    """Yield the crew that the options name; refuse options that cannot be.

    Open it before anything is written. After an interrupt, it says how the work goes on.
    """
    if args.workers is not None:
        whole("workers", args.workers, least=1)
    if args.store is not None:
        require_folder(args.store)
    with _executor(args.on, args.workers) as executor, _told_what_was_there(args.store):
        try:
            yield Crew(args.workers, executor, args.store)
        except KeyboardInterrupt:
            tell_how_to_go_on(args)
            raise


@contextmanager
def stage(what: str) -> Iterator[Progress]:
    """Show the progress of one stage, and say so if kernels must be compiled first."""
    with Progress(what) as progress, engine_of(USUAL).announced(say):
        yield progress


class _Reused(logging.Handler):
    """Adds up the runs that were in the store, from the two numbers that each task logs."""

    def __init__(self) -> None:
        super().__init__()
        self.there = self.asked = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Add the number of runs found, and of runs asked for, of one task."""
        match record.args:
            case (int(there), int(asked)):
                self.there, self.asked = self.there + there, self.asked + asked


@contextmanager
def _told_what_was_there(store: Path | None) -> Iterator[None]:
    """Say in the end, in one line for all runs, how much did not have to be computed."""
    from paofed.simulate.spread import spreading

    log, heard = logging.getLogger(spreading.__name__), _Reused()
    level = log.level
    log.addHandler(heard)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(heard)
        if heard.there:
            say(f"{store} had {heard.there:,} of {counted(heard.asked, 'run')} already")


def tell_how_to_go_on(args: Namespace) -> None:
    """Say where finished jobs are, if anywhere, after an interrupt."""
    if args.store is not None:
        say(f"finished jobs are kept in {args.store}: the same command goes on from there")


def _executor(where: str | None, workers: int | None) -> AbstractContextManager[Executor | None]:
    if where is None:
        return nullcontext()
    kind, colon, address = where.partition(":")
    if kind != "dask" or (colon and not address):
        raise InputError(
            f"--on is {where!r}: expected dask, for processes on this machine, or dask:ADDRESS, as "
            f"in dask:tcp://host:8786"
        )
    from paofed.simulate.spread.dask_cluster import dask_executor  # needs the extra `cluster`

    return dask_executor(address or None, workers)
