from functools import partial

import numpy as np
import pytest

from paofed.core.given import apart


def rule(*given: object) -> int:
    return len(given)


@pytest.mark.parametrize(
    "numbers",
    [
        (),
        (1,),
        (0.5, True, np.float32(2), np.bool_(1)),
        ((1, (2.5, 3)), 4),
        (np.arange(3), np.zeros((2, 2))),
    ],
)
def test_numbers_are_taken_from_a_rule(numbers: tuple[object, ...]) -> None:
    function, given = apart(partial(rule, *numbers))
    assert function is rule
    assert given == numbers or all(a is b for a, b in zip(given, numbers, strict=True))


@pytest.mark.parametrize(
    "whole",
    [
        rule,
        partial(rule, rule),
        partial(rule, 1, "word"),
        partial(rule, np.array(["word"])),
        partial(rule, np.zeros((3, 3)).T[::2]),
        partial(sorted, key=len),
    ],
)
def test_what_is_no_number_stays_with_its_rule(whole: object) -> None:
    assert apart(whole) == (whole, ())
