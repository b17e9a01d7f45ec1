"""What a live fleet asks the parts of a method: whether it can follow it, and how it usually does.

A method is named by a word as `made` takes it: one of paofed's own names, or the place of a method
that somebody named when this process began (paofed.algorithms.admitted). No other code is run.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from paofed.algorithms import OURS, Algorithm, made, options_of
from paofed.algorithms.admitted import admit, admitted, admitted_as
from paofed.algorithms.outside import split
from paofed.algorithms.setup import Setup
from paofed.core.parts import Channel, Learner, ServerRule, keys_of
from paofed.core.rules import Newest
from paofed.core.scaling import is_finite
from paofed.core.selection import Windows
from paofed.errors import unknown
from paofed.live.protocol.blocks import Blocks
from paofed.live.protocol.quantity import ManifestError, check

SHARED = "shared"  # the option of a row that says how many parameters travel in a contact


@cache
def served_names() -> tuple[str, ...]:
    """Return the names of paofed's own methods that a live fleet can follow."""
    return tuple(name for name in OURS if why_not_served(name) is None)


def is_ours(name: str) -> bool:
    """Whether a method is one of paofed's own."""
    return name in OURS


def why_not_served(name: str) -> str | None:
    """Say why no live fleet can follow a method; None if one can."""
    return usual_row(name).unserved


def usual_row(name: str) -> Algorithm:
    """Return a method with its usual options."""
    if not is_ours(name) and admitted_as(name) is None:
        raise ManifestError(unknown("algorithm", name, served_names()))
    # A server that picks is refused for that, before anybody has to say how many it picks.
    return made(name, {"subset": 1} if "subset" in options_of(name) else {})


def require_served(name: str) -> None:
    """Refuse a method that a live fleet cannot follow, and say why."""
    if (why := why_not_served(name)) is not None:
        raise ManifestError(f"{name} cannot be served: {why} (served: {', '.join(served_names())})")


def usual_shared(name: str, features: int) -> int:
    """Return how many parameters travel in a contact by default: what the row has by itself."""
    if not shapes(name):
        return Blocks(usual_row(name).uplink, features, keys_of(0).up).shared
    width: int | None = options_of(name)[SHARED].default
    return features if width is None else min(width, features)


def shares_alike(one: str, other: str) -> bool:
    """Whether what one method shares can be kept under the other."""
    usual = [options_of(name)[SHARED].default for name in (one, other) if shapes(name)]
    return one == other or (len(usual) == 2 and usual[0] == usual[1])


def shapes(name: str) -> bool:
    """Whether a method takes how many parameters travel as an option."""
    return SHARED in options_of(name)


def own_options(name: str) -> list[str]:
    """Return the options that a fleet may agree on for a method, beside a manifest's keys."""
    return [option for option in options_of(name) if option != SHARED]


def require_options(algorithm: str, options: object) -> None:
    """Refuse options that are no numbers or not the method's; the method judges their values."""
    own = own_options(algorithm)
    expected = f"numbers for {', '.join(own)}, or none" if own else f"none for {algorithm}"
    given = options if isinstance(options, Mapping) else {}
    right = len(given) > 0 and given.keys() <= set(own) and all(map(is_finite, given.values()))
    check("options", right, options, expected)


def word_of(algorithm: str, code: str | None) -> str:
    """Return the word of a method from its name and, if it is not paofed's, its code's digest."""
    return algorithm if code is None else admitted(algorithm, code).place


def of_own(word: str) -> dict[str, Any]:
    """Return the fields of a manifest for a method of one's own, as in `calm.py:calm:rate=0.5`."""
    method = admit(word)
    require_served(method.place)
    options = Setup.of(word).values or None
    return {"algorithm": method.name, "code": method.code, "options": options}


def with_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a manifest with an algorithm's options separate, as a manifest has them.

    `values` may name an algorithm with its options, as in `fed-async:a=0.5`.
    """
    if "algorithm" not in values:
        return dict(values)
    require_served(split(values["algorithm"])[0])  # before anybody's code is run for its options
    setup = Setup.of(values["algorithm"])
    return {**values, "algorithm": setup.row, "options": setup.values or None}


class ServedParts(NamedTuple):
    """The parts of a method, each of which says that a live fleet may use it."""

    downlink: Windows | Channel
    uplink: Windows | Channel
    learner: Learner
    server: Newest | ServerRule


def served_parts(row: Algorithm) -> ServedParts:
    """Return the parts of a method; refuse a method that says that it cannot be served."""
    if row.unserved is not None:
        raise ManifestError(f"{row.name} cannot be served: {row.unserved}")
    return ServedParts(**{name: getattr(row, name) for name in ServedParts._fields})
