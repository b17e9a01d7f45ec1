"""Methods outside the compiled family on several cores, wherever and however they are called."""

import io
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from paofed.algorithms import Algorithm
from paofed.core.parts import Learner
from paofed.errors import AlgorithmError, PaofedError
from paofed.simulate.engines.workers import Worker, serve
from paofed.simulate.montecarlo import run
from tests.effort import long
from tests.methods import IN_WORDS, OWN
from tests.natures import small_scenario

# As people write them: no guard against being imported, and a rule that closes over a number.
SCRIPT = """
import sys
from dataclasses import replace
import numpy as np
from paofed import algorithm, run
from paofed.core.parts import Learner, Weights

def damped(by):
    return lambda s, z, y, mu, tick: Weights(s.w + by * float(str(mu)) * (y - s.w @ z) * z)

own = replace(algorithm("pao-fed-u1"), name="own", learner=Learner(learn=damped(0.5)))
one, two = (run("small.toml", own, runs=3, workers=n, engine="reference") for n in (1, 2))
print(two.provenance["engines"], np.array_equal(one.mse, two.mse), len(set(one.mse[:, 0, -1])))
"""


def test_from_a_script_as_people_write_it(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(small_scenario().to_toml())
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("['reference'] True 3\n", "")


def learning(rule: Callable[..., Any]) -> Algorithm:
    return replace(OWN, learner=Learner(learn=rule))


def curves(workers: int) -> bytes:
    return run(small_scenario(), OWN, runs=2, workers=workers, engine="reference").mse.tobytes()


@long
def test_inside_the_worker_of_a_pool() -> None:
    """It is daemonic and must not have children; spawned, since not every system can fork."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(curves, [1, 2]) == [curves(1)] * 2


def test_one_worker_is_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("paofed.simulate.engines.reference_engine.Worker")
    monkeypatch.delattr("paofed.simulate.engines.task.cloudpickle")
    seen: list[int] = []

    def rule(*args: Any) -> Any:
        seen.append(os.getpid())
        return IN_WORDS.learn(*args)

    run(small_scenario(), learning(rule), runs=2, workers=1)
    run(small_scenario(), learning(rule), runs=1, workers=8)
    assert set(seen) == {os.getpid()}


def test_what_cannot_be_copied_needs_this_process() -> None:
    lock = threading.Lock()

    def rule(*args: Any) -> Any:
        with lock:
            return IN_WORDS.learn(*args)

    own = learning(rule)
    with pytest.raises(AlgorithmError, match=r"own cannot be sent to another process .*workers=1"):
        run(small_scenario(), own, runs=2, workers=2, engine="reference")
    found = run(small_scenario(), own, runs=2, workers=1, engine="reference")
    np.testing.assert_array_equal(found.mse.tobytes(), curves(1))


class Odd(Exception):  # noqa: N818 (a test's)
    """One that cannot be copied, for what it holds."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")
        self.lock = threading.Lock()


def threads() -> list[int]:
    from threadpoolctl import threadpool_info

    return [library["num_threads"] for library in threadpool_info()]


def work(what: str) -> object:
    print("this is no answer")  # noqa: T201
    if what == "threads":
        return threads()
    if what == "held":
        return set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    if what == "divide":
        return 1 / 0
    if what == "odd":
        raise Odd(1, 2)
    os._exit(3)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(cloudpickle.dumps(work))
    yield made
    made.kill()
    made.close()


def test_a_worker_says_what_became_of_its_work(worker: Worker) -> None:
    found = worker.do(what="threads")
    assert set(found) == {1}
    assert worker.do(what="held") >= {signal.SIGINT, signal.SIGTERM}  # from before it began
    with pytest.raises(ZeroDivisionError) as error:
        worker.do(what="divide")
    assert "In a worker process" in error.value.__notes__[0]
    assert "return 1 / 0" in error.value.__notes__[0]
    with pytest.raises(PaofedError, match="ended with exit code 3 before its work was done"):
        worker.do(what="stop")


def answers(pickled: bytes, *requests: dict[str, object]) -> list[tuple[bool, Any]]:
    """What a worker answers, in this process."""
    asked, heard = io.BytesIO(), io.BytesIO()
    for request in (pickled, *requests):
        pickle.dump(request, asked)
    asked.seek(0)
    with pytest.raises(EOFError):
        serve(asked, heard)
    heard.seek(0)
    found = []
    with suppress(EOFError):
        while True:
            found.append(pickle.load(heard))  # noqa: S301 (our own)
    return found


def test_errors_that_cannot_be_copied_are_told_by_their_text() -> None:
    (first, error), (second, listed) = answers(
        cloudpickle.dumps(work), {"what": "odd"}, {"what": "threads"}
    )
    assert (first, second) == (False, True)
    assert isinstance(error, RuntimeError)
    assert str(error).startswith("tests.simulate.engines.test_workers.Odd: 1 and 2")
    assert isinstance(listed, list)
