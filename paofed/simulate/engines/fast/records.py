"""What the kernels read and write: plain arrays, grouped; typed Any, since numba infers them."""

from typing import Any, NamedTuple


class Hazards(NamedTuple):
    """What takes contacts or messages away; arrays are empty where a scenario has no such law."""

    any: Any  # bool
    # (N,) int64: the tick at which the outage of a tick began, -1 without an outage; or (0,).
    began: Any
    share: Any  # (K,) uint64 threshold of being hit by an outage
    use: Any  # (K,) uint64 threshold of using a contact; or (0,)
    capacity: Any  # (K,) int64: contacts that a battery holds; or (0,)
    start: Any  # (K,) int64: contacts in a battery before the first tick
    fill: Any  # (K,) uint64 threshold of gaining a contact
    up: Any  # (K,) uint64 thresholds of losing what is sent; or (0,)
    down: Any


class Wrong(NamedTuple):
    """What F clients with faulty sensors measure, instead of what is drawn."""

    who: Any  # (K,) int64: the index of a client among the F, or -1; or (0,)
    x: Any  # (F, N, d)
    y: Any  # (F, N)


class Nature(NamedTuple):
    """What happens: either thresholds and laws to draw from, or a trace (`traced`) to read.

    A trace is read at its B busy ticks alone, and there only for the clients to be visited: those
    that have a sample, get an answer, or have samples left to learn at the end of a stretch.
    """

    key: Any  # (2,) uint64: the key of the run
    even: Any  # bool: arrivals are even rather than independent
    samples: Any  # (K,) int64: samples of every client over the run
    phase: Any  # (K,) int64, in units of 2^-phase_bits
    phase_bits: Any
    ticks: Any
    data: Any  # (K,) uint64 threshold of having a sample
    first: Any  # (K,) uint64 thresholds of the link
    start: Any
    stay: Any
    presence: Any  # (N, K) uint8 recorded, or (0, 0)
    ladder: Any  # (G, L) uint64 falling thresholds of each group
    step: Any  # (G,) int64
    lateness: Any  # (N, K) int64 recorded, or (0, 0)
    hazards: Any  # Hazards
    wrong: Any  # Wrong
    memory: Any  # (K,) float64
    fresh: Any  # sqrt(1 - memory^2)
    centre: Any
    spread: Any
    noise: Any
    drifts: Any  # (E,) int64: ticks; the samples from each of them on have another target
    takes: Any  # (E,) int64: ticks that each change takes, or (0,) where all changes are at once
    client: Any  # (K,) int64: all clients; or (V,), the clients to be visited, tick by tick
    traced: Any  # bool: read the arrays below instead
    busy: Any  # (B,) int64: ticks, rising
    begin: Any  # (B + 1,) int64: where the clients of each busy tick begin
    sample: Any  # (V,) int64: which of the M samples a client has at this tick, or -1
    x: Any  # (M, d): client by client, so that samples that wait to be learned are neighbours
    y: Any  # (M,)
    truth: Any  # (M,): what models are judged on
    place: Any  # (M,) int64: where the sample stands in the order of ticks
    available: Any  # (M,) uint8
    delay: Any  # (M,) int64
    lottery: Any  # (M,) float64
    lost_up: Any  # (M,) uint8
    lost_down: Any
    # Due: what is learned at each sample of a trace whose labels are rare or late; its arrays are
    # (0,) where every sample is learned at once.
    due: Any


