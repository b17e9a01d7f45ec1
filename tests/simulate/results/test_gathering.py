"""Records of runs, put where they belong as they come."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.simulate.results.gathering import Gathering
from paofed.simulate.results.outcome import RunRecord


class Interrupting(str):
    """A type of processor at whose first use somebody presses Ctrl-C."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise KeyboardInterrupt


def record() -> RunRecord:
    numbers: NDArray[Any] = np.zeros((1, 3))
    return RunRecord(*[numbers] * len(RunRecord._fields))


def test_a_run_whose_taking_is_interrupted_is_not_finished() -> None:
    """Every run that counts as finished has its type of processor, whenever Ctrl-C is pressed."""
    gathering = Gathering(range(2), 1)
    gathering.put(1, [0], record(), "a")
    with pytest.raises(KeyboardInterrupt):
        gathering.put(0, [0], record(), Interrupting("b"))
    assert gathering.finished == [1]
    assert gathering.cpus(1) == {"a"}
