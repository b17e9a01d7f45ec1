"""A change of a living fleet: what goes on, what begins anew, and what is refused."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.live.protocol.change import Changed, Changes, change, changed_manifest
from paofed.live.protocol.coordinator import TOLERANCE, Coordinator, Send
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import decode
from paofed.live.protocol.quantity import ManifestError, Quantity
from paofed.live.protocol.rule_state import RuleState
from tests.effort import effort, some
from tests.live import momentum
from tests.live.fleets import manifest, records, server, update

NOW = 21.5  # the small fleet began at 1.0, with ticks of a second: this is tick 20
WIND = Quantity(name="wind", offset=3.0, scale=2.0, high=40.0)


def at_work(**changes: Any) -> Coordinator:
    """A server in tick 20 that has heard its devices in every tick, one of them ahead."""
    coordinator = server(**changes)
    for tick in range(21):
        coordinator.close(tick)
        for device in range(3):
            ahead = TOLERANCE if device == 2 else 0
            records(coordinator, device, update(tick + ahead, *np.sin([device + tick, tick])))
    return coordinator


def changed(coordinator: Coordinator, now: float = NOW, **values: Any) -> Changed:
    found = change(coordinator, Changes(values=values), now)
    assert found is not None
    return found


def answers(coordinator: Coordinator, device: int, payload: bytes) -> list[Any]:
    """What a device hears, decoded."""
    sent = [e for e in coordinator.receive(device, payload) if isinstance(e, Send)]
    agreed = coordinator.manifest
    return [
        decode(send.payload, shared=agreed.shared, features=agreed.features)
        for send in (*sent, *coordinator.committed())
    ]


def test_a_change_that_changes_nothing() -> None:
    coordinator = at_work()
    before = coordinator.digest()
    same = {"step_size": 0.4, "shared": 2, "features": 8, "tick_seconds": 1.0}
    assert change(coordinator, Changes(values=same), NOW) is None
    assert change(coordinator, Changes(inputs=manifest().inputs), NOW) is None
    assert coordinator.digest() == before


VALUES = [
    {"step_size": 0.2},
    {"tick_seconds": 10.0},
    {"shared": 4},
    {"algorithm": "pao-fed-c2"},
    {"algorithm": "online-fedsgd"},
    {"max_age": 0},
    {"max_age": 100},
]


@pytest.mark.parametrize("values", VALUES, ids=str)
def test_nothing_accepted_is_lost(values: dict[str, Any]) -> None:
    """The model is that of a server that went on until every update had counted.

    Devices go on from models of their own.
    """
    coordinator, other = at_work(), at_work()
    assert other.waiting()
    other.close(20 + TOLERANCE + 1)
    assert not other.waiting()
    after = changed(coordinator, **values).server
    assert after.w.tobytes() == other.w.tobytes()
    assert after.tick == other.tick
    assert after.counts == other.counts
    assert not after.waiting()
    assert len(after.devices) == 3
    old, new = coordinator.manifest, after.manifest
    assert (new.epoch, new.lineage, new.meaning) == (old.epoch + 1, old.lineage, old.meaning)
    assert all(getattr(new, name) == value for name, value in values.items())


def test_the_epoch_is_a_byte() -> None:
    assert changed(server(epoch=255), step_size=0.2).server.manifest.epoch == 0


def test_the_row_says_how_much_is_shared_unless_somebody_does() -> None:
    whole = changed_manifest(manifest(), Changes(values={"algorithm": "online-fedsgd"}))
    assert whole.shared == whole.features == 8
    back = Changes(values={"algorithm": "pao-fed-c1"})
    assert changed_manifest(whole, back).shared == 4
    chosen = Changes(values={"algorithm": "pao-fed-c1", "shared": 3})
    assert changed_manifest(whole, chosen).shared == 3
    assert changed_manifest(manifest(), back).shared == 2
    small = manifest(features=3, shared=1)  # here, to share the usual number is to share all
    assert changed_manifest(small, Changes(values={"algorithm": "online-fedsgd"})).shared == 3


def test_ticks_never_go_back() -> None:
    """Through many changes of the length of a tick, at any times, clocks that go back included."""
    draw = np.random.default_rng(5)
    coordinator, now = server(), 1.0
    for _ in range(effort(everyday=100, thorough=300)):
        now += draw.exponential(30.0) if draw.random() < 0.9 else -draw.exponential(300.0)
        before = max(coordinator.tick, coordinator.manifest.tick_at(now))
        length = float(np.round(10.0 ** draw.uniform(-2, 2), 3))
        coordinator = changed(coordinator, now, tick_seconds=length).server
        agreed = coordinator.manifest
        assert before < coordinator.tick == agreed.from_tick <= before + TOLERANCE + 1
        assert agreed.tick_at(now) == agreed.from_tick
        assert agreed.begins(agreed.from_tick) == now
        coordinator.close(agreed.tick_at(now))


@pytest.mark.parametrize("most", some([0, 4, 200], everyday=2))
def test_updates_are_recognised_in_the_new_window(most: int) -> None:
    """Each update of the new epoch counts once, as long as it may arrive."""
    after = changed(at_work(), max_age=most, step_size=0.1).server
    first = after.tick
    for tick in range(first, first + 3 * (most + TOLERANCE) + 3):
        after.close(tick)
        for sent in {tick + TOLERANCE, tick, max(first, tick - most)}:
            fresh = sent > tick or (sent == tick < first + TOLERANCE)
            message = update(sent, 1.0, 2.0, epoch=4)
            assert len(records(after, 1, message)) == fresh
            assert records(after, 1, message) == []


@pytest.mark.parametrize("length", [0.1, 1.0, 3.0])
def test_when_devices_were_seen_is_remembered(length: float) -> None:
    coordinator = at_work()
    coordinator.add(3)  # never seen
    coordinator.devices.last_seen[:3] = 20, 17, 11
    after = changed(coordinator, tick_seconds=length, step_size=0.1).server
    ago = (after.tick - after.devices.last_seen[:3]) * length
    assert ago == pytest.approx(np.minimum([0.0, 3.0, 9.0], after.tick * length), abs=length)
    assert after.devices.last_seen[3] == -1


def test_quarantine_and_removal_go_on() -> None:
    coordinator = at_work()
    coordinator.quarantine(1)
    coordinator.remove(2)
    after = changed(coordinator, step_size=0.2).server
    for device in range(3):
        accepted = records(after, device, update(after.tick, 1.0, 2.0, epoch=4))
        assert len(accepted) == (device == 0)


def test_how_late_updates_came_is_counted_in_ticks_of_one_length() -> None:
    assert changed(at_work(), step_size=0.2).server.ages
    after = changed(at_work(), tick_seconds=2.0)
    assert not after.server.ages
    assert any("how late" in words for words in after.lost)


# The state of the server's rule


def test_a_rule_that_stays_keeps_all_of_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    momentum.serve(monkeypatch, server=momentum.RULE)
    coordinator = at_work()
    found = changed(coordinator, step_size=0.2)
    kept = found.server.rule.arrays()
    assert kept["model_push"].any()
    for name, array in coordinator.rule.arrays().items():
        assert kept[name].tobytes() == array.tobytes()
    assert not any("the server's rule" in words for words in found.lost)


@pytest.mark.parametrize("first", ["paper", "momentum"])
def test_another_rule_goes_on_with_the_model_alone(
    monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    with monkeypatch.context() as patch:
        if first == "momentum":
            momentum.serve(patch, server=momentum.RULE)
        coordinator = at_work()
    if first == "paper":
        momentum.serve(monkeypatch, server=momentum.RULE)
    found = changed(coordinator, algorithm="pao-fed-c1")
    arrays = found.server.rule.arrays()
    assert list(arrays) == (["model", "model_push"] if first == "paper" else ["model"])
    assert found.server.w.tobytes() == coordinator.w.tobytes()
    assert not arrays.get("model_push", np.zeros(1)).any()
    lost = "what the server's rule kept beside the model, such as scores of devices" in found.lost
    assert lost == (first == "momentum")


def test_what_a_rule_has_of_each_device_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins with no rows, and has some by now; fields of another kind do not fit."""

    class Scored(NamedTuple):
        w: FloatArray
        score: FloatArray
        aside: FloatArray

    rule = replace(momentum.RULE, init=lambda d, k: Scored(np.zeros(d), np.zeros(k), np.zeros(k)))
    momentum.serve(monkeypatch, server=rule)
    state = RuleState(manifest())
    saved = {"model": np.ones(8), "model_score": np.arange(3.0), "model_aside": np.zeros((3, 2))}
    assert state.carry(saved) == ("aside",)
    assert state.state.score.tolist() == [0.0, 1.0, 2.0]
    assert state.state.aside.shape == (0,)
    assert state.w.tolist() == [1.0] * 8


