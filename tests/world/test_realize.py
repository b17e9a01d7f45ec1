import hashlib
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray
from paofed.core.random import philox
from paofed.world.realize import PHASE_BITS, Purpose, make_world, phases, realize, run_key
from paofed.world.scenario import Scenario
from paofed.world.streams import target
from paofed.world.trace import Trace
from tests.effort import effort

EVENTS = ("has_data", "available", "delay", "lottery")
SAMPLES = ("x", "y")
OF_THE_RUN = (*EVENTS, *SAMPLES)
OF_THE_WORLD = ("frequencies", "phases", "x_test", "y_test")


def fleet(**changes: Any) -> Scenario:
    """Twelve clients over sixty ticks, always there and never late, but for what is changed."""
    small: dict[str, Any] = {
        "ticks": 60,
        "clients": 12,
        "features": 9,
        "test_samples": 20,
        "stream": {"samples": [20, 40, 60]},
    }
    return Scenario.model_validate({**Scenario.load("ideal").model_dump(), **small, **changes})


BERNOULLI = fleet(
    availability={"kind": "bernoulli", "probabilities": [0.9, 0.5, 0.2]},
    delay={"kind": "geometric", "base": 0.7},
)
EVEN_BURSTS = fleet(
    stream={"samples": [7, 59], "arrivals": "even"},
    availability={"kind": "bursts", "mean_on": [4.0], "mean_off": [2.0, 9.0]},
    delay={"kind": "stepped", "base": 0.5, "step": 10},
)


HAZARDS = fleet(
    availability={"kind": "bernoulli", "probabilities": [0.9, 0.5, 0.7]},
    delay={"kind": "geometric", "base": [0.7, 0.1]},
    loss={"up": [0.3, 0.1], "down": 0.2},
    outages={"mean_length": 6.0, "mean_between": 9.0, "share": [0.5, 0.9]},
    battery={"capacity": [4, 2, 3], "fill": 0.4},
    contacts=0.9,
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    folder = tmp_path_factory.mktemp("recorded")
    rng = np.random.default_rng(5)
    np.savetxt(folder / "presence.csv", rng.random((60, 12)) < 0.4, delimiter=",", fmt="%d")
    np.save(folder / "delay.npy", rng.integers(0, 99, size=(60, 12), dtype=np.uint8))
    return fleet(
        availability={"kind": "recorded", "file": str(folder / "presence.csv")},
        delay={"kind": "recorded", "file": str(folder / "delay.npy")},
    )


@pytest.fixture(params=["bernoulli", "even and bursts", "recorded", "hazards"])
def scenario(request: pytest.FixtureRequest, recorded: Scenario) -> Scenario:
    fleets = {"bernoulli": BERNOULLI, "even and bursts": EVEN_BURSTS, "recorded": recorded}
    fleets["hazards"] = HAZARDS
    return fleets[request.param]


def assert_same_bits(
    one: Trace, other: Trace, names: Iterable[str], columns: Any = slice(None)
) -> None:
    """Compare bytes, which also tells 0 from -0, of `one` with the columns of `other`."""
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        expected = b if name in OF_THE_WORLD else b[:, columns]
        assert (a.dtype, a.shape) == (expected.dtype, expected.shape), name
        assert a.tobytes() == expected.tobytes(), name


def test_some_clients_in_any_order_are_those_of_their_fleet(scenario: Scenario) -> None:
    whole = realize(scenario, seed=3)
    for clients in ([0], [7], [7, 2, 11], [*range(0, 12, 2)], [4, 4]):
        some = realize(scenario, seed=3, clients=np.array(clients))
        assert_same_bits(some, whole, OF_THE_RUN + OF_THE_WORLD, clients)


def test_threads_do_not_disturb_each_other(scenario: Scenario) -> None:
    wholes = [realize(scenario, run=run) for run in range(4)]
    jobs = [(run, k) for k in range(scenario.clients) for run in range(4)]
    with ThreadPoolExecutor(8) as pool:
        alone = pool.map(
            lambda job: realize(scenario, run=job[0], clients=np.array([job[1]])), jobs
        )
        again = pool.map(lambda run: realize(scenario, run=run), range(4))
        for (run, k), trace in zip(jobs, alone, strict=True):
            assert_same_bits(trace, wholes[run], OF_THE_RUN + OF_THE_WORLD, [k])
        for trace, whole in zip(again, wholes, strict=True):
            assert_same_bits(trace, whole, OF_THE_RUN + OF_THE_WORLD)


def shared_numbers(one: Trace, other: Trace, name: str) -> int:
    return np.intersect1d(getattr(one, name), getattr(other, name)).size


def assert_unrelated(one: Trace, other: Trace, names: Iterable[str]) -> None:
    """Real numbers drawn apart are all different; events drawn apart differ somewhere."""
    for name in names:
        if name in ("has_data", "available", "delay"):
            assert (getattr(one, name) != getattr(other, name)).any(), name
        else:
            nothing = 1 if name in SAMPLES else 0  # the 0 of those without data
            assert shared_numbers(one, other, name) <= nothing, name


@pytest.mark.parametrize("fleet_", [BERNOULLI, EVEN_BURSTS], ids=["bernoulli", "even and bursts"])
def test_runs_of_one_world_share_its_map_and_test_set_alone(fleet_: Scenario) -> None:
    first, second = realize(fleet_, world=1, run=0), realize(fleet_, world=1, run=1)
    assert_same_bits(first, second, OF_THE_WORLD)
    assert_unrelated(first, second, OF_THE_RUN)


@pytest.mark.parametrize("fleet_", [BERNOULLI, EVEN_BURSTS], ids=["bernoulli", "even and bursts"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"world": 0}, {"world": 1}),
        ({"world": 0, "run": 1}, {"world": 1, "run": 0}),
        ({"seed": 0}, {"seed": 1}),
        ({"seed": 1}, {"seed": 1 + 2**32}),
        ({"seed": 0, "world": 1}, {"seed": 1, "world": 0}),
    ],
)
def test_worlds_and_seeds_share_nothing(
    fleet_: Scenario, one: dict[str, int], other: dict[str, int]
) -> None:
    first, second = realize(fleet_, **one), realize(fleet_, **other)  # type: ignore[arg-type]
    assert_unrelated(first, second, OF_THE_RUN + OF_THE_WORLD)


