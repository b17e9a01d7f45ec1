"""What the kernels read and write: plain arrays, grouped; typed Any, since numba infers them."""

from typing import Any, NamedTuple


class Hazards(NamedTuple):
    """What takes contacts away, or what they carry; empty where a scenario has no such law."""

    any: Any  # bool
    began: Any  # (N,) int64: when the outage of a tick began, -1 where there is none; or (0,)
    share: Any  # (K,) uint64 threshold of being hit by one
    use: Any  # (K,) uint64 threshold of using a contact; or (0,)
    capacity: Any  # (K,) int64: contacts that a battery holds; or (0,)
    start: Any  # (K,) int64: likewise, before the first tick
    fill: Any  # (K,) uint64 threshold
    up: Any  # (K,) uint64 thresholds of losing what is sent; or (0,)
    down: Any


class Wrong(NamedTuple):
    """What F clients with faulty sensors measure, in the place of what is drawn."""

    who: Any  # (K,) int64: which of them a client is, or -1; or (0,)
    x: Any  # (F, N, d)
    y: Any  # (F, N)


class Nature(NamedTuple):
    """What happens: either thresholds and laws to draw from, or a trace (`traced`) to read.

    A trace is read at its B busy ticks alone, and there only at the clients to be looked at: who
    has a sample, gets an answer, or has samples left to learn at the end of a stretch.
    """

    key: Any  # (2,) uint64: the run's
    even: Any  # bool: arrivals are even rather than independent
    samples: Any  # (K,) int64: of every client over the run
    phase: Any  # (K,) int64, in units of 2^-phase_bits
    phase_bits: Any
    ticks: Any
    data: Any  # (K,) uint64 threshold
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
    drifts: Any  # (E,) int64: ticks from whose samples on the target is another
    takes: Any  # (E,) int64: ticks that each takes, or (0,) where all change at once
    client: Any  # (K,) int64: all of them; or (V,), those to be looked at, tick by tick
    traced: Any  # bool: read the arrays below instead
    busy: Any  # (B,) int64: ticks, rising
    begin: Any  # (B + 1,) int64: where the clients of each busy tick begin
    sample: Any  # (V,) int64: which of the M samples a client has at this tick, or -1
    x: Any  # (M, d): client by client, so that those which wait are neighbours
    y: Any  # (M,)
    truth: Any  # (M,): what models are judged on
    place: Any  # (M,) int64: where the sample stands in the order of ticks
    available: Any  # (M,) uint8
    delay: Any  # (M,) int64
    lottery: Any  # (M,) float64
    lost_up: Any  # (M,) uint8
    lost_down: Any


class Moment(NamedTuple):
    """What is so at this tick, for every client."""

    has_data: Any  # (K,) uint8
    available: Any  # (K,) uint8
    on: Any  # (K,) uint8: the link, with or without data
    hit: Any  # (K,) uint8: by the latest outage
    level: Any  # (K,) int64: contacts that the battery has left
    lost_up: Any  # (K,) uint8: what is sent at a contact of this tick never arrives
    lost_down: Any  # (K,) uint8: nor does what the server shares
    delay: Any  # (K,) int64
    lottery: Any  # (K,) float64
    now: Any  # (K, d) float64: where the series is
    begun: Any  # (K,) uint8
    picked: Any  # (A, K) uint8: who takes part
    scratch: Any  # (K,) float64
    words: Any  # (4, K) uint64: random words of the events
    todo: Any  # (B, STRETCH + 1) int64: ticks whose samples a client learns now
    draws: Any  # (B, 5, STRETCH) uint64: random words of those samples
    normals: Any  # (B, 5, STRETCH) float64
    x: Any  # (B, STRETCH, d) float64, padded to whole groups
    y: Any  # (B, STRETCH) float64
    roles: Any  # (B, STRETCH, 4) float64: inputs as the target takes them, where it changes
    past: Any  # (B, STRETCH) float64: y as the target before would have it
    newest: Any  # (K,) int64: the last of a client's samples, by its place in a trace
    pending: Any  # (K,) uint64: ticks of this stretch whose sample is not learned yet, as bits
    ahead: Any  # (K,) uint8: how many of them the live algorithms have learned


class Family(NamedTuple):
    """Algorithms as rows of numbers, A of each."""

    down: Any  # (A, 3) int64 windows: width, windows further on per client, windows ahead
    heard: Any  # int64: how many coordinates, from the first on, devices take over from a window
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
    base: Any  # (ages,) int64: an age of l needs l + 1 cells, used in turn; where they begin
    period: Any  # (ages,) int64: l + 1
    sums: Any  # (blocks, cells, A, D) float64: what is on its way
    holders: Any  # (blocks, cells, A, D) int32: by how many messages
    counts: Any  # (blocks, cells, A) int64: messages in all
    settled: Any  # (D,) uint8: coordinates that a newer age has moved
    mapped: Any  # (blocks, GROUP, row) real: z(x) of the client at hand, zero beyond D
    gram: Any  # (blocks, 6) real: products of these rows, 01 02 03 12 13 23
    judged: Any  # (A, 2, M) real: errors of the device's and the server's model on every sample,
    # those to come at 0, in the order of ticks; or (0, 2, 0) where nobody asks
    answers: Any  # (ring, A, K) uint8: who is answered at a tick, or (1, 0, 0) where nobody is
    joins: Any  # (A, K) int64: the tick of the answer with which a client gets the server's whole
    # model; UNASKED: none is on its way; JOINED: it has it, or newcomers get windows
    contacts: Any  # (blocks, A) int64
    wholes: Any  # (blocks, A) int64: contacts of newcomers among them


class Observed(NamedTuple):
    """Samples of a few ticks written out, tick after tick, for methods of one's own."""

    begin: Any  # (ticks + 1,) int64: where the samples of each tick begin
    place: Any  # (ticks, K) int64: where the sample of a client is
    client: Any  # (M,) int64
    row: Any  # (D,) real: one z as it is mapped
    z: Any  # (M, D) float64
    y: Any  # (M,) float64
    available: Any  # (M,) uint8
    delay: Any  # (M,) int64
    lottery: Any  # (M,) float64
    lost_up: Any  # (M,) uint8
    lost_down: Any  # (M,) uint8
