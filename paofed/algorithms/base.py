"""The Algorithm record: what a federated method is made of."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Literal, NamedTuple, get_args

from paofed.core.bounded import Bounded
from paofed.core.learners import chosen
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError, unknown

# Three orders in which a contact moves numbers; the reference engine spells them out.
Exchange = Literal["paper", "single", "live"]


LONGEST = 1_000_000  # the most ticks that a message may be late


class Settled(NamedTuple):
    """The two numbers that an algorithm may leave to the scenario, filled in."""

    step_size: float
    max_age: int


# What an algorithm without them has over a trace, which comes without a scenario.
REPLAYED = Settled(step_size=0.4, max_age=10)


class PaperParts(NamedTuple):
    """The channels and the server rule of a method of the paper's family."""

    downlink: Windows
    uplink: Windows
    server: Newest


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One method: numbers and small records of pure functions, nothing else.

    A new method is a new record. `step_size` and `max_age` may be left to the scenario (None).
    """

    name: str
    downlink: Windows | Channel
    uplink: Windows | Channel
    server: Newest | Bounded | ServerRule
    learns_while_away: bool
    learner: Learner = LMS
    subset: float | None = None
    step_size: float | None = None
    max_age: int | None = None
    exchange: Exchange = "paper"

    def __post_init__(self) -> None:
        for part, kinds in _KINDS.items():
            _check_part(self.name, part, getattr(self, part), kinds)
        if self.step_size is not None:
            check_step_size(self.step_size)
        if self.max_age is not None:
            check_max_age(self.max_age)
        if self.subset is not None:
            check_subset(self.subset)
        _one_of("exchange", self.exchange, get_args(Exchange))

    def settled(self, *, step_size: float, max_age: int) -> Settled:
        """Return the algorithm's own step size and age limit, or these where it has none."""
        mu = step_size if self.step_size is None else self.step_size
        limit = max_age if self.max_age is None else self.max_age
        check_step_size(mu)
        check_max_age(limit)
        return Settled(mu, limit)

    def require_fits(self, features: int) -> None:
        """Refuse a model of `features` coordinates if the algorithm cannot work on it."""
        both = self.downlink, self.uplink
        sizes = [channel.size(features) for channel in both if isinstance(channel, Windows)]
        received = isinstance(self.uplink, Windows) and self.uplink == self.downlink
        if self.exchange == "live" and not self.downlink.served:
            raise AlgorithmError(
                f"{self.name} has a downlink of its own, so it cannot do exchange 'live', in which "
                f"the size of an answer is known before it is sent: use 'paper' or 'single'",
                key="exchange",
            )
        if self.exchange != "paper" and received and sizes[0] < features:
            raise AlgorithmError(
                f"{self.name} sends back the window it has just received, so it cannot do exchange "
                f"{self.exchange!r}: use 'paper', or a version whose uplink is the next window",
                key="exchange",
            )

    @property
    def steps_by_lms(self) -> bool:
        """Whether devices take LMS steps; step sizes of other learners mean something else."""
        known = chosen(self.learner)
        return known is not None and known.learner == "lms"

    @property
    def paper_parts(self) -> PaperParts | None:
        """The channels and the server rule if they and the learner are the paper's, else None."""
        down, up, server = self.downlink, self.uplink, self.server
        if isinstance(down, Windows) and isinstance(up, Windows) and isinstance(server, Newest):
            return PaperParts(down, up, server) if self.learner == LMS else None
        return None

    def require_paper_parts(self, who: str) -> PaperParts:
        """Return `paper_parts`, or refuse the algorithm: `who` knows no other parts."""
        parts = self.paper_parts
        known = chosen(self.learner)
        if known is not None and known.learner != "lms":
            raise AlgorithmError(
                f"{self.name} learns by {known.learner}: {who} knows LMS steps alone; leave out "
                f"learner"
            )
        cuts = [option for option, used in self._bounds.items() if used]
        if parts is None and cuts:
            raise AlgorithmError(
                f"{self.name} cuts what lies far out, which is not linear: {who} knows linear "
                f"rules alone; leave out {' and '.join(cuts)}"
            )
        if parts is None:
            raise AlgorithmError(
                f"{self.name} has rules of its own: {who} knows windows, LMS steps and the paper's "
                f"server alone"
            )
        return parts

    @property
    def can_bound(self) -> tuple[str, ...]:
        """The options, "clip" and "bound", by which its parts can bound one message or sample."""
        clip = () if isinstance(self.server, ServerRule) else ("clip",)
        return clip if chosen(self.learner) is None else (*clip, "bound")

    @property
    def can_be_bounded(self) -> bool:
        """Whether the server bounds what one device can do, or would with the option "clip"."""
        return "clip" in self.can_bound or self.server.bounded

    @property
    def unserved(self) -> str | None:
        """Say why no live fleet can follow the method; None if its parts say that one can."""
        down, up = self.downlink, self.uplink
        if self.subset is not None:
            return "its server picks who takes part before any contact"
        if isinstance(down, Windows) and down.width is not None and down == up:
            return "it sends back the window it has just received, which takes two round trips"
        if isinstance(down, Windows) and isinstance(up, Windows) and down.width != up.width:
            return "its windows up and down differ in width, and a fleet agrees on one width"
        for part in _KINDS:
            record = getattr(self, part)
            if not record.served:
                return record.why_not or (
                    f"its {part} does not say that it can be (`served` of {type(record).__name__})"
                )
        return None

    @property
    def _bounds(self) -> dict[str, bool]:
        """The options that bound what one message or sample can do, and whether each is in use."""
        known = chosen(self.learner)
        bounded = known is not None and known.bound is not None
        return {"clip": isinstance(self.server, Bounded), "bound": bounded}

    def forgets(self, max_age: int) -> str | None:
        """Say of an algorithm that messages may be older than its server remembers, or None.

        `max_age` is for an algorithm without its own age limit.
        """
        limit = max_age if self.max_age is None else self.max_age
        reach = self.server.reach if isinstance(self.server, ServerRule) else None
        if reach is None or limit <= reach:
            return None
        return (
            f"remembers {reach} past models, and messages may be {limit} ticks old: "
            f"older ones are measured against the wrong model; give memory={limit}"
        )

    @property
    def waives(self) -> dict[str, tuple[str, ...]]:
        """The promises of the contract that each part waives: it does not keep them, on purpose."""
        return {part: getattr(self, part).waives for part in _KINDS}

    def describe(self) -> dict[str, object]:
        """Name every part in plain words and numbers, for provenance.

        `learns_by` is the learner as the option `learner` names it, or None for another learner.
        """
        known = chosen(self.learner)
        parts = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {**parts, "learns_by": None if known is None else known.learner}


