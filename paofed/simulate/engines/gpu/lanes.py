"""What the threads of one warp do together, and how a card takes a cosine.

The CUDA simulator, with which the kernels are tested where there is no card, knows neither shuffles
nor votes. There a warp has one lane, so that these functions are trivial; the kernels ask `LANES`
how wide a warp is, and are otherwise the same. The tests put functions for more lanes in place of
these.
"""

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import cuda, int32
from numba.core import config

# Whether the CUDA simulator is in use, which is decided when numba is imported.
SIMULATED = bool(getattr(config, "ENABLE_CUDASIM", False))
LANES = 1 if SIMULATED else 32
# The package numba-cuda: the part for CUDA in numba itself is no longer maintained.
INSTALLED = find_spec("numba_cuda") is not None
_EVERYONE = 0xFFFFFFFF
# Threads of a block where every thread has an item of its own.
APART = 8 if SIMULATED else 128

# Inlined device functions that take arrays in registers, which a call would put into memory.
inlined = cuda.jit(device=True, **({"forceinline": True} if INSTALLED else {}))


def bounded(threads: int, blocks: int = 1) -> Any:
    """Decorate a kernel for `threads` threads a block and `blocks` blocks on a multiprocessor.

    The compiler then knows how many registers a thread may have.
    """
    return cuda.jit(**({"launch_bounds": (threads, blocks)} if INSTALLED else {}))


if SIMULATED:

    @inlined
    def sum_over(value: Any, lanes: Any) -> Any:  # noqa: ARG001 (there is one)
        """Return the sum of the values that some neighbouring lanes have."""
        return value

    @inlined
    def votes(yes: Any) -> Any:
        """Return which lanes say yes, as the bits of an int32."""
        return int32(1 if yes else 0)

    @inlined
    def from_lane(value: Any, lane: Any) -> Any:  # noqa: ARG001 (there is one)
        """Return the value that another lane has."""
        return value

    @inlined
    def meet() -> None:
        """Let every lane see what the others have written."""

    @inlined
    def cosine32(angle: Any) -> Any:
        """Return a cosine in float32."""
        return np.float32(math.cos(angle))

else:
    from numba.cuda import libdevice

    @inlined
    def sum_over(value: Any, lanes: Any) -> Any:
        """Return the sum of the values that some neighbouring lanes have, a power of two."""
        if lanes > 16:
            value += cuda.shfl_xor_sync(_EVERYONE, value, 16)
        if lanes > 8:
            value += cuda.shfl_xor_sync(_EVERYONE, value, 8)
        if lanes > 4:
            value += cuda.shfl_xor_sync(_EVERYONE, value, 4)
        if lanes > 2:
            value += cuda.shfl_xor_sync(_EVERYONE, value, 2)
        if lanes > 1:
            value += cuda.shfl_xor_sync(_EVERYONE, value, 1)
        return value

    @inlined
    def votes(yes: Any) -> Any:
        """Return which lanes say yes, as the bits of an int32."""
        return cuda.ballot_sync(_EVERYONE, yes)

    @inlined
    def from_lane(value: Any, lane: Any) -> Any:
        """Return the value that another lane has."""
        return cuda.shfl_sync(_EVERYONE, value, lane)

    @inlined
    def meet() -> None:
        """Let every lane see what the others have written."""
        cuda.syncwarp(_EVERYONE)

    @inlined
    def cosine32(angle: Any) -> Any:
        """Return a cosine in float32 by the card's own unit: off by 5e-7 plus the angle's error."""
        return libdevice.fast_cosf(angle)


@inlined
def without_lowest(bits: Any, count: Any, most: Any) -> Any:
    """Return `bits` without its `count` lowest ones, where `count` is at most `most`."""
    for i in range(most):
        if i < count:
            bits = int32(bits & (bits - 1))
    return bits
