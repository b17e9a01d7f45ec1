"""Rules of one's own that are measured do the work of the rules that they stand beside."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from lab.benchmarks import own
from lab.benchmarks.own import OWN
from lab.benchmarks.speed import ROUNDS
from paofed.algorithms import Algorithm
from paofed.checks import CHECKS, check_one
from paofed.simulate.engines import Precision
from paofed.simulate.engines.reference import replay
from paofed.world.scenario import Scenario
from tests.effort import effort, in_ci, some
from tests.natures import small_trace


@pytest.mark.parametrize("what", ["learner", "channel"])
def test_the_same_numbers(what: str) -> None:
    trace = small_trace(3, features=9)
    expected, got = replay(trace, "pao-fed-u1"), replay(trace, OWN[what])
    np.testing.assert_array_equal(got.mse, expected.mse)
    np.testing.assert_array_equal(got.traffic, expected.traffic)


def test_the_server_moves_what_arrives() -> None:
    at_once = replace(small_trace(3, features=9), delay=np.zeros((24, 4), dtype=np.int64))
    expected, got = replay(at_once, "pao-fed-u1"), replay(at_once, OWN["server"])
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-12)


def test_sums_are_measured_beside_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over maps of the sizes that the rows say, each as long as the others."""
    seen: list[tuple[str, int]] = []

    def seconds(setting: Scenario, method: Algorithm, precision: Precision) -> float:
        assert precision == "float32"
        seen.append((method.name, setting.features))
        return 0.01 if method.name == "pao-fed-u1" else 0.05

    monkeypatch.setattr(own, "_seconds", seconds)
    found = own.sums_beside_models(lambda _: None)
    assert tuple((row.method, row.features) for row in found) == own.SUMS
    assert seen == [*own.SUMS] * (1 + ROUNDS)
    assert [row.times for row in found] == pytest.approx([1.0, 5.0, 5.0])
    assert found[0].nanoseconds == pytest.approx(1e7 / 320_000)


def test_a_start_is_measured() -> None:
    for what in list(OWN)[: effort(everyday=0, thorough=1)]:  # each compiles for some seconds
        first, later = own._starts(what, lambda _: None)
        assert 0 < later < first  # from disk, not compiled again


COMPILED = ("traffic counted", "engines agree")  # of every engine: ten seconds for each method


def test_the_contract_is_kept() -> None:
    for method, promise in product(some(OWN.values(), everyday=2), CHECKS):
        if in_ci() or promise not in COMPILED:
            check_one(promise, method)
