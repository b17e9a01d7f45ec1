"""A device in C reads manifests as text, whatever is in them, and follows those that it can."""

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.device_c.agreed import agreed_in_c
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity
from tests.device_c.building import host_program
from tests.device_c.driven import Driven
from tests.live.fleets import manifest

# Names as people have them, and such as would confuse a reader of JSON.
NAMES = st.text(st.sampled_from("ab {}[]:\\\\'eé✓0"), min_size=1, max_size=8)
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


@lru_cache
def device() -> Driven:
    return Driven(host_program("driver"))


def begun(agreed: Manifest) -> Driven:
    driven = device()
    driven.forget()
    driven.agree(agreed_in_c(agreed))
    driven.begin(3)
    return driven


def named(*names: str) -> dict[str, Any]:
    *inputs, target = (name.strip() for name in names)
    return {
        "inputs": tuple(Quantity(name=name) for name in inputs),
        "target": Quantity(name=target),
    }


@given(st.lists(NAMES.filter(str.strip), min_size=2, max_size=4, unique_by=str.strip), SPACES,
       st.integers(0, 255), st.integers(0, 2**32 - 1))  # fmt: skip
def test_epoch_and_lineage_are_read_from_any_text(
    names: list[str], spaces: tuple[str, str], epoch: int, lineage: int
) -> None:
    agreed = manifest(**named(*names))
    driven = begun(agreed)
    other = replace(agreed, epoch=epoch, lineage=lineage, clip=7.0, from_tick=9)
    text = json.dumps(json.loads(other.to_json()), separators=spaces)
    assert driven.follow(text)
    assert driven.state().epoch == epoch


@pytest.mark.parametrize(
    "changes",
    [
        {"step_size": 0.41},
        {"max_age": 5},
        {"bound": 6.0},
        {"start": 2.0},
        {"algorithm": "pao-fed-u2"},
        {"target": Quantity(name="y", offset=10.0, scale=4.0, high=50.0)},
        {"start_model": (0.0,) * 7 + (1.0,)},
        {"options": {"bits": 8}, "algorithm": "quantised"},
        {"first_interval": 0.5},  # with it, the text is of another wire version
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_needs_a_new_header_is_not_followed(changes: dict[str, Any]) -> None:
    driven = begun(manifest())
    before = driven.state()
    assert not driven.follow(manifest(epoch=4, **changes).to_json())
    after = driven.state()
    assert (after.epoch, after.w.tobytes()) == (before.epoch, before.w.tobytes())


@given(st.data())
def test_text_that_is_no_manifest_is_not_followed(data: st.DataObject) -> None:
    driven, right = begun(manifest()), manifest(epoch=4).to_json()
    cut = data.draw(st.integers(0, len(right) - 1))
    for text in (right[:cut], right * 2, f"[{right}]", f"{right}x", f"x{right}", "{}"):
        assert not driven.follow(text)
    assert driven.follow(right)
