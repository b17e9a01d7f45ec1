"""An algorithm over a trace in a file, and where the outcome is from."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from paofed.algorithms import Algorithm
from paofed.algorithms.base import REPLAYED
from paofed.simulate.engines import LAST, engine_of
from paofed.simulate.results.outcome import Outcome
from paofed.world.trace import Trace


class Replayed(NamedTuple):
    """An outcome, and its provenance, as `Outcome.save` takes it."""

    outcome: Outcome
    provenance: dict[str, Any]


def replay_file(file: Path, method: Algorithm, *, engine: str = LAST, seed: int = 0) -> Replayed:
    """Run an algorithm over the trace in a file; `seed` is for what the algorithm itself draws."""
    settled = replace(method, **method.settled(**REPLAYED._asdict())._asdict())
    outcome = engine_of(engine).replay(Trace.load(file), settled, seed=seed)
    provenance = {
        "trace": file.name,
        "trace_sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "algorithm": settled.describe(),
        "engine": engine,
        "seed": seed,
    }
    return Replayed(outcome, provenance)