_KINDS: Mapping[str, tuple[type, ...]] = {
    "downlink": (Windows, Channel),
    "uplink": (Windows, Channel),
    "server": (Newest, Bounded, ServerRule),
    "learner": (Learner,),
}


def _check_part(name: str, part: str, record: object, kinds: tuple[type, ...]) -> None:
    """Refuse a part of another class than `kinds`, or one with a field that is no function."""
    if not isinstance(record, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise AlgorithmError(f"{name}: its {part} is {record!r}: expected {expected}")
    waived: object = getattr(record, "waives", ())
    if not isinstance(waived, tuple) or not all(isinstance(promise, str) for promise in waived):
        raise AlgorithmError(f"{name}: its {part} waives {waived!r}: expected a tuple of names")
    if isinstance(record, Channel) and (record.encode is None) != (record.decode is None):
        raise AlgorithmError(
            f"{name}: its {part} has only one of encode and decode: give both, or neither for "
            f"values as float32"
        )
    for field in fields(record) if isinstance(record, Learner | Channel | ServerRule) else ():
        value = getattr(record, field.name)
        is_function = field.name not in ("waives", "served", "reach", "why_not", "bounded")
        if is_function and value is not None and not callable(value):
            raise AlgorithmError(
                f"{name}: {field.name} of its {part} is {value!r}: expected a function"
            )


def require_record(value: object) -> Algorithm:
    """Take an Algorithm and refuse everything else."""
    if not isinstance(value, Algorithm):
        raise AlgorithmError(
            f"{value!r} is no algorithm: expected a name such as 'pao-fed-u1', or an Algorithm"
        )
    return value


def _plain(value: object) -> object:
    """Turn a part into plain JSON values that are the same text in every process."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.repr}
        return {"kind": type(value).__name__} | {key: _plain(part) for key, part in parts.items()}
    if isinstance(value, partial):
        parts = {"function": value.func, "arguments": value.args}
        keywords = {key: _plain(part) for key, part in value.keywords.items()}
        said = {key: _plain(part) for key, part in parts.items()}
        return {"kind": "partial", **said, "keywords": keywords}
    # Functions have a name, other objects have that of their class.
    named = value if hasattr(value, "__qualname__") else type(value)
    text = repr(value)
    return f"{named.__module__}.{named.__qualname__}" if " at 0x" in text else text


def check_step_size(value: float) -> None:
    """Refuse a step size that is not a positive, finite number."""
    if not _is_number(value) or not value > 0:
        raise AlgorithmError(
            f"step size is {value!r}: expected a finite number above 0", key="step_size"
        )


def check_max_age(value: int) -> None:
    """Refuse an age limit that is not a whole number from 0 on."""
    if not _is_whole(value) or not 0 <= value <= LONGEST:
        raise AlgorithmError(
            f"max age is {value!r}: expected a whole number of ticks from 0 to {LONGEST}",
            key="max_age",
        )


def check_subset(value: float) -> None:
    """Refuse a subset that is neither a fraction nor a count."""
    fraction = _is_number(value) and 0 < value < 1
    count = _is_whole(value) and value >= 1
    if not (fraction or count):
        raise AlgorithmError(
            f"subset is {value!r}: expected a fraction above 0 and below 1, "
            f"or a whole number of clients from 1 on",
            key="subset",
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _one_of(kind: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise AlgorithmError(unknown(kind, str(value), known), key=kind)
