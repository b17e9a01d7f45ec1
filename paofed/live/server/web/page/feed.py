"""Tells readers of `/events` what changes: server-sent events, at most one a second.

While anybody reads, one thread asks the server's loop at most once a second, whatever the number of
readers. What it finds is kept as one short list of messages for all readers. Each reader goes
through the list at its own pace, in the thread of its own connection. A reader who is too slow for
the list, or was away, gets the whole view again; a reader who does not read at all is dropped when
its connection times out. No reader can keep the loop, or another reader, waiting.
"""

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple, Self
from urllib.parse import parse_qs

from paofed.errors import InputError
from paofed.live.server.lookout import Sight
from paofed.live.server.web.answers import Answer, Question, in_words
from paofed.live.server.web.page.view import (
    Message,
    View,
    changes,
    says_something,
    view_of,
    whole,
)

MOST_READERS = 32
_EVERY = 1.0  # seconds
_SHORTEST = 0.1  # seconds between two attempts
_SHARE = 10  # it rests at least so many times as long as it works, since devices are waiting
# Messages in the list: a reader may be away so long without getting the whole view again.
_KEPT = 30
_BEAT = 5.0  # seconds without news after which readers are sent a sign of life
_RETRY = 2000  # milliseconds after which a browser comes back


class _News(NamedTuple):
    number: int
    message: Message


class Feed:
    """Views of a fleet for readers, as long as its block lasts."""

    def __init__(self, see: Callable[[], Sight]) -> None:
        """Begin; `see` asks the server's loop."""
        self._see = see
        self._own = secrets.token_hex(4)  # tells this server's numbers of messages from another's
        self._view: View | None = None
        self._good_until = 0.0  # until when the present view is used, by the monotonic clock
        self._number = 0
        self._news: deque[_News] = deque(maxlen=_KEPT)
        self._readers = 0
        self._over = False
        self._changed = threading.Condition()
        self._asking = threading.Lock()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def now(self) -> tuple[str, View]:
        """Return the present view, or one of a moment ago, and the id of its message."""
        self._refresh()
        with self._changed:
            assert self._view is not None  # noqa: S101 (`_refresh` has made one)
            return self._place(self._number), self._view

    def events(self, question: Question) -> Answer:
        """Answer with events, without an end."""
        asked = parse_qs(question.query).get("since", [""])[0]
        with self._changed:
            if self._readers >= MOST_READERS:
                return in_words(
                    503, f"{MOST_READERS} readers look at this fleet already: try again later"
                )
        known = self._known(question.fields.get("Last-Event-ID", asked))
        return Answer(200, "text/event-stream", self._told(known), (("Cache-Control", "no-store"),))

    # Called for readers

    def _told(self, known: int | None) -> Iterator[bytes]:
        """Yield what a reader is sent who knows the messages up to a number, or nothing yet."""
        with self._changed:
            self._readers += 1
            self._changed.notify_all()
        try:
            yield f"retry: {_RETRY}\n\n".encode()
            while not self._over:
                if known is None:
                    place, view = self.now()
                    known = self._known(place)
                    yield _event("view", place, whole(view))
                else:
                    found = self._news_after(known)
                    known = None if found is None else known + len(found)
                    for news in found or ():
                        yield _event("news", self._place(news.number), news.message)
                    if found == []:
                        yield b"event: beat\ndata:\n\n"
        except (InputError, TimeoutError):
            return  # the loop cannot answer: the browser comes back by itself
        finally:
            with self._changed:
                self._readers -= 1

    def _news_after(self, known: int) -> list[_News] | None:
        """Wait for news; empty after a while, or None if the reader has missed some of them."""
        with self._changed:
            self._changed.wait_for(lambda: self._number > known or self._over, _BEAT)
            found = [news for news in self._news if news.number > known]
            return found if len(found) == self._number - known else None

    def _place(self, number: int) -> str:
        return f"{self._own}-{number}"

    def _known(self, place: str) -> int | None:
        """Return the number of a message id of this server; None for any other id."""
        own, _, number = place.partition("-")
        right = own == self._own and number.isascii() and number.isdigit() and len(number) < 12
        return int(number) if right and int(number) <= self._number else None

    # Called by the thread that asks the loop

    def _follow(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._readers or self._over)
                if self._over:
                    return
            with suppress(InputError, TimeoutError):  # readers notice that nothing comes
                self._refresh()
            time.sleep(max(self._good_until - time.monotonic(), _SHORTEST))

    def _refresh(self) -> None:
        """Look at the fleet, unless that was just done, and note what is new."""
        with self._asking:
            begin = time.monotonic()
            if self._view is not None and begin < self._good_until:
                return
            view = view_of(self._see())
            message = {} if self._view is None else changes(self._view, view)
            with self._changed:
                if self._view is not None and says_something(message):
                    self._number += 1
                    self._news.append(_News(self._number, message))
                self._view = view
                now = time.monotonic()
                self._good_until = max(begin + _EVERY, now + _SHARE * (now - begin))
                self._changed.notify_all()


def _event(kind: str, place: str, message: Message) -> bytes:
    data = json.dumps(message, separators=(",", ":"))
    return f"event: {kind}\nid: {place}\ndata: {data}\n\n".encode()
