"""An executor that does everything an executor may do to its work, and then some."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Unruly(Executor):
    """Computes in one thread: late, in any order, now and then twice; fails, cancels.

    What it does wrong to a piece of work is drawn when that is submitted, but never more than
    `patience` times for the same one.
    """

    WRONGS = ("refuse", "raise", "cancel", "garble", "repeat")

    def __init__(self, seed: int, patience: int = 2) -> None:
        self._draw, self._patience = random.Random(seed), patience  # noqa: S311 (no secret)
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._wrongs: Counter[object] = Counter()
        self._there = threading.Condition()
        self._over = False
        self.done: Counter[object] = Counter()
        self.did: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        well = ["nothing"] * 6 * bool(self.did)  # the first one never goes well
        which, wrong = args[-1], self._draw.choice([*self.WRONGS, *well])
        if self._wrongs[which] >= self._patience:
            wrong = "nothing"
        self._wrongs[which] += wrong in ("refuse", "raise", "cancel", "garble")
        self.did[wrong] += 1

        def work() -> Any:
            self.done[which] += 1
            if wrong == "raise":
                raise ConnectionError("a worker is gone")
            if wrong == "repeat":
                fn(*args, **kwargs)
            return b"what is this?" if wrong == "garble" else fn(*args, **kwargs)

        if wrong == "refuse":
            raise RuntimeError("no room")
        if wrong == "cancel":
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            with self._there:
                self._waiting.append((future, work))
                self._there.notify()
        return future

    def _work(self) -> None:
        while True:
            with self._there:
                self._there.wait_for(lambda: self._waiting or self._over)
                if self._over:
                    return
                future, work = self._waiting.pop(self._draw.randrange(len(self._waiting)))
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 (an executor's way)
                future.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        with self._there:
            self._over = True
            self._there.notify()
        self._thread.join()
