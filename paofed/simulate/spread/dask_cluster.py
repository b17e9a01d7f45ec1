"""Dask's workers as an executor: those of a cluster that exists, or processes of this machine.

This is the only file that imports Dask, which is in the extra `paofed[cluster]`.
"""

import asyncio
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import urlsplit

from distributed import Client, LocalCluster
from distributed import Future as DaskFuture
from distributed.comm import connect
from distributed.core import send_recv
from distributed.security import Security
from distributed.utils import silence_logging_cmgr
from distributed.versions import VersionMismatchWarning, get_versions

from paofed.errors import ExecutorError, InputError, in_one_line
from paofed.simulate.engines.workers import undisturbed

T = TypeVar("T")

_PATIENCE = 10.0  # seconds that a scheduler has to answer
_FOR_WORKERS = 10.0  # seconds that then one of its workers has to appear
_LOOK = 1.0  # seconds between two looks whether the scheduler is still there


@contextmanager
def dask_executor(address: str | None = None, workers: int | None = None) -> Iterator[Executor]:
    """Yield an executor of the cluster whose scheduler is at an address (`tcp://host:8786`).

    Without an address, the cluster is `workers` new processes on this machine (None: as many as
    there are cores). A cluster that cannot do the work is refused in one line. Leaving the block
    cancels what is still at work; a cluster that existed before goes on without us.
    """
    with ExitStack() as stack:
        # Our own errors say what goes wrong; Dask's log lines would stand between them.
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        if address is None:
            client = stack.enter_context(_on_this_machine(workers or os.cpu_count() or 1))
        else:
            client = stack.enter_context(_connected(address))
        yield stack.enter_context(_DaskExecutor(client))


class _DaskExecutor(Executor):
    """A cluster as an executor; Dask's own executor waits for ever when its scheduler has gone."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._place = client.scheduler.address
        self._out: set[Future[Any]] = set()
        self._over = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, daemon=True, name="dask watchdog")
        self._watchdog.start()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Let a worker call a function; cancelling the returned future cancels the call."""
        if self._has_gone():
            raise self._gone()
        # `pure=False`: Dask calls the function even if it has called it before with these
        # arguments.
        asked = self._client.submit(fn, *args, **kwargs, pure=False)
        promised = Future[T]()
        self._out.add(promised)
        promised.add_done_callback(self._out.discard)
        promised.add_done_callback(partial(_give_up, asked))
        asked.add_done_callback(partial(_settle, promised))
        return promised

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 (as Executor has it)
        """End the watchdog; the cluster goes on."""
        self._over.set()
        self._watchdog.join()

    def _watch(self) -> None:
        """Fail what is out when the scheduler has gone, for nobody else would ever end it."""
        while not self._over.wait(_LOOK):
            if self._has_gone():
                for promised in list(self._out):
                    with suppress(InvalidStateError):
                        promised.set_exception(self._gone())

    def _has_gone(self) -> bool:
        return self._client.status not in ("running", "connecting")

    def _gone(self) -> ExecutorError:
        return ExecutorError(
            f"the Dask scheduler at {self._place} has gone: see to it, and start again; a store "
            f"keeps what was finished"
        )


def _settle(promised: Future[Any], asked: DaskFuture) -> None:
    """Pass on the result or error of a call, unless nobody waits for it any more."""
    try:
        found, error = asked.result(), None
    except Exception as raised:  # noqa: BLE001 (it may be anything, and is handed on)
        found, error = None, raised
    with suppress(InvalidStateError):
        if error is None:
            promised.set_result(found)
        else:
            promised.set_exception(error)


def _give_up(asked: DaskFuture, promised: Future[Any]) -> None:
    if promised.cancelled():
        with suppress(Exception):  # the scheduler may have gone
            asked.cancel()


