"""On a real card: the same runs as the other engines, and the same bits every time."""

import numpy as np
import pytest

from paofed.algorithms.setup import resolve
from paofed.simulate.engines import Precision, engine_of
from paofed.simulate.engines.gpu import card, simulation
from paofed.simulate.engines.task import Task
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.stopping import ignored
from paofed.world.realize import realize
from paofed.world.scenario import Scenario

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(card.missing() is not None, reason="there is no CUDA card"),
]

METHODS = (
    "online-fedsgd",
    "online-fed:subset=0.2",
    "pso-fed:subset=8",
    "pao-fed-c0",
    "pao-fed-u1",
    "pao-fed-u1:shared=32",
    "pao-fed-c2:divisor=coverage",
    "pao-fed-u2:exchange=single",
    "pao-fed-u1:exchange=live",
)


def shortened(name: str, ticks: int, **changes: object) -> Scenario:
    scenario = Scenario.load(name)
    samples = tuple(s * ticks // scenario.ticks for s in scenario.synthetic.samples)
    stream = scenario.synthetic.model_copy(update={"samples": samples})
    return scenario.model_copy(update={"ticks": ticks, "stream": stream, **changes})


def records(
    engine: str,
    scenario: Scenario,
    precision: Precision = "float32",
    runs: range = range(2),
    methods: tuple[str, ...] = METHODS,
) -> dict[int, RunRecord]:
    chosen = [resolve(text) for text in methods]
    task = Task(scenario, chosen, 5, False, 10, precision, runs, 2)
    return dict(engine_of(engine).run(task, ignored))


@pytest.mark.parametrize("name", ["setting-1", "setting-2"])
@pytest.mark.parametrize(("precision", "rounding"), [("float32", 2e-5), ("float64", 1e-11)])
def test_runs_agree_with_the_compiled_engine(
    name: str, precision: Precision, rounding: float
) -> None:
    scenario = shortened(name, 400)
    expected, found = (records(engine, scenario, precision) for engine in ("fast", "gpu"))
    for index, record in expected.items():
        np.testing.assert_allclose(found[index].mse, record.mse, rtol=rounding)
        np.testing.assert_array_equal(found[index].traffic, record.traffic)


@pytest.mark.parametrize("method", METHODS)
def test_replays_agree_with_the_reference_tick_by_tick(method: str) -> None:
    trace = realize(shortened("setting-1", 60, clients=48, features=70))
    expected = engine_of("reference").replay(trace, method)
    found = engine_of("gpu").replay(trace, method)
    np.testing.assert_allclose(found.mse, expected.mse, rtol=1e-11)
    np.testing.assert_allclose(found.server_model, expected.server_model, atol=1e-11)
    np.testing.assert_array_equal(found.traffic, expected.traffic)


def test_bits_depend_neither_on_the_day_nor_on_the_company() -> None:
    scenario = shortened("setting-1", 200)
    alone, together = (
        records("gpu", scenario, runs=range(3, 4)),
        records("gpu", scenario, runs=range(6)),
    )
    again = records("gpu", scenario, runs=range(6))
    for field in ("mse", "models", "traffic"):
        np.testing.assert_array_equal(getattr(alone[3], field), getattr(together[3], field))
        for index in range(6):
            np.testing.assert_array_equal(
                getattr(together[index], field), getattr(again[index], field)
            )


def test_a_larger_fleet_agrees_and_repeats() -> None:
    scenario = shortened("setting-1", 40, clients=20_000)
    methods = ("pao-fed-u1", "online-fedsgd", "pao-fed-c2:exchange=live")
    expected = records("fast", scenario, runs=range(1), methods=methods)[0]
    found, again = (records("gpu", scenario, runs=range(1), methods=methods)[0] for _ in range(2))
    np.testing.assert_allclose(found.mse, expected.mse, rtol=2e-5)
    np.testing.assert_array_equal(found.mse, again.mse)
    np.testing.assert_array_equal(found.models, again.models)


@pytest.mark.parametrize("form", ["in a block", "in the card's memory"])
@pytest.mark.parametrize(("features", "clients"), [(12, 600), (100, 300), (300, 64)])
def test_models_of_all_sizes_agree(
    features: int, clients: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lane of a warp holds a model of 12 features, 8 lanes one of 100, all lanes one of 300."""
    scenario = shortened("setting-1", 60, clients=clients, features=features)
    methods = ("online-fedsgd", "online-fed:subset=0.2", "pao-fed-u1", "pao-fed-c2:exchange=live")
    expected = records("fast", scenario, methods=methods)
    if form != "in a block":
        small = card.the_card()._replace(block_memory=0)
        monkeypatch.setattr(simulation, "the_card", lambda: small)
    found = records("gpu", scenario, methods=methods)
    for index, record in expected.items():
        np.testing.assert_allclose(found[index].mse, record.mse, rtol=2e-5)
        np.testing.assert_array_equal(found[index].traffic, record.traffic)
