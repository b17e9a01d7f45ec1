"""Services for systemd: read by systemd itself, and their commands carried out."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.demo.processes import Process, end, start
from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.operations.services import services
from paofed.live.server.status import asked
from tests.live.brokers import PATIENCE, now_manifest, until
from tests.live.in_memory import folder_in_memory
from tests.ports import free_port
from tests.system import needs

BROKER, SERVER = "paofed-g-broker.service", "paofed-g-server.service"
DEVICE, GATEWAY = "paofed-device@.service", "paofed-gateway@.service"
MOST_EXPOSED = 20  # of 100, by systemd's own measure: "OK"
# As MemoryDenyWriteExecute= has it; a kernel that cannot goes on without.
_DENY_WRITE_EXECUTE = """\
import ctypes, os, sys
ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def fleet(folder: Path) -> Fleet:
    settings = Settings(
        name="g", security="password", port=free_port(), http=f"127.0.0.1:{free_port()}"
    )
    return Fleet.create(folder, settings, now_manifest())


def values(unit: str, key: str) -> list[str]:
    """What a unit says for a key."""
    return re.findall(rf"^{key}=(.*)$", unit, re.MULTILINE)


def command(unit: str) -> list[str]:
    """The command of a unit, as systemd reads it."""
    (line,) = values(unit, "ExecStart")
    return shlex.split(line.replace("%%", "%").replace("$$", "$"))


@contextmanager
def running(words: list[str], log: Path, cwd: Path) -> Iterator[Process]:
    """A command that a service would run, without memory that can be both written and executed."""
    program = shutil.which(words[0], path=os.defpath) or words[0]
    shim = [sys.executable, "-c", _DENY_WRITE_EXECUTE, program, *words[1:]]
    process = start(shim, log, cwd)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # all of them, as systemd does
        process.wait(PATIENCE)


def systemd(*words: str) -> str:
    """Ask systemd-analyze, which must be content; returns what it says."""
    program = needs("systemd", "systemd-analyze")
    done = subprocess.run(  # noqa: S603 (a program that we name ourselves)
        [program, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_systemd_reads_the_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/bin")
    out = tmp_path / "services"
    folder = fleet(tmp_path / "a fleet: 100% $HOME").folder
    program = tmp_path / "its own" / "paofed"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    words = ["fleet", "services", str(folder), "--out", str(out), "--program", str(program)]
    needs("mosquitto")
    assert main(words) == 0
    paths = sorted(str(path) for path in out.iterdir())
    assert [Path(path).name for path in paths] == [DEVICE, BROKER, SERVER, GATEWAY]
    assert systemd("verify", "--man=no", *paths) == ""
    for path in paths:
        systemd("security", "--offline=true", f"--threshold={MOST_EXPOSED + 1}", path)
    assert command((out / SERVER).read_text()) == [str(program), "fleet", "serve", str(folder)]


def test_the_commands_of_the_units_are_a_fleet_at_work(tmp_path: Path) -> None:
    needs("mosquitto")
    found = fleet(tmp_path / "a fleet")
    (north,) = found.add(["north"])
    written = services(found.folder, found.settings)
    place = tmp_path / "north"
    place.mkdir()
    north.rename(place / "device.json")
    measure = 'while sleep 0.1; do echo \'{"a": 0.1, "b": 0.2, "y": 11}\'; done\n'
    (place / "measure").write_text(f"#!/bin/sh\n{measure}")
    (place / "measure").chmod(0o755)

    def accepted() -> bool:
        status = asked(found.settings)
        return status is not None and status.counts.get("accepted", 0) > 2

    with (
        running(command(written[BROKER]), tmp_path / "broker.log", tmp_path),
        running(command(written[SERVER]), tmp_path / "server.log", tmp_path) as server,
        running(command(written[DEVICE]), tmp_path / "device.log", place),
    ):
        until(accepted)
        assert end(server) == 0
    until((place / "state.npz").is_file)  # a device that is told to end saves what it knows


@pytest.fixture(scope="module")
def found() -> Iterator[Fleet]:
    """A fleet of which nothing is asked but what its services would say."""
    with folder_in_memory() as folder:
        yield fleet(folder / "fleet")


def test_what_a_service_must_not_do(found: Fleet) -> None:
    written = services(found.folder, found.settings, Path("/opt/paofed/bin/paofed"))
    for unit in written.values():
        assert values(unit, "ProtectSystem") == ["strict"]
        assert values(unit, "CapabilityBoundingSet") == [""]
        assert values(unit, "RestartPreventExitStatus") == (["3"] if "fleet serve" in unit else [])
    assert values(written[SERVER], "ReadWritePaths") == [str(found.folder)]
    assert values(written[BROKER], "ReadWritePaths") == [f"{found.folder}/broker"]
    assert values(written[SERVER], "Restart") == ["on-failure"]
    assert values(written[SERVER], "User") == [found.folder.owner()]
    assert values(written[DEVICE], "PrivateTmp") == ["yes"]
    assert command(written[GATEWAY]) == ["/opt/paofed/bin/paofed", "gateway", "gateway.toml"]


@pytest.mark.parametrize(
    ("program", "home"), [("/home/ann/bin/paofed", "read-only"), ("/opt/bin/paofed", "yes")]
)
def test_what_a_service_uses_is_not_hidden_from_it(program: str, home: str, found: Fleet) -> None:
    unit = services(found.folder, found.settings, Path(program))[SERVER]
    assert values(unit, "ProtectHome") == [home]
    hidden = not str(found.folder).startswith(("/tmp/", "/var/tmp/"))  # noqa: S108 (names)
    assert values(unit, "PrivateTmp") == ["yes" if hidden else "no"]


def test_low_ports_need_a_capability_and_nothing_else_has_one(found: Fleet) -> None:
    written = services(found.folder, Settings(name="g", port=883, http="127.0.0.1:80"))
    for name, unit in written.items():
        needed = ["CAP_NET_BIND_SERVICE"] if name in (BROKER, SERVER) else [""]
        assert values(unit, "CapabilityBoundingSet") == needed
        assert values(unit, "AmbientCapabilities") == needed


def test_a_path_that_cannot_stand_in_a_unit(tmp_path: Path) -> None:
    (tmp_path / "two\nlines").mkdir()
    with pytest.raises(InputError, match="cannot stand in a unit"):
        services(tmp_path / "two\nlines", Settings(name="g"))


def test_without_a_folder_they_are_printed(
    found: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", "services", str(found.folder)]) == 0
    printed, told = capsys.readouterr()
    for name, unit in services(found.folder, found.settings).items():
        assert f"# {name}\n{unit}" in printed
    assert ("belongs to root" in told) == (found.folder.owner() == "root")
