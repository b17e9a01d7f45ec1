"""The same run with labels on other shares of the samples: numbers, files, and what is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.errors import FileError, InputError
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.stopping import Interrupted
from paofed.world.scenario import Scenario
from tests.natures import small_scenario
from tests.world.table.tables import fleet, hourly, table, write

METHODS = ["pao-fed-u1:shared=3", "pao-fed-u2:learner=two-speed"]
LAW = {"share": 0.5, "late": 2, "devices": 0.4}
SHARES = [1.0, 0.1, 0.5]


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    path = write(tmp_path_factory.mktemp("shares") / "t.csv", hourly(5, 120))
    return fleet(table(path, tick="1h"), labels=LAW)


def ran(over: Scenario, shares: Sequence[float] = (), **options: Any) -> TableResult:
    given = {"runs": 2, "every": 20, "seed": 5, **options}
    return TableResult.of(run(over, METHODS, label_shares=shares, **given))


@pytest.fixture(scope="module")
def result(scenario: Scenario) -> TableResult:
    return ran(scenario, SHARES)


def test_each_share_is_what_a_run_of_its_own_would_be(
    scenario: Scenario, result: TableResult
) -> None:
    assert result.label_shares is not None
    found = dict(result.label_shares.judged(result.progressive))
    assert list(found) == [0.1, 0.5, 1.0]
    for share, judged in found.items():
        alone = ran(scenario.replace(**{"labels.share": share})).progressive
        np.testing.assert_array_equal(judged.learners, alone.learners)
        np.testing.assert_array_equal(judged.device_errors, alone.device_errors)
        np.testing.assert_array_equal(judged.with_labels, alone.with_labels)
    usual = ran(scenario)
    assert usual.label_shares is None
    np.testing.assert_array_equal(usual.lives.sums, result.lives.sums)


def test_without_a_law_the_usual_share_is_all(scenario: Scenario) -> None:
    every = scenario.model_copy(update={"labels": None})
    found = ran(every, [1.0, 0.2], runs=1)
    assert found.label_shares is not None
    errors = found.label_shares.errors
    np.testing.assert_array_equal(errors[..., 1], found.progressive.device_errors)
    assert (errors[..., 0] != errors[..., 1]).any()


def test_shares_are_saved_and_merged(
    scenario: Scenario, result: TableResult, tmp_path: Path
) -> None:
    result.save(tmp_path / "r.npz")
    parts = [ran(scenario, SHARES, runs=1, first=i) for i in (1, 0)]
    for other in (Result.load(tmp_path / "r.npz"), Result.merge(parts)):
        one, two = result.label_shares, TableResult.of(other).label_shares
        assert one is not None
        assert two is not None
        np.testing.assert_array_equal(one.shares, two.shares)
        np.testing.assert_array_equal(one.errors, two.errors)


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ([0.1, 0.5, 1.5], "its shares of labels are not some above 0 and up to 1"),
        ([0.5, 0.1, 1.0], "label_shares/shares does not rise"),
    ],
)
def test_shares_that_are_none_are_refused(
    result: TableResult, tmp_path: Path, shares: list[float], says: str
) -> None:
    result.save(tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz") as held:
        save_arrays(tmp_path / "forged.npz", {**held, "label_shares/shares": np.array(shares)})
    with pytest.raises(FileError, match=says):
        Result.load(tmp_path / "forged.npz")


@pytest.mark.parametrize("shares", [[0.0], [1.5], ["10%"], [True]])
def test_what_is_no_share_is_refused(scenario: Scenario, shares: list[Any]) -> None:
    with pytest.raises(InputError, match="expected shares of the samples, above 0 and up to 1"):
        ran(scenario, shares)


def test_other_requests_that_cannot_be_met(scenario: Scenario) -> None:
    with pytest.raises(InputError, match="expected each share once"):
        ran(scenario, [0.1, 0.1])
    with pytest.raises(
        InputError, match=r"label_shares is \[.*\], but shares are for runs over a table"
    ):
        run(small_scenario(), "pao-fed-u1", label_shares=[0.1])


def test_an_interrupt_keeps_the_run_without_its_shares(scenario: Scenario) -> None:
    told: list[float] = []

    def report(share: float) -> None:
        told.append(share)
        if share > 0.5:  # the run itself is a third of the work
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        ran(scenario, SHARES, report=report)
    assert told == sorted(told)
    found = TableResult.of(caught.value.result)  # type: ignore[arg-type]
    assert found.label_shares is None
    np.testing.assert_array_equal(found.lives.sums, ran(scenario).lives.sums)
