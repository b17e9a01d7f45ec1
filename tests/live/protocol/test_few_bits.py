"""Quantised windows in a live fleet: agreed on, computed, recovered, changed."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.live.device.footprint import footprint
from paofed.live.device.state import load_state, save_state
from paofed.live.journal.database import StoreError
from paofed.live.journal.exports import export_messages, replay_messages
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.protocol.change import Changes, change, changed_manifest
from paofed.live.protocol.coordinator import Coordinator, Send
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import Reply, Update, encode
from paofed.live.protocol.quantity import ManifestError
from tests.effort import some
from tests.live.fleets import manifest, records, server
from tests.live.protocol.test_equal import compare
from tests.natures import small_trace

NAME = "quantised"
BITS: dict[str, Any] = {"algorithm": NAME, "options": {"bits": 6, "down_bits": 4}}


def joined(agreed: Manifest, device: int = 1) -> Edge:
    """A device that knows tick 20, the server's model, and a sample."""
    coordinator, edge = Coordinator(agreed), Edge(agreed, device)
    coordinator.add(device)
    coordinator.add(0)
    coordinator.close(20)
    (answer,) = coordinator.receive(device, edge.contact(0.0) or b"")
    assert isinstance(answer, Send)
    edge.receive(answer.payload, 0.0)
    edge.learn(np.array([0.3, 1.7]), 11.0)
    return edge


def lived(store: Store, ticks: int) -> Coordinator:
    """Three devices in contact at every tick, with snapshots; the server that never stopped."""
    answers: list[Send] = []
    host = Host(store, answers.append, snapshot_every=10, keep=1000.0)
    edges = [Edge(store.epochs.manifest(), k) for k in range(3)]
    for tick in range(ticks):
        for k, edge in enumerate(edges):
            edge.learn(np.array([np.sin(k + tick), np.cos(tick)]), 10.0 + k)
            message = edge.contact(float(tick))
            if message is not None:
                host.receive(k, message)
        host.flush()
        for send in answers:
            edges[send.device].receive(send.payload, float(tick))
        answers.clear()
        host.advance(tick + 1)
    return host.coordinator


def stored(folder: Path, **changes: Any) -> Store:
    store = Store.create(folder, manifest(**{**BITS, **changes}))
    for device in range(3):
        store.roster.add(f"device {device}")
    return store


# What is agreed on


