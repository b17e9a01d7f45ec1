import pytest

from lab.compare.search import BUDGETS, purses_of, search
from lab.compare.settings import Extent
from paofed.racing.arena import arena_of
from paofed.racing.meeting import simulated, spent
from paofed.racing.race import seed_of
from paofed.report.comparison.judged import Purse
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import ignored
from paofed.world.scenario import Scenario
from tests.lab.compare.plans import ENTRANTS, SMALL

ALONE = Crew(workers=1)
EXTENT = Extent((4,), 2)
WORDS = ENTRANTS["pao-fed-u"].candidates()
SCENARIO = Scenario.parse(SMALL, "small")


def test_budgets_are_multiples_of_what_the_paper_s_row_spends() -> None:
    (purses,) = purses_of(SCENARIO, ["payload", "mqtt"], EXTENT, 0, ALONE)
    result = simulated(SCENARIO, ["pao-fed-u1"], runs=4, seed=seed_of(0, 1), crew=ALONE)
    for tariff in ("payload", "mqtt"):
        own = {purse.budget: purse.bytes for purse in purses if purse.tariff == tariff}
        unit = spent([result], "pao-fed-u1", tariff)
        assert own == {name: times * unit for name, times in BUDGETS.items()}


@pytest.mark.parametrize("seed", range(4))
def test_the_paper_s_row_fits_its_own_budget_whatever_the_worlds(seed: int) -> None:
    """Contacts are rare, so that what it spends differs from round to round."""
    values = SCENARIO.model_dump() | {
        "availability": {"kind": "bernoulli", "probabilities": [0.02]},
        "name": "rare",
    }
    scenario, extent = Scenario.made(values, "rare"), Extent((2, 2), 2)
    rounds = purses_of(scenario, ["payload"], extent, seed, ALONE)
    assert rounds[0] != rounds[1]
    found = search(arena_of(scenario), ["pao-fed-u1"], rounds, extent, seed, ALONE, ignored)
    assert {purse.budget for purse in found} == {"same", "tenfold"}
    assert set(found) <= set(rounds[-1])


@pytest.mark.parametrize("tariff", ["payload", "mqtt"])
def test_the_winner_is_the_best_that_fits(tariff: str) -> None:
    """One round, so that nobody is dropped: held against a plain search in the same worlds."""
    arena = arena_of(SCENARIO)
    result = simulated(SCENARIO, WORDS, runs=4, seed=seed_of(3, 1), crew=ALONE)
    sent = {word: spent([result], word, tariff) for word in WORDS}
    score = {word: arena.values([result], word).mean() for word in WORDS}
    purses = [Purse(tariff, "some", bytes_) for bytes_ in sorted(set(sent.values()))]
    nothing = Purse(tariff, "none", min(sent.values()) - 1)
    found = search(arena, WORDS, [[nothing, *purses]], EXTENT, 3, ALONE, ignored)
    assert nothing not in found
    for purse in purses:
        fits = [word for word in WORDS if sent[word] <= purse.bytes]
        least = min(score[word] for word in fits)
        near = [word for word in fits if score[word] <= least + 0.1]
        best = min(near, key=lambda word: (sent[word], score[word]))
        assert found[purse] == (best, score[best])


def test_what_diverges_is_never_chosen() -> None:
    words = ["online-fed:subset=0.5,step_size=40.0", "online-fed:subset=0.5,step_size=0.1"]
    purse = Purse("payload", "all", 1e12)
    arena = arena_of(SCENARIO)
    found = search(arena, words, 2 * [[purse]], Extent((2, 2), 2), 0, ALONE, ignored)
    assert {purse: pick.word for purse, pick in found.items()} == {purse: words[1]}
    assert search(arena, words[:1], 2 * [[purse]], Extent((2, 2), 2), 0, ALONE, ignored) == {}


def test_progress_goes_from_nothing_to_all() -> None:
    heard: list[float] = []
    purse = Purse("payload", "all", 1e12)
    search(arena_of(SCENARIO), WORDS[:2], 2 * [[purse]], Extent((2, 2), 2), 0, ALONE, heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