@contextmanager
def _on_this_machine(workers: int) -> Iterator[Client]:
    with ExitStack() as stack:
        try:
            # Starting it unblocks signals, so it must be started before they are blocked.
            resource_tracker.ensure_running()
            # By itself Dask takes a folder of a known name, which anybody may have made before.
            place = stack.enter_context(TemporaryDirectory(prefix="paofed-"))
            # Workers must not see Ctrl-C: this process handles it and ends them.
            with undisturbed():
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,  # paofed checks the memory before a run begins
                    dashboard_address="127.0.0.1:0",  # a free port: the usual one may be taken
                    silence_logs=logging.CRITICAL,
                    local_directory=place,
                )
        except (OSError, RuntimeError) as error:
            raise InputError(
                f"Dask cannot start {workers} processes on this machine: {in_one_line(error)}"
            ) from error
        stack.enter_context(cluster)
        yield stack.enter_context(Client(cluster, set_as_default=False))


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    # We ask first: Dask's client waits long for a server that does not answer as it expects.
    # A thread of its own, since this one may have an event loop.
    with ThreadPoolExecutor(1) as thread:
        try:
            versions = thread.submit(asyncio.run, _scheduler_versions(address)).result()
        except Exception as error:  # a wrong address or another protocol may raise anything
            raise InputError(
                f"no Dask scheduler answers at {address} ({in_one_line(_first_cause(error))}): "
                f"expected an address such as tcp://host:8786, where `dask scheduler` runs"
            ) from error
    _require_same(f"the scheduler at {address}", versions)
    with warnings.catch_warnings():
        # Dask warns of other packages that differ; whether workers can compute for us is checked
        # below.
        warnings.simplefilter("ignore", VersionMismatchWarning)
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    with client:
        _require_able(client, address)
        yield client


async def _require_listener(address: str) -> None:
    """Fail at once where nobody listens: Dask tries again and again, and may forget why."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:  # the address has no port: Dask refuses it in its own words
        return
    if parts.scheme == "tcp" and host is not None and port is not None:
        _, writer = await asyncio.open_connection(host, port)
        writer.close()


def _first_cause(error: BaseException) -> BaseException:
    return error if error.__cause__ is None else _first_cause(error.__cause__)


async def _scheduler_versions(address: str) -> Any:
    """Ask a scheduler for the versions of its packages, for at most _PATIENCE seconds."""
    async with asyncio.timeout(_PATIENCE):
        await _require_listener(address)
        settings = Security().get_connection_args("client")
        comm = await connect(address, timeout=_PATIENCE / 2, **settings)
        try:
            kind = (await send_recv(comm, op="identity"))["type"]
            if kind != "Scheduler":
                raise InputError(f"it is a {kind}")
            return await send_recv(comm, op="versions")
        finally:
            comm.abort()


def _require_able(client: Client, address: str) -> None:
    """Refuse a cluster without workers, or with workers without paofed or with another Dask."""
    try:
        client.wait_for_workers(1, timeout=_FOR_WORKERS)
    except TimeoutError:
        raise InputError(
            f"the Dask scheduler at {address} has no workers: start some, as in "
            f"`dask worker {address}`, then try again"
        ) from None
    for worker, versions in client.get_versions()["workers"].items():
        _require_same(f"the worker at {worker}", versions)
    # Ask with a function that every worker has: a function of ours would need paofed there.
    found = {f"the scheduler at {address}": client.run_on_scheduler(find_spec, "paofed")}
    found |= {f"the worker at {w}": spec for w, spec in client.run(find_spec, "paofed").items()}
    for place, spec in found.items():
        if spec is None:
            raise InputError(
                f"{place} has no paofed: install the same version there, "
                f"with pip install 'paofed[sim,cluster]'"
            )


def _require_same(place: str, versions: dict[str, dict[str, str]]) -> None:
    """Refuse other versions of packages without which a job could not even be unpickled."""
    theirs, ours = _needed(versions), _needed(get_versions())
    for name, here in ours.items():
        if theirs[name] != here:
            raise InputError(
                f"{place} has {name} {theirs[name]}, and here it is {here}: install the same "
                f"versions on all machines"
            )


def _needed(versions: dict[str, dict[str, str]]) -> dict[str, str]:
    packages = versions["packages"]
    python = ".".join(packages["python"].split(".")[:2])
    return {"python": python, **{name: packages[name] for name in ("dask", "distributed")}}
