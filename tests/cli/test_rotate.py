"""`paofed fleet rotate --all`."""

import json
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from tests.cli import operators
from tests.cli.operators import UNTOLD, Capsys, refusal


@pytest.fixture
def folder(tmp_path: Path, capsys: Capsys) -> Path:
    place = tmp_path / "greenhouse"
    assert main(["fleet", "init", str(place), "--input", "a", "--target", "y"]) == 0
    assert main(["fleet", "add", str(place), "north", "south"]) == 0
    capsys.readouterr()
    return place


def done(capsys: Capsys, folder: Path, *words: str) -> list[str]:
    return operators.done(capsys, "rotate", folder, *words, warns=UNTOLD).splitlines()


def test_all_devices_get_new_files(folder: Path, capsys: Capsys) -> None:
    paths = [folder / "devices" / name for name in ("0-north.json", "1-south.json")]
    before = [path.read_text() for path in paths]
    assert done(capsys, folder, "--all") == [f"put {path} on its device" for path in paths]
    assert not set(before) & {path.read_text() for path in paths}
    with Fleet(folder).store() as store:
        assert store.credentials.expiring() == []
        assert len(store.credentials.revoked()) == 2


@pytest.mark.parametrize("words", ["14d", "336h", "date", "time", "zone"])
def test_until_a_time(words: str, folder: Path, capsys: Capsys) -> None:
    then = datetime.now().astimezone() + timedelta(days=14)
    written = {
        "date": then.date().isoformat(),
        "time": then.replace(tzinfo=None).isoformat(timespec="minutes"),
        "zone": then.isoformat(timespec="minutes"),
    }
    files = [
        json.loads(line)
        for line in done(capsys, folder, "--all", "--until", written.get(words, words), "--json")
    ]
    when = files[-1]["until"]
    assert abs(when - then.timestamp()) < (86401 if words == "date" else 61)
    assert files[-1]["text"].startswith("the old files are good until 20")
    assert [Path(entry["file"]).name for entry in files[:-1]] == ["0-north.json", "1-south.json"]
    with Fleet(folder).store() as store:
        assert [found.until for found in store.credentials.expiring()] == [int(when)] * 2
        assert store.credentials.revoked() == []
        assert store.credentials.due(time.time()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--all", "--until", "soon"), "'soon' is no time: expected 2026-12-24, "),
        (("--all", "--until", "2020-01-01"), "'2020-01-01' is past, or too far ahead"),
        (("--all", "--until", "9999-01-01"), "'9999-01-01' is past, or too far ahead"),
        (("--all", "--until", "-3d"), "argument --until: expected one argument"),
        (("north", "--until", "3d"), "--until needs --all"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], says: str, folder: Path, capsys: Capsys) -> None:
    before = (folder / "devices" / "0-north.json").read_text()
    assert says in refusal(capsys, "rotate", folder, *words)
    assert (folder / "devices" / "0-north.json").read_text() == before
