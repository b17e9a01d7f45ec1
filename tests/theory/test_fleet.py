"""Rates read off laws, against those counted in what the laws realise."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.errors import InputError
from paofed.theory.fleet import Contacts, FleetInTheory
from paofed.world.realize import make_world, realize
from paofed.world.scenario import Scenario
from tests.natures import small_scenario, small_trace
from tests.world.test_laws import assert_binomial

TICKS, CLIENTS = 8000, 12
SAMPLES = (2000, 4000, 8000)
PRESENCE = {"kind": "bernoulli", "probabilities": (0.6, 0.1, 0.0, 1.0)}


def long(**laws: Any) -> Scenario:
    laws.setdefault("availability", PRESENCE)
    return small_scenario(
        ticks=TICKS, clients=CLIENTS, features=1, stream={"samples": SAMPLES}, **laws
    )


def assert_delays(contacts: Contacts, scenario: Scenario) -> None:
    """Of every client's messages; 12 comparisons for each age."""
    delay = realize(scenario, seed=1).delay
    assert set(np.unique(delay)) <= set(contacts.ages.tolist())
    for k in range(CLIENTS):
        for age, probability in zip(contacts.ages, contacts.late[k], strict=True):
            assert_binomial(delay[:, k] == age, probability)


def test_rates_of_independent_presence_are_those_seen() -> None:
    """24 comparisons: false-alarm rate below 2e-8 (see tests/world/test_laws.py)."""
    scenario = long()
    contacts, trace = Contacts.of(scenario), realize(scenario, seed=1)
    assert contacts.data.tolist() == [0.25] * 4 + [0.5] * 4 + [1.0] * 4
    for k in range(CLIENTS):
        assert_binomial(trace.has_data[:, k], contacts.data[k])
        assert_binomial(trace.available[:, k], contacts.available[k])


def test_the_rate_of_links_that_go_on_and_off_is_that_seen_in_the_long_run() -> None:
    """12 means at 6 standard errors: false-alarm rate below 3e-8.

    A link that is on with probability p and forgets by a factor f per tick, seen where there is a
    sample (with probability d), has the variance below in the mean over many ticks.
    """
    on, off = np.array([3.0, 10.0]), np.array([20.0, 4.0])
    law = {"kind": "bursts", "mean_on": tuple(on), "mean_off": tuple(off)}
    scenario = long(availability=law)
    contacts, trace = Contacts.of(scenario), realize(scenario, seed=2)
    for k in range(CLIENTS):
        group, d = k % 2, contacts.data[k]
        p, f = on[group] / (on[group] + off[group]), 1 - 1 / on[group] - 1 / off[group]
        assert contacts.available[k] == pytest.approx(d * p, abs=1e-9)
        variance = d * p * (1 - d * p) + 2 * d**2 * p * (1 - p) * f / (1 - f)
        error = math.sqrt(variance / TICKS)
        assert abs(trace.available[:, k].mean() - contacts.available[k]) < 6 * error


def test_rates_of_recorded_presence_are_those_of_the_table(tmp_path: Path) -> None:
    """12 comparisons: false-alarm rate below 1e-8."""
    table = np.random.default_rng(3).random((TICKS, CLIENTS)) < np.linspace(0.05, 1, CLIENTS)
    np.save(tmp_path / "there.npy", table.astype(np.int64))
    scenario = long(availability={"kind": "recorded", "file": str(tmp_path / "there.npy")})
    contacts, trace = Contacts.of(scenario), realize(scenario, seed=3)
    np.testing.assert_allclose(contacts.available, contacts.data * table.mean(axis=0), rtol=1e-14)
    for k in range(CLIENTS):  # what the table leaves to chance is the data alone
        assert_binomial(trace.available[table[:, k], k], contacts.data[k])


@pytest.mark.parametrize(
    ("law", "step"),
    [({"kind": "geometric", "base": 0.4}, 1), ({"kind": "stepped", "base": 0.25, "step": 10}, 10)],
)
def test_delays_by_law_are_those_seen(law: dict[str, Any], step: int) -> None:
    """12 comparisons for each of at most 40 ages: false-alarm rate below 3e-7."""
    scenario = long(delay=law)
    contacts = Contacts.of(scenario)
    np.testing.assert_allclose(contacts.late.sum(axis=1), 1.0, rtol=1e-12)
    powers = law["base"] ** np.arange(6)
    assert contacts.ages[:5].tolist() == [0, step, 2 * step, 3 * step, 4 * step]
    np.testing.assert_allclose(contacts.late[7, :5], -np.diff(powers), atol=1e-9)
    assert_delays(contacts, scenario)


def test_delays_by_group_are_those_seen() -> None:
    """12 comparisons for each of at most 50 ages: false-alarm rate below 4e-7."""
    scenario = long(delay={"kind": "stepped", "base": (0.1, 0.0, 0.3), "step": (2, 1, 5)})
    contacts = Contacts.of(scenario)
    np.testing.assert_allclose(contacts.late.sum(axis=1), 1.0, rtol=1e-12)
    assert contacts.late[4, 0] == 1.0
    assert_delays(contacts, scenario)


def test_recorded_delays_are_those_of_the_table(tmp_path: Path) -> None:
    table = np.random.default_rng(4).choice([0, 2, 7], p=[0.5, 0.3, 0.2], size=(TICKS, CLIENTS))
    table[:, 5] = 2
    np.save(tmp_path / "late.npy", table)
    scenario = long(delay={"kind": "recorded", "file": str(tmp_path / "late.npy")})
    contacts = Contacts.of(scenario)
    assert contacts.ages.tolist() == [0, 2, 7]
    assert contacts.late[5].tolist() == [0.0, 1.0, 0.0]
    for k in range(CLIENTS):
        for age, probability in zip(contacts.ages, contacts.late[k], strict=True):
            assert (table[:, k] == age).mean() == pytest.approx(probability, abs=1e-15)
    assert_delays(contacts, scenario)


