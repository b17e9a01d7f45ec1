"""Which methods a live fleet can follow, and what it must know of them by name."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from paofed.algorithms import Algorithm, options_of
from paofed.algorithms.spec import parted
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.errors import unknown
from paofed.live.protocol.scaling import ManifestError, check, is_finite

# The row that shares everything, and how many parameters others usually share.
WHOLE, _FEW = "online-fedsgd", 4
ROWS = ("pao-fed-c1", "pao-fed-u1", "pao-fed-c2", "pao-fed-u2", WHOLE)
# Published servers, whose rules bound nobody's influence. They were made for whole models, but take
# windows as well: whatever is shared, devices do what those of pao-fed-u1 do.
UNBOUNDED = ("fed-async",)
# The windows and the server of pao-fed-u1, with fewer bits a value.
FEW_BITS = "quantised"
SERVED = (*ROWS, FEW_BITS, *UNBOUNDED)
_WHY_NOT = {
    "pao-fed-c0": "it sends back the window it has just received, which takes two round trips",
    "pao-fed-u0": "it sends back the window it has just received, which takes two round trips",
    "pso-fed": "its server picks who takes part before any contact",
    "online-fed": "its server picks who takes part before any contact",
    "fed-buff": "its model may diverge where devices start from an older one; fed-async's does not",
    "ca2fl": "its model may diverge where devices start from an older one; fed-async's does not",
    "cached-mean": "it keeps the last model of every device, and fed-async, which does not, is "
    "better at the same bytes",
}


def usual_shared(algorithm: str, features: int) -> int:
    """Return how many parameters travel in a contact by default."""
    return features if algorithm in (WHOLE, *UNBOUNDED) else min(_FEW, features)


def shares_alike(one: str, other: str) -> bool:
    """Whether what one method shares can be kept under the other."""
    families = ((WHOLE,), UNBOUNDED)
    return all((one in family) == (other in family) for family in families)


def own_options(algorithm: str) -> list[str]:
    """Return the options that a fleet may agree on for a method, beside a manifest's keys."""
    return [name for name in options_of(algorithm) if name != "shared"]


def require_served(algorithm: str) -> None:
    """Refuse a method that a live fleet cannot follow, and say why."""
    if algorithm in _WHY_NOT:
        raise ManifestError(
            f"{algorithm} cannot be served: {_WHY_NOT[algorithm]} (served: {', '.join(SERVED)})"
        )
    if algorithm not in SERVED:
        raise ManifestError(unknown("algorithm", algorithm, SERVED))


def require_options(algorithm: str, options: object) -> None:
    """Refuse options that are no numbers or not the method's; the method judges their values."""
    own = own_options(algorithm)
    expected = f"numbers for {', '.join(own)}, or none" if own else f"none for {algorithm}"
    given = options if isinstance(options, Mapping) else {}
    right = len(given) > 0 and given.keys() <= set(own) and all(map(is_finite, given.values()))
    check("options", right, options, expected)


def with_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a manifest with an algorithm's options separate, as a manifest has them.

    `values` may name an algorithm with its options, as in `fed-async:a=0.5`.
    """
    if "algorithm" not in values:
        return dict(values)
    require_served(values["algorithm"].partition(":")[0])
    algorithm, options = parted(values["algorithm"])
    return {**values, "algorithm": algorithm, "options": options or None}


class ServedParts(NamedTuple):
    """The parts of a method, each of which says that a live fleet may use it."""

    downlink: Windows | Channel
    uplink: Windows | Channel
    learner: Learner
    server: Newest | ServerRule


def served_parts(row: Algorithm) -> ServedParts:
    """Return the parts of a method; refuse a part that does not say that it is served."""
    parts = {name: getattr(row, name) for name in ServedParts._fields}
    for name, part in parts.items():
        if not part.served:
            raise ManifestError(
                f"{row.name} cannot be served: its {name} does not say that it can be "
                f"(`served` of {type(part).__name__})"
            )
    return ServedParts(**parts)
