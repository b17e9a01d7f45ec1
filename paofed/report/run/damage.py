"""What faults do to every algorithm: its error with faults beside that without, run by run."""

from typing import NamedTuple

import numpy as np

from paofed.core.metrics import decibels
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.progressive import MODELS, Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.statistics import Final, final
from paofed.world.faults import FAULTS, worded


class Damage(NamedTuple):
    """What faults do to one model of one algorithm, in dB."""

    name: str
    whose: Whose
    wrong: Final  # the final error with faults
    right: Final  # the final error without faults
    cost: Estimate  # the difference, run by run


def faults_of(result: Result) -> list[str]:
    """The faults of a result's scenario, as words of the command line."""
    scenario = result.provenance["scenario"]
    if not scenario.get("faults"):  # worlds of one's own and earlier results have none
        return []
    return [worded(fault) for fault in FAULTS.validate_python(scenario["faults"])]


def damages(result: Result) -> list[Damage]:
    """Return the damage to all models; empty if the result has no runs without faults."""
    if result.clean is None:
        return []
    models = MODELS if result.progressive is not None else MODELS[1:]
    return [_damage(result, name, whose) for name in result.algorithms for whose in models]


def _damage(result: Result, name: str, whose: Whose) -> Damage:
    judged = result.progressive
    wrong = result.run_finals(name) if judged is None else judged.run_finals(name, whose)
    right = result.clean_finals(name, whose)
    with np.errstate(invalid="ignore"):  # where both diverged there is no difference
        cost = estimate(decibels(wrong) - decibels(right))
    return Damage(name, whose, final(wrong), final(right), cost)
