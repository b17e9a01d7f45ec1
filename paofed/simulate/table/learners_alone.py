"""Devices that learn as those of an algorithm do, and never have a contact.

The baselines `alone` and `start alone` take LMS steps of the scenario's size. An algorithm whose
devices learn otherwise is also compared with the same learner alone: else the gain of the learner
would be taken for a gain of the contacts.
"""

from collections.abc import Sequence
from dataclasses import replace

from paofed.algorithms import Algorithm
from paofed.core.learners import FORGETFUL, Chosen, chosen
from paofed.world.availability import Bernoulli
from paofed.world.scenario import Scenario


def kind_of(name: str) -> str:
    """Return the baseline in a name with options: what comes before the colon.

    >>> kind_of("start alone:learner=two-speed")
    'start alone'
    """
    return name.partition(":")[0]


def learners_apart(
    methods: Sequence[Algorithm], scenario: Scenario, baselines: Sequence[str]
) -> list[Algorithm]:
    """Return one algorithm for every way in which devices learn that no baseline has yet.

    Nothing is returned for devices whose baseline (`alone` or `start alone`) is left out.
    """
    kind = "start alone" if scenario.start == "calibration" else "alone"
    if kind not in baselines:
        return []
    found = {way: method for method in reversed(methods) if (way := _way(method, scenario))}
    return [
        replace(
            found[way], name=f"{kind}:{way}", learns_while_away=True, subset=None, exchange="paper"
        )
        for way in reversed(found)
    ]


def without_contacts(scenario: Scenario) -> Scenario:
    """Return the scenario with an availability of 0."""
    return scenario.model_copy(update={"availability": Bernoulli(probabilities=(0.0,))})


def _way(method: Algorithm, scenario: Scenario) -> str:
    """Say how the devices of an algorithm learn, as options; empty for the scenario's LMS steps."""
    known = chosen(method.learner)
    if known is None:
        return method.name
    step = method.settled(step_size=scenario.step_size, max_age=scenario.max_age).step_size
    options = {
        **known._asdict(),
        "forgetting": None if _is_usual(known) else known.forgetting,
        "step_size": None if step == scenario.step_size else step,
    }
    if known.learner == "lms":
        del options["learner"]
    return ",".join(f"{key}={value}" for key, value in options.items() if value is not None)


def _is_usual(known: Chosen) -> bool:
    return known.learner in FORGETFUL and known.forgetting == FORGETFUL[known.learner].usual
