"""What a contact costs, expected before any run."""

from paofed.algorithms.base import Algorithm
from paofed.core.metrics import Traffic
from paofed.errors import AlgorithmError
from paofed.theory.fleet import Contacts


def expected(contacts: Contacts, method: Algorithm, features: int) -> Traffic:
    """Return the traffic per client and tick, mean over the fleet: exact for any presence.

    Means of dependent events add up too, so no independence is needed.
    """
    rate = float(contacts.available.mean()) * picked_share(method)
    down, up, _ = method.require_paper_parts("theory")
    return Traffic.of_floats(rate, up.size(features), down.size(features))


def picked_share(method: Algorithm) -> float:
    """Return the share of the available clients that takes part."""
    if method.subset is None:
        return 1.0
    if method.subset >= 1:
        raise AlgorithmError(
            f"{method.name} picks a fixed number of clients ({method.subset}), so who takes part "
            f"depends on everybody: theory needs a subset that is a fraction"
        )
    return method.subset
