"""The list of a gateway's sources: nothing is believed that a gateway cannot have written."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from paofed.errors import FileError
from paofed.live.gateway.sources import FILE, FORMAT, Sources, TelemetrySource, load, save
from paofed.live.network.credential import Credential

OWNER = Credential(fleet="g", since=1.5, name="g/0", label="hall", host="localhost", port=8883)
RIGHT: dict[str, Any] = {"device": 1, "first": 1.0, "last": 2, "messages": 3, "why": ""}
WRONG: dict[str, tuple[object, ...]] = {
    "device": (-1, 10**400, True, "1", 1.0),
    **dict.fromkeys(("first", "last"), ("now", None, math.inf, math.nan, 10**400, [1.0], True)),
    **dict.fromkeys(("messages", "samples", "implausible"), (-1, 1.5, "3", None, True, 10**400)),
    "waits": (0, "yes", None),
    "why": (3, None, ["x"]),
}


def written(folder: Path, sources: object, passed_over: object = None) -> Path:
    """A folder with such a list; the numbers of messages that were passed over may be anything."""
    whose = {"format": FORMAT, "fleet": OWNER.fleet, "since": OWNER.since, "gateway": OWNER.who}
    told = {**whose, "sources": sources, "passed_over": {} if passed_over is None else passed_over}
    (folder / FILE).write_text(json.dumps(told))
    return folder


def refused(folder: Path) -> bool:
    with pytest.raises(FileError, match="is no list of a gateway's sources: restore it from a cop"):
        load(folder, OWNER)
    return True


def test_what_was_saved_is_read(tmp_path: Path) -> None:
    known = {
        "s": TelemetrySource(2, 1.0, 2.0, 3, 4, 5, waits=True, why="x"),
        "t": TelemetrySource(),
    }
    save(tmp_path, OWNER, Sources((1, 2), ("*",), known), {"not JSON": 3})
    assert load(tmp_path, OWNER) == (known, {"not JSON": 3})
    assert load(written(tmp_path, {"s": RIGHT}), OWNER)[0] == {"s": TelemetrySource(**RIGHT)}


@pytest.mark.parametrize("key", WRONG)
def test_a_value_of_another_type_is_told(key: str, tmp_path: Path) -> None:
    for value in WRONG[key]:
        assert refused(written(tmp_path, {"s": {**RIGHT, key: value}}))


def test_what_nobody_could_have_saved_is_told(tmp_path: Path) -> None:
    assert refused(written(tmp_path, {"one": RIGHT, "two": RIGHT}))  # one device's place for both
    assert refused(written(tmp_path, {"a/b": RIGHT}))  # no name that a topic can have
    assert refused(written(tmp_path, {"s": RIGHT}, {"not JSON": "3"}))
    assert refused(written(tmp_path, {"s": RIGHT}, [3]))
    for content in ("", "[]", '{"sources": 3}', '{"sources": {"s": {"x": 1}}}'):
        (tmp_path / FILE).write_text(content)
        assert refused(tmp_path)
