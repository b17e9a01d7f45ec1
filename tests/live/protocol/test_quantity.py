from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.protocol.quantity import ManifestError, Quantity

RANGED = Quantity(name="t", offset=20.0, scale=5.0, low=-30.0, high=60.0)


@pytest.mark.parametrize(
    ("value", "plausible"),
    [(-30.0, True), (0.0, True), (60.0, True), (-30.001, False), (60.001, False), (-1e300, False)],
)
def test_a_value_within_the_limits_is_plausible(value: float, plausible: bool) -> None:
    assert RANGED.is_plausible(value) == plausible


@given(st.floats(allow_nan=False))
def test_without_limits_everything_is(value: float) -> None:
    assert Quantity(name="t").is_plausible(value)
    assert replace(RANGED, low=None).is_plausible(min(value, 60.0))
    assert replace(RANGED, high=None).is_plausible(max(value, -30.0))


def test_the_usual_limits_are_ten_scales_from_the_offset() -> None:
    usual = Quantity(name="t", offset=20.0, scale=5.0).limited()
    assert (usual.low, usual.high) == (-30.0, 70.0)
    assert RANGED.limited() == RANGED
    assert replace(RANGED, high=None).limited() == replace(RANGED, high=70.0)


def test_limits_are_no_part_of_what_a_model_means() -> None:
    assert RANGED.meaning == replace(RANGED, low=None, high=1e9).meaning
    assert RANGED.meaning != replace(RANGED, scale=4.0).meaning


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"low": 5.0, "high": 5.0}, "range of t is '5 to 5': expected the lower one first"),
        ({"low": float("nan")}, "range of t is nan: expected a finite number, or none"),
        ({"high": "warm"}, "range of t is 'warm': expected a finite number, or none"),
        ({"low": True}, "range of t is True: expected a finite number, or none"),
    ],
)
def test_limits_that_are_none(limits: dict[str, float], says: str) -> None:
    with pytest.raises(ManifestError) as refused:
        Quantity(name="t", **limits)
    assert str(refused.value) == f"the manifest's {says}"


def test_limits_in_words() -> None:
    assert RANGED.limits == f"{RANGED.low:g} to {RANGED.high:g}"
    assert Quantity(name="t", low=0.0).limits == "0 or more"
    assert Quantity(name="t", high=-1.5).limits == "-1.5 or less"
