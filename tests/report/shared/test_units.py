import json
from pathlib import Path

import pytest

from paofed.errors import FileError
from paofed.report.shared.units import claim_folder, record


def test_a_folder_is_taken_and_taken_up_again(tmp_path: Path) -> None:
    for _ in range(2):
        claim_folder(tmp_path, "paofed readings --runs 2 --seed 0")
    about = json.loads((tmp_path / "about.json").read_text())
    assert about["command"] == "paofed readings --runs 2 --seed 0"
    assert about["versions"]["paofed"]


@pytest.mark.parametrize(
    "found",
    [
        json.dumps({"command": "paofed readings --runs 2 --seed 1", "versions": {"paofed": "9"}}),
        json.dumps({"command": "paofed reproduce --runs 2 --seed 0"}),
        "[]",
        "{",
    ],
)
def test_the_folder_of_something_else_is_refused_and_left_alone(found: str, tmp_path: Path) -> None:
    path = tmp_path / "about.json"
    path.write_text(found)
    with pytest.raises(FileError, match=r"was made by .*: expected .*; give another --out") as told:
        claim_folder(tmp_path, "paofed readings --runs 2 --seed 0")
    assert "\n" not in str(told.value)
    assert path.read_text() == found


def test_other_versions_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_folder(tmp_path, "paofed readings")
    monkeypatch.setattr("paofed.report.shared.units.versions", lambda: {"paofed": "another"})
    with pytest.raises(FileError, match="with paofed another"):
        claim_folder(tmp_path, "paofed readings")


def test_a_piece_is_made_once(tmp_path: Path) -> None:
    path, made = tmp_path / "piece.json", []

    def make() -> dict[str, int]:
        made.append(1)
        return {"found": len(made)}

    assert record(path, make) == record(path, make) == {"found": 1}
    path.write_text("{")
    with pytest.raises(FileError, match=r"piece\.json is not JSON: remove it"):
        record(path, make)
