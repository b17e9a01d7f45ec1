"""Contacts and bytes by the hour."""

from hypothesis import given
from hypothesis import strategies as st

from paofed.live.server.hours import HOUR, HOURS, Exchanged, Hours


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 1000)), max_size=30))
def test_every_contact_of_the_last_days_is_in_its_hour(said: list[tuple[float, int]]) -> None:
    hours, now, expected = Hours(0.0), 0.0, dict[int, int]()
    for passed, contacts in said:
        now += passed
        hours.go_on(now)
        hours.add(Exchanged(contacts, 2 * contacts, 3 * contacts))
        hour = int(now // HOUR)
        expected[hour] = expected.get(hour, 0) + contacts
    kept = {hour: n for hour, n in expected.items() if hour >= hours.first and n}
    found = {hours.first + n: int(row[0]) for n, row in enumerate(hours.counts) if row[0]}
    assert found == kept
    assert hours.latest(HOURS) == (sum(kept.values()), *(k * sum(kept.values()) for k in (2, 3)))


def test_other_hours_can_be_counted_too() -> None:
    hours = Hours(HOUR * 5000)
    hours.add(Exchanged(1, 2, 3), 4999)
    hours.add(Exchanged(1, 2, 3), 5000 - HOURS)  # older than all
    assert hours.latest(1) == (0, 0, 0)
    assert hours.latest(2) == hours.latest(HOURS) == (1, 2, 3)
    copy = hours.copy()
    hours.add(Exchanged(1, 1, 1))
    assert copy.latest(HOURS) == (1, 2, 3)
