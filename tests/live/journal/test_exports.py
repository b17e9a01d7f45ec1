"""What can be taken out of a fleet, and used without it."""

from pathlib import Path

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.core.parts import Weights
from paofed.errors import FileError
from paofed.live.journal.exports import export_messages, replay_messages
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.messages import Update, encode
from paofed.live.protocol.served import served_names
from tests.effort import some
from tests.live.fleets import f32, live, manifest, records, server, stored


def fleet_model() -> FleetModel:
    coordinator = server()
    coordinator.rule.state = Weights(np.sin(np.arange(8.0)))
    coordinator.close(17)
    return FleetModel.of(coordinator)


def test_a_prediction_by_hand() -> None:
    agreed = manifest(features=1, shared=1)
    frequencies, phases, _ = agreed.fourier_map
    angle = 0.3 * frequencies[0, 0] + (1.7 - 0.5) / 2 * frequencies[1, 0] + phases[0]
    expected = 0.8 * np.sqrt(2) * np.cos(angle) * 4.0 + 10.0
    model, x = FleetModel(agreed, 0, np.array([0.8])), np.array([0.3, 1.7])
    assert float(model.predict(x)) == pytest.approx(expected, rel=1e-14)
    assert model.predict(np.tile(x, (5, 10, 1))).shape == (5, 10)


@pytest.mark.parametrize("name", some(served_names(), everyday=3))
@pytest.mark.parametrize("snapshots", [0, 4])
def test_replaying_exported_messages_gives_the_servers_model(
    name: str, snapshots: int, tmp_path: Path
) -> None:
    shared = 8 if name == "online-fedsgd" else 2
    with stored(tmp_path / "fleet", algorithm=name, shared=shared) as store:
        coordinator = store.recover()
        values = 0.1 * np.arange(shared)
        for tick in range(14):
            coordinator.close(tick)
            for device in range(3):
                sent = max(tick + (device * tick) % 5 - 2, 0)
                block = coordinator.manifest.up.block(np.sin(values + sent), device, sent)
                store.write(records(coordinator, device, encode(Update(3, sent, block))))
            coordinator.close(tick + 1)
            if snapshots and tick % snapshots == 0:
                store.snapshot(coordinator)
        lines = export_messages(store, tmp_path / "messages.npz")
        waiting = store.past.history()[0].waiting()
        assert lines == store.lines.count() + len(waiting)
        assert bool(waiting) == bool(snapshots)
    coordinator.close(20)
    replayed = replay_messages(tmp_path / "messages.npz")
    assert replayed.manifest == coordinator.manifest
    assert replayed.w.tobytes() == coordinator.w.tobytes()
    assert coordinator.w.any()
    assert replayed.tick == 15


def test_an_export_holds_plain_columns(tmp_path: Path) -> None:
    with stored(tmp_path / "fleet") as store:
        assert export_messages(store, tmp_path / "messages.npz") == 0
        replayed = replay_messages(tmp_path / "messages.npz")
        assert (replayed.tick, replayed.w.tolist()) == (0, [0.0] * 8)
        live(store, store.recover(), range(2))
        assert export_messages(store, tmp_path / "messages.npz") == 6
    with np.load(tmp_path / "messages.npz", allow_pickle=False) as arrays:
        assert arrays["device"].tolist() == [0, 1, 2] * 2
        assert arrays["sent"].tolist() == arrays["arrived"].tolist() == [0, 0, 0, 1, 1, 1]
        assert arrays["values"].shape == (6, 2)
        assert arrays["values"].dtype == np.dtype("<f4")
        assert arrays["start_model"].tolist() == [0.0] * 8


def test_a_file_that_is_none_of_theirs_is_refused(tmp_path: Path) -> None:
    path, foreign = tmp_path / "model.npz", tmp_path / "messages.npz"
    fleet_model().save(path)
    with np.load(path) as file:
        whole = dict(file)
    with stored(tmp_path / "fleet") as store:
        export_messages(store, foreign)
    with pytest.raises(FileError, match="is not an export of messages"):
        replay_messages(path)
    with pytest.raises(FileError, match="is not a fleet's model"):
        FleetModel.load(foreign)
    with pytest.raises(FileError, match="does not exist"):
        replay_messages(tmp_path / "missing.npz")
    for wrong, says in (
        ({"manifest": np.array("{}")}, "is not a fleet's model: the manifest's wire"),
        ({"server_model": f32(1.0, 2.0)}, "expected 8 numbers"),
        ({"server_model": np.array(["a"] * 8)}, "server_model is of type"),
        ({"tick": np.array([1, 2])}, "tick"),
    ):
        np.savez(path, **{**whole, **wrong})
        with pytest.raises(FileError, match=says):
            FleetModel.load(path)
    path.write_bytes(b"PK")
    with pytest.raises(FileError, match="truncated, damaged, or something else"):
        FleetModel.load(path)


IMPOSSIBLE = (
    ("device", -1, "device is not from 0 to 4,194,303 in every message"),
    ("device", 10**9, "device is not from 0 to 4,194,303 in every message"),
    ("device", 2**64 - 1, "device is not from 0 to 4,194,303 in every message"),
    ("sent", -1, "sent is not from 0 to 4,294,967,550 in every message"),
    ("arrived", 2**40, "arrived is not from 0 to 4,294,967,550 in every message"),
    ("sent", 9, "a message arrived before it was sent"),
    ("values", np.nan, "values holds what no device can have sent"),
    ("values", 3e38, "values holds what no device can have sent"),
)


@pytest.mark.parametrize("algorithm", ["pao-fed-u1", "fed-async"])
def test_messages_that_no_server_can_have_accepted_are_told(algorithm: str, tmp_path: Path) -> None:
    path = tmp_path / "messages.npz"
    with stored(tmp_path / "fleet", algorithm=algorithm) as store:
        live(store, store.recover(), range(2))
        export_messages(store, path)
    with np.load(path) as file:
        arrays = dict(file)
    for name, value, told in IMPOSSIBLE:
        large = value == 2**64 - 1
        column = arrays[name].astype(np.uint64) if large else arrays[name].copy()
        column[1] = value
        save_arrays(path, {**arrays, name: column})
        with pytest.raises(FileError, match=f"is not an export of messages: {told}"):
            replay_messages(path)
    for name, wrong in (("start_model", np.zeros(9)), ("values", arrays["values"][:, :1])):
        save_arrays(path, {**arrays, name: wrong})
        with pytest.raises(FileError, match="is not an export of messages: it has numbers of"):
            replay_messages(path)
    save_arrays(path, {**arrays, "manifest": np.array("{}")})
    with pytest.raises(FileError, match="is not an export of messages: the manifest's wire"):
        replay_messages(path)
