"""What a contact costs, expected before any run."""

from typing import NamedTuple

from paofed.algorithms.base import Algorithm
from paofed.core.metrics import payload_bytes
from paofed.errors import AlgorithmError
from paofed.theory.fleet import Contacts


class Cost(NamedTuple):
    """Expected traffic per client and tick."""

    contacts: float
    coordinates_up: float
    coordinates_down: float

    @property
    def bytes(self) -> float:
        """Payload bytes, both directions."""
        return payload_bytes(self.coordinates_up + self.coordinates_down)


def expected(contacts: Contacts, method: Algorithm, features: int) -> Cost:
    """Average over the fleet; exact for any law of presence, since means add."""
    rate = float(contacts.available.mean()) * picked_share(method)
    down, up, _ = method.require_paper_parts("theory")
    return Cost(rate, rate * up.size(features), rate * down.size(features))


def picked_share(method: Algorithm) -> float:
    """The share of the available clients that takes part."""
    if method.subset is None:
        return 1.0
    if method.subset >= 1:
        raise AlgorithmError(
            f"{method.name} picks a fixed number of clients ({method.subset}), so who takes part "
            f"depends on everybody: theory needs a subset that is a fraction"
        )
    return method.subset
