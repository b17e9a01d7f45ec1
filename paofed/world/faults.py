"""Faults: what broken devices measure and what broken or dishonest ones send.

Faulty readings are wrong before anything is learned from them; faulty messages become wrong on
their way to the server. The values on which the fleet is judged are never faulty. Which clients a
fault hits is drawn anew in every run. The command line has each fault as one word, such as
`stuck:at=50`.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, PlainValidator, TypeAdapter, model_validator

from paofed.core.arrays import BoolArray, FloatArray, IntArray, WordArray
from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.core.parts import SERVER, Stamp, draws
from paofed.core.random import Key, normal, philox
from paofed.errors import ScenarioError, unknown
from paofed.words import number_or_text
from paofed.world.value import Probability, Value, threshold

_FAR = 1e30  # a fault of this size is obvious, and its numbers are still finite
_Number = Annotated[float, Field(ge=-_FAR, le=_FAR)]
_Size = Annotated[float, Field(gt=0, le=_FAR)]
_Tick = Annotated[int, Field(ge=0, lt=2**31)]


def _affected(value: Any) -> float | tuple[int, ...]:
    """Check whom a fault hits: a share of the fleet, a count, or a list of clients."""
    if isinstance(value, list | tuple):
        if value and all(type(k) is int and k >= 0 for k in value):
            if len(set(value)) == len(value):
                return tuple(value)
            raise ValueError("a client is given twice")
    elif (type(value) is int and value >= 1) or (type(value) is float and 0 < value < 1):
        return value
    raise ValueError("expected a share below 1, a count from 1 on, or a list of clients")


class Hits(NamedTuple):
    """Tick and client of the M samples of a run, and which of the samples a fault hits."""

    tick: IntArray  # (M,), in order
    client: IntArray  # (M,)
    at: IntArray  # (H,), indices of the samples that are hit
    words: WordArray  # (4, H): random words for these samples


class Fault(Value):
    """Something that is wrong with some clients for some time."""

    clients: Annotated[float | tuple[int, ...], PlainValidator(_affected)]
    start: _Tick = 0
    end: _Tick | None = None  # the first tick without the fault; None: the fault stays

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.end is not None and self.end <= self.start:
            raise ValueError(f"end is {self.end}: expected a tick after the start, {self.start}")
        return self

    def how_many(self, clients: int) -> int:
        """Return how many of so many clients the fault hits.

        A share is rounded, to at least one.
        """
        if isinstance(self.clients, tuple):
            return len(self.clients)
        return self.clients if type(self.clients) is int else max(1, round(self.clients * clients))

    def picked(self, number: int, key: Key, clients: int) -> BoolArray:
        """Return who is hit, (K,): the clients listed, or those with the lowest drawn numbers.

        `number` is the place of the fault among all faults of a scenario. The key is that of what
        goes up in the run (paofed.core.parts.keys_of), so that a channel can draw the same.
        """
        hit = np.zeros(clients, dtype=bool)
        if isinstance(self.clients, tuple):
            hit[list(self.clients)] = True
        else:
            numbers = draws(Stamp(SERVER, number, 0, key), clients)
            hit[np.argsort(numbers, kind="stable")[: self.how_many(clients)]] = True
        return hit

    def lasts(self, tick: IntArray) -> BoolArray:
        """Return at which of these ticks the fault is present."""
        there: BoolArray = tick >= self.start
        return there if self.end is None else there & (tick < self.end)


class FaultyReadings(Fault):
    """A fault of a sensor: changes what clients measure, and so what they learn from."""

    # The target, or an input: the name of its column, or its index from 0 on.
    what: str | int = "target"

    def changed(self, values: FloatArray, hits: Hits) -> FloatArray:
        """Return what is measured at the samples that are hit.

        `values` (M,) are the right values.
        """
        raise NotImplementedError


class Stuck(FaultyReadings):
    """The sensor repeats one value: a given one, or its last value before the fault."""

    kind: Literal["stuck"] = "stuck"
    at: _Number | None = None

    def changed(self, values: FloatArray, hits: Hits) -> FloatArray:
        """Repeat the value `at`, or the client's last value before the fault.

        A client without a value from before the fault repeats the first value in it.
        """
        if self.at is not None:
            return np.full(hits.at.size, self.at)
        held = np.zeros(int(hits.client.max(initial=0)) + 1)
        for known in (hits.at[::-1], np.flatnonzero(hits.tick < self.start)):
            # Of several values of a client, the last one in `known` stays.
            held[hits.client[known]] = values[known]
        return held[hits.client[hits.at]]


class Scaled(FaultyReadings):
    """A wrong unit: values are multiplied."""

    kind: Literal["scaled"] = "scaled"
    by: _Number

    def changed(self, values: FloatArray, hits: Hits) -> FloatArray:
        """Multiply the values that are hit."""
        return values[hits.at] * self.by


class Spikes(FaultyReadings):
    """Now and then a value is far off, in either direction."""

    kind: Literal["spikes"] = "spikes"
    size: _Size
    probability: Probability = 1.0  # the probability that a sample is hit
    # The most spikes of each client; None: no limit.
    count: Annotated[int, Field(ge=1)] | None = None

    def changed(self, values: FloatArray, hits: Hits) -> FloatArray:
        """Add or subtract `size` at the samples that chance picks."""
        there, sign = hits.words[0] < threshold(self.probability), hits.words[1] & 1
        if self.count is not None:
            there[there] = _occurrence(hits.client[hits.at[there]]) < self.count
        spikes: FloatArray = self.size * there * (2.0 * sign - 1.0)
        return values[hits.at] + spikes


class Drift(FaultyReadings):
    """The sensor loses its zero: an offset that grows with every tick."""

    kind: Literal["drift"] = "drift"
    per_tick: _Number

    def changed(self, values: FloatArray, hits: Hits) -> FloatArray:
        """Add an offset of `per_tick` for every tick since `start`, that tick included."""
        return values[hits.at] + self.per_tick * (hits.tick[hits.at] + 1 - self.start)


class Noise(FaultyReadings):
    """A loose contact: normal noise is added."""

    kind: Literal["noise"] = "noise"
    deviation: _Size

    def changed(self, values: FloatArray, hits: Hits) -> FloatArray:
        """Add normal noise of the given standard deviation."""
        return values[hits.at] + self.deviation * normal(hits.words[2])


class FaultyMessages(Fault):
    """A fault of what clients send; the clients measure and learn as usual."""


class Garbage(FaultyMessages):
    """Messages hold random numbers, uniform from -size to size."""

    kind: Literal["garbage"] = "garbage"
    size: _Size


class Liar(FaultyMessages):
    """Messages hold the client's model plus the same offset on every number, every time."""

    kind: Literal["liar"] = "liar"
    push: _Number