def test_options_travel_in_a_manifest_of_version_3() -> None:
    agreed = manifest(**BITS)
    found = json.loads(agreed.to_json())
    assert (found["wire"], found["algorithm"], found["options"]) == (3, NAME, BITS["options"])
    assert Manifest.from_json(agreed.to_json()) == agreed
    assert agreed.method == "quantised:bits=6,down_bits=4"
    usual = manifest(algorithm=NAME)
    assert (usual.up.length, usual.down.length) == (4 + 2, 8)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"options": {"bits": 1}}, "bits is 1: expected a whole number from 2 to 16, or 32"),
        ({"options": {"bits": 8.5}}, "bits is 8.5: expected a whole number from 2 to 16"),
        ({"options": {"down_bits": 17}}, "bits is 17: expected a whole number from 2 to 16"),
        ({"options": {"bits": "8"}}, "expected numbers for bits, down_bits, or none"),
        ({"options": {"alpha": 1}}, "expected numbers for bits, down_bits, or none"),
        ({"shared": 9}, "shared is 9: expected at most 8, the features"),
        ({"shared": 0}, "shared is 0: expected a whole number from 1 on"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_agreed_on_is_refused_in_one_line(values: dict[str, Any], says: str) -> None:
    text = json.dumps({**json.loads(manifest(algorithm=NAME).to_json()), **values})
    with pytest.raises(ManifestError) as refused:
        Manifest.from_json(text)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_contact_costs_fewer_bytes() -> None:
    sizes = {"features": 200, "shared": 128}
    plain = footprint(manifest(**sizes), "f", 0)
    few = footprint(manifest(algorithm=NAME, options={"bits": 8, "down_bits": 8}, **sizes), "f", 0)
    # A packet below 128 bytes has one byte of length, others have two: here both have two.
    assert (plain.up - few.up, plain.down - few.down) == (512 - 132, 512 - 132)


# What it computes


@pytest.mark.parametrize(
    ("options", "bounds"),
    some(
        product(
            [{"bits": 8, "down_bits": 8}, {"bits": 3, "down_bits": 5}],
            [{"clip": 2.0, "bound": 3.0}, {}],
        ),
        everyday=1,
    ),
)
def test_live_is_the_reference_engine(
    options: dict[str, int], bounds: dict[str, float], tmp_path: Path
) -> None:
    trace = small_trace(seed=3, ticks=60, clients=6, features=12)
    trace.y[:, 2] *= 50.0  # a broken sensor
    numbers = {"features": 12, "shared": 5, "max_age": 3}
    agreed = manifest(algorithm=NAME, options=options, **numbers, **bounds)
    compare(trace, agreed, tmp_path / "fleet")


def test_a_repeat_has_the_bytes_of_the_first_sending() -> None:
    agreed = manifest(**BITS)
    edge = joined(agreed)
    first = agreed.read(edge.contact(1.0) or b"")
    edge.learn(np.array([0.1, 0.2]), 7.0)
    second = agreed.read(edge.contact(2.0) or b"")
    assert isinstance(first, Update)
    assert isinstance(second, Update)
    assert [repeat.earlier for repeat in second.repeats] == [1]
    assert second.repeats[0].values.tobytes() == first.values.tobytes()


def test_updates_that_wait_survive_a_power_cut(tmp_path: Path) -> None:
    agreed = manifest(**BITS)
    edge, again = joined(agreed), Edge(agreed, 1)
    first = agreed.read(edge.contact(1.0) or b"")
    assert isinstance(first, Update)
    save_state(tmp_path / "state.npz", edge)
    assert load_state(tmp_path / "state.npz", again)
    assert again.unconfirmed[0].values.tobytes() == first.values.tobytes()
    plain = joined(manifest(algorithm="pao-fed-u1", shared=2))
    plain.contact(1.0)
    state = plain.state()
    with pytest.raises(ValueError, match=r"another model|reshape"):
        Edge(agreed, 1).restore(state)


def test_a_reply_is_the_model_of_few_bits() -> None:
    coordinator = server(**BITS)
    coordinator.close(20)
    coordinator.rule.begin(np.arange(8.0) - 3.5)
    agreed, edge = coordinator.manifest, joined(coordinator.manifest)
    coordinator.receive(1, edge.contact(1.0) or b"")
    ((_, payload),) = coordinator.committed()
    reply = agreed.read(payload)
    assert isinstance(reply, Reply)
    expected = agreed.down.read(agreed.down.written(coordinator.w, 1, 20), 1, 20)
    assert edge.receive(payload, 1.1) == {21}
    np.testing.assert_array_equal(edge.w[expected.coordinates], expected.values)


# What is kept


def test_a_restart_and_a_replay_give_the_same_server(tmp_path: Path) -> None:
    path, store = tmp_path / "messages.npz", stored(tmp_path / "fleet", clip=6.0)
    present = lived(store, 25)
    assert store.verify().agrees
    recovered = store.recover()
    recovered.close(25)
    assert recovered.digest() == present.digest()
    assert {len(line.values) for line in store.lines.read()} == {store.epochs.manifest().up.length}
    assert export_messages(store, path) > 10
    assert replay_messages(path).w.tobytes() == present.w.tobytes()
    store.close()


def test_a_snapshot_keeps_what_waits_to_be_applied(tmp_path: Path) -> None:
    store = stored(tmp_path / "fleet")
    ahead, agreed = joined(store.epochs.manifest()), store.epochs.manifest()
    coordinator = store.recover()
    coordinator.close(20)
    for device in (0, 1):
        message = Update(agreed.epoch, 21, agreed.up.written(ahead.w, device, 21))
        store.write(records(coordinator, device, encode(message)))
    store.confirmation.catch_up()
    waiting = [record.values.tobytes() for record in coordinator.waiting()]
    store.snapshot(coordinator)
    assert [record.values.tobytes() for record in store.recover().waiting()] == waiting
    store.close()


def test_messages_of_other_bits_cannot_be_replayed_with_the_rest(tmp_path: Path) -> None:
    store = stored(tmp_path / "fleet")
    present = lived(store, 12)
    to = change(present, Changes(values={"options": {"bits": 4}}), 14.5)
    assert to is not None
    store.begin_epoch(to.server, "changed")
    with pytest.raises(StoreError, match="was changed in what its messages mean"):
        store.past.require_unbroken(5)
    store.close()


# What can be changed


def test_a_change_there_and_back_keeps_shared_and_bounds() -> None:
    old = manifest(clip=6.0, bound=6.0)
    new = changed_manifest(old, Changes(values={"algorithm": NAME, "options": {"bits": 4}}))
    assert (new.shared, new.clip, new.bound, new.options) == (2, 6.0, 6.0, {"bits": 4})
    back = changed_manifest(new, Changes(values={"algorithm": "pao-fed-u1"}))
    assert back == old
