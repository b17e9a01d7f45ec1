"""What can be taken out of a fleet, and used without it."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.archives import save_arrays
from paofed.core.parts import Weights
from paofed.errors import FileError
from paofed.live.journal.exports import export_messages, replay_messages
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.messages import Model, Update, encode
from paofed.live.protocol.served import SERVED
from tests.live.fleets import f32, live, manifest, records, server, stored


def fleet_model() -> FleetModel:
    coordinator = server()
    coordinator.rule.state = Weights(np.sin(np.arange(8.0)))
    coordinator.close(17)
    return FleetModel.of(coordinator)


def test_a_model_is_what_it_was_before_it_was_saved(tmp_path: Path) -> None:
    model = fleet_model()
    model.save(tmp_path / "model.npz")
    back = FleetModel.load(tmp_path / "model.npz")
    assert (back.manifest, back.tick) == (manifest(), 17)
    assert back.w.tobytes() == model.w.tobytes()


def test_it_predicts_what_a_device_with_this_model_predicts() -> None:
    model = fleet_model()
    edge = Edge(manifest(), 1)
    edge.receive(encode(Model(3, 17, model.w.astype("<f4"))), 0.0)
    rounded = FleetModel(model.manifest, 17, model.w.astype("<f4").astype(np.float64))
    x = np.random.default_rng(0).normal(size=(50, 2))
    single = np.array([edge.predict(row) for row in x])
    assert [float(rounded.predict(row)) for row in x] == single.tolist()
    np.testing.assert_allclose(rounded.predict(x), single, rtol=1e-13)
    assert rounded.predict(x.reshape(5, 10, 2)).shape == (5, 10)


def test_a_prediction_by_hand() -> None:
    agreed = manifest(features=1, shared=1)
    frequencies, phases, _ = agreed.fourier_map
    angle = 0.3 * frequencies[0, 0] + (1.7 - 0.5) / 2 * frequencies[1, 0] + phases[0]
    expected = 0.8 * np.sqrt(2) * np.cos(angle) * 4.0 + 10.0
    predicted = FleetModel(agreed, 0, np.array([0.8])).predict(np.array([0.3, 1.7]))
    assert float(predicted) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", SERVED)
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
        waiting = store.history()[0].waiting()
        assert lines == store.lines() + len(waiting)
        assert bool(waiting) == bool(snapshots)
    coordinator.close(20)
    replayed = replay_messages(tmp_path / "messages.npz")
    assert replayed.manifest == coordinator.manifest
    assert replayed.w.tobytes() == coordinator.w.tobytes()
    assert coordinator.w.any()
    assert replayed.tick == 15


def test_an_export_of_a_quiet_fleet(tmp_path: Path) -> None:
    with stored(tmp_path / "fleet") as store:
        assert export_messages(store, tmp_path / "messages.npz") == 0
    replayed = replay_messages(tmp_path / "messages.npz")
    assert (replayed.tick, replayed.w.tolist()) == (0, [0.0] * 8)


def test_an_export_holds_plain_columns(tmp_path: Path) -> None:
    with stored(tmp_path / "fleet") as store:
        live(store, store.recover(), range(2))
        assert export_messages(store, tmp_path / "messages.npz") == 6
    with np.load(tmp_path / "messages.npz", allow_pickle=False) as arrays:
        assert arrays["device"].tolist() == [0, 1, 2] * 2
        assert arrays["sent"].tolist() == arrays["arrived"].tolist() == [0, 0, 0, 1, 1, 1]
        assert arrays["values"].shape == (6, 2)
        assert arrays["values"].dtype == np.dtype("<f4")
        assert arrays["start_model"].tolist() == [0.0] * 8


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    np.savez(path, w=np.zeros(3))
    with pytest.raises(FileError, match=r"is not a fleet's model: it holds w$"):
        FleetModel.load(path)
    with pytest.raises(FileError, match=r"is not an export of messages: it holds w$"):
        replay_messages(path)
    np.savez(path)
    with pytest.raises(FileError, match="it holds nothing"):
        FleetModel.load(path)
    path.write_bytes(b"PK")
    with pytest.raises(FileError, match="truncated, damaged, or something else"):
        FleetModel.load(path)
    with pytest.raises(FileError, match="does not exist"):
        replay_messages(tmp_path / "missing.npz")


def test_a_model_and_an_export_are_not_taken_for_each_other(tmp_path: Path) -> None:
    fleet_model().save(tmp_path / "model.npz")
    with stored(tmp_path / "fleet") as store:
        export_messages(store, tmp_path / "messages.npz")
    with pytest.raises(FileError, match="is not an export of messages"):
        replay_messages(tmp_path / "model.npz")
    with pytest.raises(FileError, match="is not a fleet's model"):
        FleetModel.load(tmp_path / "messages.npz")


def test_a_manifest_that_cannot_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    FleetModel(manifest(), 1, np.zeros(8)).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, "manifest": np.array("{}")})
    with pytest.raises(FileError, match=r"model.npz is not a fleet's model: the manifest's wire"):
        FleetModel.load(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"server_model": f32(1.0, 2.0)},
        {"server_model": np.array(["a"] * 8)},
        {"tick": np.array([1, 2])},
    ],
    ids=["size", "text", "several ticks"],
)
def test_arrays_of_another_kind_are_refused(
    wrong: dict[str, NDArray[np.generic]], tmp_path: Path
) -> None:
    path = tmp_path / "model.npz"
    about = np.array(manifest().to_json())
    arrays = {"server_model": np.zeros(8), "tick": np.array(1), "manifest": about, **wrong}
    save_arrays(path, arrays)
    with pytest.raises(FileError):
        FleetModel.load(path)


def test_messages_of_another_size_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "messages.npz"
    with stored(tmp_path / "fleet") as store:
        live(store, store.recover(), range(2))
        export_messages(store, path)
    with np.load(path) as file:
        arrays = dict(file)
    for name, wrong in (("start_model", np.zeros(9)), ("values", arrays["values"][:, :1])):
        save_arrays(path, {**arrays, name: wrong})
        with pytest.raises(FileError, match="is not an export of messages: it has numbers of"):
            replay_messages(path)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("device", -1, "device is not from 0 to 4,194,303 in every message"),
        ("device", 10**9, "device is not from 0 to 4,194,303 in every message"),
        ("device", 2**64 - 1, "device is not from 0 to 4,194,303 in every message"),
        ("sent", -1, "sent is not from 0 to 4,294,967,550 in every message"),
        ("arrived", 2**40, "arrived is not from 0 to 4,294,967,550 in every message"),
        ("sent", 9, "a message arrived before it was sent"),
        ("values", np.nan, "values holds what no device can have sent"),
        ("values", 3e38, "values holds what no device can have sent"),
    ],
)
@pytest.mark.parametrize("algorithm", ["pao-fed-u1", "fed-async"])
def test_messages_that_no_server_can_have_accepted_are_told(
    algorithm: str, name: str, value: float, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "messages.npz"
    with stored(tmp_path / "fleet", algorithm=algorithm) as store:
        live(store, store.recover(), range(2))
        export_messages(store, path)
    with np.load(path) as file:
        arrays = dict(file)
    column = arrays[name].astype(np.uint64) if value == 2**64 - 1 else arrays[name].copy()
    column[1] = value
    save_arrays(path, {**arrays, name: column})
    with pytest.raises(FileError, match=f"is not an export of messages: {told}"):
        replay_messages(path)
