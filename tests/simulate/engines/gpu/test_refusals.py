"""What the GPU engine does not take is refused in one line, and nothing else takes over."""

from collections.abc import Callable

import numpy as np
import pytest

from paofed import Scenario, run
from paofed.algorithms.setup import resolve
from paofed.errors import AlgorithmError, InputError
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.gpu import card, engine, simulation
from paofed.simulate.engines.gpu.simulation import CardPlan
from paofed.simulate.engines.gpu.steps import ModelShape


@pytest.fixture
def without_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "INSTALLED", False)
    card.the_card.cache_clear()


@pytest.mark.usefixtures("without_a_card")
def test_a_machine_without_a_card_says_what_it_takes() -> None:
    with pytest.raises(AlgorithmError, match="no CUDA card can be used here: expected an NVIDIA"):
        run(Scenario.load("setting-1"), "pao-fed-u1", engine="gpu")
    with pytest.raises(InputError, match=r"pip install 'paofed\[gpu\]'"):
        card.the_card()


def test_rules_of_ones_own_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "missing", lambda: None)
    method = resolve("pao-fed-u1:clip=6")
    assert "not windows, LMS steps" in str(engine_of("gpu").refuses(method))
    assert engine_of("gpu").refuses(resolve("pao-fed-u1")) is None
    with pytest.raises(AlgorithmError, match=r"clip=6.*or use the fast engine"):
        run(Scenario.load("setting-1"), method, engine="gpu")


def test_newcomers_with_whole_models_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "missing", lambda: None)
    scenario = Scenario.load("setting-1").model_copy(update={"newcomers": "whole"})
    with pytest.raises(AlgorithmError, match=r"newcomers get the whole model.*gpu,fast to have"):
        run(scenario, "pao-fed-u1", engine="gpu")


@pytest.mark.usefixtures("without_a_card")
def test_the_fast_engine_takes_over_where_that_is_asked_for() -> None:
    """The order counts, results are the fast engine's, and the reason is kept."""
    small = Scenario.load("setting-1").model_copy(update={"ticks": 60, "features": 8})
    methods = ["pao-fed-u1", "pao-fed-c2"]
    both, fast = (run(small, methods, engine=engine) for engine in ("gpu,fast", "fast"))
    assert both.provenance["engines"] == ["fast", "fast"]
    assert {"no CUDA card" in why for why in both.provenance["refused"].values()} == {True}
    assert np.array_equal(both.mse, fast.mse)
    first = run(small, methods, engine="fast, gpu")
    assert first.provenance["engines"] == ["fast", "fast"]
    assert not first.provenance["refused"]


class Kernel:
    """A kernel as the compiler for cards makes it, compiled by its first launch."""

    def __init__(self) -> None:
        self.overloads: list[int] = []

    def __getitem__(self, _: object) -> Callable[..., None]:
        return self.overloads.append


def test_compiling_is_said_once_and_only_if_it_happens() -> None:
    said: list[str] = []
    compiled, first, second = Kernel(), Kernel(), Kernel()
    card.launch(compiled, 1, 1, 0)
    with card.compilation_noted(said.append):
        card.launch(compiled, 1, 1, 0)
        assert not said
        card.launch(first, 1, 1, 0)
        card.launch(second, 1, 1, 0)
        (line,) = said
    assert "compiling the kernels for this card" in line
    card.launch(Kernel(), 1, 1, 0)  # outside, nobody is told
    assert len(said) == 1


def test_a_fleet_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small = card.Card("small", 2, 48 << 10)
    monkeypatch.setattr(simulation, "the_card", lambda: small)
    monkeypatch.setattr(simulation, "free_memory", lambda: 2 << 30)
    plan = CardPlan(ModelShape(200, 200, 4, "float32"), 100, 10_000_000, 11, 66, 10, 1, 0, 10)
    with pytest.raises(InputError, match=r"10,000,000 clients .* need \d+\.\d GB on the card"):
        plan.at_once()
    assert plan._replace(clients=1000).at_once() >= 1


@pytest.mark.parametrize(
    ("features", "inputs", "clients", "precision", "fits"),
    [
        (3_000, 4, 10**6, "float64", True),
        (6_000, 4, 10**6, "float32", True),
        (7_000, 4, 10**6, "float32", False),  # too many to judge them
        (200, 60, 10, "float64", True),
        (200, 60, 10**6, "float64", False),  # too many samples of a fixed size
        (2_000, 40, 10**6, "float32", False),  # too large a map
    ],
)
def test_models_for_which_a_block_has_no_room_are_refused(
    features: int, inputs: int, clients: int, precision: str, *, fits: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for module in (card, simulation):
        monkeypatch.setattr(module, "the_card", lambda: card.Card("large", 132, 227 << 10))
    shape = ModelShape(features, features, inputs, precision)
    plan = CardPlan(shape, 100, clients, 11, 66, 10, 1, 0, 10)
    if fits:
        plan.require_room()
    else:
        with pytest.raises(InputError, match=f"{features} features of {inputs} inputs need "):
            plan.require_room()


def test_the_driver_is_asked_for_what_is_more_than_usual_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(card, "_allow", lambda _kernel, _arguments, memory: asked.append(memory))
    for memory, fixed in ((32 << 10, 16 << 10), (32 << 10, 17 << 10), (49 << 10, 0)):
        card.launch(Kernel(), 1, 1, 0, memory=memory, fixed=fixed)
    assert asked == [32 << 10, 49 << 10]
