"""docs/vectors: made anew by paofed, and by a device that was written from docs/live.md alone.

Numbers agree within 1e-9, values that travel within 1e-6, relative to the largest; all else is
equal.
"""

import ast
import json
import math
import re
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from paofed import predictor
from paofed.core.columns.numbers import Number
from paofed.live.protocol.messages import decode, encode
from paofed.live.protocol.seen import Seen
from paofed.live.protocol.served import of_own
from tests.live import tiny_columns, tiny_predictor
from tests.live import tiny_device as tiny
from tests.live.fleets import manifest
from tests.live.own_method import CALM
from tests.live.vectors import FILES, FOLDER

Json = dict[str, Any]


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def near(a: object, b: object, shared: int = 2) -> bool:
    """Whether two are the same but for the last bits of their numbers."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(near(a[key], b[key], shared) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b, [shared] * len(a)))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, str) and isinstance(b, str) and a != b and a.startswith("2"):  # a message
        return near_message(bytes.fromhex(a), bytes.fromhex(b), shared)
    return type(a) is type(b) and a == b


def near_message(a: bytes, b: bytes, shared: int) -> bool:
    """Whether two updates are the same but for the last bits of their values."""
    if a[0] & 15 or len(a) != len(b):
        return a == b
    for start in (7, *range(7 + 4 * shared + 2, len(a), 4 * shared + 2)):
        part = slice(start, start + 4 * shared)
        mine, theirs = (np.frombuffer(message[part], "<f4") for message in (a, b))
        if not np.allclose(mine, theirs, 0, 1e-6 * max(1.0, np.abs(mine).max())):
            return False
        a, b = (message[:start] + bytes(4 * shared) + message[part.stop :] for message in (a, b))
    return a == b


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_as_paofed_makes_them(name: str) -> None:
    now = json.loads(json.dumps(FILES[name]()))
    if name == "lives.json":
        for mine, theirs in zip(now, read(name), strict=True):
            shared = mine["manifest"]["shared"]
            for event, other in zip(mine["events"], theirs["events"], strict=True):
                shared = event.get("adopts", {}).get("shared", shared)
                assert near(event, other, shared), mine["about"]
            assert {**mine, "events": 0} == {**theirs, "events": 0}
    else:
        assert near(now, read(name))
    assert {path.name for path in FOLDER.iterdir()} == set(FILES)


def test_a_difference_is_found() -> None:
    (life, *_) = read("lives.json")
    update = next(e["sends"] for e in life["events"] if (e.get("sends") or "").startswith("20"))
    at = 2 * 7
    (value,) = struct.unpack("<f", bytes.fromhex(update[at : at + 8]))
    for change, same in ((1e-8, True), (1e-4, False)):
        other = update[:at] + struct.pack("<f", value + change).hex() + update[at + 8 :]
        assert near(update, other) == same
    assert not near(update, update[:12] + "01" + update[14:])  # the level
    assert not near({"w": [1.0, 2.0]}, {"w": [1.0, 2.0 + 1e-6]})


def test_the_tiny_device_knows_no_paofed() -> None:
    columns = "tests.live.tiny_columns"
    assert imported(tiny) == {"math", "struct", "typing", "numpy", "numpy.typing", columns}
    assert imported(tiny_columns) == {"datetime", "math", "typing", "zoneinfo"}
    assert imported(tiny_predictor) == {"json", "math", "pathlib", "typing", columns}


def imported(module: ModuleType) -> set[str]:
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    return {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def test_predictions_from_the_page_alone() -> None:
    model, found = tiny_predictor.load(FOLDER / "model.json"), read("predictions.json")
    assert len(found) >= 5
    for one in found:
        predicted = tiny_predictor.predicted(model, one["reading"])
        for name in ("value", "low", "high"):
            assert predicted[name] == pytest.approx(one[name], rel=1e-9, abs=1e-9)


def test_the_model_of_the_vectors_predicts_them() -> None:
    model = predictor(FOLDER / "model.json")
    for one in read("predictions.json"):
        predicted = model.predict(one.pop("reading"))._asdict()
        assert predicted == pytest.approx(one, rel=1e-9, abs=1e-9)


def test_the_map_from_the_page_alone() -> None:
    found = read("map.json")
    for one in found["philox"]:
        assert tiny.philox(one["key"], one["counter"]) == one["words"]
    for one in found["normals"]:
        assert tiny.normal(one["word"]) == pytest.approx(one["normal"], rel=1e-9, abs=1e-9)
    agreed = found["map"]
    inputs, features = np.shape(agreed["frequencies"])
    drawn = tiny.Map(agreed["seed"], inputs, features, agreed["kernel_width"])
    assert drawn.frequencies == pytest.approx(np.array(agreed["frequencies"]), rel=1e-9)
    assert drawn.phases == pytest.approx(np.array(agreed["phases"]), rel=1e-9)
    linear = found["linear"]
    seed, width, ranges = linear["seed"], linear["kernel_width"], linear["linear"]
    for of, made in (
        (agreed, drawn),
        (linear, tiny.Map(seed, inputs, linear["features"], width, ranges)),
    ):
        for one in of["z"]:
            assert made.z(np.array(one["x"])) == pytest.approx(np.array(one["z"]), abs=1e-9)


def test_the_windows_from_the_page_alone() -> None:
    for one in read("windows.json"):
        for up, name in ((True, "uplink"), (False, "downlink")):
            assert tiny.window(one, one["device"], one["tick"], up=up) == one[name], one


def test_the_levels_from_the_page_alone() -> None:
    for one in read("levels.json"):
        level = tiny.Level()
        levels = [level.byte()]
        for error in one["errors"]:
            level.passed_over() if error is None else level.learned(error)
            levels.append(level.byte())
        assert levels == one["levels"]


def test_the_columns_from_the_page_alone() -> None:
    for one in read("columns.json"):
        found = tiny_columns.numbers(one["column"], one["values"])
        assert found == pytest.approx(one["numbers"], rel=1e-9, abs=1e-9), one
        assert len(found) == tiny_columns.width(one["column"])


def test_the_messages_are_read_as_they_are_written() -> None:
    for one in read("messages.json"):
        message = decode(bytes.fromhex(one["hex"]), shared=2, features=8)
        assert type(message).__name__.lower() == one["kind"]
        assert encode(message).hex() == one["hex"]


def test_values_of_few_bits_from_the_page_alone() -> None:
    for one in read("blocks.json"):
        values, bits, up = one["values"], one["bits"], one["direction"] == "up"
        u = tiny.chances(one["seed"], one["device"], one["tick"], len(values), up=up)
        block = tiny.block_of(values, bits, u)
        assert block.hex() == one["hex"], one
        said = tiny.values_of(block, bits, len(values))
        assert said is not None
        assert np.clip(said, -1e6, 1e6) == pytest.approx(np.array(one["says"]), rel=1e-12)
        assert tiny.values_of(b"\0\0\x80\xbf" + block[4:], bits, len(values)) is None
        assert tiny.values_of(block[:4] + b"\xff" * len(block[4:]), bits, len(values)) is None


@pytest.mark.parametrize("life", read("lives.json"), ids=lambda life: life["about"])
def test_whole_lives_from_the_page_alone(life: Json) -> None:
    device = tiny.TinyDevice(life["manifest"], life["device"])
    for event in life["events"]:
        assert near(event, lived(device, event, life["patience"]), device.m["shared"]), event


def lived(device: tiny.TinyDevice, event: Json, patience: int) -> Json:
    """What a device does of what happens to it."""
    at, after = event["at"], dict(event)
    if "learn" in event:
        device.learn(event["learn"]["x"], event["learn"]["y"], event.get("time"))
    elif "predict" in event:
        after["gives"] = device.predict(event["predict"], event.get("time"))
    elif "remember" in event:
        device.remember(event["remember"]["x"], event["remember"]["y"], event["time"])
    elif "sends" in event:
        sent = device.contact(at, patience)
        after["sends"] = None if sent is None else sent.hex()
    elif "receives" in event:
        after["confirms"] = device.receive(bytes.fromhex(event["receives"]), at)
    elif "adopts" in event:
        device.adopt(event["adopts"])
    else:
        device.restart()
    return {**after, "model": device.w.tolist()}


def test_the_page_names_every_key_of_a_manifest(tmp_path: Path) -> None:
    page = (FOLDER.parent / "live.md").read_text(encoding="utf-8")
    table = page.partition("\n## The manifest\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    named = [word for cell in cells for word in re.findall(r"`(\w+)`", cell)]
    seen = Seen((Number("a"), Number("b")), Number("y"))
    beginning = {"linear": ((0.0, 1.0),) * 2, "start_model": (0.0,) * 8, "first_interval": 1.0}
    rule = {"algorithm": "fed-async", "options": {"alpha": 0.5}}
    all_keys = manifest(
        learner="rls", forgetting=0.9, seen=seen, personal=True, **beginning, **rule
    )
    (tmp_path / "calm.py").write_text(CALM)
    own = manifest(**of_own(f"{tmp_path / 'calm.py'}:calm"))
    assert set(named) == {key for one in (all_keys, own) for key in json.loads(one.to_json())}