AnyFault = Annotated[
    Stuck | Scaled | Spikes | Drift | Noise | Garbage | Liar, Field(discriminator="kind")
]
FAULTS: TypeAdapter[tuple[AnyFault, ...]] = TypeAdapter(
    Annotated[tuple[AnyFault, ...], Field(strict=False)]
)
KINDS: dict[str, type[Fault]] = {
    kind.model_fields["kind"].default: kind
    for kind in (Stuck, Scaled, Spikes, Drift, Noise, Garbage, Liar)
}


class Chance(NamedTuple):
    """The run whose random numbers decide about faults, and how many clients it has."""

    who: Key
    what: Key
    purpose: int
    clients: int


class Measured(NamedTuple):
    """The M samples of a run, in order of ticks, as the clients' sensors give them."""

    tick: IntArray  # (M,)
    client: IntArray  # (M,)
    x: FloatArray  # (M, d)
    y: FloatArray  # (M,)

    def with_faults(
        self,
        faults: Iterable[tuple[int, FaultyReadings]],
        records: Sequence[Transform],
        chance: Chance,
    ) -> "Measured":
        """Apply faults, given with their numbers, one after the other.

        `records` are those of the inputs and, last, of the target: see `column_of`.
        """
        columns = np.column_stack([self.x, self.y])
        for number, fault in faults:
            picked = fault.picked(number, chance.who, chance.clients)
            hit = np.flatnonzero(picked[self.client] & fault.lasts(self.tick))
            counters = self.client[hit], self.tick[hit], number, chance.purpose
            hits = Hits(self.tick, self.client, hit, philox(chance.what, *counters))
            at, record = column_of(fault.what, records)
            values = record.measured(columns[:, at])
            columns[hit, at] = _learned(record, fault.changed(values, hits))
        return self._replace(x=columns[:, :-1], y=columns[:, -1])


