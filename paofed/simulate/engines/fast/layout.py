"""Lay algorithms, their models and the map out for the kernels, as the arrays of `records`."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.selection import Windows
from paofed.core.staleness import weight_of
from paofed.errors import InputError
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast import kernels
from paofed.simulate.engines.fast.records import Family, FamilyModels
from paofed.simulate.engines.guarded import guarded

EXCHANGES = {"paper": kernels.PAPER, "single": kernels.SINGLE, "live": kernels.LIVE}
# How many terms of the odd series of sin(2 pi s), |s| <= 1/4, leave less than a rounding error.
_SINE_TERMS = {"float32": 5, "float64": 8}
# Clients whose messages are summed together: fixed, so that results do not depend on threads.
_BLOCK = 2048
_MOST_BLOCKS = 64
_LINE = 64  # bytes of a cache line
_PAD = 16  # how many float32 numbers fill a cache line
# The most bytes for messages on their way; a scenario that needs more is a mistake.
_MOST_IN_FLIGHT = 4 << 30


def laid_out(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array in the one layout that the kernels are compiled for."""
    return np.require(array, dtype, ["C", "A", "W"])


def kept(ages: IntArray, methods: Sequence[Algorithm]) -> IntArray:
    """Return the ages that at least one algorithm does not drop; 0 is always among them."""
    limit = max(method.max_age or 0 for method in methods)
    return np.union1d(0, ages[ages <= limit])


def blocks_of(clients: int) -> IntArray:
    """Return where the fixed blocks of a fleet begin and end."""
    size = max(_BLOCK, -(-clients // _MOST_BLOCKS))
    return np.append(np.arange(0, clients, size), clients)


def family(
    methods: Sequence[Algorithm], ages: IntArray, features: int, heard: int | None = None
) -> Family:
    """Return algorithms as rows of numbers; devices take over `heard` coordinates (None: all)."""

    def column(values: Iterable[float], dtype: DTypeLike) -> NDArray[Any]:
        return np.array(list(values), dtype=dtype)

    methods = [guarded(method, features, clients=1) for method in methods]
    parts = [method.require_paper_parts("the family") for method in methods]
    return Family(
        down=np.array([windows(part.downlink, features) for part in parts]),
        heard=np.full(len(methods), features if heard is None else heard),
        up=np.array([windows(part.uplink, features) for part in parts]),
        learns_away=column((m.learns_while_away for m in methods), np.uint8),
        picks=column((m.subset is not None for m in methods), np.uint8),
        subset=column((m.subset or 0.0 for m in methods), np.float64),
        mu=column((m.step_size or 0.0 for m in methods), np.float64),
        max_age=column((m.max_age or 0 for m in methods), np.int64),
        by_coverage=column((part.server.divisor == "coverage" for part in parts), np.uint8),
        exchange=column((EXCHANGES[m.exchange] for m in methods), np.int64),
        weight=np.array([_weights(method, ages) for method in methods], dtype=np.float64),
    )


def _weights(method: Algorithm, ages: IntArray) -> list[float]:
    """Return weights by age.

    An age that the method drops has weight 0, whatever its function says.
    """
    limit, staleness = (
        method.max_age or 0,
        method.require_paper_parts("the family").server.staleness,
    )
    return [weight_of(staleness, age) if age <= limit else 0.0 for age in ages.tolist()]


def windows(channel: Windows, features: int) -> tuple[int, int, int]:
    """Return windows as numbers: width, windows further on per client, windows ahead."""
    return channel.size(features), int(not channel.coordinated), channel.ahead


def model(
    fourier_map: FourierMap,
    precision: Precision,
    methods: Sequence[Algorithm],
    clients: int,
    ages: IntArray,
    *,
    start: FloatArray,
    newcomers_whole: bool,
    judged: NDArray[Any],
) -> FamilyModels:
    """Return all models at the start, with no message on its way; `judged` has room for errors."""
    real = np.dtype(precision).type
    blocks, features, algorithms = blocks_of(clients), fourier_map.features, len(methods)
    row = -(-features // _PAD) * _PAD
    here, longest = blocks.size - 1, int(ages[-1])
    age_index = np.full(longest + 1, -1)
    age_index[ages] = np.arange(ages.size)
    cells = (here, int((ages + 1).sum()), algorithms)
    if 12 * math.prod(cells) * features > _MOST_IN_FLIGHT:
        raise InputError(
            f"keeping messages of up to {longest} ticks on their way would take more than "
            f"{_MOST_IN_FLIGHT >> 30} GiB: lower max_age"
        )
    live = any(method.exchange == "live" for method in methods)
    frequencies, phases, cosine, ranges = mapping(fourier_map, precision)
    local = _aligned_zeros((clients, algorithms, row), real)
    local[..., :features] = start
    joins = kernels.UNASKED if newcomers_whole else kernels.JOINED
    return FamilyModels(
        blocks=blocks,
        frequencies=frequencies,
        phases=phases,
        cosine=cosine,
        ranges=ranges,
        server=np.tile(start, (algorithms, 1)),
        shared=np.tile(start, (algorithms, 1)).astype(real),
        local=local,
        mapped=_aligned_zeros((here, kernels.GROUP, row), real),
        gram=np.zeros((here, 6), dtype=real),
        age_index=age_index,
        base=np.cumsum(ages + 1) - (ages + 1),
        period=ages + 1,
        sums=np.zeros((*cells, features)),
        holders=np.zeros((*cells, features), dtype=np.int32),
        counts=np.zeros(cells, dtype=np.int64),
        settled=np.zeros(features, dtype=np.uint8),
        judged=judged,
        answers=np.zeros((longest + 1, algorithms, clients) if live else (1, 0, 0), dtype=np.uint8),
        joins=np.full((algorithms, clients), joins),
        contacts=np.zeros((here, algorithms), dtype=np.int64),
        wholes=np.zeros((here, algorithms), dtype=np.int64),
    )


def mapping(fourier_map: FourierMap, precision: Precision) -> tuple[Any, Any, Any, Any]:
    """Return the map as the kernels take it: frequencies, phases, series of the cosine, ranges."""
    real = np.dtype(precision).type
    turns, scale = 1 / math.tau, fourier_map.fourier_scale
    padding = (0, -fourier_map.frequencies.shape[0] % kernels.GROUP), (0, 0)
    return (
        laid_out(np.pad(fourier_map.frequencies * turns, padding), real),
        laid_out(fourier_map.phases * turns, real),
        tuple(real(scale * c) for c in kernels.sine_series(_SINE_TERMS[precision])),
        laid_out(np.stack(fourier_map.ranges), np.float64),
    )


def unjudged(algorithms: int, samples: int, precision: DTypeLike) -> NDArray[Any]:
    """Return zeros for the errors of both models of every algorithm on every sample."""
    return np.zeros((algorithms, 2, samples), dtype=precision)


def _aligned_zeros(shape: tuple[int, ...], real: type[np.generic]) -> NDArray[Any]:
    """Return zeros whose rows begin on cache lines: other loads take up to 25% longer."""
    size = math.prod(shape) * np.dtype(real).itemsize
    raw = np.zeros(size + _LINE, dtype=np.uint8)
    offset = -raw.ctypes.data % _LINE
    return raw[offset : offset + size].view(real).reshape(shape)
