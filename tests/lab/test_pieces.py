import json
import math
from pathlib import Path
from typing import Any

import pytest

from lab.pieces import claim_folder, record
from paofed.errors import FileError


def test_a_folder_is_taken_and_taken_up_again(tmp_path: Path) -> None:
    for _ in range(2):
        claim_folder(tmp_path, "python -m lab interpretations --runs 2 --seed 0")
    about = json.loads((tmp_path / "about.json").read_text())
    assert about["command"] == "python -m lab interpretations --runs 2 --seed 0"
    assert about["versions"]["paofed"]


@pytest.mark.parametrize(
    "found",
    [
        json.dumps(
            {
                "command": "python -m lab interpretations --runs 2 --seed 1",
                "versions": {"paofed": "9"},
            }
        ),
        json.dumps({"command": "paofed reproduce --runs 2 --seed 0"}),
        "[]",
        "{",
    ],
)
def test_the_folder_of_something_else_is_refused_and_left_alone(found: str, tmp_path: Path) -> None:
    path = tmp_path / "about.json"
    path.write_text(found)
    with pytest.raises(FileError, match=r"was made by .*: expected .*; give another --out") as told:
        claim_folder(tmp_path, "python -m lab interpretations --runs 2 --seed 0")
    assert "\n" not in str(told.value)
    assert path.read_text() == found


def test_other_versions_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_folder(tmp_path, "python -m lab interpretations")
    monkeypatch.setattr("lab.pieces.versions", lambda: {"paofed": "another"})
    with pytest.raises(FileError, match="with paofed another"):
        claim_folder(tmp_path, "python -m lab interpretations")


def test_a_piece_is_made_once(tmp_path: Path) -> None:
    made = list[int]()

    def make() -> dict[str, Any]:
        made.append(1)
        return {"found": len(made), "error": float("inf")}

    path = tmp_path / "piece.json"
    assert record(path, "key", make) == record(path, "key", make) == {"found": 1, "error": math.inf}
    held = json.loads(path.read_text())
    assert (held["found"], held["key"]) == (1, "key")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (("-5.658", "-9.658"), "is damaged or was edited: its checksum is not that of its content"),
        (('"values"', '"valuez"'), "is damaged or was edited: its checksum is not that of its"),
        (('"key": "this"', '"key": "that"'), "is not this part of the work: it holds the key of"),
        (('"key"', '"kex"'), "is not this part of the work: it holds the key of another"),
        (('"checksum"', '"checksun"'), "is damaged or was edited: its checksum is not that"),
        (("{", ""), "is damaged: it is not JSON"),
        (("{", "[" * 100_000 + "{"), "is damaged: it is not JSON"),
        (("{", '"'), "is damaged: it is not JSON"),
        (("-5.658", "9" * 5000), "is damaged: it is not JSON"),
    ],
)
def test_a_piece_that_was_damaged_or_edited_is_made_again_with_one_line(
    damage: tuple[str, str], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, content = tmp_path / "piece.json", {"values": [-5.658, 1e300], "spent": {"mqtt": 3}}
    record(path, "this", lambda: content)
    whole = path.read_text()
    path.write_text(whole.replace(*damage, 1))
    assert path.read_text() != whole
    assert record(path, "this", lambda: content) == content
    assert path.read_text() == whole
    (told,) = caplog.messages
    assert told.startswith(f"{path} {said}")
    assert told.endswith("; it is computed again")
    assert "\n" not in told


@pytest.mark.parametrize("text", ["[]", "3", "null"])
def test_a_file_of_something_else_is_made_anew(text: str, tmp_path: Path) -> None:
    path = tmp_path / "piece.json"
    path.write_text(text)
    assert record(path, "this", lambda: {"found": 1}) == {"found": 1}
