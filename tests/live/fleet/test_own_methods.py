"""A method of one's own, in a file: planned, made into a fleet, served, rolled back, verified.

All of it as an operator does it, every command a process of its own.
"""

import json
import math
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms.admitted import admit, admit_kept
from paofed.cli import main
from paofed.demo.processes import LocalBroker, Process, end, serve
from paofed.device_c.agreed import agreed_in_c
from paofed.errors import InputError, MissingMethodError
from paofed.experiments.plan.field import Candidate, setups_of
from paofed.experiments.plan.use import commands
from paofed.live.fleet.backup import back_up, restore
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.founding import new_manifest
from paofed.live.fleet.methods import METHODS
from paofed.live.fleet.settings import Settings
from paofed.live.journal.exports import replay_messages
from paofed.live.protocol.change import Changes, changed_manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.served import of_own
from tests.algorithms.outside import install
from tests.effort import long
from tests.experiments.plan.plans import a_plan, small_fleet
from tests.live.brokers import PATIENCE
from tests.live.fleets import manifest
from tests.live.own_method import CALM
from tests.ports import free_port
from tests.system import needs

UNSERVED = """
greedy = Learner(learn=learn, why_not="it asks for the moon")
unserved = replace(calm(), learner=greedy)
"""
TICK = 0.25
DONE = 0


