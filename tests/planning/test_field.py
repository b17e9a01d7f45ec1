import pytest

from paofed.algorithms.spec import from_text, parted
from paofed.core.tariffs import tariff_of
from paofed.errors import AlgorithmError, InputError
from paofed.live.protocol.served import SERVED
from paofed.planning.field import FIELD, MOST_LEVELS, Candidate, levels, words_of
from paofed.planning.guards import can_be_guarded, guarded
from paofed.planning.judgement import in_other_exchanges
from paofed.planning.screening import advance, fitting, left_out, stable
from paofed.theory.bounds import step_sizes
from paofed.theory.fleet import FleetInTheory
from paofed.theory.foresight import foresee
from tests.natures import small_scenario


def test_everything_that_is_tried_can_be_served_and_sends_what_its_shape_says() -> None:
    scenario = small_scenario(step_size=0.33)
    words = words_of(scenario, None, "live")
    tariff = tariff_of("mqtt")
    assert tariff.adds
    for word, shape in words.items():
        name, options = parted(word)
        assert name in SERVED
        assert options["exchange"] == "live"
        assert options["shared"] <= scenario.features
        assert repr(from_text(word).uplink) == repr(from_text(shape).uplink)
        assert can_be_guarded(word)
        assert not can_be_guarded(guarded(word))
        from_text(guarded(word))
    assert {name.partition(":")[0] for name in words} == {one.partition(":")[0] for one in FIELD}
    steps = {parted(word)[1]["step_size"] for word in words}
    assert 0.33 in steps
    wholes = {parted(w)[1]["shared"] for w in words if w.startswith("pao-fed-u1")}
    assert scenario.features in wholes


def test_what_is_tried_can_be_named() -> None:
    scenario = small_scenario(step_size=0.4)
    mine = words_of(scenario, ["quantised", "pao-fed-c1:shared=2", "online-fedsgd"], "paper")
    names = [parted(word) for word in mine]
    assert {name for name, _ in names} == {"quantised", "pao-fed-c1", "online-fedsgd"}
    assert {options["shared"] for name, options in names if name == "pao-fed-c1"} == {2}
    assert {options["bits"] for name, options in names if name == "quantised"} == {8}
    assert list(words_of(scenario, ["pao-fed-u1:shared=3,step_size=0.1"], "live")) == [
        "pao-fed-u1:shared=3,step_size=0.1,exchange=live"
    ]
    placed = "tests.planning.plans:mine"
    assert list(words_of(scenario, [f"{placed}:shared=2,step_size=0.1"], "paper")) == [
        f"{placed}:shared=2,step_size=0.1,exchange=paper"
    ]
    assert f"{placed}:shared=4,step_size=0.8,exchange=paper" in words_of(scenario, placed, "paper")
    assert words_of(scenario, "pao-fed-c1:shared=2", "live") == words_of(
        scenario, ["pao-fed-c1:shared=2"], "live"
    )
    with pytest.raises(InputError, match=r"^4 is no algorithm's word: expected one as in"):
        words_of(scenario, [4], "live")  # type: ignore[list-item]
    with pytest.raises(AlgorithmError, match="unknown algorithm 'pao-fed-u9'"):
        words_of(scenario, ["pao-fed-u9"], "live")
    with pytest.raises(InputError, match="the exchange is that of the whole plan"):
        words_of(scenario, ["pao-fed-u1:exchange=paper"], "live")
    with pytest.raises(InputError, match="no algorithm was given"):
        words_of(scenario, [], "live")


def test_contacts_are_halved_until_the_least_budget_is_met() -> None:
    assert levels(100.0, 30.0) == [1.0, 0.5, 0.25]
    assert levels(100.0, 100.0) == [1.0]
    assert len(levels(100.0, 1e-9)) == MOST_LEVELS


def test_contacts_are_never_more_than_there_were() -> None:
    scenario = small_scenario(contacts=0.5)
    assert Candidate("pao-fed-u1", 0.5).over(scenario).contacts == 0.25
    assert Candidate("pao-fed-u1", 1.0).over(scenario) == scenario


def test_only_what_fits_is_raced() -> None:
    shapes = {"a": "small", "b": "large"}
    rates = {"small": 1.0, "large": 10.0}
    found = fitting(["a", "b"], shapes, rates, [4.0, 2.0, 1.0, 0.5])
    assert found == [("a", 1.0), ("a", 0.5)]  # the large one would fit at a quarter of contacts
    found = fitting(["a", "b"], shapes, rates, [4.0, 2.0, 1.0, 0.25])
    assert set(found) == {("a", 1.0), ("a", 0.5), ("a", 0.25), ("b", 0.25)}
    with pytest.raises(InputError, match=r"^nothing fits: .* give a larger budget or a cheaper"):
        fitting(["b"], shapes, rates, [0.01])
    said = "of 9 combinations of options, 2 would diverge and 1 cost too much"
    assert left_out(9, 2, 1) == said
    assert left_out(9, 0, 0) == "all 9 combinations of options were raced"


def test_theory_leaves_out_what_diverges_and_nothing_else() -> None:
    scenario = small_scenario()
    found = advance(scenario, 0)
    assert found.limit == pytest.approx(foresee(scenario).stable_step("pao-fed-u1").step)
    assert found.limit is not None
    assert found.words.endswith("a client between contacts diverges in the mean square")
    words = [f"pao-fed-u1:shared=2,step_size={found.limit * times}" for times in (0.99, 1.01)]
    rls = "pao-fed-u1:learner=rls,step_size=30.0"  # theory speaks of LMS steps alone
    whole = f"online-fedsgd:step_size={found.limit * 1.01}"  # a contact renews all of a model
    assert stable([*words, rls, whole], scenario, found.limit) == [words[0], rls, whole]
    assert stable(words, scenario, None) == words


def test_theory_of_many_features_looks_at_their_mean_length() -> None:
    scenario = small_scenario(features=201)
    found, steps = advance(scenario, 0), step_sizes(FleetInTheory.of(scenario).moments)
    assert found.limit == pytest.approx(min(steps.bound, steps.typical))
    assert found.words.endswith("a client between contacts diverges on average")


def test_theory_says_where_it_does_not_know() -> None:
    assert advance(small_scenario(features=1001), 0).limit is None


def test_another_order_of_a_contact_changes_nothing_else() -> None:
    word = "pao-fed-u1:shared=2,exchange=live,clip=6.0,aside=true,bound=6.0"
    others = in_other_exchanges(Candidate(word, 0.5))
    assert set(others) == {"paper", "single"}
    mine = from_text(word)
    for name, one in others.items():
        other = from_text(one.word)
        assert (other.exchange, one.contacts) == (name, 0.5)
        for part in ("server", "learner", "uplink", "downlink"):
            assert repr(getattr(other, part)) == repr(getattr(mine, part))
