"""Learn one nonlinear model from a fleet of unreliable devices, a few numbers per contact."""

__version__ = "0.1.0"

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm
from paofed.checks import check_algorithm
from paofed.errors import (
    AlgorithmError,
    ContractError,
    FileError,
    InputError,
    PaofedError,
    TraceError,
)
from paofed.simulate.reference import replay
from paofed.simulate.result import Outcome
from paofed.world.trace import Trace

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "AlgorithmError",
    "ContractError",
    "FileError",
    "InputError",
    "Outcome",
    "PaofedError",
    "Trace",
    "TraceError",
    "algorithm",
    "check_algorithm",
    "replay",
]
