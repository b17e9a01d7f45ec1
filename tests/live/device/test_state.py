"""A device's own file: taken up again, or told to be none."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.cli import main
from paofed.errors import FileError
from paofed.live.device.state import STATE, load_state, save_state, saved_manifest, taken_up
from paofed.live.network.credential import Credential
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.messages import Model, encode
from tests.live.fleets import manifest


class PowerCutError(Exception):
    """Ends a write wherever it stands."""


def device(**changes: object) -> Edge:
    edge = Edge(manifest(**changes), 1)
    edge.learn(np.array([1.0, 2.0]), 11.0)
    return edge


def test_a_device_takes_up_what_it_saved(tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    edge, back = device(), Edge(manifest(), 1)
    assert not load_state(path, back)
    save_state(path, edge)
    assert load_state(path, back)
    assert back.w.tobytes() == edge.w.tobytes()
    assert back.w.any()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_torn_state_is_an_error(share: float, tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    save_state(path, device())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    edge = Edge(manifest(), 1)
    with pytest.raises(FileError, match=r"is no device's state$"):
        load_state(path, edge)
    assert not edge.w.any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, None) for name in ("epoch", "device", "model", "merged", "joined", "values")),
        ("epoch", "three"),
        ("merged", -2),
        ("stamped", 2**32),
        ("ticks", [-1]),
        ("ticks", [2**32]),
        ("ticks", ["a"]),
        ("left", [-1]),
        ("left", [3, 4]),
        ("left", []),
        ("intervals", [0.0, 1, 0]),
        ("intervals", [1.0, 1, 2]),
        ("intervals", [1.0, -1, -1]),
        ("intervals", [np.nan, 1, 0]),
        ("news", -1),
        ("news", 255),
    ],
)
def test_a_state_that_no_device_can_have_had(name: str, value: object, tmp_path: Path) -> None:
    """None stands for what is missing."""
    path, edge = tmp_path / "device.npz", device()
    edge.receive(encode(Model(3, 5, np.ones(8, dtype="<f4"))), 0.0)
    edge.news = 1
    edge.contact(0.0)
    assert edge.unconfirmed
    right = {**edge.state(), "manifest": np.array(manifest().to_json())}
    save_arrays(path, right, STATE)
    assert load_state(path, Edge(manifest(), 1))  # nothing else is wrong with it
    wrong = {**right, name: np.array(value, dtype=right[name].dtype if value == [] else None)}
    if value is None:
        del wrong[name]
    save_arrays(path, wrong, STATE)
    with pytest.raises(FileError, match=r"is no device's state$"):
        load_state(path, Edge(manifest(), 1))


def test_a_state_of_another_size_is_not_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    save_state(path, device(features=6))
    edge = Edge(manifest(), 1)
    with suppress(FileError):
        load_state(path, edge)
    assert edge.w.size == 8


def test_saving_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "device.npz"
    save_state(path, device())
    before = path.read_bytes()
    edge = device()
    edge.learn(np.array([2.0, 2.0]), 9.0)

    def cut(*_: object) -> None:
        raise PowerCutError

    monkeypatch.setattr("os.fsync", cut)
    with pytest.raises(PowerCutError):
        save_state(path, edge)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_manifest_is_kept_with_it(tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    assert saved_manifest(path) is None
    save_state(path, device())
    assert saved_manifest(path) == manifest()


def test_a_file_without_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    save_arrays(path, device().state())
    with pytest.raises(FileError, match=r"is no device's state$"):
        saved_manifest(path)


START = manifest().start


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state of device 1."""
    path = tmp_path / "device.npz"
    save_state(path, Edge(manifest(), 1))
    return path


def blank(content: bytes, first: int, beyond: int) -> bytes:
    """The same bytes with zeros from one place to another."""
    return content[:first] + bytes(len(content[first:beyond])) + content[beyond:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:0],
        lambda content: bytes(len(content)),
        lambda content: b"\xff" * len(content),
        lambda content: content[:100],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-40],
        lambda content: blank(content, 0, 512),
        lambda content: blank(content, 512, len(content)),
        lambda content: blank(content, 512, 1024),
    ],
)
def test_what_a_power_cut_or_a_failing_disk_leaves_needs_no_person(
    damage: object, state: Path
) -> None:
    assert callable(damage)
    torn = damage(state.read_bytes())
    state.write_bytes(torn)
    assert taken_up(state, 1, START, 1) is None
    assert not state.exists()
    assert state.with_name("device.npz.aside").read_bytes() == torn


@pytest.mark.parametrize(
    "content",
    [b"a,b,y\n1,2,3\n", b"x", b"PK\3\4", b"\x89PNG\r\n" + bytes(5000), bytes(5000) + b"x"],
)
def test_what_is_no_state_is_refused_and_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_bytes(content)
    with pytest.raises(FileError) as refused:
        taken_up(path, 1, START, 1)
    assert str(refused.value) == (
        f"{path} is no device's state: it begins with {content[:16]!r}, expected a file that "
        f"`--state` wrote, or none; it was left as it is: give another name, or move it away"
    )
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, model=np.zeros(8), device=np.array(1))
    before = path.read_bytes()
    with pytest.raises(FileError, match="is no device's state"):
        taken_up(path, 1, START, 1)
    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with pytest.raises(FileError, match="is no file"):
        taken_up(tmp_path / "state", 1, START, 1)
    assert (tmp_path / "state").is_dir()


def test_what_was_put_aside_is_never_overwritten(state: Path) -> None:
    for number in range(4):
        state.write_bytes(bytes(number))
        assert taken_up(state, 1, START, 1) is None
    names = ["device.npz.aside", "device.npz.aside-2", "device.npz.aside-3", "device.npz.aside-4"]
    assert [state.with_name(name).stat().st_size for name in names] == [0, 1, 2, 3]


def test_the_command_touches_no_file_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = tmp_path / "0-a.json"
    Credential(fleet="g", since=1.0, name="0", label="a", host="127.0.0.1", port=1).save(device)
    for name in ("n.csv", "n.csv.aside"):
        (tmp_path / name).write_text(name)
    assert main(["device", "run", str(device), "--state", str(tmp_path / "n.csv")]) == 2
    assert "n.csv is no device's state: it begins with b'n.csv'" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"0-a.json", "n.csv", "n.csv.aside"}
    assert (tmp_path / "n.csv.aside").read_text() == "n.csv.aside"
