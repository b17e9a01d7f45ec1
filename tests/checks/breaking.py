"""Methods that break one promise of the contract and keep all the others."""

from dataclasses import replace
from typing import Any

import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.checks import CHECKS, check_algorithm, check_one
from paofed.core.parts import Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.core.staleness import Geometric
from paofed.errors import ContractError
from tests.effort import in_ci

U1 = algorithm("pao-fed-u1")


class _Step:
    """The paper's step as an object: no compiler takes it, and compiling would take seconds."""

    def __call__(self, *sample: Any) -> Any:
        return LMS.learn(*sample)


_PLAIN: dict[str, Any] = {
    "learner": Learner(learn=_Step()),
    "server": ServerRule(apply=Newest(Geometric(1.0)).apply),
}


def with_part(part: str, record: Any, *waived: str) -> Algorithm:
    """PAO-Fed-U1 in plain Python with one part of its own, which may waive promises."""
    another = "server" if part == "learner" else "learner"
    own = {part: replace(record, waives=waived) if waived else record}
    return replace(U1, name="mine", **{another: _PLAIN[another]}, **own)


def broken_promises(method: Algorithm) -> dict[str, str]:
    """The promises that a method breaks, with what is said of each."""
    found = {}
    for name in CHECKS:
        try:
            check_one(name, method)
        except ContractError as error:
            found[name] = str(error)
    return found


def assert_breaks_only(promise: str, part: str, record: Any, complaint: str) -> None:
    """One promise is broken and told with its part; once it is waived, all is well.

    That the method keeps all its other promises is looked at in CI.
    """
    broken = with_part(part, record)
    told = f"mine fails the check {promise!r}: its {part} {complaint}"
    with pytest.raises(ContractError) as error:
        check_one(promise, broken)
    assert str(error.value) == told
    check_one(promise, with_part(part, record, promise))
    if in_ci():
        # A run refuses some broken channels as well, and says which promise must be waived.
        alone = {p: t for p, t in broken_promises(broken).items() if f"waives {promise!r}" not in t}
        assert alone == {promise: told}
        with pytest.raises(ContractError) as error:
            check_algorithm(broken)
        assert str(error.value) == told
        check_algorithm(with_part(part, record, promise))
