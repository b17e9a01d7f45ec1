"""What the server knows of devices: whole copies, the newest, whatever happens to messages."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.algorithms.fed_ridge.deciding import RECENT, TOTAL, best, fit_of
from paofed.algorithms.fed_ridge.device import FIRST, HOW_MANY, NUMBER
from paofed.algorithms.fed_ridge.server import RidgeServer, collecting, sizes_of
from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap, draw_map
from paofed.core.parts import SERVER, Bytes, Calibration, Message, Stamp
from paofed.core.random import key_of
from paofed.core.starting import server_from
from paofed.core.sums import COUNT, add, add_all, size_of
from tests.algorithms.fed_ridge.cases import KEYS, Fleet, as_sent, begun, drawn, honest
from tests.effort import effort

TICKS, CLIENTS, FEATURES = 30, 4, 6
SIZES = [3, 4, 7]  # of models of the prediction and so many features


def small(seed: int = 0, width: int = 8) -> Fleet:
    return Fleet(drawn(seed, TICKS, CLIENTS, FEATURES), width)


def nature(seed: int, lost: float, again: float, longest: int) -> Callable[..., object]:
    """Messages that are lost, come twice, and come late, the later one before the earlier one."""
    rng = np.random.default_rng(seed)

    def carried(_client: int, tick: int, payload: Bytes) -> Iterator[tuple[int, Bytes]]:
        if rng.random() >= lost:
            for _ in range(2 if rng.random() < again else 1):
                yield tick + int(rng.integers(longest + 1)), payload

    return lambda *message: list(carried(*message))


def test_sizes_are_about_halves() -> None:
    assert small().server.sizes.tolist() == SIZES
    assert sizes_of(1) == [1]
    assert sizes_of(2) == [2]
    for summed in range(3, 200):
        sizes = sizes_of(summed)
        assert sizes[-1] == summed
        assert sizes[0] == 3 or summed == 3
        assert all(one < two <= 2 * one for one, two in pairwise(sizes))


@settings(max_examples=effort(everyday=4, thorough=60))
@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_in_the_end_the_totals_are_those_of_all_samples(seed: int, width: int) -> None:
    """To the rounding of float32."""
    fleet = small(seed, width)
    fleet.live(0, TICKS)
    fleet.until_all_is_told()
    every = np.zeros(size_of(FEATURES + 1))
    add_all(every, fleet.samples.u.reshape(-1, FEATURES + 1), fleet.samples.y.ravel())
    for size, features in enumerate(SIZES):
        total = fleet.known(size).sum(axis=0)
        assert total[COUNT] == TICKS * CLIENTS
        np.testing.assert_allclose(total[1:], every[1 : total.size], rtol=1e-6, atol=1e-5)
        np.testing.assert_array_equal(
            fleet.known(size)[:, 1:],
            [
                as_sent(fleet.samples.sums(TICKS, k)[: size_of(features)])[1:]
                for k in range(CLIENTS)
            ],
        )


@settings(max_examples=effort(everyday=4, thorough=60))
@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 40),
    st.sampled_from([(0.0, 0.0, 0), (0.5, 0.0, 0), (0.0, 0.7, 0), (0.2, 0.3, 12)]),
)
def test_all_numbers_of_a_device_are_of_one_moment(
    seed: int, width: int, harm: tuple[float, float, int]
) -> None:
    """Whatever is lost, comes again or comes late; and a moment never goes back."""
    fleet, carried = small(seed, width), nature(seed, *harm)
    before = np.zeros((len(SIZES), CLIENTS))
    copy = cache(lambda moment, k: as_sent(fleet.samples.sums(moment - 1, k)))
    for n in range(TICKS + 12):
        fleet.live(n, n + 1, honest, carried)  # type: ignore[arg-type]
        for size, features in enumerate(SIZES):
            for k, sums in enumerate(fleet.known(size)):
                moment = int(sums[COUNT])
                assert moment >= before[size, k]
                before[size, k] = moment
                if moment:
                    expected = copy(moment, k)[1 : size_of(features)]
                    np.testing.assert_array_equal(sums[1:], expected)
        assert fleet.server.seen[0] == fleet.known(0)[:, COUNT].sum()
    lost, *_ = harm
    assert before[0].all() or lost  # a copy of several windows needs each of them


def test_a_small_copy_serves_small_models_until_a_large_one_is_there() -> None:
    fleet = small(width=7)
    fleet.live(0, 1)  # n, y^2 and 5 of the 12 numbers of 3 features
    assert not fleet.server.known.any()
    fleet.live(1, 8)
    told = [fleet.known(size)[0, COUNT] for size in range(3)]
    assert told[0] >= told[1] >= told[2] == 0.0
    assert told[0] > 0.0


def of(client: int, tick: int, number: float, begin: int, values: FloatArray) -> Message:
    coordinates = np.array([0, *range(begin, begin + values.size)])
    return Message(client, tick, coordinates, np.array([number, *values]))


def whole(client: int, tick: int, number: float, sums: FloatArray) -> Message:
    """All of a copy in one message."""
    means = sums.copy()
    means[2:] /= sums[COUNT]
    return of(client, tick, number, 1, means[1:])


def applied(state: RidgeServer, *messages: Message, ridge: float = 3.0, tick: int = 99) -> None:
    last = Stamp(SERVER, tick, FEATURES, KEYS.server)
    assert collecting(FEATURES, ridge).apply(state, list(messages), last) is state


@pytest.fixture
def copies() -> list[FloatArray]:
    """Sums of a device at every tick."""
    samples = drawn(0, TICKS, 1, FEATURES)
    return [samples.sums(tick, 0) for tick in range(TICKS)]


@pytest.mark.parametrize("number", [0.0, 11.0, 2.0**32 - 1])
def test_a_number_that_no_device_can_have_is_refused(
    copies: list[FloatArray], number: float
) -> None:
    """Copies are numbered from 1 on, and a device begins at most one in a tick.

    Otherwise one wild number would shut a device out for ever.
    """
    server = small().server
    applied(server, whole(0, 9, number, copies[9]))
    assert not server.known.any()
    applied(server, whole(0, 9, 10.0, copies[9]))
    assert server.known[0, COUNT] == 10.0


def test_an_older_copy_does_not_come_back(copies: list[FloatArray]) -> None:
    server = small().server
    applied(server, whole(0, 9, 2.0, copies[9]))
    before = server.known.copy()
    applied(server, whole(0, 4, 1.0, copies[4]))
    applied(server, whole(0, 9, 2.0, copies[9]))
    np.testing.assert_array_equal(server.known, before)


def test_more_samples_than_ticks_are_refused(copies: list[FloatArray]) -> None:
    server = small().server
    applied(server, whole(0, 9, 1.0, copies[20]))
    assert not server.known.any()
    applied(server, whole(0, 20, 2.0, copies[20]))
    assert server.known[0, COUNT] == 21.0


def test_fewer_samples_than_before_are_refused(copies: list[FloatArray]) -> None:
    """A device has forgotten nothing: what it tells is wrong, and what is known stays."""
    server = small().server
    applied(server, whole(0, 25, 1.0, copies[20]))
    before = server.known[0, 1:].copy()
    applied(server, whole(0, 25, 2.0, copies[4]))
    np.testing.assert_array_equal(server.known[0, 1:], before)


@pytest.mark.parametrize("wild", [np.nan, np.inf, -1e30, 1e30])
def test_impossible_sums_are_refused_and_later_ones_taken(
    copies: list[FloatArray], wild: float
) -> None:
    server = small().server
    wrong = copies[9].copy()
    wrong[5] = wild
    applied(server, whole(0, 9, 1.0, wrong))
    assert not server.known.any()
    applied(server, whole(0, 10, 2.0, copies[10]))
    assert server.known[0, COUNT] == 11.0


def test_larger_predictions_than_the_first_model_makes_are_refused() -> None:
    """Else a few devices, whose targets are these predictions, could speak for all."""
    for size, taken in ((4.2, True), (4.3, False)):  # 4.3 squared is above 2 times 3 squared
        server = small().server._replace(w=np.array([3.0, *[0.0] * (FEATURES - 1)]))
        sums = np.zeros(size_of(FEATURES + 1))
        add(sums, np.array([size, 0.5, *[0.0] * (FEATURES - 1)]), size)
        applied(server, whole(0, 0, 1.0, sums))
        assert server.known.any() == taken


def test_models_are_fitted_when_the_samples_have_grown_by_a_tenth(
    copies: list[FloatArray],
) -> None:
    server = small().server
    fitted_at = []
    for tick in range(TICKS):
        before = server.seen[1]
        applied(server, whole(0, tick, tick + 1.0, copies[tick]))
        if server.seen[1] > before:
            fitted_at.append(tick + 1)
    expected, last = [], 0
    for count in range(1, TICKS + 1):
        if count > 1.1 * last:
            expected.append(count)
            last = count
    assert fitted_at == expected
    assert 1 < len(fitted_at) < TICKS


def test_the_shared_model_is_a_fit_to_all_that_is_known() -> None:
    """Later samples are missed least by a model of all features."""
    samples = drawn(3, TICKS, CLIENTS, FEATURES, noise=0.01)
    state = begun(collecting(FEATURES, 0.01), FEATURES, CLIENTS)
    for number, tick in enumerate((9, 19, 29), 1):
        assert state.shared[HOW_MANY:].tolist() == [1.0, 1.0, *[0.0] * FEATURES] or number == 3
        applied(
            state,
            *(whole(k, tick, number, samples.sums(tick, k)) for k in range(CLIENTS)),
            ridge=0.01,
        )
    total = sum(samples.sums(TICKS, k) for k in range(CLIENTS))
    assert isinstance(total, np.ndarray)
    prior = np.eye(FEATURES + 1)[0]
    size, ridge = best(state.losses)
    assert SIZES[size] == state.shared[HOW_MANY] == FEATURES + 1
    assert state.shared[NUMBER] == 3  # each fit is another model, even if it is the same
    expected = fit_of(ridge, 0.01, total, 0.0 * total)
    np.testing.assert_allclose(state.shared[FIRST:], expected, rtol=1e-9)
    u, y = samples.u.reshape(-1, FEATURES + 1), samples.y.ravel()
    assert np.mean((y - u @ expected) ** 2) < 1.5 * 0.01**2 < np.mean((y - u @ prior) ** 2)


def test_what_came_lately_counts_for_more() -> None:
    """What a copy adds to the one before, by the cube of the tick at which it came."""
    samples = drawn(3, TICKS, 1, FEATURES)
    state = begun(collecting(FEATURES, 0.0), FEATURES, 1)
    expected, before = np.zeros(size_of(FEATURES + 1)), np.zeros(size_of(FEATURES + 1))
    for number, tick in enumerate((4, 9, 29), 1):
        sums = samples.sums(tick, 0)
        applied(state, whole(0, tick, number, sums), tick=tick)
        expected += (tick + 1) ** 3 * (sums - before)
        before = sums
    recent = state.recent[0, state.begins[-2] :]
    np.testing.assert_allclose(recent[1:], expected[1:], rtol=1e-4, atol=1e-2)
    assert recent[COUNT] / 30**3 < 0.8 * before[COUNT]


def test_a_fleet_whose_target_changes_forgets_what_was() -> None:
    """The fit is then to the sums that forget, and nearly as good as one to what came since."""
    samples = drawn(0, 400, CLIENTS, FEATURES, noise=0.01)
    changed = samples.u[..., 1:] @ np.random.default_rng(9).normal(size=FEATURES)
    samples.y[200:] = changed[200:]
    fleet = Fleet(samples, width=60)
    fleet.live(0, 400)
    _, ridge = best(fleet.server.losses)
    assert ridge >= RECENT
    u, y = samples.u[300:].reshape(-1, FEATURES + 1), samples.y[300:].ravel()
    total = np.zeros(size_of(FEATURES + 1))
    add_all(total, samples.u.reshape(-1, FEATURES + 1), samples.y.ravel())
    to_all = fit_of(0, 0.0, total, 0.0 * total)
    assert np.mean((y - u @ fleet.model()) ** 2) < 0.25 * np.mean((y - u @ to_all) ** 2)


def test_without_messages_nothing_changes() -> None:
    rule = collecting(FEATURES, 0.0)
    state = rule.init(FEATURES, CLIENTS)
    after = rule.apply(state, [], Stamp(SERVER, 0, FEATURES, KEYS.server))
    for one, other in zip(rule.init(FEATURES, CLIENTS), after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_model_is_that_of_the_map_s_features() -> None:
    """The prediction stands for the model with which the fleet began; the last features for all."""
    rule = collecting(2, 0.0)
    start = np.array([1.0, -2.0, 0.5])
    state = server_from("mine", rule, 1, start)
    np.testing.assert_array_equal(rule.model(state), start)
    state.shared[:] = 9.0, 3.0, 2.0, 10.0, 20.0  # the ninth model, with three coefficients
    np.testing.assert_array_equal(rule.model(state), [2.0, -4.0 + 20.0, 1.0 + 10.0])
    assert rule.tells is not None
    assert rule.tells(state) is state.shared


@pytest.fixture
def calibrated() -> tuple[RidgeServer, FourierMap, Calibration]:
    """A calibration period whose second half the first half foretells well."""
    rng = np.random.default_rng(0)
    fourier_map = draw_map(key_of(1), inputs=2, features=FEATURES, width=1.0)
    x = rng.normal(size=(5000, 2))
    y = fourier_map(x) @ rng.normal(size=FEATURES) + 0.01 * rng.normal(size=5000)
    foretold = y + rng.normal(size=5000)  # by a start that knows little
    return small().server, fourier_map, Calibration(x, y, foretold)


def test_the_calibration_period_is_remembered(
    calibrated: tuple[RidgeServer, FourierMap, Calibration],
) -> None:
    begun, fourier_map, calibration = calibrated
    server = server_from(
        "mine", collecting(FEATURES, 0.0), CLIENTS, np.zeros(FEATURES), *(calibration, fourier_map)
    )
    z = fourier_map(calibration.x)
    u = np.concatenate([calibration.foretold[:, None], z[:, ::-1]], axis=1)
    expected = np.zeros(size_of(FEATURES + 1))
    add_all(expected, u, calibration.y)
    np.testing.assert_allclose(server.past, expected, rtol=1e-9, atol=1e-9)
    assert not begun.past.any()
    # What was best at foretelling the period's second half is a fit of the largest size.
    missed = server.losses[..., TOTAL]
    part = missed[:, :-1] / missed[:, -1:]
    assert part.min() == part[-1].min() < 0.01
    assert not begun.losses.any()


def test_without_a_map_or_a_period_there_is_nothing_to_remember(
    calibrated: tuple[RidgeServer, FourierMap, Calibration],
) -> None:
    _, fourier_map, calibration = calibrated
    rule = collecting(FEATURES, 0.0)
    for given_ in ((None, fourier_map), (calibration, None)):
        state = server_from("mine", rule, CLIENTS, np.zeros(FEATURES), *given_)
        assert not state.past.any()
