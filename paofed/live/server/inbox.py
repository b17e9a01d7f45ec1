"""What other threads have for the server's loop: the only thing that all threads change."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from paofed.live.journal.database import StoreError

Answered = TypeVar("Answered")

_PATIENCE = 5.0  # seconds that another thread waits for the loop's answer
_GROUP = 0.02  # seconds during which arrivals share one commit
_MOST = 20_000  # the most messages that wait; more are dropped, and their devices repeat them


class Inbox:
    """What other threads have for the loop: limited in messages, not in requests."""

    def __init__(self) -> None:
        self.heard = 0  # messages from devices, whether taken or not
        self.dropped = 0
        self._items: deque[Any] = deque()
        # Messages by device since `heard_of` was last called.
        self._heard_of: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._something = threading.Event()

    def message(self, device: int, payload: bytes) -> None:
        """Put a message of a device into the inbox; called by the network's thread."""
        with self._lock:
            self.heard += 1
            self._heard_of[device] += 1
            if len(self._items) >= _MOST:
                self.dropped += 1
                return
            self._items.append((device, payload))
        self._something.set()

    def request(self, what: Callable[[], object]) -> None:
        """Put something into the inbox that is to be done in the loop."""
        with self._lock:
            self._items.append(what)
        self._something.set()

    def take(self, longest: float) -> list[Any]:
        """Wait for something, and a little longer for what comes with it; return all of it."""
        if self._something.wait(longest):
            time.sleep(_GROUP)
            self._something.clear()
        with self._lock:
            items, self._items = list(self._items), deque()
        return items

    def drop(self) -> None:
        """Count a message that was taken and will not be looked at."""
        with self._lock:
            self.dropped += 1

    def heard_of(self) -> Counter[int]:
        """Return how many messages each device has sent since the last call."""
        with self._lock:
            heard, self._heard_of = self._heard_of, Counter()
        return heard

    def ask(self, question: Callable[[], Answered], patience: float = _PATIENCE) -> Answered:
        """Let the loop answer a question of another thread, within some seconds."""
        answer: Future[Answered] = Future()

        def work() -> None:
            try:
                answer.set_result(question())
            except StoreError as error:
                answer.set_exception(error)

        self.request(work)
        return answer.result(patience)