def test_scores_and_scale_go_on_under_another_clip() -> None:
    coordinator = at_work(clip=6.0)
    before = coordinator.rule.arrays()
    found = changed(coordinator, clip=3.0, aside=False, step_size=0.2)
    coordinator.close(found.server.tick)
    after = found.server.rule.arrays()
    assert before["model_score"].size == 3
    for name, array in coordinator.rule.arrays().items():
        assert after[name].tobytes() == array.tobytes(), name
    assert not any("the server's rule" in words for words in found.lost)


def test_bounds_can_be_put_on_and_taken_off() -> None:
    on = changed(at_work(), clip=6.0, bound=6.0)
    assert (on.server.manifest.clip, on.server.manifest.bound) == (6.0, 6.0)
    assert not any("kept beside" in words for words in on.lost)
    assert not on.server.rule.arrays()["model_sizes"].any()  # nothing was heard yet
    off = changed(at_work(clip=6.0, bound=6.0), clip=None, bound=None)
    assert list(off.server.rule.arrays()) == ["model"]
    assert sum("kept beside" in words for words in off.lost) == 2


# A new input


def with_wind() -> tuple[Coordinator, Changed]:
    coordinator = at_work()
    found = change(coordinator, Changes(inputs=(WIND,)), NOW)
    assert found is not None
    return coordinator, found


