import pytest

from lab.compare.search import BUDGETS, purses_of, search
from lab.compare.settings import Extent
from paofed.algorithms.setup import resolve
from paofed.experiments.arena import arena_of
from paofed.experiments.experiment import Experiment, spent
from paofed.report.comparison.page import Purse
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import ignored
from paofed.world.scenario import Scenario
from tests.effort import effort
from tests.lab.compare.plans import ENTRANTS, SMALL

ALONE = Crew(workers=1)
FIRST = Experiment(0, ALONE)
EXTENT = Extent((4,), 2)
METHODS = {str(one): one.algorithm() for one in ENTRANTS["pao-fed-u"].candidates()}
SCENARIO = Scenario.parse(SMALL, "small")


def test_budgets_are_multiples_of_what_the_paper_s_row_spends() -> None:
    (purses,) = purses_of(SCENARIO, ["payload", "mqtt"], EXTENT, FIRST)
    result = FIRST.run(SCENARIO, [resolve("pao-fed-u1")], 4, 1)
    for tariff in ("payload", "mqtt"):
        own = {purse.budget: purse.bytes for purse in purses if purse.tariff == tariff}
        unit = spent([result], "pao-fed-u1", tariff)
        assert own == {name: times * unit for name, times in BUDGETS.items()}


@pytest.mark.parametrize("seed", range(effort(everyday=1, thorough=4)))
def test_the_paper_s_row_fits_its_own_budget_whatever_the_worlds(seed: int) -> None:
    """Contacts are rare, so that what it spends differs from round to round."""
    values = SCENARIO.model_dump() | {
        "availability": {"kind": "bernoulli", "probabilities": [0.02]},
        "name": "rare",
    }
    scenario, extent = Scenario.made(values, "rare"), Extent((2, 2), 2)
    experiment = Experiment(seed, ALONE)
    rounds = purses_of(scenario, ["payload"], extent, experiment)
    assert rounds[0] != rounds[1]
    ours = {"pao-fed-u1": resolve("pao-fed-u1")}
    found = search(arena_of(scenario), ours, rounds, extent, experiment, ignored)
    assert {purse.budget for purse in found} == {"same", "tenfold"}
    assert set(found) <= set(rounds[-1])


@pytest.mark.parametrize("tariff", ["payload", "mqtt"])
def test_the_winner_is_the_best_that_fits(tariff: str) -> None:
    """One round, so that nobody is dropped: held against a plain search in the same worlds."""
    arena = arena_of(SCENARIO)
    result = Experiment(3, ALONE).run(SCENARIO, list(METHODS.values()), 4, 1)
    sent = {word: spent([result], word, tariff) for word in METHODS}
    score = {word: arena.values([result], word).mean() for word in METHODS}
    purses = [Purse(tariff, "some", bytes_) for bytes_ in sorted(set(sent.values()))]
    nothing = Purse(tariff, "none", min(sent.values()) - 1)
    found = search(arena, METHODS, [[nothing, *purses]], EXTENT, Experiment(3, ALONE), ignored)
    assert nothing not in found
    for purse in purses:
        fits = [word for word in METHODS if sent[word] <= purse.bytes]
        least = min(score[word] for word in fits)
        near = [word for word in fits if score[word] <= least + 0.1]
        best = min(near, key=lambda word: (sent[word], score[word]))
        assert found[purse] == (best, score[best])


def test_what_diverges_is_never_chosen() -> None:
    words = ["online-fed:subset=0.5,step_size=40.0", "online-fed:subset=0.5,step_size=0.1"]
    purse = Purse("payload", "all", 1e12)
    arena = arena_of(SCENARIO)
    methods = {word: resolve(word) for word in words}
    found = search(arena, methods, 2 * [[purse]], Extent((2, 2), 2), FIRST, ignored)
    assert {purse: pick.word for purse, pick in found.items()} == {purse: words[1]}
    del methods[words[1]]
    assert search(arena, methods, 2 * [[purse]], Extent((2, 2), 2), FIRST, ignored) == {}


def test_progress_goes_from_nothing_to_all() -> None:
    heard: list[float] = []
    purse = Purse("payload", "all", 1e12)
    few = dict(list(METHODS.items())[:2])
    search(
        arena_of(SCENARIO),
        few,
        2 * [[purse]],
        Extent((2, 2), 2),
        Experiment(0, ALONE),
        heard.append,
    )
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
