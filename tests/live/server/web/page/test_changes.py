"""Views as messages: what is told of a change makes the new view of the old one."""

import base64
import json
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.server.web.page.view import FIELDS, Message, View, changes, says_something, whole

rows = st.lists(st.integers(0, 3), min_size=1, max_size=8)


@st.composite
def views(draw: st.DrawFn) -> View:
    """Views of small fleets, often alike."""
    bins, devices = draw(rows), draw(st.integers(0, 3))
    cells = draw(st.binary(min_size=len(bins) * devices, max_size=len(bins) * devices))
    return View(
        {"now": draw(st.integers(0, 5)), "tick": draw(st.integers(0, 2)), "fleet": "g"},
        [[k, draw(st.sampled_from(["a", "b"]))] for k in range(draw(st.integers(0, 3)))],
        draw(st.sampled_from([3.0, 6.0])),
        draw(st.integers(10, 14)),
        list(bins),
        np.frombuffer(cells, dtype=np.uint8).reshape(len(bins), devices) % 3,
        draw(st.integers(5, 8)),
        [[number] for number in draw(rows)],
    )


class Reader:
    """What the page's script does with messages."""

    def __init__(self, message: Message) -> None:
        self.plain: dict[str, Any] = {}
        self.bins: dict[int, tuple[Any, bytes]] = {}
        self.hours: dict[int, Any] = {}
        self.devices: list[Any] = []
        self.take(message)

    def take(self, message: Message) -> None:
        message = json.loads(json.dumps(message))
        bins, hours = message.pop("bins", None), message.pop("hours", None)
        self.devices = message.pop("devices", self.devices)
        for place, row in message.pop("rows", {}).items():
            self.devices[int(place)] = row
        if bins is not None:
            cells, size = zlib.decompress(base64.b64decode(bins["cells"])), bins["devices"]
            packed = [cells[n * size : (n + 1) * size] for n in range(len(bins["rows"]))]
            self.bins = _continued(self.bins, bins, list(zip(bins["rows"], packed, strict=True)))
            self.plain["width"] = bins["width"]
        if hours is not None:
            self.hours = _continued(self.hours, hours, hours["rows"])
        self.plain |= message


def _continued(old: dict[int, Any], series: dict[str, Any], new: list[Any]) -> dict[int, Any]:
    kept = {n: row for n, row in old.items() if series["first"] <= n < series["from"]}
    return kept | {series["from"] + n: row for n, row in enumerate(new)}


@given(st.lists(views(), min_size=1, max_size=5))
def test_changes_make_the_new_view_of_the_old_one(seen: list[View]) -> None:
    reader = Reader(whole(seen[0]))
    for old, new in pairwise(seen):
        reader.take(changes(old, new))
    assert vars(reader) == vars(Reader(whole(seen[-1])))


@given(views())
def test_what_is_the_same_is_not_told(view: View) -> None:
    later = view._replace(plain={**view.plain, "now": 99})
    message = changes(view, later)
    assert message == {"now": 99}
    assert not says_something(message)
    assert says_something(changes(view, later._replace(plain={**later.plain, "tick": 77})))


def test_one_contact_is_a_short_message() -> None:
    """A device of 5,000 is heard: not much more than its row and its column are sent."""
    cells = np.ones((240, 5000), dtype=np.uint8)
    devices: list[list[Any]] = [[k, f"device {k}"] for k in range(5000)]
    old = View({"now": 1}, devices, 3.0, 0, [None] * 240, cells, 0, [[1]] * 744)
    after = cells.copy()
    after[-1, 77] = 2
    heard = [*devices[:77], [77, "device 77", "x"], *devices[78:]]
    message = changes(old, old._replace(cells=after, devices=heard, plain={"now": 2}))
    assert message["rows"] == {77: [77, "device 77", "x"]}
    assert message["bins"]["from"] == 239
    assert "hours" not in message
    assert len(json.dumps(message)) < 500
    assert len(FIELDS) == len(set(FIELDS))
