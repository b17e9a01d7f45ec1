"""The record of an algorithm: which parts it takes, and what it says of them."""

from dataclasses import fields, replace
from typing import Any

import pytest

from paofed.algorithms import OURS, Algorithm, algorithm
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError
from paofed.live.protocol.served import usual_row

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
@pytest.mark.parametrize("wrong", [4, Windows, Geometric(1.0)])
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
        if field.name not in ("waives", "served", "reach", "encode", "decode", "why_not", "bounded")
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


def served(part: str, **values: Any) -> Algorithm:
    return with_part(part, replace(SAME[part], served=True, **values))


@pytest.mark.parametrize("part", SAME)
def test_a_part_says_whether_a_live_fleet_may_use_it(part: str) -> None:
    kind = type(SAME[part]).__name__
    assert U1.unserved is None
    assert served(part).unserved is None
    why = with_part(part, SAME[part]).unserved
    assert why == f"its {part} does not say that it can be (`served` of {kind})"
    own = with_part(part, replace(SAME[part], why_not="it asks for the moon"))
    assert own.unserved == "it asks for the moon"
    assert "why_not" not in own.describe()[part]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (algorithm("pso-fed", subset=0.5), "its server picks who takes part before any contact"),
        (algorithm("pao-fed-u0"), "it sends back the window it has just received"),
        (algorithm("wide-down"), "its windows up and down differ in width"),
        (algorithm("fed-buff"), "its model may diverge where devices start from an older one"),
        (algorithm("top-k"), "it remembers what it sent"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_method_says_why_it_cannot_be_served(method: Algorithm, why: str) -> None:
    assert str(method.unserved).startswith(why)


@pytest.mark.parametrize("name", OURS)
def test_every_part_of_ours_that_is_not_served_says_why(name: str) -> None:
    row = usual_row(name)
    parts = [row.downlink, row.uplink, row.server, row.learner]
    whys = [part.why_not for part in parts if not part.served]
    assert all(why and "\n" not in why and not why.endswith(".") for why in whys), whys


def test_what_can_be_bounded_is_said_by_the_parts() -> None:
    assert U1.can_bound == ("clip", "bound")
    assert U1.can_be_bounded
    own = served("server")
    assert (own.can_bound, own.can_be_bounded) == (("bound",), False)
    assert served("server", bounded=True).can_be_bounded
    assert served("learner", learn=lambda state, *_: state).can_bound == ("clip",)
