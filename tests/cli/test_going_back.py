"""`paofed fleet rollback` and `paofed fleet without` as an operator meets them."""

import json
import shutil
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import locked
from paofed.live.model.fleet_model import FleetModel
from tests.cli.operators import Capsys, done, refusal
from tests.live.fleets import manifest, records, update

TICKS, BROKEN = 60, 40  # one of three devices sends nonsense from some tick on


def lived(place: Path) -> Path:
    """A fleet that began an hour ago and ticks every minute."""
    agreed = manifest(tick_seconds=60.0, start=time.time() - 60.0 * TICKS - 30)
    settings = Settings(name="g", security="none", http="")
    fleet = Fleet.create(place, settings, agreed)
    with fleet.store() as store:
        for label in ("north", "south", "west"):
            store.roster.add(label)
        coordinator = store.recover()
        for tick in range(TICKS):
            group = []
            for device in range(3):
                wild = device == 1 and tick >= BROKEN
                values = (1e5, -1e5) if wild else (0.1, 0.2)
                group += records(coordinator, device, update(tick, *values))
            store.write(group)
            coordinator.close(tick + 1)
            if tick % 7 == 6:
                store.snapshot(coordinator, keep=1e6)
        store.confirmation.catch_up()
    return place


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that no test changes."""
    return lived(tmp_path_factory.mktemp("kept") / "fleet")


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(kept, tmp_path / "fleet"))


@pytest.fixture(scope="module")
def samples(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the model of before would have predicted."""
    with Fleet(kept).store() as store:
        model = FleetModel.of(store.past.at(BROKEN).server)
    x = np.random.default_rng(1).uniform(-1, 1, (40, 2))
    rows = "\n".join(f"{a},{b},{y}" for (a, b), y in zip(x, model.predict(x), strict=True))
    path = tmp_path_factory.mktemp("samples") / "good.csv"
    path.write_text(f"a,b,y\n{rows}\n", encoding="utf-8")
    return path


def model(folder: Path) -> bytes:
    with Fleet(folder).store() as store:
        return store.recover().w.tobytes()


def test_a_rollback_in_words(folder: Path, samples: Path, capsys: Capsys) -> None:
    before = model(folder)
    words = ("rollback", folder, BROKEN, "--validation", samples)
    told = done(capsys, *words, "--dry-run").splitlines()
    assert told[0].startswith("back to tick 40, 20")
    assert told[0].endswith(" ago)")
    assert told[1] == "60 updates that came since then no longer count"
    assert told[2].startswith("error: ")
    assert ", 0 " in told[2] or "e-" in told[2].partition("now, ")[2]
    assert told[-1] == f"{folder}: nothing was changed yet (--dry-run)"
    assert model(folder) == before
    again = done(capsys, *words).splitlines()
    assert again[1:-1] == told[1:-1]
    assert again[-1] == f"{folder}: start its server again"
    with Fleet(folder).store() as store:
        assert store.recover().w.tobytes() == store.past.at(BROKEN).server.w.tobytes() != before


def test_times_as_people_write_them(tmp_path: Path, samples: Path, capsys: Capsys) -> None:
    folder = lived(tmp_path / "fleet")  # half a minute before its next tick
    with Fleet(folder).store() as store:
        began = datetime.fromtimestamp(store.epochs.time_of(40) + 1)  # noqa: DTZ006 (of this machine)
        for text in ("40", "20min", "1200s", began.isoformat(), began.astimezone().isoformat()):
            assert store.past.tick_of(text) == 40
        assert store.past.tick_of("0.5h") == 30
        assert (
            store.past.tick_of("1,040") == store.past.tick_of("1040") == 1040
        )  # as status prints it
    words = ("rollback", folder, "20min", "--validation", samples, "--json")
    answer = json.loads(done(capsys, *words))
    assert (answer["tick"], answer["updates"], answer["epoch"]) == (40, 60, 4)
    now, after = answer["errors"]
    assert now > 1000
    assert after < 1e-6
    assert answer["dry_run"] is False


def test_a_time_that_is_none_or_before_the_journal_is_refused(kept: Path, capsys: Capsys) -> None:
    for text in ("yesterday", "2 hours", "h", "-3", "1e3", "2h30m", "1,04", ""):
        says = refusal(capsys, "rollback", kept, "--", text)
        assert f"the time {text!r} cannot be read: expected a tick (1200)" in says
    for text in ("2d", "2020-01-01"):
        says = refusal(capsys, "rollback", kept, text)
        assert f"the journal of {kept} reaches back to 20" in says
        assert says.endswith(f", tick 0: {text} is earlier")


def test_what_cannot_be_done_is_told_and_changes_nothing(
    kept: Path, tmp_path: Path, capsys: Capsys
) -> None:
    before = model(kept)
    assert "is not there yet" in refusal(capsys, "rollback", kept, "9999")
    missing = tmp_path / "none.csv"
    assert str(missing) in refusal(capsys, "rollback", kept, 40, "--validation", missing)
    assert "unknown device 'nort'" in refusal(capsys, "without", kept, "nort", "--since", 40)
    with locked(kept):
        assert "stop it first" in refusal(capsys, "rollback", kept, 40)
        assert "stop it first" in refusal(capsys, "without", kept, "south", "--since", 40)
    assert model(kept) == before


def test_without_a_device_in_words(folder: Path, samples: Path, capsys: Capsys) -> None:
    words = ("without", folder, "south", "--since", 40, "--validation", samples)
    told = done(capsys, *words, "--dry-run").splitlines()
    assert told[0] == "without 20 updates of south since tick 40"
    assert told[1].startswith("what others had taken over from south remains in what they sent")
    assert told[2].startswith("error: ")
    goes_on = "what south sends is taken from now on, unless quarantined already or by --quarantine"
    assert goes_on in told
    with Fleet(folder).store() as store:
        assert not store.roster.member("south").quarantined
    answer = json.loads(done(capsys, *words, "--quarantine", "--json"))
    then, now, after = answer["errors"]
    assert then < 1e-6 < after < now
    with Fleet(folder).store() as store:
        assert store.roster.member("south").quarantined
        assert store.verify().agrees


def test_for_a_ruined_fleet_a_rollback_is_advised(
    kept: Path, samples: Path, capsys: Capsys
) -> None:
    """Leaving out another device than the broken one helps nobody."""
    words = ("without", kept, "north", "--since", 40, "--validation", samples, "--dry-run")
    assert f"`paofed fleet rollback {kept} 40`" in done(capsys, *words)
    assert json.loads(done(capsys, *words, "--json"))["ruined"] is True