# The streams are published: a seed printed beside a figure must give that figure's events for ever,
# here and in anyone else's program. These digests guard them against silent change. Should one ever
# have to change, that breaks every trace drawn so far: say so in the change log.
@pytest.mark.parametrize(
    ("published", "digest"),
    [
        (BERNOULLI, "aedac74f735e917a0846770f9c32d0e5e8be8bca4fb837843d75ceb1e03af677"),
        (EVEN_BURSTS, "cb0daefbeb1d2064f91afd9fc42dcd63610ee3c3551b3a4ff02545fb97d39fea"),
    ],
    ids=["bernoulli", "even and bursts"],
)
def test_the_published_events_do_not_change(published: Scenario, digest: str) -> None:
    trace = realize(published, world=3, run=7, seed=20_231_115)
    lottery = trace.lottery * 2**32
    assert (lottery == np.floor(lottery)).all()  # whole words, so exact in any precision
    integers = (trace.has_data, trace.available, trace.delay, lottery)
    words = b"".join(array.astype("<u8").tobytes() for array in integers)
    assert hashlib.sha256(words).hexdigest() == digest


def test_an_event_happens_where_its_word_is_below_the_threshold_and_not_at_it() -> None:
    key = run_key(make_world(fleet(), 0, 0).key, 0)
    _, presence, lateness, _ = philox(key, 0, 5, 0, Purpose.EVENTS) / 2**32
    for above in (False, True):
        there, late = presence + above / 2**32, lateness + above / 2**32
        trace = realize(
            fleet(
                stream={"samples": [60]},
                availability={"kind": "bernoulli", "probabilities": [there]},
                delay={"kind": "geometric", "base": late},
            )
        )
        assert trace.available[5, 0] == above
        assert (trace.delay[5, 0] > 0) == above


def test_recorded_presence_and_delays_are_used_as_given(recorded: Scenario) -> None:
    files = [Path(recorded.model_dump()[law]["file"]) for law in ("availability", "delay")]
    presence, delay = np.loadtxt(files[0], delimiter=",").astype(bool), np.load(files[1])
    trace = realize(recorded)
    np.testing.assert_array_equal(trace.available, presence & trace.has_data)
    np.testing.assert_array_equal(trace.delay, delay)
    assert (presence & ~trace.has_data).any()


