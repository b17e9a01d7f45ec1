"""Warps of four lanes for numba's CUDA simulator, which knows neither shuffles nor votes.

Importing this module under the simulator, before the kernels, puts functions that wait for the
other lanes in place of the functions of one lane in `lanes`. A lane holds so few coordinates that
small models are spread over two or four lanes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Barrier, Lock, current_thread
from types import FunctionType
from typing import Any

import numpy as np
from numba import cuda

from paofed.simulate.engines.gpu import lanes

_LANES, _MOST_EACH = 4, 3
_PATIENCE = 300  # seconds that a lane waits for the others


class _Warp:
    """What the lanes of a warp show each other."""

    def __init__(self) -> None:
        self.all_here = Barrier(_LANES)
        self.shown: list[Any] = [None] * _LANES


_warps: defaultdict[tuple[Any, int], _Warp] = defaultdict(_Warp)
_swapped: dict[int, tuple[int, list[str]]] = {}
_lock = Lock()


def _exchanged(value: Any) -> tuple[list[Any], int]:
    """Return what all lanes of this thread's warp show, and which lane this thread is."""
    thread: Any = current_thread()
    warp_index, lane = divmod(int(thread.threadIdx.x), _LANES)
    with _lock:
        warp = _warps[thread._manager, warp_index]
    warp.shown[lane] = value
    warp.all_here.wait(_PATIENCE)
    shown = list(warp.shown)
    warp.all_here.wait(_PATIENCE)
    return shown, lane


def _sum_over(value: Any, neighbours: int) -> Any:
    apart = neighbours // 2
    while apart:
        shown, lane = _exchanged(value)
        value, apart = value + shown[lane ^ apart], apart // 2
    return value


def _votes(yes: Any) -> Any:
    shown, _ = _exchanged(bool(yes))
    return np.int32(sum(said << lane for lane, said in enumerate(shown)))


def _from_lane(value: Any, lane: Any) -> Any:
    return _exchanged(value)[0][int(lane)]


def _meet() -> None:
    _exchanged(None)


@contextmanager
def _swapped_cuda_module(function: FunctionType, fake: Any) -> Iterator[None]:
    """Swap the name of numba's module as the simulator does, until the last thread has left.

    The simulator's own function swaps it back when the first thread leaves a device function, and
    the others then find no `cuda.local`.
    """
    names = function.__globals__
    with _lock:
        inside, swapped = _swapped.get(id(names), (0, []))
        swapped = swapped or [name for name, value in names.items() if value is cuda]
        names.update(dict.fromkeys(swapped, fake))
        _swapped[id(names)] = inside + 1, swapped
    try:
        yield
    finally:
        with _lock:
            inside, swapped = _swapped.pop(id(names))
            if inside > 1:
                _swapped[id(names)] = inside - 1, swapped
            else:
                names.update(dict.fromkeys(swapped, cuda))


def _put_in_place() -> None:
    from numba.cuda.simulator import kernel

    together: dict[str, Callable[..., Any]] = {
        "sum_over": _sum_over,
        "votes": _votes,
        "from_lane": _from_lane,
        "meet": _meet,
    }
    for name, function in together.items():
        setattr(lanes, name, function)
    lanes.LANES = _LANES
    kernel.swapped_cuda_module = _swapped_cuda_module
    from paofed.simulate.engines.gpu import steps, streaming

    steps._MOST_EACH.update(float32=_MOST_EACH, float64=_MOST_EACH)
    streaming.THREADS = 2 * _LANES


if lanes.SIMULATED:  # elsewhere a card has warps of its own
    _put_in_place()
