"""Faults of messages: whom they hit, what is sent instead, and the same in every engine."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.core.parts import Channel, Part, Stamp, keys_of, silence
from paofed.errors import InputError
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.fast.own.compiler import kernel_of
from paofed.simulate.faulty import with_faults
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from tests.effort import effort, in_ci, some
from tests.natures import small_scenario
from tests.simulate.engines.own.rules import OWN

GARBAGE: dict[str, Any] = {"kind": "garbage", "size": 0.5, "clients": 0.25}
LIAR: dict[str, Any] = {"kind": "liar", "push": 0.1, "clients": 3}
MODEL = np.linspace(-1, 1, 24)
ROWS = ["pao-fed-u1", "pao-fed-c2:shared=9", "pao-fed-c0", "online-fedsgd", "pso-fed:subset=2"]


def sent(
    scenario: Scenario, method: Algorithm, client: int, tick: int, place: tuple[int, int, int]
) -> tuple[Part, Part]:
    """What a client sends with faults, and without."""
    stamp = Stamp(client, tick, 24, keys_of(*place).up)
    wrong = with_faults(method, scenario).uplink
    return (
        wrong.send(MODEL, wrong.init(24), stamp)[0],
        method.uplink.send(MODEL, method.uplink.init(24), stamp)[0],
    )


def hit(scenario: Scenario, method: Algorithm, tick: int, place: tuple[int, int, int]) -> list[int]:
    """Whose messages are changed; the coordinates are those of the method in any case."""
    found = []
    for client in range(scenario.clients):
        wrong, right = sent(scenario, method, client, tick, place)
        np.testing.assert_array_equal(wrong.coordinates, right.coordinates)
        if not np.array_equal(wrong.values, right.values):
            found.append(client)
    return found


@pytest.mark.parametrize(
    ("row", "law"),
    some(product([*ROWS, "own"], [GARBAGE, LIAR, {**LIAR, "clients": [7, 2]}]), everyday=7),
)
def test_messages_of_those_who_are_hit_alone_and_only_then(row: str, law: dict[str, Any]) -> None:
    method = OWN if row == "own" else resolve(row)
    before = {"kind": "stuck", "clients": 1}  # takes a number; changes no message
    scenario = small_scenario(faults=[before, {**law, "start": 10, "end": 20}])
    seen = set()
    for place in [(1, 0, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0), (3, 0, 0)]:
        picked = scenario.faults[1].picked(1, keys_of(*place).up, 12)
        expected = np.flatnonzero(picked).tolist()
        assert [hit(scenario, method, n, place) for n in (9, 10, 19, 20)] == [
            [], expected, expected, []
        ]  # fmt: skip
        seen.add(tuple(expected))
    assert len(seen) == 1 if isinstance(law["clients"], list) else len(seen) > 1


def test_a_liar_pushes_and_garbage_is_random() -> None:
    """Garbage: 1 comparison of 2,400 uniform numbers with their mean, 12 standard errors."""
    place, method = (4, 0, 0), resolve("online-fedsgd")
    wrong, right = sent(small_scenario(faults=[{**LIAR, "clients": 12}]), method, 3, 5, place)
    np.testing.assert_array_equal(wrong.values, right.values + 0.1)
    scenario = small_scenario(faults=[{**GARBAGE, "clients": 12}])
    values = np.stack(
        [sent(scenario, method, k, n, place)[0].values for k in range(10) for n in range(10)]
    )
    assert len(np.unique(values)) == values.size
    assert np.abs(values).max() <= 0.5
    assert np.abs(values).max() > 0.49
    assert abs(values.mean()) < 12 * 0.5 / np.sqrt(3 * values.size)


def quiet(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    """Send every other tick."""
    return (silence() if stamp.tick % 2 else Part(np.arange(3), w[:3])), memory


def test_silence_stays_silence_and_a_channel_without_memory_works() -> None:
    method = replace(resolve("pao-fed-u1"), name="quiet", uplink=Channel(send=quiet))
    scenario = small_scenario(faults=[{**GARBAGE, "clients": 12}])
    even, _ = sent(scenario, method, 0, 4, (0, 0, 0))
    odd, _ = sent(scenario, method, 0, 5, (0, 0, 0))
    assert even.coordinates.size == 3
    assert not np.array_equal(even.values, MODEL[:3])
    assert odd.coordinates.size == 0
    if in_ci():  # a kernel of its own, which takes long
        assert engine_of("fast").refuses(with_faults(method, scenario)) is None


def test_values_are_of_one_type_whether_hit_or_not() -> None:
    """Ternary messages are float32 where they are compiled: two types could not be compiled."""

    def few(w: FloatArray, memory: Any, _: Stamp) -> tuple[Part, Any]:
        return Part(np.arange(3), w[:3].astype(np.float32)), memory

    method = replace(resolve("pao-fed-u1"), name="few", uplink=Channel(send=few))
    scenario = small_scenario(faults=[GARBAGE])
    parts = [sent(scenario, method, client, 4, (0, 0, 0))[0] for client in range(scenario.clients)]
    assert {part.values.dtype for part in parts} == {np.dtype(np.float64)}


@pytest.mark.parametrize("law", [GARBAGE, LIAR])
def test_what_is_no_number_of_an_uplink_s_own_is_lost_on_the_way(law: dict[str, Any]) -> None:
    """The first number of a copy of sums is whole, and a broken device's is not."""
    scenario = small_scenario(ticks=12, stream={"samples": (4, 8, 12)}, faults=[law])
    method = with_faults(resolve("fed-ridge"), scenario)
    found = engine_of("reference").replay(realize(scenario), method)
    assert found.traffic[:, -1].all()
    assert np.isfinite(found.mse).all()


