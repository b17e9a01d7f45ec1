import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.parts import SERVER, Message, Stamp, Weights, keys_of
from paofed.core.rules import LMS, Divisor, Newest, aggregate, lms_step
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError

FEATURES, TICK = 6, 20


@st.composite
def messages(draw: st.DrawFn) -> list[Message]:
    """Arrivals of several clients and ages, at most one for each pair of them."""
    pairs = draw(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), unique=True, max_size=12)
    )
    value = st.floats(-10, 10).map(lambda v: round(v, 3))
    arrived = []
    for client, age in pairs:
        start, width = draw(st.integers(0, 5)), draw(st.integers(1, FEATURES))
        coordinates = (start + np.arange(width)) % FEATURES
        values = np.array(draw(st.lists(value, min_size=width, max_size=width)))
        arrived.append(Message(client, TICK - age, coordinates, values))
    return arrived


W = np.array([0.3, -1.0, 2.0, 0.0, 5.0, -0.7])
divisors = st.sampled_from(["class", "coverage"])
bases = st.sampled_from([0.0, 0.2, 0.7, 1.0])


@given(arrived=messages(), base=bases, divisor=divisors)
def test_aggregate_coordinate_by_coordinate(
    arrived: list[Message], base: float, divisor: Divisor
) -> None:
    """The rule as a sentence about one coordinate, written a second time."""
    got = aggregate(W, arrived, TICK, Geometric(base), divisor)
    for j in range(FEATURES):
        holding = [m for m in arrived if j in m.coordinates]
        if not holding:
            assert got[j] == W[j]
            continue
        age = min(TICK - m.sent for m in holding)
        newest = [m for m in holding if TICK - m.sent == age]
        whole_class = [m for m in arrived if TICK - m.sent == age]
        divide_by = len(whole_class if divisor == "class" else newest)
        pull = sum(m.values[m.coordinates == j][0] - W[j] for m in newest)
        assert got[j] == pytest.approx(W[j] + base**age / divide_by * pull, abs=1e-12)


@given(arrived=messages(), base=bases, divisor=divisors, data=st.data())
def test_order_of_arrival_changes_no_bit(
    arrived: list[Message], base: float, divisor: Divisor, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(arrived))
    first = aggregate(W, arrived, TICK, Geometric(base), divisor)
    second = aggregate(W, shuffled, TICK, Geometric(base), divisor)
    assert first.tobytes() == second.tobytes()


@given(arrived=messages(), base=bases, divisor=divisors)
def test_aggregate_stays_in_the_convex_hull(
    arrived: list[Message], base: float, divisor: Divisor
) -> None:
    got = aggregate(W, arrived, TICK, Geometric(base), divisor)
    for j in range(FEATURES):
        seen = [W[j], *(m.values[m.coordinates == j][0] for m in arrived if j in m.coordinates)]
        assert min(seen) - 1e-12 <= got[j] <= max(seen) + 1e-12


@given(arrived=messages(), base=bases, divisor=divisors)
def test_equal_models_are_a_fixed_point(
    arrived: list[Message], base: float, divisor: Divisor
) -> None:
    equal = [m._replace(values=W[m.coordinates]) for m in arrived]
    assert aggregate(W, equal, TICK, Geometric(base), divisor).tobytes() == W.tobytes()


@pytest.mark.parametrize("divisor", ["class", "coverage"])
def test_a_message_that_holds_nothing_does_not_count(divisor: Divisor) -> None:
    nothing = Message(1, TICK, np.zeros(0, dtype=np.int64), np.zeros(0))
    said = Message(0, TICK, np.array([2]), np.array([8.0]))
    assert aggregate(W, [said, nothing], TICK, Geometric(1.0), divisor)[2] == 8.0
    assert aggregate(W, [nothing], TICK, Geometric(1.0), divisor).tobytes() == W.tobytes()


@pytest.mark.parametrize("weight", [5.0, -0.1, np.nan])
def test_a_weight_that_is_none_is_refused(weight: float) -> None:
    late = Message(0, TICK - 3, np.array([2]), np.array([8.0]))
    with pytest.raises(AlgorithmError, match=f"an update of age 3 by {weight}: expected a weight"):
        aggregate(W, [late], TICK, lambda _: weight)


@given(arrived=messages(), base=bases, divisor=divisors)
def test_the_server_rule_keeps_what_aggregate_makes(
    arrived: list[Message], base: float, divisor: Divisor
) -> None:
    rule = Newest(Geometric(base), divisor)
    stamp = Stamp(SERVER, TICK, FEATURES, keys_of(0).server)
    after = rule.model(rule.apply(Weights(W), arrived, stamp))
    assert after.tobytes() == aggregate(W, arrived, TICK, Geometric(base), divisor).tobytes()
    assert not rule.model(rule.init(FEATURES, 3)).any()


def test_the_paper_s_learner_takes_that_step() -> None:
    z = np.linspace(-0.5, 0.5, FEATURES)
    for tick in (0, 7):
        learned = LMS.model(LMS.learn(Weights(W), z, 1.0, 0.4, tick))
        assert learned.tobytes() == lms_step(W, z, 1.0, 0.4).tobytes()


@given(mu=st.floats(0.01, 1.0), y=st.floats(-5, 5))
def test_a_step_of_mu_times_z_squared_below_two_shrinks_the_error(mu: float, y: float) -> None:
    z = np.array([0.6, -0.8, 1.0])  # |z|^2 = 2, the most that Fourier features can have
    w = np.array([1.0, 0.5, -0.25])
    before, after = y - w @ z, y - lms_step(w, z, y, mu) @ z
    assert abs(after) <= abs(before) * abs(1 - 2 * mu) + 1e-12
