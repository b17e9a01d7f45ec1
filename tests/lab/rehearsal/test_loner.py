"""A healthy device measures where nobody else does: the fleet learns its place, bounds or not."""

from tests.effort import long
from tests.live.lonely import COMMON, LONELY, LONER, error, lived, manifest

FEATURES, TICKS = 40, 2000
FAR = 50.0  # the error at that place of a model that knows the others' place alone
NOISE = 10.0  # of a measurement


@long
def test_the_place_of_a_lonely_device_is_learned_nearly_as_without_bounds() -> None:
    early, late = (lived(manifest(FEATURES), ticks) for ticks in (150, TICKS))
    unbounded = lived(manifest(FEATURES, bounds=False), TICKS)
    assert early.rule.aside[LONER]
    assert error(early, LONELY) > FAR
    assert not late.rule.aside.any()
    assert error(late, LONELY) < max(2 * error(unbounded, LONELY), 0.1 * FAR)
    assert error(late, COMMON) < 0.1 * NOISE


def test_a_lonely_device_that_is_trusted_is_never_set_aside() -> None:
    ticks = 40
    judged, trusted = (lived(manifest(FEATURES), ticks, who) for who in ([], [LONER]))
    assert judged.rule.aside[LONER]
    assert not trusted.rule.aside.any()
    assert error(trusted, LONELY) < error(judged, LONELY)
