"""Expected traffic against what simulations count."""

from dataclasses import replace

import numpy as np
import pytest

from paofed.algorithms.setup import resolve
from paofed.core.parts import Channel
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError
from paofed.simulate.montecarlo import run
from paofed.theory.fleet import Contacts
from paofed.theory.reach import expected, picked_share
from tests.natures import small_scenario

U1 = resolve("pao-fed-u1")


def test_expected_traffic_is_what_simulations_count() -> None:
    """Contacts are independent: 8 comparisons at 6 standard errors, false-alarm rate 2e-8."""
    scenario, runs = small_scenario(), 20
    texts = {
        "online-fedsgd": 24,
        "online-fed:subset=0.3": 24,
        "pso-fed:subset=0.7,shared=5": 5,
        "pao-fed-u1:exchange=live,max_age=0": 4,  # what is dropped on arrival was sent
    }
    methods = [resolve(text) for text in texts]
    contacts = Contacts.of(scenario)
    result = run(scenario, methods, runs=runs, seed=1)
    for method, size in zip(methods, texts.values(), strict=True):
        cost = expected(contacts, method, scenario.features)
        rates = contacts.available * picked_share(method)
        assert cost.contacts == pytest.approx(rates.mean(), rel=1e-12)
        trials = runs * scenario.ticks
        error = np.sqrt((rates * (1 - rates)).sum() * trials) / (trials * scenario.clients)
        for sent, told in zip(
            result.sent(method.name), (cost.coordinates_up, cost.coordinates_down), strict=True
        ):
            counted = sent / (scenario.ticks * scenario.clients)
            assert told == pytest.approx(size * cost.contacts, rel=1e-12)
            assert abs(counted - told) < 6 * size * error


def test_the_two_directions_may_differ() -> None:
    uneven = replace(U1, uplink=Windows(2, coordinated=False, ahead=1))
    contacts = Contacts.of(small_scenario())
    cost = expected(contacts, uneven, 24)
    assert cost.coordinates_down == 2 * cost.coordinates_up == 4 * cost.contacts


def test_a_fixed_number_of_clients_is_refused() -> None:
    why = r"a fixed number of clients \(4\), .* a subset that is a fraction"
    with pytest.raises(AlgorithmError, match=why):
        expected(Contacts.of(small_scenario()), resolve("online-fed:subset=4"), 24)


def test_a_channel_of_one_s_own_is_refused() -> None:
    own = Channel(send=Windows(2).send)
    for mine in (replace(U1, name="mine", uplink=own), replace(U1, name="mine", downlink=own)):
        with pytest.raises(AlgorithmError, match=r"^mine has rules of its own: theory knows win"):
            expected(Contacts.of(small_scenario()), mine, 24)
