"""Runs the kernels under numba's CUDA simulator and prints how far they are from other engines.

A process of its own, since the simulator must be chosen before numba is imported:
`NUMBA_ENABLE_CUDASIM=1 python -m tests.simulate.engines.gpu.simulated TICKS RUNS`.
"""

import tests.simulate.engines.gpu.warps  # noqa: F401 (first: it changes what the kernels import)

# isort: split
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from paofed import run
from paofed.algorithms.setup import resolve
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.gpu import card, simulation
from paofed.simulate.engines.task import Task
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.stopping import ignored
from paofed.world.scenario import Scenario
from tests.effort import some
from tests.natures import small_trace

METHODS = (
    "online-fedsgd",
    "online-fed:subset=0.9",
    "pso-fed:subset=2",
    "pao-fed-u1",
    "pao-fed-c2:divisor=coverage",
    "pao-fed-u1:exchange=single",
    "pao-fed-u1:exchange=live,max_age=2,shared=2",
)
HAZARDS: dict[str, Any] = {
    "loss": {"up": 0.2, "down": 0.3},
    "battery": {"capacity": 4, "start": 2, "fill": 0.6},
    "outages": {"mean_length": 2, "mean_between": 2, "share": 0.5},
    "contacts": 0.9,
}


def scenario(ticks: int, **changes: Any) -> Scenario:
    """A small fleet with everything that a scenario may have, or something else."""
    base: dict[str, Any] = {
        "name": "small",
        "clients": 6,
        "ticks": ticks,
        "features": 5,
        "test_samples": 3,
        "max_age": 4,
        "step_size": 0.4,
        "kernel_width": 1.0,
        "stream": {"samples": [ticks // 2, ticks], "drifts": [ticks // 2]},
        "availability": {"kind": "bernoulli", "probabilities": [0.9, 0.6]},
        "delay": {"kind": "geometric", "base": 0.5},
    }
    return Scenario.model_validate({**base, **changes})


def replays(ticks: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Methods over a trace, in CI all, with models in a block's memory and in the card's."""
    trace = small_trace(1, ticks=ticks, lost=0.2, linear=True)
    real = card.the_card()
    for where, memory in (("block", real.block_memory), ("card", 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulation, "the_card", lambda m=memory: real._replace(block_memory=m))
            few = some(METHODS, everyday=2) if memory else some(METHODS[::3], everyday=1)
            for text in few:
                expected = engine_of("reference").replay(trace, text)
                found = engine_of("gpu").replay(trace, text)
                apart = {
                    "mse": float(np.abs(expected.mse - found.mse).max()),
                    "model": float(np.abs(expected.server_model - found.server_model).max()),
                    "traffic": float(np.abs(expected.traffic - found.traffic).max()),
                }
                yield f"{where} {text}", apart


def runs(ticks: int, count: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Runs that are drawn on the card, beside the compiled engine's."""
    gradual = {"samples": [ticks // 2, ticks], "arrivals": "even", "drifts": [3], "drift_ticks": 3}
    bursts = {"kind": "bursts", "mean_on": [2.0, 4.0], "mean_off": [2.0]}
    worlds = {
        "hazards": scenario(ticks, **HAZARDS),
        # More clients than the lanes that learn look at together.
        "even": scenario(ticks, clients=10, stream=gradual, availability=bursts),
    }
    for name, world in worlds.items():
        methods = [resolve(text) for text in METHODS[2:4]]
        task = Task(world, methods, 3, False, 3, "float64", range(count), 1)
        expected = dict(engine_of("fast").run(task, ignored))
        found = dict(engine_of("gpu").run(task, ignored))
        for index, record in expected.items():
            yield f"{name} {index}", _apart(record, found[index])


def spread(ticks: int, count: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Runs shared out over two processes, as over two cards: the very numbers of one process."""
    methods = list(METHODS[2:4])
    asked = partial(run, scenario(ticks, **HAZARDS), methods, runs=count, seed=3, engine="gpu")
    alone = asked()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        shared_out = asked(executor=processes)
    assert shared_out.provenance["engines"] == ["gpu", "gpu"]
    same = all(
        np.array_equal(getattr(alone, name), getattr(shared_out, name))
        for name in ("mse", "traffic", "models")
    )
    yield "two processes", {"different": float(not same)}


def _apart(expected: RunRecord, found: RunRecord) -> dict[str, float]:
    pairs = ((name, getattr(expected, name), getattr(found, name)) for name in RunRecord._fields)
    return {name: float(np.abs(a - b).max()) for name, a, b in pairs if a.size}


if __name__ == "__main__":
    ticks, count = map(int, sys.argv[1:])
    found = [*replays(ticks), *runs(ticks, count)]
    found += spread(ticks, count) if count > 1 else []
    print(json.dumps(dict(found)))  # noqa: T201 (read by the tests)