def _learned(record: Number, values: FloatArray) -> FloatArray:
    """Return what a model sees of measured values; a log1p takes negative values as 0."""
    known = np.maximum(values, 0.0) if record.logarithm else values
    return record.numbers(known)[:, 0]


def column_of(what: str | int, records: Sequence[Transform]) -> tuple[int, Number]:
    """Return the index, among inputs and target, of what a fault changes, and its record.

    `records` has that of each number that a model sees, the target's last. Raises ValueError.
    """
    *inputs, target = records
    names = [record.name for record in inputs]
    if what == "target":
        if target.name and target.name in names:
            raise ValueError(
                "expected an input, since lags of the target are inputs and stay right"
            )
        at, alone = len(names), True
    else:
        places: dict[str | int, int] = {i: i for i in range(len(names))}
        places |= {name: i for i, name in enumerate(names) if name}
        if what not in places:
            known = ", ".join([*dict.fromkeys(filter(None, names)), f"0 to {len(names) - 1}"])
            raise ValueError(f"expected target or an input ({known})")
        at = places[what]
        alone = not names[at] or names.count(names[at]) == 1
    record = records[at]
    if alone and isinstance(record, Number) and record.lags == (0,):
        return at, record
    raise ValueError(
        f"{record.name} is not one number, or has lags: expected target or another input"
    )


def _occurrence(values: IntArray) -> IntArray:
    """Return for each value how many equal values come before it.

    >>> _occurrence(np.array([7, 5, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    found = np.empty_like(values)
    found[order] = np.arange(values.size) - np.searchsorted(ordered, ordered)
    return found


def parted(text: str) -> dict[str, Any]:
    """Split a word such as `stuck:at=50` into a dictionary; several clients are joined by +.

    >>> parted("stuck:at=50,clients=3+17")
    {'kind': 'stuck', 'at': 50, 'clients': [3, 17]}
    """
    kind, _, said = text.partition(":")
    if kind not in KINDS:
        raise ScenarioError(f"{text}: {unknown('fault', kind, KINDS)}")
    values: dict[str, Any] = {"kind": kind}
    for pair in said.split(",") if said else []:
        key, equals, value = pair.partition("=")
        if key not in KINDS[kind].model_fields or key == "kind":
            known = [name for name in KINDS[kind].model_fields if name != "kind"]
            raise ScenarioError(f"{text}: {unknown('option', key, known)}")
        if not equals:
            raise ScenarioError(f"{text}: option {key!r} has no value: write {key}=VALUE")
        if key in values:
            raise ScenarioError(f"{text}: option {key!r} is given twice")
        values[key] = _clients(value) if key == "clients" else number_or_text(value)
    return values


def worded(fault: Fault) -> str:
    """Write a fault as a word that `parted` reads; defaults are left out.

    >>> from paofed.world.faults import Stuck
    >>> worded(Stuck(clients=(3, 17), at=50.0))
    'stuck:clients=3+17,at=50'
    """
    values = fault.model_dump(exclude_defaults=True)
    said = ",".join(f"{key}={_said(value)}" for key, value in values.items())
    return f"{type(fault).model_fields['kind'].default}:{said}"


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(map(str, value)) + "+" * (len(value) == 1)
    return str(value).removesuffix(".0")


def _clients(text: str) -> object:
    """Read clients by number as a list: 3+17 is two clients, 3+ is client 3 alone."""
    if "+" not in text[1:]:
        return number_or_text(text)
    return [number_or_text(part) for part in text.split("+") if part]
