"""Jobs that an executor fails at, and how many are out at a time."""

import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from paofed.errors import ExecutorError
from paofed.simulate.spread.handing import RETRIES, Handing
from paofed.simulate.spread.job_store import FinishedJob

JOBS = [range(i, i + 1) for i in range(4)]


def order(_: range) -> bytes:
    """Is never called by the executors here."""
    raise NotImplementedError


class Failing(Executor):
    """Fails so many times at every job, and notes which jobs it got."""

    def __init__(self, times: int) -> None:
        self.got, self._times = list[int](), times

    def submit(self, _: Callable[..., Any], /, *args: Any, **__: Any) -> Future[Any]:
        future: Future[bytes] = Future()
        run = args[-1].start
        self.got.append(run)
        if self.got.count(run) <= self._times:
            future.set_exception(ConnectionError("a worker is gone"))
        else:
            found = FinishedJob({run: None}, "cpu", 1.0)  # type: ignore[dict-item]
            future.set_result(pickle.dumps(found))
        return future


def test_what_failed_goes_again_after_what_is_new() -> None:
    executor = Failing(1)
    hands = Handing(executor, order, _room=2)
    found = [run for job in hands.finished(iter(JOBS)) for run in job.records]
    assert sorted(found) == [0, 1, 2, 3]
    assert executor.got[:4] == [0, 1, 2, 3]
    assert sorted(executor.got) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_an_executor_that_fails_too_often_ends_the_work() -> None:
    executor = Failing(RETRIES + 1)
    with pytest.raises(ExecutorError, match=r"failed 4 times at runs 0 to 0 .*a worker is gone"):
        list(Handing(executor, order).finished(iter(JOBS[:1])))
    assert executor.got == [0] * (RETRIES + 1)


class Interrupting(Future[bytes]):
    """Runs code as it is deleted, as Dask's futures do; Ctrl-C comes just then."""

    deleted = 0

    def __del__(self) -> None:
        Interrupting.deleted += 1
        signal.raise_signal(signal.SIGINT)


class Deleting(Executor):
    """Finishes every job at once."""

    def submit(self, _: Callable[..., Any], /, *args: Any, **__: Any) -> Future[Any]:
        future = Interrupting()
        found = FinishedJob({args[-1].start: None}, "cpu", 1.0)  # type: ignore[dict-item]
        future.set_result(pickle.dumps(found))
        return future


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C raises a KeyboardInterrupt, however the tests were started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.mark.usefixtures("_ctrl_c")
@pytest.mark.parametrize("jobs", [JOBS, JOBS[:1]])
def test_ctrl_c_while_a_future_is_deleted_is_not_lost(jobs: list[range]) -> None:
    Interrupting.deleted, found = 0, list[int]()
    work = Handing(Deleting(), order, _room=1).finished(iter(jobs))
    with pytest.raises(KeyboardInterrupt):
        found.extend(run for job in work for run in job.records)
    assert found == [0]
    assert Interrupting.deleted == 1


class Stuck(Executor):
    """Hears Ctrl-C while a job is handed over, which never ends."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second Ctrl-C did not end this")


@pytest.mark.usefixtures("_ctrl_c")
def test_a_second_ctrl_c_does_not_wait() -> None:
    with pytest.raises(KeyboardInterrupt):
        list(Handing(Stuck(), order).finished(iter(JOBS)))


def test_a_handler_that_only_notes_signals_lets_the_work_go_on() -> None:
    noted = list[int]()
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        work = Handing(Deleting(), order, _room=1).finished(iter(JOBS))
        assert [run for job in work for run in job.records] == [0, 1, 2, 3]
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == [signal.SIGINT] * 4
