import pytest

from paofed.algorithms.setup import Setup, resolve
from paofed.core.tariffs import tariff_of
from paofed.errors import AlgorithmError, InputError
from paofed.experiments.plan.field import FIELD, MOST_LEVELS, Candidate, levels, setups_of
from paofed.experiments.plan.guards import can_be_guarded, guarded
from paofed.experiments.plan.judgement import in_other_exchanges
from paofed.experiments.plan.screening import advance, fitting, left_out, stable
from paofed.live.protocol.served import served_names
from paofed.theory.bounds import step_sizes
from paofed.theory.fleet import FleetInTheory
from paofed.theory.foresight import foresee
from tests.natures import small_scenario

U1 = Setup("pao-fed-u1")


def test_everything_that_is_tried_can_be_served_and_sends_what_its_shape_says() -> None:
    scenario = small_scenario(step_size=0.33)
    setups = setups_of(scenario, None, "live")
    tariff = tariff_of("mqtt")
    assert tariff.adds
    for setup, shape in setups.items():
        assert setup.row in served_names()
        assert setup.values["exchange"] == "live"
        assert setup.values["shared"] <= scenario.features
        assert repr(setup.algorithm().uplink) == repr(shape.algorithm().uplink)
        assert can_be_guarded(setup)
        assert not can_be_guarded(guarded(setup))
        guarded(setup).algorithm()
    assert {setup.row for setup in setups} == {one.row for one in FIELD}
    steps = {setup.values["step_size"] for setup in setups}
    assert 0.33 in steps
    wholes = {setup.values["shared"] for setup in setups if setup.row == "pao-fed-u1"}
    assert scenario.features in wholes


def test_what_is_tried_can_be_named() -> None:
    scenario = small_scenario(step_size=0.4)
    mine = setups_of(scenario, ["quantised", "pao-fed-c1:shared=2", "online-fedsgd"], "paper")
    assert {one.row for one in mine} == {"quantised", "pao-fed-c1", "online-fedsgd"}
    assert {one.values["shared"] for one in mine if one.row == "pao-fed-c1"} == {2}
    assert {one.values["bits"] for one in mine if one.row == "quantised"} == {8}
    placed = "tests.experiments.plan.plans:mine"
    for exchange, word in (("live", "pao-fed-u1"), ("paper", placed)):
        own = f"{word}:shared=3,step_size=0.1"
        (found,) = setups_of(scenario, [own], exchange)  # type: ignore[arg-type]
        assert str(found) == f"{own},exchange={exchange}"
    whole = Setup.of(f"{placed}:shared=4,step_size=0.8,exchange=paper")
    assert whole in setups_of(scenario, placed, "paper")
    assert setups_of(scenario, "pao-fed-c1:shared=2", "live") == setups_of(
        scenario, ["pao-fed-c1:shared=2"], "live"
    )
    with pytest.raises(InputError, match=r"^4 is no algorithm's word: expected one as in"):
        setups_of(scenario, [4], "live")  # type: ignore[list-item]
    with pytest.raises(AlgorithmError, match="unknown algorithm 'pao-fed-u9'"):
        setups_of(scenario, ["pao-fed-u9"], "live")
    with pytest.raises(AlgorithmError, match="no live fleet can serve fed-buff: its model may div"):
        setups_of(scenario, ["fed-buff"], "live")
    with pytest.raises(AlgorithmError, match="no live fleet can serve fed-ridge: no live fleet"):
        setups_of(scenario, ["fed-ridge"], "live")
    assert setups_of(scenario, ["fed-buff:step_size=0.4"], "paper")
    with pytest.raises(InputError, match="the exchange is that of the whole plan"):
        setups_of(scenario, ["pao-fed-u1:exchange=paper"], "live")
    with pytest.raises(InputError, match="no algorithm was given"):
        setups_of(scenario, [], "live")


def test_contacts_are_halved_until_the_least_budget_is_met() -> None:
    assert levels(100.0, 30.0) == [1.0, 0.5, 0.25]
    assert levels(100.0, 100.0) == [1.0]
    assert len(levels(100.0, 1e-9)) == MOST_LEVELS


def test_contacts_are_never_more_than_there_were() -> None:
    scenario = small_scenario(contacts=0.5)
    assert Candidate(U1, 0.5).over(scenario).contacts == 0.25
    assert Candidate(U1, 1.0).over(scenario) == scenario


def test_only_what_fits_is_raced() -> None:
    a, b, small, large = map(Setup, ("a", "b", "small", "large"))
    shapes = {a: small, b: large}
    rates = {small: 1.0, large: 10.0}
    found = fitting([a, b], shapes, rates, [4.0, 2.0, 1.0, 0.5])
    assert found == [
        Candidate(a, 1.0),
        Candidate(a, 0.5),
    ]  # the large one would fit at a quarter of contacts
    found = fitting([a, b], shapes, rates, [4.0, 2.0, 1.0, 0.25])
    assert set(found) == {*(Candidate(a, share) for share in (1.0, 0.5, 0.25)), Candidate(b, 0.25)}
    with pytest.raises(InputError, match=r"^nothing fits: .* give a larger budget or a cheaper"):
        fitting([b], shapes, rates, [0.01])
    said = "of 9 combinations of options, 2 would diverge and 1 cost too much"
    assert left_out(9, 2, 1) == said
    assert left_out(9, 0, 0) == "all 9 combinations of options were raced"


def test_theory_leaves_out_what_diverges_and_nothing_else() -> None:
    scenario = small_scenario()
    found = advance(scenario, 0)
    assert found.limit == pytest.approx(foresee(scenario).stable_step("pao-fed-u1").step)
    assert found.limit is not None
    assert found.words.endswith("a client between contacts diverges in the mean square")
    below, above = (U1.with_(shared=2, step_size=found.limit * part) for part in (0.99, 1.01))
    rls = U1.with_(learner="rls", step_size=30.0)  # theory speaks of LMS steps alone
    # A contact renews all of a model.
    whole = Setup("online-fedsgd").with_(step_size=found.limit * 1.01)
    assert stable([below, above, rls, whole], scenario, found.limit) == [below, rls, whole]
    assert stable([below, above], scenario, None) == [below, above]


def test_theory_of_many_features_looks_at_their_mean_length() -> None:
    scenario = small_scenario(features=201)
    found, steps = advance(scenario, 0), step_sizes(FleetInTheory.of(scenario).moments)
    assert found.limit == pytest.approx(min(steps.bound, steps.typical))
    assert found.words.endswith("a client between contacts diverges on average")


def test_theory_says_where_it_does_not_know() -> None:
    assert advance(small_scenario(features=1001), 0).limit is None


def test_another_order_of_a_contact_changes_nothing_else() -> None:
    word = "pao-fed-u1:shared=2,exchange=live,clip=6.0,aside=true,bound=6.0"
    others = in_other_exchanges(Candidate(Setup.of(word), 0.5))
    assert set(others) == {"paper", "single"}
    mine = resolve(word)
    for name, one in others.items():
        other = one.setup.algorithm()
        assert (other.exchange, one.contacts) == (name, 0.5)
        for part in ("server", "learner", "uplink", "downlink"):
            assert repr(getattr(other, part)) == repr(getattr(mine, part))