def predicted(coordinator: Coordinator, *x: float) -> float:
    agreed = coordinator.manifest
    return float(agreed.fourier_map(agreed.scaled(np.array(x))) @ coordinator.w)


def test_a_new_input_keeps_the_model_where_it_is_at_its_offset() -> None:
    old, new = with_wind()
    agreed = new.server.manifest
    assert agreed.inputs == (*manifest().inputs, WIND.limited())
    frequencies = agreed.fourier_map.frequencies
    assert frequencies[:2].tobytes() == manifest().fourier_map.frequencies.tobytes()
    assert new.server.w.tobytes() == old.w.tobytes()
    for a, b in np.random.default_rng(0).normal(size=(20, 2)):
        assert predicted(new.server, a, b, 3.0) == pytest.approx(predicted(old, a, b), abs=1e-12)
        assert predicted(new.server, a, b, 5.0) != pytest.approx(predicted(old, a, b), abs=1e-6)


def test_with_a_new_input_devices_begin_from_the_server() -> None:
    _, new = with_wind()
    assert (new.server.manifest.epoch, new.server.manifest.lineage) == (4, 1)
    assert any("begin from the server's" in words for words in new.lost)
    assert any("where wind is 3" in words for words in new.kept)
    assert any("samples without wind" in words for words in new.lost)
    agreed = new.server.manifest
    assert Manifest.from_json(agreed.to_json()) == agreed


# What people are told


def test_differences_in_words() -> None:
    found = change(
        at_work(),
        Changes(
            values={"step_size": 0.25, "tick_seconds": 60.0},
            inputs=(WIND,),
            ranges={"a": (-5.0, None), "y": (None, 30.0)},
        ),
        NOW,
    )
    assert found is not None
    assert [*map(tuple, found.differences)] == [
        ("step size", "0.4", "0.25"),
        ("tick", "1", "60"),
        ("epoch", "3", "4"),
        ("lineage", "0", "1"),
        ("range of a", "any", "-5 to inf"),
        ("input wind", "none", "offset 3 and scale 2"),
        ("range of wind", "none", "-17 to 40"),
        ("range of y", "any", "-inf to 30"),
    ]
    assert "an age limit in ticks: 4 are 240 s from now on" in found.kept
    assert "tick numbers: they go on with 23" in found.kept


def test_a_range_can_be_taken_back() -> None:
    narrow = changed_manifest(manifest(), Changes(ranges={"b": (0.0, 1.0)}))
    assert (narrow.inputs[1].low, narrow.inputs[1].high) == (0.0, 1.0)
    assert changed_manifest(narrow, Changes(ranges={"b": (None, None)})) == manifest()


REFUSED = [
    (
        Changes(values={"features": 9}),
        "features cannot be changed from 8 to 9: .*`paofed fleet ini",
    ),
    (Changes(values={"kernel_width": 2.0}), "kernel width cannot be changed from 1 to 2: "),
    (Changes(values={"seed": 2}), "seed cannot be changed from 1 to 2: "),
    (Changes(values={"start": 2.0}), "start cannot be changed"),
    (Changes(values={"algorithm": "pso-fed"}), "pso-fed cannot be served"),
    (Changes(values={"shared": 9}), "shared"),
    (Changes(values={"max_age": 201}), "max_age is 201: expected 0 to 200"),
    (Changes(values={"tick_seconds": 0.0}), "tick_seconds is 0.0"),
    (Changes(ranges={"c": (0.0, 1.0)}), r"there is no 'c' to give a range \(known: a, b, y\)"),
    (Changes(ranges={"a": (2.0, 1.0)}), "the lower one first"),
    (Changes(inputs=(Quantity(name="y"),)), "each one once"),
    (
        Changes(target=Quantity(name="z", offset=10.0, scale=4.0)),
        r"y \(offset 10 and scale 4\) cannot become z \(offset 10 and scale 4\): ",
    ),
    (
        Changes(inputs=(Quantity(name="b", offset=0.5, scale=3.0),)),
        r"b \(offset 0.5 and scale 2\) cannot become b \(offset 0.5 and scale 3\): ",
    ),
]


