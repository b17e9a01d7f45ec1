"""Names at the broker and topics, full and short ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.network.topics import SERVER, Topics

FULL, SHORT = Topics("g", full=True), Topics("g", full=False)
BELOW = [Topics("g", full=full, prefix="company/site7") for full in (True, False)]
names = st.from_regex(r"[A-Za-z0-9_-]{1,32}", fullmatch=True)


def test_names_begin_with_the_fleets() -> None:
    assert [FULL.user(who) for who in (3, SERVER)] == ["g/3", "g/server"]
    assert (FULL.up(3), FULL.down(3), FULL.up("+")) == ("g/3/u", "g/3/d", "g/+/u")
    assert (FULL.up_of_user, FULL.down_of_user) == ("%u/u", "%u/d")
    assert (FULL.manifest, FULL.server, FULL.beginning) == ("g/c2", "g/s", "g/p")


def test_short_names_are_those_within_the_fleet() -> None:
    assert [SHORT.user(who) for who in (3, SERVER)] == ["3", "server"]
    assert (SHORT.up(3), SHORT.down(3), SHORT.up("+")) == ("g/u/3", "g/d/3", "g/u/+")
    assert (SHORT.up_of_user, SHORT.down_of_user) == ("g/u/%u", "g/d/%u")
    assert (SHORT.manifest, SHORT.server, SHORT.beginning) == ("g/c2", "g/s", "g/p")


@given(names, names, st.integers(0, 99), st.integers(0, 99))
def test_no_two_fleets_have_a_name_or_a_topic_in_common(a: str, b: str, j: int, k: int) -> None:
    one, other = Topics(a, full=True), Topics(b, full=True)
    same = (a, j) == (b, k)
    assert (one.user(j) == other.user(k)) == same
    assert one.user(SERVER) != other.user(k)
    assert (one.up(j) == other.up(k)) == (one.down(j) == other.down(k)) == same
    assert (one.sender(other.up(k)) is not None) == (a == b)


@pytest.mark.parametrize(("plain", "below"), list(zip((FULL, SHORT), BELOW, strict=True)))
def test_a_prefix_stands_before_every_topic_and_in_no_name(plain: Topics, below: Topics) -> None:
    for topic in ("manifest", "server", "beginning", "root"):
        assert getattr(below, topic) == f"company/site7/{getattr(plain, topic)}"
    assert (below.up(3), below.down(3)) == tuple(
        f"company/site7/{topic}" for topic in (plain.up(3), plain.down(3))
    )
    assert below.user(3) == plain.user(3)
    assert below.sender(plain.up(3)) is plain.sender(below.up(3)) is None


@pytest.mark.parametrize("topics", [FULL, SHORT, BELOW[0]])
def test_a_pattern_gives_everybody_their_own(topics: Topics) -> None:
    for k in (0, 17):
        assert topics.up_of_user.replace("%u", topics.user(k)) == topics.up(k)
        assert topics.down_of_user.replace("%u", topics.user(k)) == topics.down(k)


@pytest.mark.parametrize("topics", [FULL, SHORT, *BELOW])
def test_the_sender_is_in_the_topic(topics: Topics) -> None:
    assert [topics.sender(topics.up(k)) for k in (0, 17, 9_999_999_999)] == [0, 17, 9_999_999_999]
    for index in ("", "-1", "1e3", "\u0663", "9" * 11, "0/u", SERVER, "+"):
        assert topics.sender(topics.up(index)) is None
    for topic in ("", "g", "g/u", "u", topics.down(0), topics.manifest, "h/0/u", "h/u/0", "0"):
        assert topics.sender(topic) is None
