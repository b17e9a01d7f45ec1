"""The record of an algorithm: which parts it takes, and what it says of them."""

from dataclasses import fields, replace
from typing import Any

import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError

U1 = algorithm("pao-fed-u1")
SAME: dict[str, Any] = {
    "downlink": Channel(send=Windows(4).send),
    "uplink": Channel(send=Windows(4).send),
    "server": ServerRule(apply=Newest(Geometric(1.0)).apply),
    "learner": Learner(learn=LMS.learn),
}


def with_part(part: str, record: Any) -> Algorithm:
    return replace(U1, name="mine", **{part: record})


@pytest.mark.parametrize("part", SAME)
@pytest.mark.parametrize("wrong", [4, None, Windows, lambda *_: None, Geometric(1.0)])
def test_a_part_of_another_kind_is_refused(part: str, wrong: object) -> None:
    with pytest.raises(
        AlgorithmError, match=rf"^mine: its {part} is .*: expected [A-Z]\w+"
    ) as told:
        with_part(part, wrong)
    assert type(SAME[part]).__name__ in str(told.value)


@pytest.mark.parametrize(
    ("part", "function"),
    [
        (part, field.name)
        for part, record in SAME.items()
        for field in fields(record)
        if field.name not in ("waives", "served", "reach", "encode", "decode")
    ],
)
def test_a_function_that_is_none_is_refused(part: str, function: str) -> None:
    words = rf"^mine: {function} of its {part} is 4: expected a function$"
    with pytest.raises(AlgorithmError, match=words):
        with_part(part, replace(SAME[part], **{function: 4}))


@pytest.mark.parametrize("part", ["downlink", "uplink"])
@pytest.mark.parametrize("function", ["encode", "decode"])
def test_what_is_encoded_must_be_decoded(part: str, function: str) -> None:
    with pytest.raises(AlgorithmError, match=rf"^mine: its {part} has only one of encode and"):
        with_part(part, replace(SAME[part], **{function: lambda *_: None}))
    with pytest.raises(AlgorithmError, match=rf"^mine: encode of its {part} is 4: expected a func"):
        with_part(part, replace(SAME[part], encode=4, decode=4))


@pytest.mark.parametrize("part", SAME)
def test_the_paper_s_parts_are_known_among_others(part: str) -> None:
    assert U1.paper_parts == (U1.downlink, U1.uplink, U1.server)
    own = with_part(part, SAME[part])
    assert own.paper_parts is None
    with pytest.raises(
        AlgorithmError, match=r"^mine has rules of its own: this test knows windows"
    ):
        own.require_paper_parts("this test")


@pytest.mark.parametrize("option", [{"staleness": 0.5}, {"divisor": "coverage"}])
def test_options_of_the_paper_s_server_are_not_those_of_another(option: dict[str, Any]) -> None:
    own = with_part("server", SAME["server"])
    with pytest.raises(AlgorithmError, match=f"own, which has no option '{next(iter(option))}'"):
        algorithm(own, **option)
    assert algorithm(own, step_size=0.1).server == own.server


def test_what_is_waived_is_told_by_part() -> None:
    own = with_part("uplink", replace(SAME["uplink"], waives=("never silent",)))
    assert own.waives == {
        "downlink": (),
        "uplink": ("never silent",),
        "server": (),
        "learner": (),
    }
    assert own.describe()["uplink"]["waives"] == ["never silent"]  # type: ignore[index]
