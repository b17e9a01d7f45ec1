"""Compiles the kernels for both precisions, so that not every process of the tests does.

`make test` runs this file (`python -m tests.compiled`) while the checks run; numba keeps on disk
what it has compiled.
"""

from typing import get_args

from paofed.simulate.engines.fast.family import Precision
from paofed.simulate.montecarlo import run
from tests.natures import small_scenario

if __name__ == "__main__":
    for precision in get_args(Precision):
        run(small_scenario(), "pao-fed-u1", precision=precision)
