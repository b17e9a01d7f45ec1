"""The contract of an algorithm as named promises: for the registry, and for anyone's own.

    from paofed import check_algorithm
    check_algorithm(my_algorithm)       # raises ContractError, naming the promise and the part

Each check is deterministic. A part that does not keep a promise on purpose waives the promise by
name in its record, and is held to all the others. A new engine joins the promise `engines agree` by
being listed in `paofed.simulate.engines.ENGINES`.
"""

from collections.abc import Callable, Mapping

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import resolve
from paofed.checks import channels, learners, methods, servers
from paofed.checks.cases import CLIENTS, FEWEST, large_for, usual_for
from paofed.core.parts import told_sizes
from paofed.errors import AlgorithmError, ContractError, RuleError, unknown, whole
from paofed.simulate.engines.guarded import guarded

# Takes a part, then for a channel how many numbers its sender tells; for a learner or a server the
# features of a model and how many numbers the other side tells; for a method the features alone.
# Returns what is wrong.
Check = Callable[..., str | None]

PROMISES: Mapping[str, Mapping[str, Check]] = {
    "channel": channels.PROMISES,
    "learner": learners.PROMISES,
    "server": servers.PROMISES,
    "method": methods.PROMISES,
}
CHECKS = tuple(dict.fromkeys(name for promises in PROMISES.values() for name in promises))
_KINDS = {
    "downlink": "channel",
    "uplink": "channel",
    "learner": "learner",
    "server": "server",
    "method": "method",
}


def check_algorithm(method: str | Algorithm, *, features: int | None = None) -> None:
    """Hold the algorithm `method`, a name or a record, to every promise that it does not waive.

    Models have as many `features` as asked for. Else they have 48, or more where a window needs
    more, and channels are also tried on 1000, since indices need more bits there.

    What each part promises first is that it can be used at all, and each part is tried before the
    whole method. So a mistake is told as the promise that it breaks, not as another promise whose
    check merely meets the mistake.
    """
    _check(method, features, CHECKS)


def check_one(name: str, method: str | Algorithm, *, features: int | None = None) -> None:
    """Hold an algorithm to one promise, by its name in CHECKS; `features` as `check_algorithm`."""
    if name not in CHECKS:
        raise ContractError(unknown("promise", name, CHECKS))
    _check(method, features, (name,))


def _check(method: str | Algorithm, features: int | None, names: tuple[str, ...]) -> None:
    alg = resolve(method)
    given = None if features is None else whole("features", features, least=FEWEST)
    alg.require_fits(usual_for(alg) if given is None else given)
    _require_known_waivers(alg)
    for part, kind in _KINDS.items():
        for name in PROMISES[kind]:
            if name in names and name not in _waived(alg, part):
                for size in (given,) if given is not None else _sizes(alg, kind):
                    _hold(alg, part, name, size)


def _sizes(alg: Algorithm, kind: str) -> tuple[int, ...]:
    """Return the sizes of the models on which parts of a kind are tried."""
    return (usual_for(alg), large_for(alg)) if kind == "channel" else (usual_for(alg),)


def _hold(alg: Algorithm, part: str, name: str, features: int) -> None:
    """Hold one part, or the whole method, to one promise."""
    fails = f"{alg.name} fails the check {name!r}: "
    check = PROMISES[_KINDS[part]][name]
    try:
        if part == "method":
            words, complaint = "", check(alg, features)
        else:
            watched = getattr(guarded(alg, features, CLIENTS), part)
            sizes = told_sizes(alg.learner, alg.server, features)
            given = {
                "uplink": (sizes.up,),
                "downlink": (sizes.down,),
                "learner": (features, sizes.down),
                "server": (features, sizes.up),
            }
            words, complaint = f"its {part} ", check(watched, *given[part])
    except RuleError as error:
        raise ContractError(fails + error.complaint) from error
    except AlgorithmError as error:
        raise ContractError(f"{fails}{error}") from error
    if complaint:
        raise ContractError(f"{fails}{words}{complaint}")


def _waived(alg: Algorithm, part: str) -> tuple[str, ...]:
    """Return the promises that a part waives; what any part waives, the whole method waives."""
    if part != "method":
        return alg.waives[part]
    return tuple(name for waived in alg.waives.values() for name in waived)


def _require_known_waivers(alg: Algorithm) -> None:
    for part, waived in alg.waives.items():
        known = (*PROMISES[_KINDS[part]], *PROMISES["method"])
        for name in waived:
            if name not in known:
                raise ContractError(
                    f"{alg.name}: its {part} waives {unknown('promise', name, known)}"
                )
