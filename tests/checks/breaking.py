"""Methods that break one promise of the contract and keep all the others."""

from dataclasses import replace
from typing import Any

import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.checks import CHECKS, check_algorithm, check_one
from paofed.errors import ContractError

U1 = algorithm("pao-fed-u1")


def with_part(part: str, record: Any, *waived: str) -> Algorithm:
    """PAO-Fed-U1 with one part of its own, which may waive promises."""
    return replace(U1, name="mine", **{part: replace(record, waives=waived) if waived else record})


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
    """One promise is broken and told with its part; once it is waived, all is well."""
    broken = with_part(part, record)
    told = f"mine fails the check {promise!r}: its {part} {complaint}"
    assert broken_promises(broken) == {promise: told}
    with pytest.raises(ContractError) as error:
        check_algorithm(broken)
    assert str(error.value) == told
    check_algorithm(with_part(part, record, promise))
