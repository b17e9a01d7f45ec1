"""The contract of an algorithm as named promises: for the registry, and for anyone's own.

    from paofed import check_algorithm
    check_algorithm(my_algorithm)       # raises ContractError, naming the promise and the part

Each check is deterministic. A part that does not keep a promise on purpose waives the promise by
name in its record, and is held to all the others. A new engine joins the promise `engines agree` by
being listed in `paofed.simulate.engines.ENGINES`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.checks import channels, learners, methods, servers
from paofed.checks.cases import CLIENTS, features_for
from paofed.errors import AlgorithmError, ContractError, unknown
from paofed.simulate.engines.guarded import guarded

# Takes a part and the features of a model, returns what is wrong.
Check = Callable[[Any, int], str | None]

PROMISES: Mapping[str, Mapping[str, Check]] = {
    "channel": channels.PROMISES,
    "learner": learners.PROMISES,
    "server": servers.PROMISES,
    "method": methods.PROMISES,
}
CHECKS = tuple(dict.fromkeys(name for promises in PROMISES.values() for name in promises))
_PARTS = {"downlink": "channel", "uplink": "channel", "learner": "learner", "server": "server"}


def check_algorithm(method: str | Algorithm) -> None:
    """Hold the algorithm `method`, a name or a record, to every promise that it does not waive."""
    for name in CHECKS:
        check_one(name, method)


def check_one(name: str, method: str | Algorithm) -> None:
    """Hold an algorithm to one promise, by its name in CHECKS."""
    if name not in CHECKS:
        raise ContractError(unknown("promise", name, CHECKS))
    alg = resolve(method)
    features = features_for(alg)
    alg.require_fits(features)
    _require_known_waivers(alg)
    fails = f"{alg.name} fails the check {name!r}: "
    try:
        for words, check, part in _held(name, alg, features):
            complaint = check(part, features)
            if complaint:
                raise ContractError(f"{fails}{words}{complaint}")
    # A rule raised an error of its own, which already names the algorithm.
    except AlgorithmError as error:
        raise ContractError(fails + str(error).removeprefix(f"{alg.name}: ")) from error


def _held(name: str, alg: Algorithm, features: int) -> Iterator[tuple[str, Check, Any]]:
    """Yield the checks of the promise `name`, each with words for the part and the part itself."""
    watched = guarded(alg, features, CLIENTS)
    for part, kind in _PARTS.items():
        check = PROMISES[kind].get(name)
        if check is not None and name not in alg.waives[part]:
            yield f"its {part} ", check, getattr(watched, part)
    check = PROMISES["method"].get(name)
    if check is not None and not any(name in waived for waived in alg.waives.values()):
        yield "", check, alg


def _require_known_waivers(alg: Algorithm) -> None:
    for part, waived in alg.waives.items():
        known = (*PROMISES[_PARTS[part]], *PROMISES["method"])
        for name in waived:
            if name not in known:
                raise ContractError(
                    f"{alg.name}: its {part} waives {unknown('promise', name, known)}"
                )
