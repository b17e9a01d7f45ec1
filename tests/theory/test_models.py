"""Ways to follow the mean: in modes, and whole models by sums, against plain matrices."""

import numpy as np
import pytest

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.selection import Windows
from paofed.core.staleness import weight_of
from paofed.theory.fleet import FleetInTheory
from paofed.theory.mean import growth, predict
from paofed.theory.reach import picked_share
from paofed.theory.weights import ExpectedWeights
from tests.theory.fleets import fleet_of

CLIENTS, FEATURES, TICKS = 5, 6, 40
AGES = (0, 1, 4)


def some_fleet(*, always: bool = False) -> FleetInTheory:
    """Clients that differ in everything; `always` has a contact with every sample."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(CLIENTS, FEATURES, FEATURES)) / 3
    data = rng.uniform(0.2, 1.0, CLIENTS)
    return fleet_of(
        root @ np.swapaxes(root, 1, 2),
        rng.normal(size=(CLIENTS, FEATURES)),
        data=data,
        available=data * (1.0 if always else rng.uniform(0.1, 0.9, CLIENTS)),
        ages=AGES,
        late=rng.dirichlet(np.ones(len(AGES)), CLIENTS),
    )


def by_matrices(fleet: FleetInTheory, text: str, settings: Settled) -> FloatArray:
    """The server's mean after every tick, (N, D), by products with R_k and masks."""
    method = resolve(text)
    down, up, server = method.require_paper_parts("this test")
    moments, contacts = fleet.moments, fleet.contacts
    contact = (contacts.available * picked_share(method))[:, None]
    alone = (contacts.data[:, None] - contact) * method.learns_while_away

    ups, downs = (_masks(link) for link in (up, down))
    weights = ExpectedWeights(
        contacts.ages,
        np.array([weight_of(server.staleness, age) for age in AGES]),
        contact.T * contacts.late.T,
        ups,
        by_coverage=server.divisor == "coverage",
    )

    def learned(models: FloatArray) -> FloatArray:
        gradient: FloatArray = np.einsum("kij,kj->ki", moments.R, models) - moments.r
        return models - settings.step_size * gradient

    w, W = np.zeros(FEATURES), np.zeros((CLIENTS, FEATURES))  # noqa: N806 (the paper's symbol)
    sent: list[FloatArray] = []
    more: list[FloatArray] = []  # that a sender has learned than the mean
    found = []
    for n in range(TICKS):
        held, window = ups[n % FEATURES], downs[n % FEATURES]
        told = learned(np.where(window, w, W) if method.exchange == "paper" else W)
        sent.append(weights.pulls(n % FEATURES, np.where(held, told, 0.0)))
        more.append((1 - contact - alone) * (told - W))
        if method.exchange == "single":
            told = np.where(window, w, told)
        W = W + contact * (told - W) + alone * (learned(W) - W)  # noqa: N806
        if method.exchange == "live":
            begun = np.flatnonzero(contacts.ages <= n)
            misses = 1 - weights.q[begun]
            kept = np.prod(misses, axis=0)[:, None] * (W - w)
            for i in begun:
                only = weights.q[i] * np.prod(np.delete(misses, i, axis=0), axis=0)
                kept -= only[:, None] * more[n - AGES[i]]
            W = np.where(window, w + kept, W)  # noqa: N806
        arriving = [sent[max(n - age, 0)][i] for i, age in enumerate(AGES)]
        w = weights.move(w, n, np.array(arriving))
        found.append(w)
    return np.array(found)


def _masks(link: Windows) -> BoolArray:
    """What travels at D ticks, after which all windows begin again, (D, K, D)."""
    held = np.zeros((FEATURES, CLIENTS, FEATURES), dtype=bool)
    for n, k in np.ndindex(FEATURES, CLIENTS):
        held[n, k, link(k, n, FEATURES)] = True
    return held


@pytest.mark.parametrize(
    "text",
    [
        "online-fedsgd",
        "online-fedsgd:divisor=coverage,step_size=0.4",
        "online-fed:subset=0.3",
        "online-fedsgd:exchange=single",
        "pao-fed-c1:shared=6",
        "pao-fed-u1:shared=6,divisor=coverage",
        "pao-fed-c0:shared=2",
        "pao-fed-u2:shared=4",
        "pao-fed-u1:shared=2,divisor=coverage",
        "pao-fed-c2:shared=5,exchange=single",
        "pao-fed-u1:shared=2,exchange=live",
        "online-fedsgd:exchange=live",
        "pso-fed:subset=0.5,shared=1",
    ],
)
def test_every_way_is_that_of_matrices(text: str) -> None:
    fleet, settings = some_fleet(), Settled(step_size=0.4, max_age=10)
    found = predict(fleet, [resolve(text)], settings, np.arange(TICKS)).models[0]
    np.testing.assert_allclose(found, by_matrices(fleet, text, settings), rtol=0, atol=1e-13)


def test_whole_models_by_sums_are_whole_models_in_modes() -> None:
    """With a contact at every sample nobody is ever away, so learning there makes no difference."""
    fleet, settings = some_fleet(always=True), Settled(step_size=0.4, max_age=10)
    methods = [resolve(text) for text in ("online-fedsgd", f"pao-fed-c1:shared={FEATURES}")]
    by_sums, in_modes = predict(fleet, methods, settings, np.arange(TICKS)).models
    np.testing.assert_allclose(by_sums, in_modes, rtol=0, atol=1e-13)
    for mu in (0.4, 3.0):
        for ticks in (60, 400):
            by_sums, in_modes = growth(fleet, methods, Settled(mu, 10), ticks)
            assert by_sums == pytest.approx(in_modes, rel=1e-12)


def test_whole_models_are_followed_where_ages_outnumber_clients() -> None:
    """Sums by age would then take more than the clients' own matrices."""
    ages = list(range(4))
    late = np.array([[0.4, 0.3, 0.2, 0.1]] * 2)
    many = fleet_of([np.eye(2) / 2, np.eye(2) / 3], [[1.0, 0.0]] * 2, available=0.5,
                    ages=ages, late=late)  # fmt: skip
    twice = fleet_of([np.eye(2) / 2, np.eye(2) / 3] * 2, [[1.0, 0.0]] * 4, data=0.0,
                     available=0.0, ages=ages, late=np.tile(late, (2, 1)))  # fmt: skip
    rates = np.array([1.0, 1.0, 0.0, 0.0])
    contacts = twice.contacts._replace(data=rates, available=rates / 2)
    # Two clients more that are never there make room for the sums, and change nothing else.
    points, settings = np.arange(20), Settled(0.5, 10)
    found = [
        predict(fleet, [resolve("online-fedsgd")], settings, points).models
        for fleet in (many, twice._replace(contacts=contacts))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-14)
