"""A published server with a rule of its own, in a live fleet: agreed on, changed, recovered."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.rehearsal.fleets import picked
from paofed.algorithms import made
from paofed.checks import check_one
from paofed.core.parts import SERVER, Message, Stamp
from paofed.core.random import key_of
from paofed.core.starting import server_from
from paofed.live.journal.exports import export_messages, replay_messages
from paofed.live.journal.store import Verification
from paofed.live.protocol.change import Changes, change, changed_manifest, replayed, rolled_back
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import ManifestError
from tests.live import tiny_device
from tests.live.fleets import live, manifest, opened, records, server, stored, update
from tests.live.protocol.test_equal import compare
from tests.natures import small_trace

NAME = "fed-async"
RULE: dict[str, Any] = {"algorithm": NAME, "options": {"alpha": 0.3, "decay": 1.0}}
FEW: dict[str, Any] = {"algorithm": "quantised", "options": {"bits": 6, "down_bits": 4}}
NOW = 26.5  # the small fleet began at 1.0, with ticks of a second: this is tick 25


def lived(ticks: int, absent: int = -1) -> Coordinator:
    """The server that saw what `live` says and never stopped."""
    coordinator = server(**RULE)
    for tick in range(ticks):
        for device in {0, 1, 2} - {absent}:
            values = np.sin([device + 3.0 * tick, device - tick])
            records(coordinator, device, update(tick, *values))
        coordinator.close(tick + 1)
    return coordinator


# What is agreed on


@pytest.mark.parametrize("rule", [RULE, FEW], ids=[NAME, "quantised"])
def test_its_parts_say_truly_that_they_are_served(rule: dict[str, Any]) -> None:
    check_one("can be served", manifest(**rule).row)


def test_options_travel_in_a_manifest_of_version_3() -> None:
    agreed, usual = manifest(**RULE), manifest(algorithm=NAME)
    found = json.loads(agreed.to_json())
    assert (found["wire"], found["options"]) == (3, RULE["options"])
    assert Manifest.from_json(agreed.to_json()) == agreed
    assert "options" not in json.loads(usual.to_json())
    assert usual.row.server != agreed.row.server


def test_the_method_is_told_in_one_word() -> None:
    assert manifest(**RULE).method == manifest(**RULE).row.name == "fed-async:alpha=0.3,decay=1.0"
    assert manifest(algorithm=NAME).method == NAME


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"options": {"alpha": 0}}, "alpha is 0: expected a number above 0"),
        ({"options": {"alpha": 2.5}}, "alpha is 2.5: expected a number from 0 to 1"),
        ({"options": {"decay": -1}}, "decay is -1: expected a number from 0 on"),
        ({"options": {"alhpa": 0.5}}, "expected numbers for alpha, decay, hinge, slope, or none"),
        ({"options": {"shared": 2}}, "expected numbers for alpha, decay, hinge, slope, or none"),
        ({"options": {"alpha": "1"}}, "expected numbers for alpha, decay, hinge, slope, or none"),
        (
            {"options": {"decay": 10**400}},
            "expected numbers for alpha, decay, hinge, slope, or none",
        ),
        ({"options": {}}, "the manifest's options is {}: expected numbers for alpha, decay"),
        ({"options": [5]}, "the manifest's options is [5]: expected numbers for alpha, decay"),
        ({"algorithm": "pao-fed-u1", "options": {"shared": 2}}, "expected none for pao-fed-u1"),
        ({"algorithm": "fed-buff"}, "fed-buff cannot be served: its model may diverge"),
        ({"clip": 6.0}, "the manifest's clip is 6.0: expected none for fed-async, whose rule"),
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


@pytest.mark.parametrize("shared", [2, 8])
def test_the_windows_from_the_page_alone(shared: int) -> None:
    agreed = manifest(algorithm=NAME, shared=shared)
    for device, tick in ((0, 0), (3, 17), (9_999, 4_294_967_295)):
        for up, blocks in ((True, agreed.up), (False, agreed.down)):
            theirs = tiny_device.window(json.loads(agreed.to_json()), device, tick, up=up)
            assert theirs == blocks.coordinates(device, tick).tolist()


# What it computes


@pytest.mark.parametrize("shared", [5, 12])
def test_live_is_the_reference_engine_with_options(shared: int, tmp_path: Path) -> None:
    trace = small_trace(seed=shared, ticks=60, clients=6, features=12)
    agreed = manifest(features=12, shared=shared, max_age=3, bound=3.0, **RULE)
    compare(trace, agreed, tmp_path / "fleet")


def test_a_restart_and_a_replay_give_the_same_server(tmp_path: Path) -> None:
    folder, path = tmp_path / "fleet", tmp_path / "messages.npz"
    with stored(folder, **RULE) as store:
        live(store, store.recover(), range(25), snapshots=10)
    with opened(folder) as store:
        recovered = store.recover()
        recovered.close(25)
        assert recovered.digest() == lived(25).digest()
        assert store.verify() == Verification(20, 30, agrees=True)
        export_messages(store, path)
        live(store, recovered, range(25, 45), snapshots=10)
    assert recovered.digest() == lived(45).digest()
    assert replay_messages(path).w.tobytes() == lived(25).w.tobytes()


def test_it_goes_back_and_does_without_a_device(tmp_path: Path) -> None:
    with stored(tmp_path / "fleet", **RULE) as store:
        present = store.recover()
        live(store, present, range(25), snapshots=10, keep=100.0)
        back, then = rolled_back(present, store.past.at(13).server), store.past.at(0)
        without = replayed(present, then.server, store.past.since(then), {1})
    assert back.w.tobytes() == lived(13).w.tobytes()
    assert without.w.tobytes() == lived(25, absent=1).w.tobytes() != present.w.tobytes()


@pytest.mark.parametrize(("name", "diverges"), [("fed-async", False), ("fed-buff", True)])
def test_devices_that_say_what_they_heard_a_tick_ago(name: str, diverges: bool) -> None:
    """Why steps are not served: each tells again how far the server has moved, backwards."""
    rule, heard = made(name, {}).server, np.zeros(8)
    state = server_from(name, rule, 0, np.ones(8))
    for tick in range(40):
        said = [Message(k, tick, np.arange(8), heard) for k in range(30)]
        heard = rule.model(state)
        state = rule.apply(state, said, Stamp(SERVER, tick, 8, key_of(0)))
    assert (np.abs(rule.model(state)) > 1e6).all() == diverges
    assert (np.abs(rule.model(state)) <= 1.0).all() != diverges


# What can be changed


def test_a_change_to_it_shares_everything_and_bounds_nobody() -> None:
    old = manifest(clip=6.0, bound=6.0)
    new = changed_manifest(old, Changes(values={"algorithm": NAME}))
    assert (new.shared, new.clip, new.bound) == (8, None, 6.0)
    few = changed_manifest(old, Changes(values={"algorithm": NAME, "shared": 2}))
    assert (few.shared, few.clip) == (2, None)
    whole = changed_manifest(few, Changes(values={"algorithm": "online-fedsgd"}))
    assert whole.shared == 8
    back = changed_manifest(new, Changes(values={"algorithm": "pao-fed-u1", "clip": 6.0}))
    assert (back.shared, back.clip) == (4, 6.0)
    with pytest.raises(ManifestError, match=r"clip is 6\.0: expected none for fed-async"):
        changed_manifest(old, Changes(values={"algorithm": NAME, "clip": 6.0}))


def test_options_stay_with_their_algorithm() -> None:
    old = manifest(**RULE)
    assert changed_manifest(old, Changes(values={"step_size": 0.1})).options == old.options
    assert changed_manifest(old, Changes(values={"algorithm": "pao-fed-u1"})).options is None


def test_what_a_change_costs_is_told() -> None:
    values = {"algorithm": NAME, "options": {"alpha": 0.5}}
    to = change(server(clip=6.0), Changes(values=values), NOW)
    assert to is not None
    assert {("clip", "6", "none"), ("options", "none", "alpha 0.5")} <= set(to.differences)
    lost = "the bound on what one device can do: the rule of fed-async has none"
    assert lost in to.lost
    again = change(to.server, Changes(values={"options": {"alpha": 1}}), NOW + 9)
    assert again is not None
    assert ("options", "alpha 0.5", "alpha 1") in again.differences
    assert lost not in again.lost


def test_rehearsals_have_it() -> None:
    fleets = [picked(np.random.default_rng(seed)) for seed in range(60)]
    assert {NAME, "quantised"} <= {fleet.algorithm for fleet in fleets}
