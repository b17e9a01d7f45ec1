import math

import numpy as np
import pytest

from paofed.core.staleness import Geometric, weight_of
from paofed.errors import AlgorithmError


def test_weights_by_age() -> None:
    assert [Geometric(0.2)(age) for age in range(3)] == pytest.approx([1.0, 0.2, 0.04])
    assert [Geometric(1.0)(age) for age in (0, 50)] == [1.0, 1.0]
    assert [Geometric(0.0)(age) for age in (0, 1)] == [1.0, 0.0]


@pytest.mark.parametrize("base", [-0.1, 1.1, math.nan, True, "x"])
def test_refuses_a_base_that_is_no_weight(base: float) -> None:
    with pytest.raises(AlgorithmError, match="staleness base"):
        Geometric(base)


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan, "x", None, np.ones(2)])
def test_refuses_a_weight_of_one_s_own_that_is_none(weight: float) -> None:
    with pytest.raises(AlgorithmError, match=r"of age 3 by .*: expected a weight from 0"):
        weight_of(lambda _: weight, 3)
