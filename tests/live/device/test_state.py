"""A device's own file: taken up again, or told to be none."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.errors import FileError
from paofed.live.device.state import load_state, save_state, saved_manifest
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
    with pytest.raises(FileError, match="is no device's state: delete it to join the"):
        load_state(path, edge)
    assert not edge.w.any()


@pytest.mark.parametrize("name", ["epoch", "device", "model", "merged", "joined", "values"])
def test_a_file_that_is_no_state(name: str, tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    arrays = device().state()
    del arrays[name]
    save_arrays(path, arrays)
    with pytest.raises(FileError, match="is no device's state: delete it to join the fleet anew"):
        load_state(path, Edge(manifest(), 1))


def test_a_state_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    save_arrays(path, {**device().state(), "epoch": np.array("three")})
    with pytest.raises(FileError, match="is no device's state"):
        load_state(path, Edge(manifest(), 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("merged", -2),
        ("stamped", 2**32),
        ("ticks", [-1]),
        ("ticks", [2**32]),
        ("left", [-1]),
        ("left", [3, 4]),
        ("left", []),
        ("ticks", ["a"]),
    ],
)
def test_a_state_that_makes_no_sense(name: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    edge = device()
    edge.receive(encode(Model(3, 5, np.ones(8, dtype="<f4"))), 0.0)
    edge.contact(0.0)
    save_arrays(path, {**edge.state(), name: np.array(value)})
    with pytest.raises(FileError, match="is no device's state: delete it to join the fleet anew"):
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
    with pytest.raises(FileError, match="is no device's state: delete it to join the fleet anew"):
        saved_manifest(path)


@pytest.mark.parametrize("counts", [[0.0, 1, 0], [1.0, 1, 2], [1.0, -1, -1], [np.nan, 1, 0]])
def test_intervals_that_no_device_can_have_had(counts: list[float], tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    save_arrays(path, {**device().state(), "intervals": np.array(counts)})
    with pytest.raises(FileError, match="is no device's state"):
        load_state(path, Edge(manifest(), 1))


@pytest.mark.parametrize("news", [-1, 255])
def test_news_that_no_device_can_have_had(news: int, tmp_path: Path) -> None:
    path = tmp_path / "device.npz"
    save_arrays(path, {**device().state(), "news": np.array(news)})
    with pytest.raises(FileError, match="is no device's state"):
        load_state(path, Edge(manifest(), 1))