class Moment(NamedTuple):
    """The events of this tick for every client."""

    has_data: Any  # (K,) uint8
    available: Any  # (K,) uint8
    on: Any  # (K,) uint8: whether the link is on, with or without data
    hit: Any  # (K,) uint8: whether the latest outage hits the client
    level: Any  # (K,) int64: contacts that the battery has left
    lost_up: Any  # (K,) uint8: what is sent at a contact of this tick never arrives
    lost_down: Any  # (K,) uint8: what the server shares never arrives
    delay: Any  # (K,) int64
    lottery: Any  # (K,) float64
    now: Any  # (K, d) float64: the last inputs of the series
    begun: Any  # (K,) uint8: whether the series has begun
    picked: Any  # (A, K) uint8: who takes part
    scratch: Any  # (K,) float64
    words: Any  # (4, K) uint64: random words of the events
    todo: Any  # (B, STRETCH + 1) int64: ticks whose samples a client learns now
    draws: Any  # (B, 5, STRETCH) uint64: random words of those samples
    normals: Any  # (B, 5, STRETCH) float64
    x: Any  # (B, STRETCH, d) float64, padded to whole groups
    y: Any  # (B, STRETCH) float64
    # (B, STRETCH, 4) float64: inputs in the roles that the target gives them after drifts.
    roles: Any
    past: Any  # (B, STRETCH) float64: y by the target before the latest drift
    newest: Any  # (K,) int64: the client's last sample so far, by its index in a trace
    pending: Any  # (K,) uint64: ticks of this stretch whose sample is not learned yet, as bits
    ahead: Any  # (K,) uint8: how many of these samples the live algorithms have learned already


class Family(NamedTuple):
    """Algorithms as rows of numbers, A of each."""

    down: Any  # (A, 3) int64 windows: width, windows further on per client, windows ahead
    heard: Any  # int64: devices take over so many coordinates of a window, from the first on
    up: Any
    learns_away: Any
    picks: Any  # whether the server picks a subset
    subset: Any  # below 1: a fraction; else a count
    mu: Any  # float64
    max_age: Any
    by_coverage: Any
    exchange: Any  # 0 paper, 1 single, 2 live
    weight: Any  # (A, ages): alpha by position in the list of ages


class FamilyModels(NamedTuple):
    """Models and what is on its way to the server."""

    blocks: Any  # (B + 1,) int64: where the blocks of clients begin and end
    frequencies: Any  # (d, F) real, in turns (divided by 2 pi), padded to whole groups of inputs
    phases: Any  # (F,) real, in turns
    cosine: Any  # tuple of coefficients, scaled by sqrt(2/F), or sqrt(1/F) beside linear terms
    ranges: Any  # (2, d) float64: of the linear terms, or (2, 0) where there are none
    server: Any  # (A, D) float64
    shared: Any  # (A, D) real: the server's model as clients receive it
    local: Any  # (K, A, row) real: rows of D numbers, padded to whole cache lines
    age_index: Any  # (longest + 1,) int64: position of an age in the list of ages, or -1
    # (ages,) int64: where the cells of an age begin; age l needs l + 1 cells, used in turn.
    base: Any
    period: Any  # (ages,) int64: how many cells an age has, l + 1
    sums: Any  # (blocks, cells, A, D) float64: sums of the values on their way
    holders: Any  # (blocks, cells, A, D) int32: how many messages hold each value
    counts: Any  # (blocks, cells, A) int64: how many messages are summed
    settled: Any  # (D,) uint8: coordinates that a newer age has moved
    mapped: Any  # (blocks, GROUP, row) real: z(x) of the client at hand, zero beyond D
    gram: Any  # (blocks, 6) real: products of these rows, 01 02 03 12 13 23
    # (A, 2, M) real: errors of the device's and the server's model on every sample, in the order of
    # ticks, 0 for samples to come; or (0, 2, 0) where nobody asks for errors.
    judged: Any
    answers: Any  # (ring, A, K) uint8: who is answered at a tick, or (1, 0, 0) where nobody is
    # (A, K) int64: the tick of the answer with which a client gets the server's whole model;
    # UNASKED: no answer is on its way; JOINED: the client has it, or gets windows instead.
    joins: Any
    contacts: Any  # (blocks, A) int64
    # (blocks, A) int64: how many of these contacts are of newcomers, who get whole models.
    wholes: Any


class Observed(NamedTuple):
    """Samples of a few ticks written out, tick after tick, for methods of one's own."""

    begin: Any  # (ticks + 1,) int64: where the samples of each tick begin
    place: Any  # (ticks, K) int64: the index of a client's sample
    client: Any  # (M,) int64
    x: Any  # (M, d) float64, padded to whole groups
    y: Any  # (M,) float64
    available: Any  # (M,) uint8
    delay: Any  # (M,) int64
    lottery: Any  # (M,) float64
    lost_up: Any  # (M,) uint8
    lost_down: Any  # (M,) uint8
