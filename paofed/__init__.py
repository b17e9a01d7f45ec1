"""Learn one nonlinear model from a fleet of unreliable devices, a few numbers per contact."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from paofed import figures, theory
    from paofed.algorithms import ALGORITHMS, Algorithm, algorithm
    from paofed.checks import check_algorithm
    from paofed.core.tariffs import TARIFFS, Tariff
    from paofed.errors import PaofedError
    from paofed.experiments.plan.plan import plan
    from paofed.experiments.race.race import race
    from paofed.experiments.sweep.sweep import sweep
    from paofed.experiments.sweep.swept import Swept
    from paofed.live.device.device import Device
    from paofed.live.model.fleet_model import predictor
    from paofed.simulate.engines.reference import replay
    from paofed.simulate.montecarlo import run
    from paofed.simulate.results.outcome import Outcome
    from paofed.simulate.results.result import Result
    from paofed.simulate.results.table_result import TableResult
    from paofed.simulate.results.world_result import WorldResult
    from paofed.simulate.stopping import Interrupted
    from paofed.world.realize import realize
    from paofed.world.scenario import Scenario
    from paofed.world.trace import Trace
    from paofed.world.worlds import Worlds

_ROOMS = ("figures", "theory")  # modules that are public as a whole

# `__getattr__` imports these names on first use: a device that only learns and sends needs NumPy
# and nothing heavier.
_HOMES = {
    "ALGORITHMS": "paofed.algorithms",
    "Algorithm": "paofed.algorithms",
    "Device": "paofed.live.device.device",
    "Interrupted": "paofed.simulate.stopping",
    "Outcome": "paofed.simulate.results.outcome",
    "PaofedError": "paofed.errors",
    "Result": "paofed.simulate.results.result",
    "Scenario": "paofed.world.scenario",
    "Swept": "paofed.experiments.sweep.swept",
    "TARIFFS": "paofed.core.tariffs",
    "TableResult": "paofed.simulate.results.table_result",
    "Tariff": "paofed.core.tariffs",
    "Trace": "paofed.world.trace",
    "WorldResult": "paofed.simulate.results.world_result",
    "Worlds": "paofed.world.worlds",
    "algorithm": "paofed.algorithms",
    "check_algorithm": "paofed.checks",
    "plan": "paofed.experiments.plan.plan",
    "predictor": "paofed.live.model.fleet_model",
    "race": "paofed.experiments.race.race",
    "realize": "paofed.world.realize",
    "replay": "paofed.simulate.engines.reference",
    "run": "paofed.simulate.montecarlo",
    "sweep": "paofed.experiments.sweep.sweep",
}

__all__ = [
    "ALGORITHMS",
    "TARIFFS",
    "Algorithm",
    "Device",
    "Interrupted",
    "Outcome",
    "PaofedError",
    "Result",
    "Scenario",
    "Swept",
    "TableResult",
    "Tariff",
    "Trace",
    "WorldResult",
    "Worlds",
    "algorithm",
    "check_algorithm",
    "figures",
    "plan",
    "predictor",
    "race",
    "realize",
    "replay",
    "run",
    "sweep",
    "theory",
]


def __getattr__(name: str) -> object:
    if name not in (*_HOMES, *_ROOMS):
        raise AttributeError(f"module 'paofed' has no attribute {name!r}")
    from paofed.errors import needs_extra

    with needs_extra(f"paofed.{name}"):
        if name in _ROOMS:
            return import_module(f"paofed.{name}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
