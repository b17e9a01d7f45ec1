"""Realised laws against their stated values.

Every comparison has a bound that a faithful world exceeds with a probability of at most
2 exp(-NATS) = 6e-10 (Chernoff's, the normal tail's, Laurent and Massart's bound: none is an
approximation). A test's false-alarm rate over seeds is that times its number of comparisons, stated
in its docstring. Seeds are fixed, so a test either always passes or always fails.
"""

import functools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from paofed.core.arrays import BoolArray, FloatArray
from paofed.world.availability import Bursts
from paofed.world.delays import GeometricDelay, ListedDelay, SteppedDelay
from paofed.world.realize import World, make_world, phases, realize, run_key
from paofed.world.scenario import Scenario
from paofed.world.streams import ClientLaws, target
from paofed.world.trace import Trace
from paofed.world.value import CERTAIN, threshold
from tests.effort import effort, some

NATS = 22
QUANTILES = (-2.0, -1.0, 0.0, 1.0, 2.0)
FRACTIONS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def fleet(clients: int, ticks: int, **changes: Any) -> Scenario:
    """A fleet with a sample at every tick, always there, never late, but for what is changed."""
    sizes: dict[str, Any] = {
        "clients": clients,
        "ticks": ticks,
        "features": 1,
        "test_samples": 1,
        "stream": {"samples": [ticks]},
    }
    return Scenario.model_validate({**Scenario.load("ideal").model_dump(), **sizes, **changes})


def surprise(successes: int, trials: int, probability: float) -> float:
    """By Chernoff, NATS or more has a probability of at most 2 exp(-NATS) for a binomial count."""
    seen = successes / trials
    nats = 0.0
    for a, b in ((seen, probability), (1 - seen, 1 - probability)):
        if a > 0:
            nats += a * math.log(a / b) if b > 0 else math.inf
    return trials * nats


def assert_binomial(yes: Any, probability: float) -> None:
    """Independent events of one probability: a count of them as likely as not."""
    count, trials = int(np.count_nonzero(yes)), int(np.size(yes))
    assert surprise(count, trials, probability) < NATS, (count, trials, probability)


def assert_uniform(u: FloatArray) -> None:
    """Independent numbers uniform on [0, 1): one comparison for each of FRACTIONS."""
    assert u.min() >= 0
    assert u.max() < 1
    for fraction in FRACTIONS:
        assert_binomial(u < fraction, fraction)


def assert_normal(z: FloatArray) -> None:
    """Independent standard normal numbers: a comparison per quantile, and the second moment."""
    for quantile in QUANTILES:
        assert_binomial(z < quantile, NormalDist().cdf(quantile))
    assert abs((z**2).sum() - z.size) < chaos(2 * z.size, 1)


def normal_bound(variance: float) -> float:
    """What a normal number of mean 0 exceeds in size with a probability below 2 exp(-NATS)."""
    return math.sqrt(2 * NATS * variance)


def chaos(variance: float, largest: float) -> float:
    """Likewise for a quadratic form in normal numbers, less its mean.

    `largest` bounds the eigenvalues of the form (Laurent and Massart, Ann. Statist. 28, 2000).
    """
    return math.sqrt(2 * NATS * variance) + 2 * NATS * largest


def test_surprise_is_what_it_says() -> None:
    """Against binomial tails summed exactly, for counts just beyond the bound."""
    trials, probability = 400, 0.1
    point = [
        math.comb(trials, i) * probability**i * (1 - probability) ** (trials - i)
        for i in range(trials + 1)
    ]
    beyond = [p for i, p in enumerate(point) if surprise(i, trials, probability) >= 8]
    assert 0 < sum(beyond) <= 2 * math.exp(-8)
    assert surprise(1, 10, 0.0) == surprise(9, 10, 1.0) == math.inf
    assert surprise(0, 10, 0.0) == surprise(10, 10, 1.0) == 0


PAPER: dict[str, tuple[tuple[float, ...], float, int]] = {  # presence by group, delay, its step
    "setting-1": ((0.25, 0.1, 0.025, 0.005), 0.2, 1),
    "setting-2": ((0.025, 0.01, 0.0025, 0.0005), 0.4, 10),
    "ideal": ((1.0, 1.0, 1.0, 1.0), 0.0, 1),
}