def test_what_is_recorded_changes_nothing_else(recorded: Scenario) -> None:
    drawn = realize(fleet(), seed=9)
    assert_same_bits(realize(recorded, seed=9), drawn, ("has_data", "lottery", *SAMPLES))


@given(
    ticks=st.integers(1, 80),
    portions=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    run=st.integers(0, 10**6),
)
def test_even_arrivals_follow_their_formula(ticks: int, portions: list[float], run: int) -> None:
    samples = [max(1, round(portion * ticks)) for portion in portions]
    stream = {"samples": samples, "arrivals": "even"}
    clients = 2 * len(samples)
    scenario = fleet(ticks=ticks, clients=clients, stream=stream, test_samples=1, features=1)
    drawn = phases(run_key(make_world(scenario, 0, 0).key, run), np.arange(clients))
    has_data = realize(scenario, run=run).has_data
    for k in range(clients):
        count, phase = samples[k // 2], Fraction(int(drawn[k]), 2**PHASE_BITS)
        assert 0 <= phase < 1
        expected = [math.floor((i + phase) * ticks / count) for i in range(count)]
        assert np.flatnonzero(has_data[:, k]).tolist() == expected


@pytest.mark.parametrize(
    ("mean_on", "mean_off", "changes"),
    [(1.0, 1.0, True), (1e12, 1.0, False)],
    ids=["turns of one tick", "a turn without end"],
)
def test_bursts_at_their_limits(mean_on: float, mean_off: float, changes: bool) -> None:
    bursts = {"kind": "bursts", "mean_on": [mean_on], "mean_off": [mean_off]}
    there = realize(fleet(stream={"samples": [60]}, availability=bursts)).available
    assert ((there[1:] != there[:-1]) == changes).all()
    assert there[0].any()
    assert there[0].all() != changes


def test_a_link_goes_on_and_off_also_while_there_is_no_data() -> None:
    """Data thinned out hides ticks of the link, but does not move its turns."""
    bursts = {"kind": "bursts", "mean_on": [5.0], "mean_off": [5.0]}
    always = realize(fleet(stream={"samples": [60]}, availability=bursts))
    thinned = realize(fleet(stream={"samples": [20]}, availability=bursts))
    assert thinned.has_data.mean() < 0.6
    np.testing.assert_array_equal(thinned.available, always.available & thinned.has_data)


def test_where_there_is_no_data_nobody_is_available_and_samples_are_0(scenario: Scenario) -> None:
    trace = realize(scenario)
    assert not trace.x[~trace.has_data].any()
    assert not trace.y[~trace.has_data].any()
    assert trace.x[trace.has_data].all()
    assert trace.y[trace.has_data].all()
    assert not (trace.available & ~trace.has_data).any()
    assert trace.available.any()
    assert (trace.has_data & ~trace.available).any()


def literal_target(x1: float, x2: float, x3: float, x4: float) -> float:
    bend = math.sqrt(x1**2 + math.sin(math.pi * x4) ** 2)
    return bend + (0.8 - 0.5 * math.exp(-(x2**2))) * x3


@pytest.mark.parametrize("drifts", range(6))
def test_every_drift_moves_the_roles_of_the_inputs_on(drifts: int) -> None:
    points = np.random.default_rng(1).normal(size=(5, 4))
    roles = {0: "1234", 1: "2341", 2: "3412", 3: "4123", 4: "1234", 5: "2341"}[drifts]
    expected = [literal_target(*(x[int(role) - 1] for role in roles)) for x in points]
    np.testing.assert_allclose(target(points, drifts), expected, rtol=1e-14)


def drifting(scenario: Scenario, *drifts: int, takes: int = 0) -> Scenario:
    values = scenario.model_dump()
    values["stream"] |= {"drifts": drifts, "drift_ticks": takes}
    return Scenario.model_validate(values)


def test_before_a_drift_all_is_as_without(scenario: Scenario) -> None:
    """To the last bit; and only the targets change after it."""
    steady, changing = realize(scenario, seed=3), realize(drifting(scenario, 17, 40), seed=3)
    assert_same_bits(changing, steady, (*EVENTS, "x", *OF_THE_WORLD))
    assert changing.y[:17].tobytes() == steady.y[:17].tobytes()
    later = steady.has_data[17:]
    assert (changing.y[17:] != steady.y[17:])[later].all()
    assert steady.drifts.size == steady.y_test_drifted.size == 0


@pytest.mark.parametrize("takes", [0, 1, 12])
def test_targets_follow_a_drift_in_equal_steps_and_keep_their_noise(
    scenario: Scenario, takes: int
) -> None:
    """Of a drift that takes 12 ticks the first sample sees 1/12, the last one all of it."""
    drifts = (5, 17, 30, 42, 55)  # the roles come round; the last goes on at the end
    steady = realize(scenario, seed=3)
    changing = realize(drifting(scenario, *drifts, takes=takes), seed=3)
    assert changing.drifts.tolist() == list(drifts)
    for n in range(scenario.ticks):
        seen = sum(tick <= n for tick in drifts)
        done = min(n + 1 - drifts[seen - 1], takes) / takes if seen and takes else 1.0

        def moved(x: FloatArray, seen: int = seen, done: float = done) -> FloatArray:
            old, new = target(x, max(seen - 1, 0)), target(x, seen)
            return old + done * (new - old) - target(x)

        observed = steady.y[n] + moved(steady.x[n]) * steady.has_data[n]
        np.testing.assert_allclose(changing.y[n], observed, atol=1e-13)
        expected = steady.y_test + moved(steady.x_test)
        np.testing.assert_allclose(changing.test_targets.at(n), expected, atol=1e-13)


def test_a_client_alone_meets_the_same_drifts() -> None:
    scenario = drifting(EVEN_BURSTS, 20, 35, takes=9)
    whole, alone = realize(scenario), realize(scenario, clients=np.array([7]))
    assert_same_bits(alone, whole, OF_THE_RUN + OF_THE_WORLD, [7])
    np.testing.assert_array_equal(alone.y_test_drifted, whole.y_test_drifted)


def noise_of(trace: Trace) -> FloatArray:
    return (trace.y - target(trace.x))[trace.has_data]


def test_the_observation_is_the_target_and_noise() -> None:
    def noisy(variance: float) -> Trace:
        return realize(fleet(stream={"samples": [60], "noise_variance": [variance, variance]}))

    clear, some, more = noisy(0.0), noisy(0.25), noisy(1.0)
    assert_same_bits(some, clear, ("x", *EVENTS))
    assert not noise_of(clear).any()
    np.testing.assert_array_equal(clear.y_test, target(clear.x_test))
    np.testing.assert_allclose(noise_of(more), 2 * noise_of(some), atol=1e-13)
    np.testing.assert_allclose(
        more.y_test - clear.y_test, 2 * (some.y_test - clear.y_test), atol=1e-13
    )
    assert np.unique(noise_of(more)).size == more.has_data.sum()


def test_a_series_begins_with_a_fresh_draw_and_moves_on_with_each_sample() -> None:
    """Literally x <- theta x + sqrt(1 - theta^2) u; with theta = 0 the inputs are the u."""

    def inputs(theta: float) -> Trace:
        return realize(fleet(stream={"samples": [20, 60], "memory": [theta, theta]}))

    fresh, kept = inputs(0.0), inputs(0.8)
    for k in range(12):
        x = None
        for n in np.flatnonzero(kept.has_data[:, k]):
            u = fresh.x[n, k]
            x = u if x is None else 0.8 * x + math.sqrt(1 - 0.8**2) * u
            np.testing.assert_allclose(kept.x[n, k], x, rtol=1e-12, atol=1e-13)


def test_a_client_alone_loses_what_it_loses_in_its_fleet() -> None:
    whole = realize(HAZARDS, seed=3)
    assert whole.lost_up.any()
    for order in ([3], [11, 4, 4]):
        some = realize(HAZARDS, seed=3, clients=np.array(order))
        assert_same_bits(some, whole, ("lost_up", "lost_down"), order)


NO_HARM: dict[str, dict[str, Any]] = {
    "no loss": {"loss": {"up": 0.0, "down": 0.0}},
    "outages that hit nobody": {"outages": {"mean_length": 9.0, "mean_between": 2.0, "share": 0.0}},
    "a battery that is always full": {"battery": {"capacity": 2**31 - 1, "fill": 1.0}},
    "a battery that fills in time": {"battery": {"capacity": 1, "fill": 1.0, "start": 0}},
    "every contact is used": {"contacts": 1.0},
    "somebody says how long a tick is": {"tick": "1h"},
    "one number by group": {"delay": {"kind": "geometric", "base": [0.7, 0.7, 0.7]}},
}


@pytest.mark.parametrize("law", NO_HARM.values(), ids=NO_HARM)
def test_a_law_that_does_no_harm_changes_no_bit_and_no_file(
    law: dict[str, Any], tmp_path: Path
) -> None:
    values = BERNOULLI.model_dump()
    trace, same = realize(BERNOULLI), realize(Scenario.model_validate({**values, **law}))
    assert_same_bits(same, trace, OF_THE_RUN + OF_THE_WORLD)
    for name, each in (("trace", trace), ("same", same)):
        each.save(tmp_path / name)
    assert (tmp_path / "same").read_bytes() == (tmp_path / "trace").read_bytes()


@given(share=st.floats(0.01, 1.0), other=st.floats(0.01, 1.0), seed=st.integers(0, 2**32))
@settings(max_examples=effort(everyday=6, thorough=20))
def test_contacts_are_thinned_out_and_nothing_else_moves(
    share: float, other: float, seed: int
) -> None:
    """Whoever uses a larger share has all the contacts of a smaller one, and never others."""
    low, high = sorted((share, other))
    whole = realize(BERNOULLI, seed=seed)
    some, more = (
        realize(BERNOULLI.model_copy(update={"contacts": used}), seed=seed) for used in (low, high)
    )
    kept = tuple(name for name in OF_THE_RUN + OF_THE_WORLD if name != "available")
    assert_same_bits(some, whole, kept)
    assert (some.available <= more.available).all()
    assert (more.available <= whole.available).all()


def test_so_many_contacts_are_used_as_was_said() -> None:
    """Within five standard deviations: a false alarm in two million."""
    wide = BERNOULLI.model_copy(update={"ticks": 3000})
    offered = realize(wide).available
    used = realize(wide.model_copy(update={"contacts": 0.3})).available[offered]
    assert abs(used.mean() - 0.3) < 5 * math.sqrt(0.3 * 0.7 / used.size)


def test_a_contact_that_is_not_used_does_not_drain_a_battery() -> None:
    """One contact in store and no more to come: it is spent at the first that is used."""
    values = BERNOULLI.model_dump() | {"battery": {"capacity": 1, "fill": 0.0}}
    wanted = realize(Scenario.model_validate(BERNOULLI.model_dump() | {"contacts": 0.5})).available
    spent = realize(Scenario.model_validate(values | {"contacts": 0.5})).available
    first = wanted & (np.cumsum(wanted, axis=0) == 1)
    np.testing.assert_array_equal(spent, first)
    assert (first != realize(Scenario.model_validate(values)).available).any()


def test_events_do_not_depend_on_what_they_have_nothing_to_do_with() -> None:
    trace = realize(BERNOULLI)
    values = BERNOULLI.model_dump()
    for other in (
        {"name": "other", "step_size": 1.0, "max_age": 0, "features": 30, "kernel_width": 3.0},
        {"test_samples": 5},
    ):
        assert_same_bits(realize(Scenario.model_validate({**values, **other})), trace, OF_THE_RUN)
    punctual = realize(Scenario.model_validate({**values, "delay": {"kind": "none"}}))
    assert_same_bits(punctual, trace, ("has_data", "available", "lottery", *SAMPLES))


def test_a_longer_run_begins_with_the_shorter() -> None:
    values = BERNOULLI.model_dump()
    longer = {"ticks": 120, "stream": {"samples": [40, 80, 120]}, "test_samples": 33}
    shorter, longer_trace = realize(BERNOULLI), realize(Scenario.model_validate(values | longer))
    for name in OF_THE_RUN:
        np.testing.assert_array_equal(getattr(longer_trace, name)[:60], getattr(shorter, name))
    np.testing.assert_array_equal(longer_trace.x_test[:20], shorter.x_test)
