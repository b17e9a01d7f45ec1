"""Tells readers of `/events` what changes: server-sent events, at most one a second.

While anybody reads, one thread asks the server's loop at most once a second, whatever the number of
readers. What it finds is kept as one short list of messages for all readers. Each reader goes
through the list at its own pace, in the thread of its own connection. A reader who is too slow for
the list, or was away, gets the whole view again; a reader who does not read at all is dropped when
its connection times out. No reader can keep the loop, or another reader, waiting.

A message has a view, or what is different from one view to the next. Of a series, all rows from the
first different one on are sent, with the number of that row (`from`) and of the oldest row that is
still to be kept (`first`). The whole view is the difference from nothing.
"""

import base64
import json
import secrets
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs

import numpy as np

from paofed.errors import InputError
from paofed.live.server.lookout import Sight
from paofed.live.server.web.answers import Answer, Question, in_words
from paofed.live.server.web.page.view import FIELDS, View, view_of

Message = dict[str, Any]

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
        fields = {name.lower(): value for name, value in question.fields.items()}
        asked = parse_qs(question.query).get("since", [""])[0]
        with self._changed:
            if self._readers >= MOST_READERS:
                return in_words(
                    503, f"{MOST_READERS} readers look at this fleet already: try again later"
                )
        known = self._known(fields.get("last-event-id", asked))
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


def whole(view: View) -> Message:
    """Return a message with the whole view."""
    return {
        **view.plain,
        "fields": FIELDS,
        "devices": view.devices,
        "bins": _bins(view, view.first_bin),
        "hours": {"first": view.first_hour, "from": view.first_hour, "rows": view.hours},
    }


def changes(old: View, new: View) -> Message:
    """Return what is different, at least the time; rows of devices by their index."""
    message = {k: v for k, v in new.plain.items() if k == "now" or old.plain[k] != v}
    if len(old.devices) != len(new.devices):
        message["devices"] = new.devices
    else:
        pairs = zip(old.devices, new.devices, strict=True)
        rows = {place: row for place, (was, row) in enumerate(pairs) if was != row}
        message |= {"rows": rows} if rows else {}
    bin = _first_different_bin(old, new)  # noqa: A001 (the word is what it is)
    if _is_told(old.first_bin, old.bins, new.first_bin, new.bins, bin):
        message["bins"] = _bins(new, bin)
    hour = _first_different(old.first_hour, old.hours, new.first_hour, new.hours)
    if _is_told(old.first_hour, old.hours, new.first_hour, new.hours, hour):
        rest = new.hours[hour - new.first_hour :]
        message["hours"] = {"first": new.first_hour, "from": hour, "rows": rest}
    return message


def says_something(message: Message) -> bool:
    """Whether anything but the time is different."""
    return message.keys() != {"now"}


def _bins(view: View, begin: int) -> Message:
    """Return the bins from number `begin` on; their cells are bytes, packed."""
    place = begin - view.first_bin
    cells = np.ascontiguousarray(view.cells[place:]).tobytes()
    return {
        "width": view.width,
        "first": view.first_bin,
        "from": begin,
        "devices": view.cells.shape[1],
        "rows": view.bins[place:],
        "cells": base64.b64encode(zlib.compress(cells)).decode(),
    }


def _first_different_bin(old: View, new: View) -> int:
    """Return the number of the first different bin; the first of all if bins are another width."""
    if old.width != new.width or old.cells.shape[1] != new.cells.shape[1]:
        return new.first_bin
    rows = _first_different(old.first_bin, old.bins, new.first_bin, new.bins)
    begin = max(old.first_bin, new.first_bin)
    was, now = old.cells[begin - old.first_bin :], new.cells[begin - new.first_bin :]
    common = min(len(was), len(now))
    different = np.flatnonzero((was[:common] != now[:common]).any(axis=1))
    return min(rows, begin + int(different[0])) if different.size else rows


def _first_different(old_first: int, old: list[Any], new_first: int, new: list[Any]) -> int:
    """Return the number of the first row that is new or different."""
    begin = max(old_first, new_first)
    if new_first < old_first or begin >= old_first + len(old):
        return new_first
    was, now = old[begin - old_first :], new[begin - new_first :]
    for place, (a, b) in enumerate(zip(was, now, strict=False)):
        if a != b:
            return begin + place
    return begin + min(len(was), len(now))


def _is_told(
    old_first: int, old: list[Any], new_first: int, new: list[Any], different: int
) -> bool:
    """Whether a series has a different row, or begins or ends elsewhere."""
    return different < new_first + len(new) or (old_first, len(old)) != (new_first, len(new))
