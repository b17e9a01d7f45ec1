"""Who does the work of a verb, on this machine or on a cluster, and where its parts are kept."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from paofed.cli.shared.outputs import say
from paofed.errors import InputError, whole
from paofed.files import require_folder
from paofed.simulate.spread.crew import Crew


def add_crew_options(parser: ArgumentParser) -> None:
    """Declare the options of verbs whose work can be spread and interrupted."""
    add = parser.add_argument
    add("--workers", type=int, metavar="N", help="threads or processes (default: all cores)")
    add("--on", metavar="WHERE",
        help="a cluster: dask:ADDRESS as in dask:tcp://host:8786, or dask, one of processes on "
        "this machine (default: this machine's cores)")  # fmt: skip
    add("--store", type=Path, metavar="DIR",
        help="keep finished units of the work, so that a second start goes on")  # fmt: skip


@contextmanager
def crew_of(args: Namespace) -> Iterator[Crew]:
    """Yield who does the work, as the options have it; refuse what cannot be.

    Open it before anything is written. An interrupt that passes is told how the work goes on.
    """
    if args.workers is not None:
        whole("workers", args.workers, least=1)
    if args.store is not None:
        require_folder(args.store)
    with _executor(args.on, args.workers) as executor:
        try:
            yield Crew(args.workers, executor, args.store)
        except KeyboardInterrupt:
            tell_how_to_go_on(args)
            raise


def tell_how_to_go_on(args: Namespace) -> None:
    """Say where finished units are, if anywhere, after an interrupt."""
    if args.store is not None:
        say(f"finished units are kept in {args.store}: the same command goes on from there")


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
