"""Methods with memory on both sides against a plain loop that knows no parts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paofed import algorithm, replay, run
from paofed.algorithms.base import Exchange
from paofed.checks import check_one
from paofed.core.arrays import FloatArray
from paofed.core.metrics import curve_ticks
from paofed.core.parts import Bytes, Channel, Part, Stamp, keys_of, silence
from paofed.core.selection import Windows
from paofed.core.traffic import Traffic
from paofed.errors import AlgorithmError
from paofed.simulate.engines.reference import ticks
from paofed.world.realize import realize
from tests.effort import effort, in_ci, some
from tests.natures import small_scenario, small_trace
from tests.simulate.engines.remembering import LIMIT, OWN, WINDOWS, Plain, method


@pytest.mark.parametrize("exchange", ["paper", "single", "live"])
@pytest.mark.parametrize("seed", range(effort(everyday=1, thorough=4)))
def test_rules_with_memory_do_what_a_plain_loop_does(exchange: Exchange, seed: int) -> None:
    trace = small_trace(seed, ticks=60, features=9)
    plain, so_far = Plain(trace, exchange, seed), np.zeros(len(Traffic._fields), dtype=np.int64)
    for state, info in ticks(trace, method(exchange), keys=keys_of(seed)):
        assert info.traffic == plain.tick(info.tick), f"tick {info.tick}"
        np.testing.assert_allclose(state.server, plain.server, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.local, plain.device, rtol=0, atol=1e-12)
        so_far += info.traffic
    outcome = replay(trace, method(exchange), seed=seed)
    np.testing.assert_array_equal(outcome.traffic[:, -1], so_far)
    np.testing.assert_array_equal(outcome.server_model, state.server)


@pytest.mark.parametrize("exchange", ["paper", "single", "live"])
def test_the_bytes_of_a_run_are_those_that_encode_makes(exchange: Exchange) -> None:
    """Counted by wrapping `encode`, which sees every message that is sent."""
    made: dict[str, list[int]] = {"uplink": [], "downlink": []}

    def counting(direction: str, channel: Channel) -> Channel:
        def encode(part: Part, stamp: Stamp) -> Bytes:
            assert channel.encode is not None
            payload = channel.encode(part, stamp)
            made[direction].append(len(payload.tobytes()))
            return payload

        return replace(channel, encode=encode)

    mine, trace = method(exchange), small_trace(5, ticks=60, features=9)
    assert isinstance(mine.uplink, Channel)
    mine = replace(mine, uplink=counting("uplink", mine.uplink))
    if isinstance(mine.downlink, Channel):
        mine = replace(mine, downlink=counting("downlink", mine.downlink))
    counts = Traffic(*replay(trace, mine).traffic[:, -1].tolist())
    assert counts.payload_up == sum(made["uplink"]) == 6 * counts.coordinates_up > 0
    assert counts.messages_up == len(made["uplink"])
    if exchange != "live":
        assert counts.payload_down == sum(made["downlink"]) == 2 * counts.coordinates_down > 0
        assert 0 < counts.messages_down < counts.messages_up  # some news were none


def test_the_situations_above_occur() -> None:
    """The equality above only means something if buffers wait, news are none, messages are late."""
    trace = small_trace(0, ticks=60, features=9)
    plain, waited, silent = Plain(trace, "paper"), 0, 0
    for n in range(trace.ticks):
        counts = plain.tick(n)
        waited += plain.waiting > 0
        silent += counts.messages_up > counts.messages_down
    assert min(waited, silent, (trace.delay[trace.available] > LIMIT).sum()) >= 5


def test_nobody_answers_silence() -> None:
    """A live contact whose client says nothing costs nothing and changes nothing."""

    def now_and_then(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
        if stamp.tick % 3:
            return silence(), memory
        return Windows(2, coordinated=False, ahead=1).send(w, memory, stamp)

    trace = small_trace(2, ticks=60)
    rarely = replace(trace, available=trace.available & (np.arange(60) % 3 == 0)[:, None])
    u1 = algorithm("pao-fed-u1", shared=2, exchange="live")
    mine = replace(u1, name="mine", uplink=Channel(send=now_and_then, waives=("never silent",)))
    found, expected = replay(trace, mine), replay(rarely, u1)
    np.testing.assert_array_equal(found.traffic, expected.traffic)
    np.testing.assert_array_equal(found.mse, expected.mse)
    if in_ci():  # compiled, too, which takes long
        check_one("traffic counted", mine)


def test_an_own_downlink_cannot_be_live() -> None:
    words = "own has a downlink of its own, so it cannot do exchange 'live'"
    for mine in (replace(OWN, exchange="live"), replace(OWN, exchange="live", uplink=WINDOWS)):
        with pytest.raises(AlgorithmError, match=words):
            replay(small_trace(0), mine)
        with pytest.raises(AlgorithmError, match=words):
            run(small_scenario(), mine)


def test_a_method_s_random_numbers_belong_to_seed_world_and_run() -> None:
    trace = small_trace(3, ticks=60, features=9)
    places: list[dict[str, Any]] = [{"seed": 0}, {"seed": 1}, {"world": 1}, {"run": 1}]
    found = [replay(trace, OWN, **place).server_model.tobytes() for place in places]
    assert len(set(found)) == 4
    assert replay(trace, OWN).server_model.tobytes() == found[0]


@pytest.mark.parametrize("same_world", some([False, True], everyday=1))
def test_runs_draw_what_a_replay_of_the_same_place_draws(same_world: bool) -> None:
    """Held against the reference alone: other engines round otherwise."""
    scenario = small_scenario(ticks=40, stream={"samples": (10, 20, 40)})
    result = run(
        scenario, OWN, runs=2, seed=5, same_world=same_world, every=7, engine="reference", workers=1
    )
    for index in range(2):
        world, number = (0, index) if same_world else (index, 0)
        trace = realize(scenario, world, number, seed=5)
        outcome = replay(trace, OWN, seed=5, world=world, run=number)
        np.testing.assert_array_equal(
            result.mse[index, 0], outcome.mse[curve_ticks(scenario.ticks, 7)]
        )
        np.testing.assert_array_equal(result.models[index, 0], outcome.server_model)
