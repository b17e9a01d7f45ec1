"""What a new fleet agrees on."""

import pytest

from paofed.live.fleet.founding import USUAL, going_on, lacking, new_identity, new_manifest
from paofed.live.protocol.change import Changes
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP
from paofed.live.protocol.quantity import ManifestError, Quantity
from tests.live.fleets import manifest

A, B = Quantity(name="a", offset=20.0, scale=10.0), Quantity(name="b", offset=0.0, scale=1.0)


def test_what_is_left_out_is_as_usual() -> None:
    made = new_manifest([A], B, {"features": 3, "seed": 7})
    assert {key: getattr(made, key) for key in USUAL} == {**USUAL, "features": 3, "seed": 7}
    assert (made.shared, made.inputs, made.target) == (3, (A.limited(),), B.limited())
    with pytest.raises(ManifestError, match="features"):
        new_manifest([A], B, {"features": 0})


@pytest.mark.parametrize(("algorithm", "clip"), [("pao-fed-u1", USUAL_CLIP), ("fed-async", None)])
def test_a_rule_that_bounds_nobody_has_no_clip(algorithm: str, clip: float | None) -> None:
    assert new_manifest([A], B, {"algorithm": algorithm}).clip == clip
    without = manifest(algorithm=algorithm, clip=None, bound=None)
    assert ("clip" in lacking(without, algorithm)) == (clip is not None)


def test_who_goes_on_gets_the_bounds_of_new_fleets_and_changes() -> None:
    old = manifest(clip=None, bound=None)
    now = going_on(old, Changes(values={"step_size": 0.1, "bound": 3.0}))
    assert (now.clip, now.bound, now.step_size) == (USUAL_CLIP, 3.0, 0.1)
    assert going_on(old, Changes()).bound == USUAL_BOUND
    assert (now.epoch, now.start) == (old.epoch, old.start)
    with pytest.raises(ManifestError, match="cannot be changed"):
        going_on(old, Changes(values={"features": old.features + 1}))


def test_a_new_fleet_is_no_other() -> None:
    found = [new_identity() for _ in range(20)]
    assert len({(one["start"], one["epoch"]) for one in found}) == 20
    assert {one["lineage"] for one in found} == {0}
