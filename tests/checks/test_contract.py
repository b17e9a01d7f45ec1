"""The contract: kept by the whole registry, waived by name, and told in words."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm, options_of
from paofed.checks import CHECKS, PROMISES, check_algorithm, check_one
from paofed.core.learners import FORGETFUL
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError, ContractError
from paofed.simulate.engines import USUAL, engine_of
from tests.checks.breaking import U1, with_part
from tests.effort import some


def variants() -> Iterable[Algorithm]:
    for name in ALGORITHMS:
        for subset in (0.3, 2) if "subset" in options_of(name) else (None,):
            row = algorithm(name, subset=subset)
            yield row
            yield algorithm(row, divisor="coverage")
            yield algorithm(row, clip=6)
            yield algorithm(row, clip=2, aside=False, bound=6)
            if row.uplink != row.downlink:
                yield replace(row, exchange="single")
                yield replace(row, exchange="live")


PROMISED = [(row, check) for row in variants() for check in CHECKS]


@pytest.mark.parametrize(
    ("row", "check"),
    some(PROMISED, everyday=60),  # a part of the checks for every row, of the rows for every check
    ids=lambda given: given if isinstance(given, str) else f"{given.name}-{given.exchange}",
)
def test_the_registry_keeps_the_contract(row: Algorithm, check: str) -> None:
    check_one(check, row)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("learner", some(FORGETFUL, everyday=1))
def test_every_learner_keeps_the_contract(learner: str, check: str) -> None:
    """Compiled, too: the kernels are those of tests/simulate/engines/own/test_simulation.py."""
    row = algorithm("pao-fed-u2", learner=learner, bound=6)
    assert engine_of(USUAL).refuses(row) is None
    check_one(check, row)


def test_windows_larger_than_the_usual_model() -> None:
    check_algorithm(algorithm("pao-fed-u1", shared=100))


def test_an_unknown_promise() -> None:
    with pytest.raises(ContractError, match="unknown promise 'never silence': did you mean 'never"):
        check_one("never silence", "pao-fed-u1")


def test_an_exchange_that_cannot_be_is_no_matter_of_promises() -> None:
    backwards = algorithm("pao-fed-c0", exchange="live")
    with pytest.raises(AlgorithmError, match="pao-fed-c0:exchange=live sends back the window"):
        check_algorithm(backwards)


SAME: dict[str, Any] = {
    "downlink": Channel(send=Windows(4).send),
    "uplink": Channel(send=Windows(4, ahead=1).send),
    "learner": Learner(learn=LMS.learn),
    "server": ServerRule(apply=lambda state, *_: state),
}


@pytest.mark.parametrize(
    ("part", "of_another"),
    [
        ("uplink", "fixed point"),
        ("downlink", "a step helps"),
        ("learner", "never silent"),
        ("server", "merge overwrites"),
    ],
)
def test_a_part_cannot_waive_what_it_does_not_promise(part: str, of_another: str) -> None:
    with pytest.raises(ContractError, match=f"its {part} waives unknown promise '{of_another}'"):
        check_one("never silent", with_part(part, SAME[part], of_another))
    mine = with_part(part, SAME[part], "engines agreed")
    with pytest.raises(ContractError, match=f"^mine: its {part} waives .*did you mean 'engines ag"):
        check_algorithm(mine)


@pytest.mark.parametrize("waived", ["never silent", (1,)])
def test_waivers_are_a_tuple_of_names(waived: Any) -> None:
    """The text "never silent" would be a tuple of letters."""
    with pytest.raises(AlgorithmError, match=r"^mine: its uplink waives .*: expected a tuple"):
        replace(U1, name="mine", uplink=Channel(send=Windows(4).send, waives=waived))


def doubled(w: Any, memory: Any, stamp: Any) -> Any:
    part, memory = Windows(4).send(w, memory, stamp)
    return part._replace(values=2 * part.values), memory


def test_what_one_direction_waives_the_other_still_promises() -> None:
    waiving = Channel(send=doubled, waives=("values of the model",))
    up = with_part("uplink", waiving)
    check_one("values of the model", up)
    both = replace(up, downlink=replace(waiving, waives=()))
    with pytest.raises(ContractError, match="its downlink sends values that are not the model's"):
        check_one("values of the model", both)


def test_every_promise_has_one_meaning_for_its_kind() -> None:
    assert set(PROMISES) == {"channel", "learner", "server", "method"}
    assert set(CHECKS) == {name for promises in PROMISES.values() for name in promises}
    assert len(CHECKS) == len(set(CHECKS))
