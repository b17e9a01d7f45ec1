import json
from argparse import Namespace
from pathlib import Path

import pytest

from lab.study_folder import claim_folder, crew_in_folder
from paofed.errors import FileError
from paofed.simulate.spread.crew import Crew


def test_a_folder_is_taken_and_taken_up_again(tmp_path: Path) -> None:
    for _ in range(2):
        claim_folder(tmp_path, "python -m lab interpretations --runs 2 --seed 0")
    about = json.loads((tmp_path / "about.json").read_text())
    assert about["command"] == "python -m lab interpretations --runs 2 --seed 0"
    assert about["versions"]["paofed"]


OTHER = {"command": "python -m lab interpretations --seed 1", "versions": {"paofed": "9"}}


@pytest.mark.parametrize("found", [json.dumps(OTHER), '{"command": 1}', "[]", "{"])
def test_the_folder_of_something_else_is_refused_and_left_alone(found: str, tmp_path: Path) -> None:
    path = tmp_path / "about.json"
    path.write_text(found)
    with pytest.raises(FileError, match=r"was made by .*: expected .*; give another --out") as told:
        claim_folder(tmp_path, "python -m lab interpretations --runs 2 --seed 0")
    assert "\n" not in str(told.value)
    assert path.read_text() == found


def test_other_versions_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_folder(tmp_path, "python -m lab interpretations")
    monkeypatch.setattr("lab.study_folder.versions", lambda: {"paofed": "another"})
    with pytest.raises(FileError, match="with paofed another"):
        claim_folder(tmp_path, "python -m lab interpretations")


def test_finished_jobs_are_kept_in_the_folder_unless_another_store_is_named(
    tmp_path: Path,
) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    for store, expected in ((None, out / "jobs"), (elsewhere, elsewhere)):
        args = Namespace(out=out, store=store, workers=1, on=None)
        with crew_in_folder(args, "python -m lab interpretations") as crew:
            assert crew == Crew(1, None, expected)
            assert (out / "about.json").is_file()


def test_an_interrupt_says_where_finished_jobs_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = Namespace(out=tmp_path, store=None, workers=1, on=None)
    with pytest.raises(KeyboardInterrupt), crew_in_folder(args, "python -m lab interpretations"):
        raise KeyboardInterrupt
    said = f"finished jobs are kept in {tmp_path / 'jobs'}: the same command goes on from there"
    assert said in capsys.readouterr().err
