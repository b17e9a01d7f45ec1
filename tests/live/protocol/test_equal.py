"""The live federation computes what the reference engine computes, bit for bit, tick by tick."""

from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.core.parts import keys_of
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Send
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest, short
from paofed.live.protocol.served import served_names
from paofed.simulate.engines.reference import ticks
from paofed.world.trace import Trace
from tests.effort import some
from tests.live import momentum
from tests.live.fleets import manifest
from tests.natures import small_trace


def live_models(trace: Trace, agreed: Manifest, folder: Path) -> list[np.ndarray]:
    """The server's model after every tick, the trace's delays realised by the network.

    Where newcomers get the whole model, they say hello at their contacts; else they have joined.
    """
    store = Store.create(folder, agreed)
    for k in range(trace.clients):
        store.roster.add(str(k))
    answers: list[Send] = []
    host = Host(store, answers.append, snapshot_every=7)
    # Nothing is repeated while it may still arrive, and nobody asks again: a trace loses nothing.
    never = {"patience": agreed.max_age + 1, "lost_after": trace.ticks}
    edges = [Edge(agreed, k, **never) for k in range(trace.clients)]

    def answer(n: int) -> None:
        for send in answers:
            edges[send.device].receive(send.payload, float(n))
        answers.clear()

    for k, edge in enumerate(edges):
        if not trace.newcomers_whole.any():
            hello = edge.contact(0.0)
            assert hello is not None
            host.receive(k, hello)
    answer(0)

    on_their_way: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
    models = []
    for n in range(trace.ticks):
        for k in np.flatnonzero(trace.has_data[n]).tolist():
            if trace.available[n, k] or agreed.row.learns_while_away:
                edges[k].learn_mapped(trace.fourier_map(trace.x[n, k]), float(trace.y[n, k]))
            if trace.available[n, k]:
                message = edges[k].contact(float(n))
                assert message is not None
                on_their_way[n + int(trace.delay[n, k])].append((k, message))
        for k, message in on_their_way.pop(n, []):
            host.receive(k, message)
        host.flush()
        answer(n)
        host.advance(n + 1)
        models.append(host.coordinator.w)
    assert store.verify().agrees
    recovered = store.recover()
    recovered.close(trace.ticks)
    assert recovered.digest() == host.coordinator.digest()
    store.close()
    return models


def compare(trace: Trace, agreed: Manifest, folder: Path) -> None:
    models = live_models(trace, agreed, folder)
    expected = ticks(trace, agreed.row, wire=np.float32, keys=keys_of(agreed.seed))
    for (state, info), model in zip(expected, models, strict=True):
        assert model.tobytes() == state.server.tobytes(), f"tick {info.tick}"


@pytest.mark.parametrize(("name", "max_age"), some(product(served_names(), [3, 0]), everyday=4))
def test_every_served_algorithm(name: str, max_age: int, tmp_path: Path) -> None:
    trace = small_trace(seed=max_age, ticks=60, clients=6, features=12)
    shared = 12 if name == "online-fedsgd" else 5
    agreed = manifest(algorithm=name, features=12, shared=shared, max_age=max_age)
    compare(trace, agreed, tmp_path / "fleet")


@pytest.mark.parametrize(("max_age", "name"), some(product([3, 0], served_names()), everyday=3))
def test_a_start_and_newcomers(name: str, max_age: int, tmp_path: Path) -> None:
    """All begin with the manifest's model; a device learns alone until its hello is answered."""
    trace = small_trace(seed=max_age, ticks=60, clients=6, features=12, newcomers=True)
    assert (trace.delay[trace.available] > max_age).any()  # a hello is answered however late
    shared, start = 12 if name == "online-fedsgd" else 5, short(np.sin(np.arange(12.0)))
    numbers = {"features": 12, "shared": shared, "max_age": max_age}
    agreed = manifest(algorithm=name, start_model=start, **numbers)
    compare(replace(trace, start=agreed.begins_with), agreed, tmp_path / "fleet")


@pytest.mark.parametrize(
    ("newcomers", "name"), some(product([False, True], served_names()), everyday=3)
)
def test_linear_terms_of_their_own(name: str, newcomers: bool, tmp_path: Path) -> None:
    """A device takes them over with the whole model alone."""
    numbers = {"algorithm": name, "features": 12, "shared": 12 if name == "online-fedsgd" else 5}
    linear = ((-1.0, 1.0), (-0.5, 1.5))
    agreed = manifest(**numbers, max_age=3, linear=linear, personal=True)
    low, high = np.array(linear).T
    trace = small_trace(7, ticks=60, clients=6, features=9, newcomers=newcomers, personal=True)
    trace = replace(trace, linear_low=low, linear_high=high)
    assert (trace.features, trace.sparse().heard) == (12, agreed.heard) == (12, 9)
    compare(trace, agreed, tmp_path / "fleet")


@pytest.mark.parametrize(
    ("name", "options"),
    some(
        product(
            ["pao-fed-u1", "pao-fed-c2", "online-fedsgd"],
            [{"aside": True}, {"aside": False, "bound": None}],
        ),
        everyday=2,
    ),
)
def test_bounded_influence(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    """Scale, scores and who is aside follow from the journal; devices join as they are heard."""
    trace = small_trace(seed=5, ticks=80, clients=6, features=12)
    trace.y[:, 2] *= 50.0  # a broken sensor
    shared = 12 if name == "online-fedsgd" else 5
    bounds = {"clip": 2.0, "bound": 3.0, **options}
    compare(trace, manifest(algorithm=name, features=12, shared=shared, **bounds), tmp_path / "a")


@pytest.mark.parametrize("max_age", some([3, 0], everyday=1))
def test_a_rule_that_keeps_more_than_a_model_and_draws(
    max_age: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    momentum.serve(monkeypatch, server=momentum.RULE)
    trace = small_trace(seed=max_age, ticks=60, clients=6, features=12)
    agreed = manifest(features=12, shared=5, max_age=max_age, seed=2**60 + max_age)
    compare(trace, agreed, tmp_path / "fleet")
