"""One-shot ridge regression against the fit to the same samples in one place."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.rivals.one_shot_ridge import one_shot_ridge
from paofed.algorithms.setup import resolve
from paofed.checks import CHECKS, check_algorithm, check_one
from paofed.core.arrays import FloatArray
from paofed.core.parts import LEFT_ALONE, Message, Part, told_sizes
from paofed.core.starting import device_from, server_from
from paofed.core.traffic import Traffic
from paofed.errors import AlgorithmError
from paofed.simulate.engines import engine_of, reference
from paofed.simulate.engines.fast.own.compiler import kernel_of
from paofed.world.trace import Trace
from tests.algorithms.rivals.cases import server_stamp, stamp
from tests.effort import effort, long
from tests.natures import small_trace
from tests.simulate.engines.compared import equal

WORDS = ["one-shot-ridge:after=3", "one-shot-ridge:after=3,most=1", "one-shot-ridge:after=3,most=5"]
OF_ENGINES = ("traffic counted", "engines agree")
FEATURES = 24  # all of 1,000 features, the usual large model, would be half a million numbers


@pytest.mark.parametrize("word", WORDS)
def test_every_part_keeps_its_promises(word: str) -> None:
    for name in CHECKS:
        if name not in OF_ENGINES:
            check_one(name, word, features=FEATURES)


@long
@pytest.mark.parametrize("word", WORDS)
def test_it_keeps_its_contract_in_every_engine(word: str) -> None:
    assert engine_of("fast").refuses(resolve(word)) is None
    check_algorithm(word, features=FEATURES)


def test_it_waives_no_more_than_it_must() -> None:
    assert algorithm("one-shot-ridge").waives == {
        "downlink": ("never silent",),
        "uplink": ("never silent",),
        "learner": ("a step helps", "merge overwrites", LEFT_ALONE),
        "server": ("fixed point", "convex hull", "untouched coordinates"),
    }


def test_it_says_why_no_live_fleet_has_it() -> None:
    method = algorithm("one-shot-ridge")
    for part in (method.downlink, method.uplink, method.learner, method.server):
        assert part.why_not == method.unserved
    assert method.unserved is not None
    assert "\n" not in method.unserved


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("after=0", "after is 0: expected a whole number from 1 on"),
        ("after=2.5", "after is 2.5: expected a whole number"),
        ("most=0", "most is 0: expected a whole number from 1 on"),
        ("ridge=0", "ridge is 0: expected a number above 0"),
        ("ridge=true", "ridge is True"),
        ("rigde=1", "unknown option 'rigde': did you mean 'ridge'"),
        ("clip=6", "one-shot-ridge:clip=6 has a server rule of its own"),
        ("exchange=live", "one-shot-ridge:exchange=live has a downlink of its own"),
    ],
)
def test_bad_options_are_refused_in_one_line(word: str, text: str) -> None:
    with pytest.raises(AlgorithmError, match=re.escape(text)) as refused:
        resolve(f"one-shot-ridge:{word}").require_fits(24)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("given", [[4], "4", True])
def test_what_is_no_number_is_refused_too(given: Any) -> None:
    for option in ("after", "most", "ridge"):
        with pytest.raises(AlgorithmError, match=rf"^{option} is "):
            one_shot_ridge(**{option: given})


@pytest.mark.parametrize(("most", "summed"), [(None, 12), (5, 5), (99, 12)])
def test_a_message_has_the_count_the_moments_and_the_upper_triangle(
    most: int | None, summed: int
) -> None:
    method = one_shot_ridge(most=most)
    up, down = told_sizes(method.learner, method.server, 12)
    assert (up, down) == (1 + summed * (summed + 3) // 2, 1 + summed)


def test_options_are_numbers_of_one_machine_code() -> None:
    usual, other = (resolve(f"one-shot-ridge{w}") for w in ("", ":after=3,most=5,ridge=10"))
    assert kernel_of(usual) is kernel_of(other)


def ridge_fit(z: FloatArray, y: FloatArray, ridge: float) -> FloatArray:
    """(Z'Z + ridge diag(Z'Z) / n)^-1 Z'y."""
    gram = z.T @ z
    fit = np.linalg.solve(gram + ridge * np.diag(np.diag(gram)) / len(y), z.T @ y)
    return fit.astype(np.float64)


def with_target(trace: Trace) -> Trace:
    """A trace whose targets follow from the inputs, up to noise."""
    x = np.nan_to_num(trace.x)
    noise = np.random.default_rng(7).normal(size=trace.y.shape)
    return replace(trace, x=x, y=np.sin(x[..., 0]) + 0.1 * noise)