def test_rates_seen_in_a_trace_are_counted_by_client() -> None:
    trace = small_trace(5, ticks=200)
    absent = trace.available.copy()
    absent[:, 2] = False  # a client that is never there has no delays to count
    trace = replace(trace, available=absent)
    contacts = Contacts.seen(trace)
    sent = [[] for _ in range(4)]  # type: list[list[int]]
    for n in range(200):
        for k in range(4):
            if trace.available[n, k]:
                sent[k].append(int(trace.delay[n, k]))
    ages = sorted({age for own in sent for age in own})
    assert contacts.ages.tolist() == ages
    for k in range(4):
        assert contacts.data[k] == sum(bool(there) for there in trace.has_data[:, k]) / 200
        assert contacts.available[k] == len(sent[k]) / 200
        frequencies = [sent[k].count(age) / max(len(sent[k]), 1) for age in ages]
        assert contacts.late[k].tolist() == pytest.approx(frequencies, abs=1e-15)
    assert contacts.available[2] == contacts.late[2].sum() == 0


def test_a_scenario_s_fleet_is_that_of_its_world() -> None:
    scenario = small_scenario()
    fleet, made = FleetInTheory.of(scenario, seed=3, world=2), make_world(scenario, 3, 2)
    np.testing.assert_array_equal(fleet.z_test, made.fourier_map(made.x_test))
    np.testing.assert_array_equal(fleet.y_test, made.test_targets.y[0])
    assert fleet.moments.R.shape == (12, 24, 24)
    for other in (FleetInTheory.of(scenario, seed=4, world=2), FleetInTheory.of(scenario, seed=3)):
        assert not np.array_equal(other.moments.r, fleet.moments.r)


def test_a_trace_s_fleet_is_estimated_from_it() -> None:
    scenario = small_scenario()
    trace = realize(scenario, world=1, seed=3)
    seen = FleetInTheory.seen(trace)
    exact = FleetInTheory.of(scenario, seed=3, world=1)
    np.testing.assert_array_equal(seen.z_test, exact.z_test)
    np.testing.assert_array_equal(seen.y_test, exact.y_test)
    assert seen.moments.R_error > 0
    assert np.corrcoef(seen.moments.R.ravel(), exact.moments.R.ravel())[0, 1] > 0.9
    np.testing.assert_array_equal(seen.contacts.available, trace.available.mean(axis=0))


HAZARDS: dict[str, Any] = {
    "loss": {"up": 0.1},
    "outages": {"mean_length": 3.0, "mean_between": 9.0},
    "battery": {"capacity": 3, "fill": 0.2},
    "labels": {"share": 0.5},
    "faults": [{"kind": "scaled", "by": 10.0, "clients": 1}],
}


def test_laws_that_theory_does_not_know_are_refused_each_by_its_name() -> None:
    for law, value in HAZARDS.items():
        with pytest.raises(InputError, match=rf"^theory knows no {law}: every .* leave it out"):
            FleetInTheory.of(small_scenario(**{law: value}))
    every = r"no loss and no outages and no battery and no labels and no faults: .*them"
    with pytest.raises(InputError, match=every):
        FleetInTheory.of(small_scenario(**HAZARDS))


def test_contacts_that_are_not_used_are_fewer_contacts() -> None:
    every, some = (Contacts.of(small_scenario(contacts=share)) for share in (None, 0.25))
    np.testing.assert_allclose(some.available, every.available / 4)
    np.testing.assert_array_equal(some.data, every.data)


def test_a_trace_with_losses_is_refused_but_one_that_batteries_thinned_out_is_not() -> None:
    with pytest.raises(InputError, match=r"^theory knows no loss: "):
        FleetInTheory.seen(realize(small_scenario(loss=HAZARDS["loss"])))
    with pytest.raises(InputError, match=r"^theory knows no labels: "):
        FleetInTheory.seen(realize(small_scenario(labels=HAZARDS["labels"])))
    trace = realize(small_scenario(battery=HAZARDS["battery"]))
    np.testing.assert_array_equal(Contacts.seen(trace).available, trace.available.mean(axis=0))


def test_a_fleet_too_large_to_hold_is_refused_with_its_size() -> None:
    huge = small_scenario(features=4000)
    with pytest.raises(InputError, match=r"^12 clients with 4000 features need 1\.5 GB"):
        FleetInTheory.of(huge)
    trace = small_trace(5, clients=1, features=14_000)
    with pytest.raises(InputError, match=r"^1 clients with 14000 features need 1\.6 GB"):
        FleetInTheory.seen(trace)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"start": True}, "start is 'a model', expected 'zeros'; or simulate"),
        ({"newcomers": True}, "newcomers is 'whole', expected 'windows'; or simulate"),
        ({"personal": True, "linear": True}, "personal is True, expected False; or simulate"),
    ],
)
def test_a_fleet_that_begins_otherwise_is_refused(changes: dict[str, bool], text: str) -> None:
    with pytest.raises(InputError, match=f"^theory begins with zeros, .*: {text}$"):
        Contacts.seen(small_trace(0, **changes))
    if "newcomers" in changes:
        with pytest.raises(InputError, match=text):
            Contacts.of(long(newcomers="whole"))
