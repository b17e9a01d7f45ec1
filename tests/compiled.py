"""Compiles kernels that many tests need, so that not every process of the tests does.

`make test` runs this file (`python -m tests.compiled family`, and `own`) while the checks run;
numba keeps on disk what it has compiled.
"""

import sys
from typing import get_args

from paofed.algorithms import algorithm
from paofed.simulate.engines import Precision, engine_of
from paofed.simulate.engines.fast.own.compiler import kernel_of
from paofed.simulate.faulty import with_faults
from paofed.simulate.montecarlo import run
from tests.natures import small_scenario, small_trace
from tests.simulate.engines.own.rules import OWN


def family() -> None:
    for precision in get_args(Precision):
        run(small_scenario(), "pao-fed-u1", precision=precision)


def own() -> None:
    for precision in get_args(Precision):
        run(small_scenario(), OWN, precision=precision)
    engine_of("fast").replay(small_trace(0), OWN)
    kernel_of(algorithm("pao-fed-u1"))  # the general form of the paper's rows
    kernel_of(algorithm("pao-fed-u1", clip=6))  # the same with bounded influence, whatever clip is
    kernel_of(algorithm("pao-fed-u1", clip=6, bound=6))
    kernel_of(algorithm("pao-fed-u1", learner="two-speed"))
    kernel_of(algorithm("fed-ridge"))  # whatever its numbers
    lying = small_scenario(faults=[{"kind": "liar", "push": 0.1, "clients": 3}])
    kernel_of(with_faults(algorithm("pao-fed-u1"), lying))  # whichever faults of messages


if __name__ == "__main__":
    {"family": family, "own": own}[sys.argv[1]]()