def sent_once(trace: Trace, client: int, after: int) -> list[int]:
    """The ticks of the samples in a client's one message, if it is ever sent and arrives."""
    seen: list[int] = []
    for tick in np.flatnonzero(trace.has_data[:, client]).tolist():
        seen.append(tick)
        if trace.available[tick, client] and len(seen) >= after:
            lost = trace.losses.up[tick, client]
            return [] if lost or tick + trace.delay[tick, client] >= trace.ticks else seen
    return []


@pytest.mark.parametrize("seed", range(effort(everyday=4, thorough=20)))
@pytest.mark.parametrize("most", [None, 4])
def test_the_server_s_model_is_the_fit_to_all_samples_of_messages_in_one_place(
    seed: int, most: int | None
) -> None:
    """Also where a start leaves something over; what was lost is never sent again."""
    trace = with_target(small_trace(seed, ticks=60, lost=0.2 * (seed % 2), start=seed % 4 < 2))
    after, start = 20, trace.start if trace.start.size else np.zeros(trace.features)
    met = [(t, k) for k in range(trace.clients) for t in sent_once(trace, k, after)]
    z = np.array([trace.fourier_map(trace.x[t, k][None])[0] for t, k in met])
    y = np.array([trace.y[t, k] for t, k in met]) - z @ start
    first = 0 if most is None else trace.features - most
    expected = start.copy()
    expected[first:] += ridge_fit(z[:, first:], y, 3.0)
    found = reference.replay(trace, one_shot_ridge(after=after, most=most)).server_model
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)  # messages are float32


def test_a_device_sends_once() -> None:
    trace = with_target(small_trace(0, ticks=200, clients=3, features=7))
    for most, numbers in ((None, 7), (4, 4)):
        outcome = reference.replay(trace, one_shot_ridge(after=10, most=most))
        traffic = Traffic(*outcome.traffic)
        assert traffic.messages_up[-1] == trace.clients
        assert traffic.payload_up[-1] == trace.clients * 4 * (1 + numbers * (numbers + 3) // 2)


def test_a_device_is_told_again_of_twice_as_many_samples() -> None:
    downlink: Any = one_shot_ridge().downlink
    memory, heard = downlink.init(3), []
    for samples in (0, 0, 7, 7, 13, 14, 27, 40, 56):
        part, memory = downlink.send(np.array([samples, 1.0, 2.0]), memory, stamp())
        heard += [samples] if part.coordinates.size else []
    assert heard == [7, 14, 40]


def test_a_device_believes_what_it_hears_over_what_it_began_with() -> None:
    learner, start = one_shot_ridge(most=2).learner, np.arange(5.0) + 1.0
    state = device_from("one-shot-ridge", learner, start)
    np.testing.assert_array_equal(learner.model(state), start)
    state = learner.learn(state, np.ones(5), 3.0, 0.4, 0)
    np.testing.assert_array_equal(learner.model(state), start)  # it has learned nothing alone
    state = learner.merge(state, Part(np.arange(3), np.array([9.0, 10.0, 20.0])))
    np.testing.assert_array_equal(learner.model(state), start + np.array([0, 0, 0, 10, 20]))


def test_messages_that_arrive_later_are_added() -> None:
    rule: Any = one_shot_ridge(ridge=1.0).server
    z, y = np.random.default_rng(0).normal(size=(9, 2)), np.arange(9.0)
    state = server_from("one-shot-ridge", rule, 2, np.zeros(2))
    for client, here in enumerate((slice(0, 5), slice(5, 9))):
        g, h = z[here].T @ z[here], z[here].T @ y[here]
        values = np.array([len(y[here]), h[0], g[0, 0], h[1], g[1, 0], g[1, 1]])
        message = Message(client, client, np.arange(values.size), values)
        state = rule.apply(state, [message], server_stamp(client))
    np.testing.assert_allclose(rule.model(state), ridge_fit(z, y, 1.0), rtol=1e-9)
    np.testing.assert_array_equal(rule.tells(state), [9.0, *rule.model(state)])


@pytest.mark.parametrize("seed", range(effort(everyday=2, thorough=20)))
def test_both_engines_agree(seed: int) -> None:
    """With losses, delays, labels that are rare or late, a start, and whole models at first."""
    trace = with_target(
        small_trace(
            seed,
            ticks=90,
            clients=5,
            features=8,
            lost=0.1 * (seed % 2),
            linear=seed % 3 == 0,
            start=seed % 4 < 2,
            newcomers=seed % 5 == 4,
            labelled=0.6 if seed % 2 else 1.0,
            latest=30 if seed % 2 else 0,
        )
    )
    rng = np.random.default_rng(seed)
    method = resolve(f"one-shot-ridge:after={rng.integers(1, 20)},most={rng.integers(1, 12)}")
    got, expected = (engine.replay(trace, method) for engine in (engine_of("fast"), reference))
    assert expected.server_model.any()
    equal(got, expected)
