"""A small fleet to plan for, quick to simulate."""

from paofed.world.scenario import Scenario
from tests.report.compare.plans import SMALL

# Steps of all sizes and windows of two: few enough to try them all at length.
METHODS = ("pao-fed-u1:shared=2", "pao-fed-c1:shared=12")
BUDGET = "100kB/month/device"


def small_fleet(**changes: object) -> Scenario:
    """Eight clients over sixty ticks of an hour."""
    values = Scenario.parse(SMALL, "small").model_dump() | {"tick": "1h"} | changes
    return Scenario.made(values, "small")
