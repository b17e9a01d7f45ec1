"""`paofed fleet token` and `paofed fleet model --format`."""

import json
from pathlib import Path

import pytest

from paofed import predictor
from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.tokens import FILE, Tokens
from paofed.live.model.fleet_model import FleetModel
from tests.live.folders import create


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return create(tmp_path, "none")


def said(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert main(["fleet", *map(str, words)]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_a_token_is_shown_once_listed_and_revoked(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fleet.folder
    words = "there are no tokens: everybody may ask who reaches the port\n"
    assert said(capsys, "token", folder) == words
    first, token = said(capsys, "token", folder, "billing", "--may", "predict").splitlines()
    assert first == "billing may predict with this token, which is not shown again:"
    tokens = Tokens.load(folder)
    assert tokens is not None
    assert tokens.rights(token) == {"predict"}
    made = json.loads(said(capsys, "token", folder, "wall", "--json"))
    assert made["may"] == ["see", "predict"]
    listed = said(capsys, "token", folder)
    assert listed.split() == ["name", "may", "billing", "predict", "wall", "see,", "predict"]
    assert token not in listed
    assert json.loads(said(capsys, "token", folder, "--json"))["tokens"]["billing"] == ["predict"]
    words = "the token of billing is good no more\n"
    assert said(capsys, "token", folder, "billing", "--revoke") == words
    assert f"delete {folder / FILE}" in said(capsys, "token", folder, "wall", "--revoke")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--revoke"], "fleet token needs the NAME of a token"),
        (["--may", "see"], "fleet token needs the NAME of a token"),
        (["billing", "--revoke"], "unknown token 'billing'"),
        (["bill ing"], "'bill ing' is no name for a token"),
    ],
)
def test_what_cannot_be_done_is_told(
    words: list[str], error: str, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert error in said(capsys, "token", fleet.folder, *words, code=2)
    assert not (fleet.folder / FILE).exists()


def test_what_is_no_fleet_has_no_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no fleet" in said(capsys, "token", tmp_path, "one", code=2)


@pytest.mark.parametrize(
    ("name", "words", "kind"),
    [
        ("model.json", [], "json"),
        ("model.npz", [], "npz"),
        ("model", [], "npz"),
        ("model", ["--format", "json"], "json"),
        ("model.json", ["--format", "npz"], "npz"),
    ],
)
def test_a_model_is_written_in_the_format_of_its_name_or_as_said(
    name: str,
    words: list[str],
    kind: str,
    fleet: Fleet,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / name
    done = json.loads(said(capsys, "model", fleet.folder, "--out", out, "--json", *words))
    assert done["format"] == kind
    assert predictor(out).fleet == "greenhouse"
    if kind == "npz":
        assert FleetModel.load(out).fleet == "greenhouse"


def test_predict_says_which_file_it_takes(
    fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "model", fleet.folder, "--out", tmp_path / "model.json")
    assert main(["predict", str(tmp_path / "model.json")]) == 2
    assert "model.json is JSON: expected a .npz" in capsys.readouterr().err
