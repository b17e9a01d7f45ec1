from typing import Any

import pytest

from lab.compare.settings import USUAL, setting_of
from paofed.errors import InputError
from paofed.world.scenario import Scenario

CHANGED = {"heavy-loss": {"loss"}, "drift": {"stream"}, "faults": {"faults"}}


@pytest.mark.parametrize("name", USUAL)
def test_a_setting_is_a_preset_or_differs_from_setting_1_in_what_it_is_named_after(
    name: str,
) -> None:
    made = setting_of(name)
    assert made.name == name
    if name not in CHANGED:
        assert made == Scenario.load(name)
        return
    here, there = made.model_dump(), Scenario.load("setting-1").model_dump()
    assert {key for key in here if here[key] != there[key]} == {"name", *CHANGED[name]}
    stream: dict[str, Any] = here["stream"]
    assert {key for key in stream if stream[key] != there["stream"][key]} == (
        {"drifts"} if name == "drift" else set()
    )


def test_an_unknown_setting_is_told_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"settings of the comparison: setting-1, .*heavy-loss"):
        setting_of("heavy-los")
