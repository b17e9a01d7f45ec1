"""What methods are called in figures: by their names, where people write identifiers."""

from collections.abc import Mapping

from paofed.algorithms.outside import split
from paofed.algorithms.pao_fed import VERSIONS

# Methods that have a name in the literature; every other identifier stands for itself.
_NAMES: Mapping[str, str] = {
    "online-fedsgd": "Online-FedSGD",
    "online-fed": "Online-Fed",
    "pso-fed": "PSO-Fed",
    **{f"pao-fed-{version}": f"PAO-Fed-{version.upper()}" for version in VERSIONS},
    "fed-async": "FedAsync",
    "fed-buff": "FedBuff",
    "ace": "ACE",
    "aced": "ACED",
    "ca2fl": "CA2FL",
    "aso-fed": "ASO-Fed",
    "fed-at": "FedAT",
    "fed-prox": "FedProx",
}


def method_name(identifier: str) -> str:
    """Return how a figure calls an algorithm: the name of its method, then its options in words.

    The identifier of a method without a name in the literature is returned as it is.

    >>> method_name("pao-fed-u1:shared=32,step_size=0.2")
    'PAO-Fed-U1, shared 32, step size 0.2'
    """
    base, options = split(identifier)
    if base not in _NAMES:
        return identifier
    words = (options or "").replace("=", " ").replace("_", " ")
    return ", ".join(filter(None, (_NAMES[base], *words.split(","))))
