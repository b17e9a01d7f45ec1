"""Where things stand in the memory of a block that plays one algorithm through one run."""

from typing import Any, NamedTuple

from numba import uint64

from paofed.simulate.engines.gpu.lanes import LANES, SIMULATED, inlined
from paofed.simulate.engines.gpu.steps import ModelShape, start_of

# Warps that learn, and the most warps that serve.
LEARNERS, _MOST_SERVERS = (2, 3) if SIMULATED else (9, 7)
# How many places of a tick's list the learning warps look at together, one for each lane.
ACROSS = LEARNERS * LANES
# The numbers of a contact: where the client's row begins, the first coordinates of what it sends
# and of what it hears after that (or -1), and the cell of its message, or one of these.
RECORD = 4
NOW, NEVER = -1, -2
# The algorithm's numbers are in a block's memory, and read anew in every half of a tick: otherwise
# the compiler would keep everything that follows from them in registers, of which there are too
# few.
WAY, LIMIT, COVERAGE, LEARNS, TAKES, HEARD, HEARS, SENDS, _RULES = 0, 1, 2, 3, 4, 5, 6, 9, 12


class BlockMemory(NamedTuple):
    """Where things stand in a block's memory, each in units of its own size."""

    server: int  # D reals; before it in float64 the server's model, as it is and as it may be,
    # and the weights by age
    sample: int  # the samples that the learning warps look at, warp by warp and lane by lane
    local: int  # K rows of D reals
    record: int  # the numbers of every contact: see RECORD
    arriving: int  # which cell of every age arrives now
    base: int  # the first cell of every age, and the end of the last
    age: int  # the index of every age in the list of ages
    messages: int  # how many messages every cell has
    met: int  # how many contacts there were until now
    rules: int  # the algorithm's numbers: see WAY and those after it
    size: int  # in bytes


def servers_of(shape: ModelShape) -> int:
    """Return how many warps serve."""
    return min(-(-shape.features // LANES), _MOST_SERVERS)


def threads_of(shape: ModelShape) -> int:
    """Return how many threads a block has."""
    return LANES * (servers_of(shape) + LEARNERS)


def rounds_of(clients: int) -> int:
    """Return in how many rounds the lanes of the learning warps look at all clients."""
    return -(-clients // ACROSS)


def layout_of(shape: ModelShape, clients: int, ages: int, longest: int, cells: int) -> BlockMemory:
    """Lay out a block's memory."""
    real = shape.size
    server = 16 * shape.features + 8 * ages
    sample = server + real * shape.features
    local = sample + real * (shape.inputs + 1) * ACROSS
    record = (local + real * shape.features * clients) // 4
    arriving = record + RECORD * clients
    base, index = arriving + ages, arriving + 2 * ages + 1
    count = index + longest + 1
    met = count + cells
    rules = met + 1
    words = record, arriving, base, index, count, met, rules
    return BlockMemory(
        server // real, sample // real, local // real, *words, size=4 * (rules + _RULES)
    )


@inlined
def window_start(whole: Any, windows: Any, k: Any, n: Any, features: Any) -> Any:
    """Return the first coordinate of a window, whose numbers are in a block's memory."""
    width, apart = whole[uint64(windows)], whole[uint64(windows + 1)]
    return start_of(width, apart, whole[uint64(windows + 2)], k, n, features)