@pytest.mark.parametrize(("changes", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_cannot_be_changed(changes: Changes, says: str) -> None:
    coordinator = at_work()
    before = coordinator.digest()
    with pytest.raises(Exception, match=says) as refused:
        change(coordinator, changes, NOW)
    assert "\n" not in str(refused.value)
    assert coordinator.digest() == before
    assert coordinator.manifest == manifest()


def test_no_input_is_added_to_a_model_with_linear_terms() -> None:
    """Their place in the model depends on how many inputs there are."""
    agreed = manifest(linear=((-1.0, 1.0), (0.0, 2.0)))
    with pytest.raises(ManifestError, match=r"^wind cannot be added: the model has linear terms"):
        changed_manifest(agreed, Changes(inputs=(WIND,)))
    other = changed_manifest(agreed, Changes(values={"step_size": 0.1}))
    assert other == replace(agreed, step_size=0.1)


def test_ticks_that_were_ahead_go_on_with_the_clock_and_a_device_follows() -> None:
    """The server's clock was a day ahead: what a device sends is refused until ticks are reset."""
    coordinator = server()
    edge = Edge(coordinator.manifest, 0)

    def contact(seconds: float) -> frozenset[int]:
        """One contact at a time in seconds since tick 0 began, by the device's own clock."""
        edge.learn([0.5, 0.5], 11.0)
        payload, confirmed = edge.contact(seconds), frozenset[int]()
        assert payload is not None
        for effect in (*coordinator.receive(0, payload), *coordinator.committed()):
            if isinstance(effect, Send):
                confirmed |= edge.receive(effect.payload, seconds)
        return confirmed

    contact(0.0)
    assert contact(0.1)
    coordinator.close(86_400)  # for a moment the clock is a day ahead
    for second in range(1, 12):
        contact(float(second))
    assert contact(12.0) == {86_401}  # it asked for the time, and is ahead now, too
    for second in range(20, 40):
        contact(float(second))
    assert coordinator.counts["refused: future"]  # the clock is right again: no tick closes
    found = change(coordinator, Changes(), 41.0, anyway=True)
    assert found is not None
    coordinator, model = found.server, edge.w.copy()
    assert coordinator.tick > 86_400
    assert coordinator.manifest.tick_at(45.5) == coordinator.tick + 4
    edge = edge.under(coordinator.manifest)
    assert edge.w.tobytes() == model.tobytes()
    contact(41.0)  # it asks for the time
    before = coordinator.counts.copy()
    for second in range(41, 60):
        coordinator.close(coordinator.manifest.tick_at(second + 1.0))
        assert len(contact(second + 1.0)) == 1
    assert coordinator.counts - before == {"accepted": 19}  # none came twice, none was refused


BOUNDED = [(6.0, 6.0), (3.0, 3.0), (None, None)]


@pytest.mark.parametrize(("before", "after"), BOUNDED)
def test_the_bound_comes_back_where_a_rule_can_have_one(
    before: float | None, after: float | None
) -> None:
    coordinator = at_work(clip=before, bound=5.0)
    away = changed(coordinator, algorithm="fed-async", shared=2)
    assert away.server.manifest.clip is None
    found = change(
        away.server, Changes(values={"algorithm": "pao-fed-u1"}), NOW + 9, clip_before=before
    )
    assert found is not None
    assert (found.server.manifest.clip, found.server.manifest.bound) == (after, 5.0)
    comes_back = [kept for kept in found.kept if "which comes back" in kept]
    assert comes_back == [] if after is None else comes_back[0].endswith(f"clip {after:g}")
    # Whoever asks for another bound gets that one.
    values = {"algorithm": "pao-fed-u1", "clip": None}
    none = change(away.server, Changes(values=values), NOW + 9, clip_before=before)
    assert none is not None
    assert none.server.manifest.clip is None
