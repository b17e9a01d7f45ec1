import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import InputError
from paofed.experiments.plan.budget import Budget, budget_of, error_of
from paofed.world.scenario import Scenario
from tests.natures import small_scenario

HOURLY = {"tick": "1h"}


@pytest.mark.parametrize(
    ("text", "per_tick"),
    [
        ("2kB/day/device", 2000 / 24),
        ("2 kB/day/device", 2000 / 24),
        ("500B/hour/device", 500.0),
        ("72kB/month/device", 100.0),
        ("24kB/day", 1000 / 12),  # of a fleet of twelve
        ("1.8MB/run", 1000.0),  # of twelve in 150 ticks
        ("15kB/run/device", 100.0),
        ("0.168MB/week/device", 1000.0),
    ],
)
def test_what_a_device_may_spend_in_an_hour(text: str, per_tick: float) -> None:
    scenario = small_scenario(**HOURLY)
    assert (scenario.clients, scenario.ticks) == (12, 150)
    assert budget_of(text).per_device_and_tick(scenario) == pytest.approx(per_tick)


def test_a_day_is_a_day_however_long_a_tick_is() -> None:
    daily = budget_of("2kB/day/device").per_device_and_tick(small_scenario(tick="1d"))
    assert daily == pytest.approx(2000)


@given(
    st.floats(1, 1e9).map(lambda x: float(f"{x:.4g}")),
    st.sampled_from(["hour", "day", "month", "run"]),
    st.booleans(),
)
def test_a_budget_is_read_as_it_is_written(size: float, per: str, device: bool) -> None:
    budget = Budget(size, per, device)
    again = budget_of(budget.word)
    assert again[1:] == budget[1:]
    assert again.bytes == pytest.approx(size)


@pytest.mark.parametrize(
    "text", ["2kB", "2KB/day", "-2kB/day", "0kB/day", "2kB/year", "kB/day", "2kB/day/fleet", ""]
)
def test_what_is_no_budget_is_told(text: str) -> None:
    with pytest.raises(InputError, match=r"^budget is .*: expected bytes .* as in 2kB/day/device$"):
        budget_of(text)


def test_a_record_that_is_no_budget_is_told() -> None:
    with pytest.raises(InputError, match=r"^unknown time of a budget 'fortnight' \(known: hour"):
        budget_of(Budget(100.0, "fortnight", True))
    with pytest.raises(InputError, match="a budget of -5 bytes: expected more than 0"):
        budget_of(Budget(-5.0, "day", True))
    with pytest.raises(InputError, match="bytes of a budget is 'x': expected a number"):
        budget_of(Budget("x", "day", True))  # type: ignore[arg-type]


def test_a_daily_budget_needs_the_length_of_a_tick() -> None:
    bare = Scenario.load("setting-1")
    says = (
        r"^a budget of 2kB/day/device needs to know how long a tick is, and setting-1 .*--tick 1h"
    )
    with pytest.raises(InputError, match=says):
        budget_of("2kB/day/device").per_device_and_tick(bare)
    assert budget_of("512kB/run").per_device_and_tick(bare) == 1.0


def test_errors_are_decibels() -> None:
    assert [error_of(one) for one in ("-7dB", "-7", "2.5 dB", -3)] == [-7.0, -7.0, 2.5, -3.0]
    with pytest.raises(InputError, match="error is 'good': expected decibels, as in -7dB"):
        error_of("good")
