"""A small fleet to plan for, quick to simulate."""

from dataclasses import replace

from paofed.algorithms import Algorithm, algorithm
from paofed.experiments.plan.field import Candidate
from paofed.experiments.plan.record import FleetPlan, Offer
from paofed.experiments.trials import Tried
from paofed.simulate.results.estimates import Estimate
from paofed.world.scenario import Scenario
from tests.lab.compare.plans import SMALL

# Steps of all sizes and windows of two: few enough to try them all at length.
METHODS = ("pao-fed-u1:shared=2", "pao-fed-c1:shared=12")
BUDGET = "100kB/month/device"


def small_fleet(**changes: object) -> Scenario:
    """Eight clients over sixty ticks of an hour."""
    values = Scenario.parse(SMALL, "small").model_dump() | {"tick": "1h"} | changes
    return Scenario.made(values, "small")


def mine(shared: int = 4) -> Algorithm:
    """A method of somebody else's, which a word names by its place."""
    return replace(algorithm("pao-fed-u1", shared=shared), name="mine")


def a_plan(scenario: Scenario, *candidates: Candidate, target: float | None = None) -> FleetPlan:
    """What a plan may have found, without one: each candidate 1 dB better than the one before."""
    offers = [
        Offer(
            candidate=one,
            most=2.0**number,
            spends=0.9 * 2.0**number,
            contacts=0.5 * one.contacts,
            error=Estimate(-number, -number - 0.3, -number + 0.3, 16),
            reaches=-number + 0.4,
            gain=Estimate(1.0, 0.9, 1.1, 16) if number else None,
            at_most=0.123,
            alike=("pao-fed-u1:shared=1",),
            guards=Estimate(0.02, -0.01, 0.05, 12),
            guarded="clip" in one.setup.values,
        )
        for number, one in enumerate(candidates)
    ]
    tried = [
        Tried(
            candidate=str(one.candidate),
            score=one.error,
            behind=Estimate(offers[-1].error.mean - one.error.mean, -0.1, 0.1, 16),
            payload=one.spends,
            kept=9,
            worlds=32,
            dropped=dropped,
        )
        for one, dropped in zip(offers, [None, 1] * len(offers), strict=False)
    ]
    return FleetPlan(
        scenario=scenario,
        budget="2kB/day/device",
        tariff="mqtt-tls",
        target=target,
        where="on worlds apart from those of the run",
        over="worlds",
        tolerance=0.1,
        offers=tuple(offers),
        chosen=offers[-1],
        reached=True,
        worlds=16,
        usual="pao-fed-u1",
        usual_spends=3.0,
        gain=Estimate(-0.5, -0.6, -0.4, 16),
        exchanges={"paper": Estimate(0.1, 0.0, 0.2, 16)},
        tried=tuple(tried),
        candidates={str(one): one for one in candidates},
        notes=("all 9 were raced",),
    )
