"""Which candidates there are: methods that a live fleet can follow, options, shares of contacts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from paofed.algorithms import options_of
from paofed.algorithms.admitted import admit
from paofed.algorithms.base import Algorithm, Exchange
from paofed.algorithms.setup import Setup
from paofed.errors import AlgorithmError, InputError
from paofed.experiments.candidates import FEW_STEPS, PLANNED_STEPS, Axes, Entrant
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import ManifestError
from paofed.live.protocol.served import is_ours
from paofed.live.protocol.setups import manifest_of

if TYPE_CHECKING:  # names of candidates can be offered without what scenarios need
    from paofed.world.worlds import Setting

MOST_LEVELS = 8  # how many shares of contacts are tried: all of them, half, a quarter, ...
_WHOLE = -1  # stands for all features of a model
# Windows with and without weights by age, coordinated and uncoordinated; fewer bits; and a server
# that mixes in a little of each message. All of these can be served.
FIELD: Mapping[Setup, Axes] = {
    Setup("pao-fed-u1"): {"shared": (1, 4, 16, 64, _WHOLE), **PLANNED_STEPS},
    Setup("pao-fed-u2"): {"shared": (1, 4, 16, 64, _WHOLE), **PLANNED_STEPS},
    Setup("pao-fed-c1"): {"shared": (1, 4, 16, 64, _WHOLE), **PLANNED_STEPS},
    Setup("pao-fed-c2"): {"shared": (1, 4, 16, 64, _WHOLE), **PLANNED_STEPS},
    Setup("quantised").with_(bits=8, down_bits=8): {"shared": (16, 64), **FEW_STEPS},
    Setup("fed-async").with_(alpha=0.1): {"shared": (4, 16, 64), **FEW_STEPS},
}
USUAL = "pao-fed-u1"  # the method of a fleet without a plan


class Candidate(NamedTuple):
    """Settings of a fleet: a method with its options, and the share of contacts that are used."""

    setup: Setup
    contacts: float

    def __str__(self) -> str:
        """Both settings, as tables show them."""
        said = str(self.setup)
        return said if self.contacts == 1 else f"{said} at {self.contacts:g} of contacts"

    def over(self, scenario: "Setting") -> "Setting":
        """Return the scenario with these settings; it never has more contacts than it had."""
        return thinned(scenario, self.contacts)


def thinned(scenario: "Setting", share: float) -> "Setting":
    """Return the scenario in which devices use this share of the contacts that they used before."""
    if share == 1:
        return scenario
    return scenario.model_copy(update={"contacts": share * (scenario.contacts or 1.0)})


def setups_of(
    scenario: "Setting", algorithms: Sequence[str] | str | None, exchange: Exchange
) -> dict[Setup, Setup]:
    """Return all setups that are tried, each with its shape: the options that decide what it sends.

    `algorithms` are names of the field, or whole words of one's own; None is the whole field.
    """
    given = FIELD if algorithms is None else dict.fromkeys(_read(algorithms))
    setups = [setup for one in given for setup in _expanded(one, scenario)]
    found = {s.with_(exchange=exchange): s.with_(step_size=None, staleness=None) for s in setups}
    for setup in found:
        if exchange == "live":
            _require_served(setup, scenario)
        setup.algorithm().require_fits(scenario.features)
    return found


def _require_served(setup: Setup, scenario: "Setting") -> None:
    """Refuse what no fleet can follow before any world of it is simulated."""
    if not is_ours(setup.row):
        admit(setup.row)
    try:
        agreed(setup, scenario)
    except ManifestError as error:
        raise AlgorithmError(
            f"no live fleet can serve {setup.row}: {error}; with --exchange paper or single, a "
            f"plan is for simulations alone"
        ) from None


def agreed(setup: Setup, scenario: "Setting") -> Manifest:
    """Return a manifest that says what a setup and a scenario decide; refuse what none can say."""
    of_scenario = {key: getattr(scenario, key) for key in ("features", "step_size", "max_age")}
    return manifest_of(setup, **of_scenario)


def _read(algorithms: Sequence[str] | str) -> list[Setup]:
    """Read the words that people give."""
    given = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    if not given:
        raise InputError("no algorithm was given: name at least one")
    for one in given:
        if not isinstance(one, str):
            # A record goes by its name, since all of it is long.
            told = f"the record {one.name}" if isinstance(one, Algorithm) else repr(one)
            raise InputError(
                f"{told} is no algorithm's word: expected one as in {USUAL}:shared=4 or "
                f"file.py:name, since a plan tries options by their names; race and sweep take "
                f"records"
            )
    return list(map(Setup.of, given))


def _expanded(given: Setup, scenario: "Setting") -> list[Setup]:
    """Return the candidates of one method; a setup with a step size stands for itself."""
    options = given.values
    if "exchange" in options:
        raise InputError(
            f"{given}: the exchange is that of the whole plan; leave it out", key="exchange"
        )
    known = next((one for one in FIELD if given in (one, Setup(one.row))), None)
    axes = FIELD[known] if known else {"shared": (4, 16, 64), **PLANNED_STEPS}
    possible = {"step_size": True, "shared": "shared" in options_of(given.row)}
    own = {
        key: _values(key, values, scenario)
        for key, values in axes.items()
        if key not in options and possible[key]
    }
    return Entrant(known or given, own).candidates(scenario.features)


def _values(key: str, values: tuple[Any, ...], scenario: "Setting") -> tuple[Any, ...]:
    """Return the values to try for an option; the scenario's own step size is always among them."""
    if key == "step_size":
        return tuple(sorted({scenario.step_size, *values}))
    return tuple(dict.fromkeys(scenario.features if v == _WHOLE else v for v in values))


def levels(cheapest: float, least: float) -> list[float]:
    """Return shares of contacts to try: halves, until the cheapest shape costs at most `least`."""
    found = [1.0]
    while cheapest * found[-1] > least and len(found) < MOST_LEVELS:
        found.append(found[-1] / 2)
    return found


def named(candidates: Iterable[Candidate]) -> dict[str, Candidate]:
    """Return candidates by the names that tables show."""
    return {str(one): one for one in candidates}


def step_of(setup: Setup, scenario: "Setting") -> float | None:
    """Return the step size of a method with LMS steps; None for a method with another learner."""
    method = setup.algorithm()
    if not method.steps_by_lms:
        return None
    return scenario.step_size if method.step_size is None else method.step_size