@pytest.mark.parametrize("name", some(PAPER, everyday=1))
def test_the_paper_s_worlds_are_as_it_says(name: str) -> None:
    """260 comparisons of arrivals by data group and client, 16 of presence by group inside each
    data group, 15 of delays, of all messages and of those really sent, and 270 of the lottery:
    false-alarm rate below 4e-7.
    """
    probabilities, base, step = PAPER[name]
    trace, k = realize(Scenario.load(name), seed=1), np.arange(256)
    for data, arrives in enumerate((0.25, 0.5, 0.75, 1.0)):
        assert_binomial(trace.has_data[:, k // 64 == data], arrives)
        for client in trace.has_data[:, k // 64 == data].T:
            assert_binomial(client, arrives)
        for group, probability in enumerate(probabilities):
            members = (k // 64 == data) & (k % 4 == group)
            assert members.sum() == 16
            assert_binomial(trace.available[:, members][trace.has_data[:, members]], probability)
    assert not (trace.delay % step).any()
    assert trace.delay.min() == 0
    for rung in range(1, 11):
        assert_binomial(trace.delay >= step * rung, base**rung)
    for rung in range(1, 6):
        assert_binomial(trace.delay[trace.available] >= step * rung, base**rung)
    assert_uniform(trace.lottery.ravel())
    assert_uniform(trace.lottery[trace.available])
    for client in trace.lottery.T:
        assert_binomial(client < 0.5, 0.5)


@pytest.mark.parametrize(
    ("law", "bases", "steps"),
    [
        ({"kind": "geometric", "base": [0.1, 0.7]}, (0.1, 0.7), (1, 1)),
        ({"kind": "stepped", "base": [0.3, 0.0, 0.9], "step": [2, 4, 1]}, (0.3, 0, 0.9), (2, 4, 1)),
    ],
)
def test_delays_by_group(
    law: dict[str, Any], bases: tuple[float, ...], steps: tuple[int, ...]
) -> None:
    """At most 3 groups of 6 comparisons: false-alarm rate below 2e-8."""
    delay = realize(fleet(60, 2000, delay=law), seed=2).delay
    for group, (base, step) in enumerate(zip(bases, steps, strict=True)):
        own = delay[:, group :: len(bases)]
        assert not (own % step).any()
        for rung in (1, 2, 3, 5, 10, 30):
            assert_binomial(own >= step * rung, base**rung)


MEANS = {"mean_on": (2.5, 12.0), "mean_off": (30.0, 6.0)}


@functools.cache
def links() -> BoolArray:
    """A link per client over 3000 ticks; group 0 stands in the even columns."""
    bursts = {"kind": "bursts", **MEANS}
    return realize(fleet(200, 3000, availability=bursts), seed=3).available


def turns(link: BoolArray, first: int) -> tuple[list[int], list[int]]:
    """Lengths of the first whole turns on and of the first whole turns off."""
    edges = np.flatnonzero(link[1:] != link[:-1]) + 1
    lengths, on = np.diff(edges), link[edges[:-1]]
    return lengths[on][:first].tolist(), lengths[~on][:first].tolist()


@pytest.mark.parametrize("group", [0, 1])
def test_turns_of_a_bursty_link_have_their_lengths(group: int) -> None:
    """2 x 6 comparisons: false-alarm rate below 1e-8.

    The first 50 whole turns of each kind of every client are independent and geometric. Their total
    is at most t when t trials bring as many ends or more, so it too is judged as a binomial count.
    """
    both = [turns(link, first=50) for link in links().T[group::2]]
    for on, means in ((0, MEANS["mean_on"]), (1, MEANS["mean_off"])):
        assert all(len(pair[on]) == 50 for pair in both)
        lengths, end = np.array([pair[on] for pair in both]), 1 / means[group]
        assert surprise(lengths.size, int(lengths.sum()), end) < NATS
        for length in (2, 3, 5, 10, 20):
            assert_binomial(lengths >= length, (1 - end) ** (length - 1))


@pytest.mark.parametrize("group", [0, 1])
def test_a_bursty_link_is_on_in_the_long_run_proportion_from_the_first_tick(group: int) -> None:
    """4 comparisons: false-alarm rate below 1e-8.

    100 clients at one tick are independent. Over all ticks a chain that forgets at the rate
    1/on + 1/off counts as fewer: no more than 8 standard errors of its long-run mean, which by the
    central limit theorem has a probability below 1e-14.
    """
    link = links()[:, group::2]
    on, off = MEANS["mean_on"][group], MEANS["mean_off"][group]
    proportion = on / (on + off)
    for tick in (0, 1, 2000):
        assert_binomial(link[tick], proportion)
    kept = 1 - 1 / on - 1 / off
    variance = proportion * (1 - proportion) * (1 + kept) / (1 - kept) / link.size
    assert abs(link.mean() - proportion) < 8 * math.sqrt(variance)


def test_phases_of_even_arrivals_are_uniform() -> None:
    """2 x 7 comparisons: false-alarm rate below 1e-8. A single sample arrives at phase x ticks."""
    scenario = fleet(5000, 100, stream={"samples": [1], "arrivals": "even"})
    key = run_key(make_world(scenario, 4, 0).key, 0)
    assert_uniform(phases(key, np.arange(5000)) / 2**24)
    assert_uniform(np.argmax(realize(scenario, seed=4).has_data, axis=0) / 100)


@functools.cache
def drawn() -> tuple[World, Trace]:
    """16 clients with a sample at about half of all ticks."""
    ticks = effort(everyday=30_000, thorough=60_000)
    scenario = fleet(16, ticks, stream={"samples": [ticks // 2]})
    return make_world(scenario, 5, 0), realize(scenario, seed=5)


def series() -> list[tuple[float, float, float, FloatArray]]:
    """For every client: memory, stationary mean, variance, and its samples less a beginning.

    The first sample has the mean of u; after 300 the memory of that is below 0.9^300 = 2e-14.
    """
    world, trace = drawn()
    memory, _, spread, _ = world.laws
    mean = world.laws.stationary_mean
    return [
        (memory[k], mean[k], spread[k] ** 2, trace.x[trace.has_data[:, k], k][300:])
        for k in range(16)
    ]


def test_the_stationary_mean_is_that_of_the_recursion() -> None:
    laws = drawn()[0].laws
    fixed = laws.memory * laws.stationary_mean + np.sqrt(1 - laws.memory**2) * laws.centre
    np.testing.assert_allclose(laws.stationary_mean, fixed, rtol=1e-13)
    np.testing.assert_allclose(
        laws.stationary_mean,
        laws.centre * np.sqrt(1 - laws.memory**2) / (1 - laws.memory),
        rtol=1e-13,
    )


def test_inputs_have_their_stationary_mean_and_variance_and_remember_as_much_as_stated() -> None:
    """16 x (4 + 1 + 2) comparisons: false-alarm rate below 7e-8.

    The mean of n samples is normal, of a variance of at most (s^2 / n) (1 + theta) / (1 - theta).
    The sum of squares has a variance of at most 2 n s^4 (1 + theta^2) / (1 - theta^2), and the
    eigenvalues of the covariance are at most s^2 (1 + theta) / (1 - theta). What a sample adds,
    e = x' - theta x, is independent of the sample before: the sum of their n products has the
    variance n s^4 (1 - theta^2), and eigenvalues of at most s^2 (1 + theta). A correlation off
    by 0.03 is off by 7 standard errors or more.
    """
    for theta, mean, variance, x in series():
        error = normal_bound(variance / len(x) * (1 + theta) / (1 - theta))
        assert (abs(x.mean(axis=0) - mean) < error).all()
        spread = 2 * x.size * variance**2 * (1 + theta**2) / (1 - theta**2)
        bound = chaos(spread, variance * (1 + theta) / (1 - theta))
        assert abs(((x - mean) ** 2).sum() - x.size * variance) < bound
        before, after = x[:-1] - mean, x[1:] - mean
        bound = chaos(before.size * variance**2 * (1 - theta**2), variance * (1 + theta))
        assert abs((before * (after - theta * before)).sum()) < bound
        correlation = (before * after).sum() / (before**2).sum()
        assert correlation == pytest.approx(theta, abs=0.03)


def test_what_is_new_in_a_sample_is_normal() -> None:
    """6 comparisons: false-alarm rate below 4e-9."""
    world, trace = drawn()
    fresh = []
    for k, (theta, centre, spread, _) in enumerate(zip(*world.laws, strict=True)):
        x = trace.x[trace.has_data[:, k], k]
        u = (x[1:] - theta * x[:-1]) / math.sqrt(1 - theta**2)
        fresh.append((u - centre) / spread)
    assert_normal(np.concatenate(fresh).ravel())


def test_a_first_sample_is_a_fresh_draw() -> None:
    """6 comparisons: false-alarm rate below 4e-9. The centres are far from the stationary means."""
    scenario = fleet(4000, 3, stream={"samples": [2], "centre": [9.0, 10.0]})
    laws, trace = make_world(scenario, 6, 0).laws, realize(scenario, seed=6)
    begun = trace.has_data.any(axis=0)
    first = trace.x[np.argmax(trace.has_data, axis=0), np.arange(4000)]
    z = (first - laws.centre[:, None]) / laws.spread[:, None]
    assert_normal(z[begun].ravel())


def test_noise_has_each_client_s_variance() -> None:
    """16 x 2 + 6 comparisons: false-alarm rate below 3e-8."""
    world, trace = drawn()
    noise = trace.y - target(trace.x)
    standard = []
    for k, deviation in enumerate(world.laws.noise):
        own = noise[trace.has_data[:, k], k]
        bound = chaos(2 * own.size * deviation**4, deviation**2)
        assert abs((own**2).sum() - own.size * deviation**2) < bound
        assert abs(own.mean()) < normal_bound(deviation**2 / own.size)
        standard.append(own / deviation)
    assert_normal(np.concatenate(standard))


RANGES = {
    "memory": (0.2, 0.9),
    "centre": (-0.2, 0.2),
    "variance": (0.2, 1.2),
    "noise_variance": (0.005, 0.03),
}


def uniforms(laws: ClientLaws, ranges: dict[str, tuple[float, float]]) -> list[FloatArray]:
    """Every client's laws as fractions of their ranges."""
    values = (laws.memory, laws.centre, laws.spread**2, laws.noise**2)
    return [
        (v - low) / (high - low) for v, (low, high) in zip(values, ranges.values(), strict=True)
    ]


def test_clients_laws_are_uniform_on_their_ranges_and_unrelated() -> None:
    """4 x 7 + 6 + 4 comparisons: false-alarm rate below 3e-8. Rounding is forgiven 1e-12."""
    laws = uniforms(make_world(fleet(20_000, 1), 7, 0).laws, RANGES)
    for law in laws:
        assert law.min() > -1e-12
        assert_uniform(np.clip(law, 0, 1 - 1e-12))
    halves = np.array(laws) < 0.5
    for one in range(4):
        for other in range(one):
            assert_binomial(halves[one] == halves[other], 0.5)
        assert_binomial(halves[one, 1:] == halves[one, :-1], 0.5)


def test_other_ranges_are_kept_and_a_point_is_a_range() -> None:
    ranges = {"memory": (0.1, 0.1), "centre": (3.0, 4.0), "variance": (0.0, 0.5)}
    stream = {"samples": [1], **ranges, "noise_variance": (2.0, 2.0)}
    laws = make_world(fleet(500, 1, stream=stream), 0, 0).laws
    assert (laws.memory == 0.1).all()
    assert (laws.noise == math.sqrt(2.0)).all()
    assert 3 <= laws.centre.min() < 3.1
    assert 3.9 < laws.centre.max() < 4
    assert 0 <= laws.spread.min() ** 2 < 0.05
    assert 0.45 < laws.spread.max() ** 2 < 0.5


def test_test_samples_come_from_the_stationary_laws_of_clients_drawn_at_random() -> None:
    """8 + 3 x 8 + 2 x 6 comparisons: false-alarm rate below 3e-8.

    The clients' means are so far apart that a sample tells whose it is.
    """
    stream = {"samples": [1], "centre": [-1000.0, 1000.0]}
    scenario = fleet(8, 1, stream=stream, test_samples=20_000)
    _, _, laws, x, targets = make_world(scenario, 8, 0)
    y = targets.y[0]
    mean, noise = laws.stationary_mean, y - target(x)
    assert np.diff(np.sort(mean)).min() > 20
    whose = abs(x[:, 0, None] - mean).argmin(axis=1)
    for k in range(8):
        own = whose == k
        assert_binomial(own, 1 / 8)
        inputs, count, variance = x[own] - mean[k], int(own.sum()), laws.spread[k] ** 2
        assert abs(inputs.mean()) < normal_bound(variance / inputs.size)
        assert abs((inputs**2).sum() - inputs.size * variance) < chaos(
            2 * inputs.size * variance**2, variance
        )
        assert abs((noise[own] ** 2).sum() - count * laws.noise[k] ** 2) < chaos(
            2 * count * laws.noise[k] ** 4, laws.noise[k] ** 2
        )
    assert_normal(((x - mean[whose, None]) / laws.spread[whose, None]).ravel())
    assert_normal(noise / laws.noise[whose])


@pytest.mark.parametrize("width", [0.5, 1.0, 3.0])
def test_the_map_has_the_kernel_s_width(width: float) -> None:
    """6 + 7 comparisons: false-alarm rate below 1e-8."""
    made = make_world(fleet(1, 1, features=10_000, kernel_width=width), 9, 0).fourier_map
    assert made.frequencies.shape == (4, 10_000)
    assert_normal((made.frequencies * width).ravel())
    assert_uniform(made.phases / (2 * math.pi))


def test_inputs_and_noise_of_clients_are_independent() -> None:
    """(50 x 49 / 2) + 50 comparisons: false-alarm rate below 8e-7.

    All five numbers of a sample, of ten clients: every pair at one tick, and each series with
    itself a tick later. A sum of n products of independent standard normal numbers has the variance
    n, and eigenvalues of at most 1.
    """
    scenario = fleet(10, 5000, stream={"samples": [5000], "memory": [0.0, 0.0]})
    laws, trace = make_world(scenario, 10, 0).laws, realize(scenario, seed=10)
    z = np.concatenate(
        [
            (trace.x - laws.centre[:, None]) / laws.spread[:, None],
            ((trace.y - target(trace.x)) / laws.noise)[..., None],
        ],
        axis=-1,
    ).reshape(5000, 50)
    products = (z.T @ z)[np.triu_indices(50, k=1)]
    assert abs(products).max() < chaos(5000, 1)
    assert abs((z[1:] * z[:-1]).sum(axis=0)).max() < chaos(4999, 1)


def coins(world: int, run: int) -> FloatArray:
    """Data, presence, delay and lottery of ten clients, each as +1 or -1 equally often.

    Presence shows only where there is data, so it is looked at in a twin of the fleet that has data
    at every tick and otherwise the same random numbers.
    """
    laws: dict[str, Any] = {
        "availability": {"kind": "bernoulli", "probabilities": [0.5]},
        "delay": {"kind": "geometric", "base": 0.5},
    }
    half = realize(fleet(10, 4000, stream={"samples": [2000]}, **laws), world, run, seed=11)
    full = realize(fleet(10, 4000, **laws), world, run, seed=11)
    sides = (half.has_data, full.available, half.delay > 0, half.lottery < 0.5)
    return np.where(np.concatenate(sides, axis=1), 1.0, -1.0)


def test_events_are_independent_between_clients_purposes_ticks_runs_and_worlds() -> None:
    """(40 x 39 / 2) + 3 x 40 comparisons: false-alarm rate below 6e-7."""
    here = coins(0, 0)
    products = [here[:, i] * here[:, j] for i in range(40) for j in range(i)]
    products += list((here[1:] * here[:-1]).T)
    products += list((here * coins(0, 1)).T)
    products += list((here * coins(1, 0)).T)
    for product in products:
        assert_binomial(product > 0, 0.5)


def test_a_threshold_counts_the_words_that_mean_yes() -> None:
    words = threshold([0.0, 1.0, 0.5, 2.0**-32, 2.0**-34, 1 - 2.0**-34])
    assert words.dtype == np.uint64
    assert words.tolist() == [0, CERTAIN, 2**31, 1, 0, CERTAIN]
    assert CERTAIN == 2**32
    every_word_is_below = np.uint32(2**32 - 1) < threshold(1.0)
    no_word_is_below = np.uint32(0) < threshold(0.0)
    assert every_word_is_below
    assert not no_word_is_below


def test_a_bursty_link_s_thresholds() -> None:
    law = Bursts(mean_on=(1.0, 4.0), mean_off=(1.0, 4.0, 2.0, 1e12))
    assert law.groups == 4
    assert Bursts(mean_on=(1.0, 4.0), mean_off=(1.0,)).groups == 2
    first, start, stay = law.on_off(np.arange(4))
    assert first.tolist() == [2**31, 2**31, threshold(1 / 3), 0]
    assert start.tolist() == [CERTAIN, 2**30, 2**31, 0]
    assert stay.tolist() == [0, 3 * 2**30, 0, 3 * 2**30]


def test_listed_delays_are_those_of_the_list() -> None:
    """Word by word: the smallest words are the latest."""
    law = ListedDelay(chances=(1.0, 0.5, 0.5, 0.25, 0.0), step=3).ladder()
    assert law.thresholds.tolist() == [[2**32, 2**31, 2**31, 2**30, 0]]
    words = np.array([[0], [2**30 - 1], [2**30], [2**31 - 1], [2**31], [2**32 - 1]], np.uint32)
    late = law.delays(words, np.zeros(1, dtype=np.int64)).ravel().tolist()
    assert late == [12, 12, 9, 9, 3, 3]
    ages, chances = law.chances()
    assert ages.tolist() == [3, 9, 12]
    assert chances.tolist() == [[0.5, 0.25, 0.25]]


def test_a_list_can_say_what_the_other_laws_say() -> None:
    powers = tuple(float(0.4**i) for i in range(1, 25))
    listed, stepped = ListedDelay(chances=powers, step=10), SteppedDelay(base=0.4, step=10)
    for here, there in zip(listed.ladder(), stepped.ladder(), strict=True):
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("chances", [(), (0.2, 0.3), (1.1,), (-0.1,)])
def test_a_list_that_is_no_law_is_refused(chances: tuple[float, ...]) -> None:
    with pytest.raises(ValidationError):
        ListedDelay(chances=chances)


def test_a_base_too_small_for_any_word_has_no_rung() -> None:
    assert GeometricDelay(base=1e-300).ladder().thresholds.size == 0
    assert GeometricDelay(base=2.0**-32).ladder().thresholds.tolist() == [[1]]


@pytest.mark.parametrize("base", [0.001, 0.2, 0.4, 0.5, 0.9, 0.999])
def test_a_ladder_goes_down_to_the_last_rung_that_any_word_is_below(base: float) -> None:
    (rungs,) = GeometricDelay(base=base).ladder().thresholds.astype(np.float64)
    powers = base ** np.arange(1, 30_000) * 2**32
    np.testing.assert_array_equal(rungs, np.rint(powers[powers > 0.5]))


def test_every_group_has_a_ladder_of_its_own() -> None:
    bases, steps = (0.5, 0.0, 0.25), (1, 9, 7)
    thresholds, step = SteppedDelay(base=bases, step=steps).ladder()
    assert thresholds.shape == (3, 32)
    for group, base in enumerate(bases):
        (alone,) = SteppedDelay(base=base, step=1).ladder().thresholds
        assert thresholds[group].tolist() == [*alone.tolist(), *[0] * (32 - alone.size)]
    assert step.tolist() == [1, 9, 7]
    assert SteppedDelay(base=0.5, step=(2, 3)).ladder().thresholds.shape == (2, 32)


def test_the_chances_of_a_ladder_are_those_of_its_words() -> None:
    """A delay has a chance where some word means it, and it is the share of such words."""
    law = SteppedDelay(base=(2.0**-30, 0.0, 0.25), step=(5, 1, 10)).ladder()
    ages, chances = law.chances()
    assert ages.tolist() == [0, 5, *range(10, 161, 10)]
    assert chances[0].tolist() == [1 - 2.0**-30, 2.0**-30, *[0] * 16]
    assert chances[1].tolist() == [1, *[0] * 17]
    powers = 0.25 ** np.arange(18)
    assert chances[2].tolist() == [0.75, 0, *(powers[1:16] - powers[2:17]).tolist(), powers[16]]
    tail = GeometricDelay(base=0.999).ladder()
    words = np.arange(2000, dtype=np.uint32)  # where several thresholds are the same number
    reached = np.unique(tail.delays(words[:, None], np.zeros(1, dtype=np.int64)))
    rare = tail.chances()[0]
    assert set(reached.tolist()) <= set(rare.tolist())
    assert rare[rare >= reached.min()].tolist() == reached.tolist()