def paofed(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "paofed", *map(str, words)]
    return subprocess.run(  # noqa: S603 (our own program)
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def done(*words: object) -> str:
    made = paofed(*words)
    assert made.returncode == DONE, made.stderr
    return made.stdout


def refusal(*words: object) -> str:
    made = paofed(*words)
    assert (made.returncode, made.stderr.count("\n")) == (2, 1), made.stderr
    return made.stderr


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "calm.py"
    path.write_text(CALM)
    return path


def word_of(calm: Path) -> str:
    return f"{calm}:calm:shared=2,step_size=0.4"


def words_of(command: str, fleet: Path) -> list[str]:
    """A command that a plan prints, with what it leaves open filled in."""
    named = command.replace("NAME ...", "a").replace("NAME", "y").replace("FLEET", str(fleet))
    return shlex.split(named)[1:]


@long
def test_it_is_planned_and_its_fleet_is_made_as_the_plan_says(calm: Path, tmp_path: Path) -> None:
    few = small_fleet(ticks=8, clients=4, stream={"samples": (8,)})
    (tmp_path / "few.toml").write_text(few.to_toml(), encoding="utf-8")
    told = done(
        *("plan", tmp_path / "few.toml", "--budget", "1MB/month", "--engine", "reference"),
        *("--algorithm", word_of(calm), "--out", tmp_path / "plan"),
    )
    _, init, device = (line for line in told.splitlines() if line.startswith("paofed "))
    assert device.startswith(f"paofed device run DEVICE.json --method {calm}:calm")
    done(*words_of(init, tmp_path / "g"))
    with Fleet(tmp_path / "g").store() as store:
        agreed = store.epochs.manifest()
    assert (agreed.method, agreed.code) == ("calm", admit(f"{calm}:calm").code)
    assert (agreed.shared, agreed.step_size, agreed.tick_seconds) == (2, 0.4, 3600.0)


def test_a_plan_of_it_ends_in_the_commands_that_make_its_fleet(calm: Path) -> None:
    (setup,) = setups_of(small_fleet(), [word_of(calm)], "live")
    _, init, device = commands(a_plan(small_fleet(), Candidate(setup, 0.5)), "plan.toml")
    assert f"--method {calm}:calm --shared 2 --step-size 0.4" in init
    assert "--clip" not in init
    assert "--bound" not in init
    assert device == f"paofed device run DEVICE.json --method {calm}:calm --contacts 0.5"


def test_an_installed_package_brings_the_method_of_a_fleet_which_then_has_it_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planned, made into a fleet and verified: by an entry point, and then without the package."""
    install(tmp_path / "site", "calming", {"calmer": "calming.methods:calm"}, CALM)
    folder, step = tmp_path / "g", "step_size=0.4"
    with monkeypatch.context() as here:
        here.syspath_prepend(tmp_path / "site")
        (setup,) = setups_of(small_fleet(), [f"calmer:shared=2,part=0.25,{step}"], "live")
        _, init, device = commands(a_plan(small_fleet(), Candidate(setup, 1.0)), "plan.toml")
        assert device == "paofed device run DEVICE.json --method calmer"
        assert main(words_of(init, folder)) == DONE
    monkeypatch.setattr("paofed.algorithms.admitted._ADMITTED", {})
    (kept,) = (folder / METHODS).iterdir()
    assert kept.read_text() == (tmp_path / "site" / "calming" / "methods.py").read_text()
    with Fleet(folder).store() as store:
        agreed = store.epochs.manifest()
    assert (agreed.method, agreed.shared) == ("calm:part=0.25", 2)
    capsys.readouterr()
    assert main(["fleet", "verify", str(folder)]) == DONE
    assert "equals the snapshot" in capsys.readouterr().out


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Such a fleet with its broker; the file from which it was made is gone."""
    program = needs("mosquitto")
    folder = tmp_path_factory.mktemp("fleets") / "g"
    source = folder.parent / "mine.py"
    source.write_text(CALM)
    told = done(
        *("fleet", "init", folder, "--method", f"{source}:calm:part=0.25", "--tick", TICK),
        *("--input", "a:0:1", "--input", "b:0:1", "--target", "y:10:4", "--max-age", 200),
        *("--features", 24, "--port", free_port(), "--http", f"127.0.0.1:{free_port()}"),
    )
    assert "bounds nobody" not in told
    done("fleet", "add", folder, "north", "south", "east")
    source.unlink()
    with LocalBroker(Fleet(folder), program):
        yield Fleet(folder)


class Worker:
    """A device as a process of its own, that is fed samples until it ends."""

    def __init__(self, fleet: Fleet, number: int, method: str, *words: object) -> None:
        (file,) = (fleet.folder / "devices").glob(f"{number}-*.json")
        command = ["device", "run", file, "--method", method, "--quiet", *words]
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-m", "paofed", *map(str, command)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._random = random.Random(number)  # noqa: S311 (samples)

    def joined(self) -> str:
        """Wait until it has joined; return what it says then.

        Where the server takes long to start, it says before that nobody answers yet.
        """
        assert self._process.stderr is not None
        return next((said for said in self._process.stderr if "trying on" not in said), "")

    def tell(self) -> None:
        assert self._process.stdin is not None
        a, b = self._random.gauss(), self._random.gauss()
        line = json.dumps({"a": a, "b": b, "y": 10 + 4 * math.sin(a) + 2 * b})
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def end(self) -> str:
        _, said = self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == DONE, said
        return said


def test_it_is_served_rolled_back_exported_and_verified(
    fleet: Fleet, calm: Path, tmp_path: Path
) -> None:
    with fleet.store() as store:
        agreed = store.epochs.manifest()
    assert (agreed.algorithm, agreed.options, agreed.bound) == ("calm", {"part": 0.25}, None)
    server: Process = serve(fleet, tmp_path / "server.log")
    try:
        state = tmp_path / "south.npz"
        devices = [
            Worker(fleet, 0, f"{calm}:calm"),
            Worker(fleet, 1, f"{calm}:calm", "--state", state),
        ]
        for device in devices:
            assert " of g: " in device.joined()
        for _ in range(16):
            for device in devices:
                device.tell()
            time.sleep(TICK)
        for device in devices:
            assert "messages answered" in device.end()
        # A device without the method, or with other code, refuses in one line and keeps its state.
        (south,) = (fleet.folder / "devices").glob("1-*.json")
        (east,) = (fleet.folder / "devices").glob("2-*.json")
        other = tmp_path / "calm.py"
        other.write_text(CALM + "\n")
        assert "and there is no such method here: give --method FILE:calm" in refusal(
            "device", "run", south, "--state", state
        )
        said = refusal("device", "run", east, "--method", f"{other}:calm")
        assert "the fleet follows calm with the code" in said
        assert "and there is other code (" in said
        assert state.exists()
        assert not list(tmp_path.glob("*.aside*"))
    finally:
        assert end(server) == DONE
    assert "equals the snapshot" in done("fleet", "verify", fleet.folder)
    with fleet.store() as store:
        present = store.recover()
    assert present.rule.w.any()
    assert float(present.rule.state.far[0]) > 0
    done("fleet", "export", fleet.folder, "--messages", tmp_path / "messages.npz")
    admit_kept(fleet.folder / METHODS)
    again = replay_messages(tmp_path / "messages.npz")
    np.testing.assert_array_equal(again.w, present.rule.w)
    done("fleet", "backup", fleet.folder, tmp_path / "fleet.tar")
    with np.load(tmp_path / "messages.npz") as messages:
        last = int(messages["arrived"].max())
    done("fleet", "rollback", fleet.folder, last)
    with fleet.store() as store:
        went_back = store.recover().rule.w
    assert went_back.any()
    assert not np.array_equal(went_back, present.rule.w)
    assert "equals the snapshot" in done("fleet", "verify", fleet.folder)
    back = tmp_path / "again"
    done("fleet", "restore", tmp_path / "fleet.tar", back)
    assert "equals the snapshot" in done("fleet", "verify", back)
    (kept,) = (back / METHODS).iterdir()
    assert kept.read_text() == CALM


def test_no_code_is_run_because_a_manifest_names_it(fleet: Fleet, tmp_path: Path) -> None:
    done("fleet", "model", fleet.folder, "--out", tmp_path / "model.npz")
    said = refusal("predict", tmp_path / "model.npz")
    assert "give --method FILE:calm with the very file" in said


def test_a_fleet_changes_to_it_and_back(calm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "g"
    numbers = ["--input", "a", "--target", "y"]
    assert main(["fleet", "init", str(folder), *numbers, "--tick", "3600", "--http", ""]) == DONE
    Fleet(folder)
    assert main(["fleet", "change", str(folder), "--method", f"{calm}:calm:part=0.5"]) == DONE
    with Fleet(folder).store() as store:
        now = store.epochs.manifest()
    assert (now.method, now.shared) == ("calm:part=0.5", 4)
    assert (now.clip, now.bound) == (None, None)
    (kept,) = (folder / METHODS).iterdir()
    assert kept.name == f"calm-{str(now.code)[:12]}.py"
    assert main(["fleet", "change", str(folder), "--algorithm", "pao-fed-u1"]) == DONE
    with Fleet(folder).store() as store:
        assert [epoch.manifest.method for epoch in store.epochs.all()][1:] == [
            now.method,
            "pao-fed-u1",
        ]
        again = store.epochs.manifest()
    assert (again.code, again.options, again.clip) == (None, None, 6.0)


def test_naming_it_again_mends_its_file(calm: Path, tmp_path: Path) -> None:
    folder, same = tmp_path / "g", ["--method", f"{calm}:calm"]
    assert main(["fleet", "init", str(folder), "--input", "a", "--target", "y", *same]) == DONE
    (kept,) = (folder / METHODS).iterdir()
    kept.write_text(f"{CALM}\nraise SystemExit('damaged')\n")
    assert main(["fleet", "change", str(folder), *same]) == DONE
    assert kept.read_text() == CALM


def test_a_method_that_is_over_may_lose_its_file(
    calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, back = str(tmp_path / "g"), str(tmp_path / "back")
    assert main(["fleet", "init", folder, "--input", "a", "--target", "y"]) == DONE
    assert main(["fleet", "change", folder, "--method", f"{calm}:calm"]) == DONE
    monkeypatch.setattr("paofed.algorithms.admitted._ADMITTED", {})
    (kept,) = (tmp_path / "g" / METHODS).iterdir()
    kept.rename(tmp_path / "calm.py")
    assert main(["fleet", "verify", folder]) == 2
    assert "no such method here" in capsys.readouterr().err
    (tmp_path / "calm.py").rename(kept)
    assert main(["fleet", "change", folder, "--algorithm", "pao-fed-u1"]) == DONE
    monkeypatch.setattr("paofed.algorithms.admitted._ADMITTED", {})
    kept.unlink()
    assert main(["fleet", "backup", folder, str(tmp_path / "b.tar")]) == DONE
    assert main(["fleet", "restore", str(tmp_path / "b.tar"), back]) == DONE
    with Fleet(tmp_path / "back").store() as store:
        methods = [epoch.manifest.method for epoch in store.epochs.all()]
        assert store.epochs.tick_at(time.time()) >= 0
    assert methods == ["pao-fed-u1", "calm", "pao-fed-u1", "pao-fed-u1"]


def test_a_fleet_of_its_own_goes_on_from_a_model_of_it(
    calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model, same = str(tmp_path / "g"), str(tmp_path / "m.npz"), f"{calm}:calm"
    numbers = ["--input", "a", "--target", "y"]
    assert main(["fleet", "init", folder, *numbers, "--method", same]) == DONE
    assert main(["fleet", "model", folder, "--out", model]) == DONE
    monkeypatch.setattr("paofed.algorithms.admitted._ADMITTED", {})
    again = ["fleet", "init", str(tmp_path / "h"), "--from", model]
    assert main(again) == 2
    assert main([*again, "--method", same]) == DONE
    monkeypatch.setattr("paofed.algorithms.admitted._ADMITTED", {})
    capsys.readouterr()
    assert main(["device", "c", model, "--out", str(tmp_path / "c")]) == 2
    assert "follows a method of somebody's own: the device in C has" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--algorithm", "pao-fed-u1", "--method", "m.py:x"], "both name a method: give one"),
        (["--method", "pao-fed-u1"], "pao-fed-u1 is no method of somebody's own"),
        (["--algorithm", "{}:calm:part=0.5"], "/calm.py:calm' (known: "),
        (["--method", "{}:unserved"], "cannot be served: it asks for the moon (served: "),
        (["--method", "{}:calm", "--clip", "6"], "clip is 6.0: expected none for calm, whose rule"),
        (
            ["--method", "{}:calm", "--bound", "6"],
            "learner of its own, which has no option 'bound'",
        ),
        (["--method", "{}:calm:shared=2"], "options is {'shared': 2}: expected numbers for part"),
        (["--method", "{}:calm", "--shared", "300"], "shared is 300, but the model has only 200"),
    ],
)
def test_what_cannot_be_agreed_on_is_refused_in_one_line(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "calm.py"
    file.write_text(CALM + UNSERVED)
    numbers = ["--input", "a", "--target", "y"]
    given = [word.replace("{}", str(file)) for word in words]
    assert main(["fleet", "init", str(tmp_path / "g"), *numbers, *given]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert says in said
    assert not (tmp_path / "g").exists()


def test_how_much_it_shares_is_what_its_row_says(tmp_path: Path) -> None:
    """Where the factory has no option `shared`, and whatever its channels are."""
    few = "\n\ndef few():\n    return algorithm('quantised', shared=6)\n"
    (tmp_path / "few.py").write_text(CALM + few)
    values = of_own(f"{tmp_path / 'few.py'}:few")
    assert new_manifest([Quantity(name="a")], Quantity(name="y"), values).shared == 6
    to = changed_manifest(manifest(), Changes(values=values))
    assert (to.shared, to.writing == manifest().writing) == (6, False)
    assert changed_manifest(to, Changes(values={"algorithm": "pao-fed-u1"})).shared == 4


def test_a_restore_over_another_fleet_runs_no_method(tmp_path: Path) -> None:
    source, ran, backup = tmp_path / "calm.py", tmp_path / "ran", tmp_path / "b.tar"
    source.write_text(f"{CALM}\nfrom pathlib import Path\nPath({str(ran)!r}).touch()\n")
    values = of_own(f"{source}:calm")
    fleet = Fleet.create(tmp_path / "g", Settings(name="g", security="none"), manifest(**values))
    back_up(fleet, backup)
    other = Settings(name="h", security="none")
    Fleet.create(tmp_path / "h", other, manifest(start=2.0))
    ran.unlink()
    with pytest.raises(InputError, match="holds another fleet: choose another folder"):
        restore(backup, tmp_path / "h")
    assert not ran.exists()
    restore(backup, tmp_path / "new")
    assert ran.exists()


def test_nobody_follows_what_was_not_named(
    calm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MissingMethodError, match="give --method FILE:os with the very file"):
        manifest(algorithm="os", code="0" * 64)
    with pytest.raises(InputError, match="the manifest's code is 'x': expected 64 hexadecimal"):
        manifest(algorithm="calm", code="x")
    admit(f"{calm}:calm")  # a place may hold any code by the time a message names it
    with pytest.raises(InputError, match="unknown algorithm"):
        manifest(algorithm=f"{calm}:calm")
    assert main(["gateway", str(tmp_path / "g.toml"), "--method", "nowhere.py:calm"]) == 2
    assert "nowhere.py cannot be read" in capsys.readouterr().err


def test_the_device_in_c_refuses_it(calm: Path) -> None:
    method = admit(f"{calm}:calm")
    with pytest.raises(InputError, match="follows calm, a method of somebody's own: the device in"):
        agreed_in_c(manifest(algorithm="calm", code=method.code))
