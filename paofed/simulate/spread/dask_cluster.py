"""Dask's workers as an executor: those of a cluster that exists, or processes of this machine.

The only file that knows Dask, which is the extra `paofed[cluster]`.
"""

import logging
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

from distributed import Client, LocalCluster
from distributed.utils import silence_logging_cmgr
from distributed.versions import VersionMismatchWarning

from paofed.errors import InputError, in_one_line
from paofed.simulate.engines.workers import undisturbed

_PATIENCE = 10.0  # seconds: for a scheduler to answer, and then for one of its workers to be there
_SAME = ("python", "dask", "distributed")  # without which no unit would even arrive


@contextmanager
def dask_executor(address: str | None = None, workers: int | None = None) -> Iterator[Executor]:
    """Yield an executor of the cluster whose scheduler is at an address (`tcp://host:8786`).

    Without an address, of a cluster of so many new processes on this machine (None: as many as it
    has cores). A cluster that cannot do our work is refused in one line. Leaving the block gives up
    whatever is still at work; a cluster that was there before goes on without us.
    """
    with ExitStack() as stack:
        # What goes wrong is told by our own errors; Dask's log of it would stand between our lines.
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        if address is None:
            client = stack.enter_context(_on_this_machine(workers or os.cpu_count() or 1))
        else:
            client = stack.enter_context(_connected(address))
            _require_able(client, address)
        executor: Executor = client.get_executor(pure=False, retries=0)
        stack.callback(executor.shutdown, wait=False)
        yield executor


@contextmanager
def _on_this_machine(workers: int) -> Iterator[Client]:
    with ExitStack() as stack:
        try:
            with undisturbed():  # Ctrl-C is for us: we end our workers
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,  # whether there is enough is known before a run begins
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
        except (OSError, RuntimeError) as error:
            raise InputError(
                f"Dask cannot start {workers} processes on this machine: {in_one_line(error)}"
            ) from error
        stack.enter_context(cluster)
        yield stack.enter_context(Client(cluster, set_as_default=False))


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # _require_able is stricter
            client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:  # whatever a wrong address or another protocol makes of it
        raise InputError(
            f"no Dask scheduler answers at {address} ({in_one_line(error)}): expected an address "
            f"such as tcp://host:8786, where `dask scheduler` runs"
        ) from error
    with client:
        yield client


def _require_able(client: Client, address: str) -> None:
    """Refuse a cluster without workers, without paofed, or with another Python or Dask."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise InputError(
            f"the Dask scheduler at {address} has no workers: start some, as in "
            f"`dask worker {address}`, then try again"
        ) from None
    found = client.get_versions()
    ours = _versions(found["client"])
    places = {f"the scheduler at {address}": found["scheduler"]}
    places |= {f"the worker at {worker}": theirs for worker, theirs in found["workers"].items()}
    for place, theirs in places.items():
        for what, version in _versions(theirs).items():
            if version != ours[what]:
                raise InputError(
                    f"{place} has {what} {version}, and here it is {ours[what]}: install the same "
                    f"versions on all machines"
                )
    # By a function that all of them have, since ours would be looked for in paofed.
    specs = {f"the scheduler at {address}": client.run_on_scheduler(find_spec, "paofed")}
    specs |= {f"the worker at {w}": spec for w, spec in client.run(find_spec, "paofed").items()}
    for place, spec in specs.items():
        if spec is None:
            raise InputError(
                f"{place} has no paofed: install the same version there, "
                f"with pip install 'paofed[sim,cluster]'"
            )


def _versions(of: dict[str, dict[str, str]]) -> dict[str, str]:
    """What must be the same; of Python the first two numbers."""
    found = {name: str(of["packages"].get(name)) for name in _SAME}
    return found | {"python": ".".join(found["python"].split(".")[:2])}
