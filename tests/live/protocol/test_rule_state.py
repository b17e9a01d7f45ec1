"""A server rule with two arrays: both are kept, recomputed, verified and exported."""

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.rehearsal.rehearsal import rehearse
from paofed.archives import packed, save_arrays
from paofed.checks import check_one
from paofed.core.bounded import Bounded
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS
from paofed.core.staleness import Geometric
from paofed.errors import FileError, InputError
from paofed.live.journal.exports import export_messages, replay_messages
from paofed.live.journal.repair import Repair, repair
from paofed.live.journal.schema import checksum
from paofed.live.journal.store import Store, Verification
from paofed.live.protocol.change import Changes, change, replayed, rolled_back
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.quantity import ManifestError
from tests.effort import effort, some
from tests.live import momentum
from tests.live.fleets import live, manifest, opened, records, server, update
from tests.live.stores import (
    PowerCutError,
    ask,
    execute,
    flip,
    goes_on,
    history,
    lived,
    made,
    refusal,
)

U1 = manifest().row
BOUNDED = Bounded(Geometric(1.0))


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet with some history under the rule with two arrays."""
    momentum.serve(monkeypatch, server=momentum.RULE)
    return made(tmp_path)


def same(one: Coordinator, other: Coordinator) -> bool:
    """Whether two servers have the same state, bit for bit."""
    assert list(one.rule.arrays()) == ["model", "model_push"]
    arrays, others = one.rule.arrays(), other.rule.arrays()
    assert arrays["model_push"].any()
    assert one.digest() == other.digest()
    return all(arrays[name].tobytes() == others[name].tobytes() for name in arrays)


def test_the_rule_can_be_served() -> None:
    check_one("can be served", replace(U1, server=momentum.RULE))


def test_both_arrays_are_there_after_a_restart(fleet: Path) -> None:
    with opened(fleet) as store:
        recovered = store.recover()
        recovered.close(25)
        assert same(recovered, lived(25))
        assert store.verify() == Verification(20, 30, agrees=True)
    goes_on(fleet)


@pytest.mark.parametrize(
    "point",
    some(["inside snapshot", "before snapshot's commit", "after snapshot"], everyday=1),
)
def test_a_power_cut_in_a_snapshot_changes_nothing(point: str, fleet: Path) -> None:
    def sync(where: str) -> None:
        if where == point:
            raise PowerCutError

    with opened(fleet) as store:
        coordinator = store.recover()
        coordinator.close(25)
        with pytest.raises(PowerCutError):
            store.snapshot(coordinator, sync)
    with opened(fleet) as store:
        recovered = store.recover()
        recovered.close(25)
        live(store, recovered, range(25, 45), snapshots=10)
        assert same(recovered, lived(45))
        assert store.verify() == Verification(40, 30, agrees=True)


@pytest.mark.parametrize("seed", range(effort(everyday=1, thorough=20)))
def test_every_promise_is_kept_whatever_happens(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    momentum.serve(monkeypatch, server=momentum.RULE)
    rehearse(seed, tmp_path / "fleet")


def snapshot(folder: Path, line: int) -> tuple[int, bytes]:
    ((tick, blob),) = ask(folder, f"SELECT tick, state FROM snapshot WHERE line = {line}")  # noqa: S608
    return tick, blob


@pytest.mark.parametrize(("line", "byte"), some(product([30, 60], [0, 21, 63]), everyday=2))
def test_a_flipped_byte_in_the_second_array_is_noticed(line: int, byte: int, fleet: Path) -> None:
    tick, blob = snapshot(fleet, line)
    with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
        state = dict(arrays)
    flip(fleet, "snapshot", "state", line, blob.index(state["model_push"].tobytes()) + byte)
    for does in (Store.verify, Store.recover if line == 60 else history):
        assert "a snapshot in " in refusal(fleet, does)
    # And if the snapshot's checksum hides it: the journal does not give this array.
    state["model_push"].view(np.uint8)[byte] ^= 4
    forged = packed(state)
    values = forged, checksum(tick, line, 1, forged), line
    execute(fleet, ("UPDATE snapshot SET state = ?, checksum = ? WHERE line = ?", values))
    with opened(fleet) as store:
        assert store.verify() == Verification(20, 30, agrees=False)


def test_repair_goes_on_from_the_older_snapshot(fleet: Path) -> None:
    flip(fleet, "snapshot", "state", 60)
    with opened(fleet) as store:
        assert repair(store) == Repair()
        recovered = store.recover()
        recovered.close(25)
        assert same(recovered, lived(25))
    goes_on(fleet)


def test_the_digest_sees_every_array(monkeypatch: pytest.MonkeyPatch) -> None:
    momentum.serve(monkeypatch, server=momentum.RULE)
    digests = {lived(5).digest()}
    for array in range(2):
        coordinator = lived(5)
        coordinator.rule.state[array][3] += 1e-9
        digests.add(coordinator.digest())
    assert len(digests) == 3


def test_a_state_of_another_rule_is_not_taken_up(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = server().state()
    momentum.serve(monkeypatch, server=momentum.RULE)
    words = (
        r"^a server's state that was saved has model \(f\) \(8,\): expected model \(f\) \(8,\), "
        r"model_push \(f\) \(8,\); use the paofed that wrote it$"
    )
    with pytest.raises(InputError, match=words):
        Coordinator(manifest()).restore(plain)


def test_an_export_begins_with_both_arrays(fleet: Path, tmp_path: Path) -> None:
    path = tmp_path / "messages.npz"
    with opened(fleet) as store:
        assert export_messages(store, path) == 45
    assert replay_messages(path).w.tobytes() == lived(25).w.tobytes()
    with np.load(path, allow_pickle=False) as arrays:
        exported = dict(arrays)
    assert exported["start_model_push"].tobytes() == lived(10).rule.state.push.tobytes()


def test_numbers_of_each_device_are_kept_verified_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    momentum.serve(monkeypatch, server=BOUNDED)
    folder, path = made(tmp_path), tmp_path / "messages.npz"
    with opened(folder) as store:
        recovered = store.recover()
        recovered.close(25)
        devices = len(recovered.rule.state.score)
        assert devices > 0  # though the rule began for nobody
        assert len(recovered.rule.aside) == devices
        assert recovered.digest() == lived(25).digest()
        assert store.verify() == Verification(20, 30, agrees=True)
        export_messages(store, path)
    assert replay_messages(path).w.tobytes() == lived(25).w.tobytes()
    with np.load(path, allow_pickle=False) as arrays:
        assert len(arrays["start_model_score"]) == len(lived(10).rule.state.score)


@pytest.mark.parametrize("rows", [np.zeros((3, 2)), np.zeros(3, dtype=bool), np.zeros(())])
def test_numbers_of_each_device_keep_their_kind(
    rows: NDArray[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    momentum.serve(monkeypatch, server=BOUNDED)
    rule = lived(5).rule
    with pytest.raises(InputError, match=r"^a server's state that was saved has model .f. .8,.,"):
        rule.restore({**rule.arrays(), "model_score": rows})


def without(arrays: dict[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    return {key: array for key, array in arrays.items() if key != name}


def test_an_export_with_other_arrays_is_refused(fleet: Path, tmp_path: Path) -> None:
    path = tmp_path / "messages.npz"
    with opened(fleet) as store:
        export_messages(store, path)
    with np.load(path, allow_pickle=False) as exported:
        arrays = dict(exported)
    for wrong in (
        without(arrays, "start_model_push"),
        without(arrays, "start_model"),
        {**arrays, "start_model_pull": np.zeros(8)},
        {**arrays, "start_model_push": np.zeros(9)},
        {**arrays, "start_model_push": np.array(["0"] * 8)},
    ):
        save_arrays(path, wrong)
        with pytest.raises(FileError, match="not an export of messages: it has numbers of another"):
            replay_messages(path)


UNSERVED = {
    "downlink": Channel(send=U1.downlink.send),
    "uplink": Channel(send=U1.uplink.send),
    "learner": Learner(learn=LMS.learn),
    "server": ServerRule(apply=U1.server.apply),
}


@pytest.mark.parametrize("part", UNSERVED)
def test_a_part_that_does_not_say_so_is_not_served(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    momentum.serve(monkeypatch, **{part: UNSERVED[part]})
    kind = type(UNSERVED[part]).__name__
    words = rf"^pao-fed-u1 cannot be served: its {part} does not say .* \(`served` of {kind}\)$"
    with pytest.raises(ManifestError, match=words):
        manifest()


def wild(coordinator: Coordinator, ticks: range) -> None:
    """Let all devices be heard, the first one far outside."""
    for tick in ticks:
        for device in range(5):
            values = (50.0 if device == 0 else 1.0) * np.sin([device + 3.0 * tick, device - tick])
            message = update(tick, *values, epoch=coordinator.manifest.epoch)
            records(coordinator, device, message)
        coordinator.close(tick + 1)


@pytest.fixture
def restarted() -> Coordinator:
    """A server that takes up what was saved when a device was set aside."""
    before, now = server(5, clip=6.0), server(5, clip=6.0)
    wild(before, range(20))
    now.restore(before.state())
    assert now.rule.aside.tolist() == [True, False, False, False, False]
    return now


FOLLOWS: dict[str, Callable[[Coordinator], Coordinator]] = {
    "updates": lambda server: server,
    "a change": lambda server: changed(server, Changes(values={"clip": 5.0})),
    "the clock": lambda server: changed(server, Changes()),
    "a rollback": lambda server: rolled_back(server, server),
    "without some": lambda server: replayed(server, server, [], {1}),
}


def changed(server: Coordinator, changes: Changes) -> Coordinator:
    found = change(server, changes, server.manifest.begins(server.tick), anyway=True)
    assert found is not None
    return found.server


@pytest.mark.parametrize(("what", "trusted"), some(product(FOLLOWS, [[], [0], [7]]), everyday=5))
def test_who_is_aside_stays_aside_unless_trusted(
    what: str, trusted: list[int], restarted: Coordinator
) -> None:
    after = FOLLOWS[what](restarted)
    assert after.rule.aside[0]
    after.rule.trust(trusted)
    wild(after, range(after.tick, after.tick + 10))
    assert after.rule.trusted == set(trusted)
    assert after.rule.aside[0] == (0 not in trusted)
    columns = ("last", "score", "aside", "allowed", "trusted")
    assert len({getattr(after.rule.state, column).size for column in columns}) == 1