def test_rows_that_differ_in_numbers_share_their_machine_code() -> None:
    one, other = small_scenario(faults=[GARBAGE]), small_scenario(faults=[LIAR, LIAR])
    kernels = {id(kernel_of(with_faults(resolve(row), one))) for row in ROWS}
    kernels |= {id(kernel_of(with_faults(resolve(row), other))) for row in ROWS}
    assert len(kernels) == 1


FAULTS: dict[str, list[dict[str, Any]]] = {
    "garbage": [{**GARBAGE, "start": 30, "end": 90}],
    "liar": [LIAR],
    "listed": [{**LIAR, "clients": [2, 11]}],
    "many": [{"kind": "scaled", "by": 2.0, "clients": 0.2}, LIAR, GARBAGE],
}


def both(scenario: Scenario, methods: list[str | Algorithm], **changes: Any) -> tuple[Result, ...]:
    runs = effort(everyday=1, thorough=2)
    common: dict[str, Any] = {"runs": runs, "seed": 4, "workers": 1, "every": 7, **changes}
    return (
        run(scenario, methods, **common, precision="float64"),
        run(scenario, methods, **common, engine="reference"),
    )


@pytest.mark.parametrize("faults", some(reversed(FAULTS), everyday=1))
def test_both_engines_agree(faults: str) -> None:
    methods: list[str | Algorithm] = [*some(ROWS, everyday=2), "pao-fed-u2:exchange=live"]
    methods += [OWN] if in_ci() else []  # a kernel of its own, which takes long
    world: dict[str, Any] = {"ticks": 100, "stream": {"samples": (25, 50, 100)}}
    scenario = small_scenario(**world, faults=FAULTS[faults], loss={"up": 0.1})
    got, expected = both(scenario, methods)
    assert got.provenance["engines"] == ["fast"] * len(methods)
    assert got.clean is not None
    assert expected.clean is not None
    np.testing.assert_array_equal(got.traffic, expected.traffic)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got.clean.mse, expected.clean.mse, rtol=1e-9, atol=1e-9)
    assert (np.abs(got.mse - got.clean.mse).max(axis=(0, 2)) > 1e-3).all()


def test_clean_is_the_run_without_faults() -> None:
    scenario, methods = small_scenario(faults=[LIAR]), ["pao-fed-u1", "online-fedsgd"]
    common: dict[str, Any] = {"runs": 3, "seed": 4, "same_world": True}
    wrong, right = run(scenario, methods, **common), run(small_scenario(), methods, **common)
    assert wrong.clean is not None
    assert right.clean is None
    np.testing.assert_array_equal(wrong.clean.mse, right.mse)
    for name in methods:
        np.testing.assert_array_equal(wrong.clean_finals(name), right.run_finals(name))
    alone = run(scenario, methods, **common, clean=False)
    np.testing.assert_array_equal(alone.mse, wrong.mse)
    assert alone.clean is None
    with pytest.raises(InputError, match="says nothing of the same runs without faults"):
        alone.clean_finals("pao-fed-u1")
