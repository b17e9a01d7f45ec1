"""`paofed device run`: what is refused before anything begins."""

from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.credential import Credential

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A device of a fleet that is nowhere."""
    path = tmp_path / "3.json"
    Credential(fleet="g", since=1.0, name="3", label="x", host="127.0.0.1", port=1).save(path)
    return path


def refusal(capsys: Capsys, *words: object) -> str:
    assert main(["device", "run", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("paofed device run: error: ").rstrip("\n")


@pytest.mark.parametrize("option", ["--wait", "--save-every", "--join-within"])
@pytest.mark.parametrize("value", ["-1", "-0.001", "nan", "inf", "-inf", "1e6"])
def test_seconds_are_a_number_that_can_be_waited(
    option: str, value: str, file: Path, capsys: Capsys
) -> None:
    says = refusal(capsys, file, f"{option}={value}")
    assert says == "expected --every of at least 1, and seconds of at least 0"


@pytest.mark.parametrize("value", [0, -1])
def test_samples_from_contact_to_contact_are_counted_from_one(
    value: int, file: Path, capsys: Capsys
) -> None:
    says = refusal(capsys, file, f"--every={value}")
    assert says == "expected --every of at least 1, and seconds of at least 0"


@pytest.mark.parametrize(
    ("place", "says"), [("missing/state.npz", "is not a directory"), (".", "is a directory")]
)
def test_a_state_that_could_not_be_saved_is_told_at_once(
    place: str, says: str, file: Path, tmp_path: Path, capsys: Capsys
) -> None:
    assert says in refusal(capsys, file, "--state", tmp_path / place)


def test_the_least_of_every_number_is_taken(file: Path, capsys: Capsys) -> None:
    zeros = ("--wait=0", "--save-every=0", "--join-within=0", "--every=1")
    says = refusal(capsys, file, *zeros, "--state", file.with_name("state.npz"))
    assert says.startswith("the fleet was not reached: ")
