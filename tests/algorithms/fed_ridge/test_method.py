"""The whole method: what it promises, its options, and every engine."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.fed_ridge import fed_ridge
from paofed.algorithms.setup import resolve
from paofed.checks import CHECKS, check_algorithm, check_one
from paofed.core.parts import LEFT_ALONE, told_sizes
from paofed.errors import AlgorithmError
from paofed.simulate.engines import engine_of, reference
from paofed.simulate.engines.fast.own.compiler import kernel_of
from paofed.simulate.engines.gpu import engine as gpu
from paofed.simulate.montecarlo import run
from paofed.simulate.results.table_result import TableResult
from tests.effort import effort, long
from tests.natures import small_trace
from tests.simulate.engines.compared import equal
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

OF_ENGINES = ("traffic counted", "engines agree")
WAIVED = {
    "downlink": ("values of the model", LEFT_ALONE),
    "uplink": ("never silent", "values of the model", LEFT_ALONE),
    "learner": ("a step helps", "merge overwrites", LEFT_ALONE),
    "server": ("fixed point", "convex hull", "untouched coordinates", LEFT_ALONE),
}


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in OF_ENGINES])
def test_it_keeps_what_it_promises(name: str) -> None:
    check_one(name, "fed-ridge")


@long
@pytest.mark.parametrize("word", ["fed-ridge", "fed-ridge:shared=3,most=7,ridge=10,keeps=0.5"])
def test_it_keeps_its_contract_in_every_engine(word: str) -> None:
    check_algorithm(resolve(word))


def test_it_waives_no_more_than_it_must() -> None:
    assert algorithm("fed-ridge").waives == WAIVED


def test_it_is_bounded_and_says_why_no_live_fleet_has_it() -> None:
    method = algorithm("fed-ridge")
    assert method.can_be_bounded
    assert method.unserved == "no live fleet keeps copies of sums yet"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("shared=0", "shared is 0: expected a whole number from 1 on"),
        ("shared=2.5", "shared is 2.5: expected a whole number"),
        ("most=1", "most is 1: expected a whole number from 2 on"),
        ("most=x", "most is 'x'"),
        ("ridge=0", "ridge is 0: expected a number above 0"),
        ("ridge=-1", "ridge is -1: expected a number from 0 on"),
        ("ridge=true", "ridge is True"),
        ("keeps=0", "keeps is 0: expected a number above 0"),
        ("keeps=1.5", "keeps is 1.5: expected a number from 0 to 1"),
        ("keep=1", "unknown option 'keep': did you mean 'keeps'"),
        ("clip=6", "fed-ridge:clip=6 has a server rule of its own, which has no option 'clip'"),
        ("bound=6", "fed-ridge:bound=6 has a learner of its own, which has no option 'bound'"),
        ("exchange=live", "fed-ridge:exchange=live has a downlink of its own"),
    ],
)
def test_bad_options_are_refused_in_one_line(word: str, text: str) -> None:
    with pytest.raises(AlgorithmError, match=re.escape(text)) as refused:
        resolve(f"fed-ridge:{word}").require_fits(24)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("given", [None, [4], "4"])
def test_what_is_no_number_is_refused_too(given: Any) -> None:
    for option in ("shared", "most", "keeps"):
        with pytest.raises(AlgorithmError, match=rf"^{option} is "):
            fed_ridge(**{option: given})


def test_options_are_numbers_of_one_machine_code() -> None:
    """So all values of them share it."""
    usual, other = (resolve(w) for w in ("fed-ridge", "fed-ridge:shared=3,ridge=10,keeps=0.5"))
    assert told_sizes(usual.learner, usual.server, 50) == (3 + 41 * 44 // 2, 43)
    assert kernel_of(usual) is kernel_of(other)


def test_the_gpu_says_in_one_line_that_it_does_not_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "missing", lambda: None)
    reason = engine_of("gpu").refuses(algorithm("fed-ridge"))
    assert reason is not None
    assert "\n" not in reason


@pytest.mark.parametrize("seed", range(effort(everyday=2, thorough=20)))
def test_both_engines_agree(seed: int) -> None:
    """With losses, delays, labels that are rare or late, a start and what is known before it.

    Some labels come so late that not all forecasts are kept until then.
    """
    rng = np.random.default_rng(seed)
    trace = small_trace(
        seed,
        ticks=240 if seed % 2 else 90,
        clients=5,
        features=8,
        lost=0.1 * (seed % 2),
        linear=seed % 3 == 0,
        start=seed % 4 < 2,
        newcomers=seed % 5 == 4,
        labelled=0.6 if seed % 2 else 1.0,
        latest=180 if seed % 2 else 0,
    )
    x = np.nan_to_num(trace.x)
    trace = replace(trace, x=x, y=np.sin(x[..., 0]) + 0.1 * rng.normal(size=trace.y.shape))
    word = f"fed-ridge:shared={rng.integers(6, 30)},most={rng.integers(2, 12)}"
    method = resolve(f"{word},keeps={rng.uniform(0.1, 1.0):.2f}")
    got, expected = (engine.replay(trace, method) for engine in (engine_of("fast"), reference))
    assert expected.server_model.any()
    equal(got, expected)


def test_both_engines_agree_over_a_table(tmp_path: Path) -> None:
    """Where the server knows the calibration period, and newcomers get all that is told."""
    scenario = fleet(table(write(tmp_path / "t.csv", with_gaps(hourly(3, 40)))))
    usual: dict[str, Any] = {"seed": 3, "workers": 1, "baselines": "none", "every": 7}
    engines: list[dict[str, Any]] = [{"precision": "float64"}, {"engine": "reference"}]
    got, expected = (
        TableResult.of(run(scenario, ["fed-ridge"], **usual, **given)) for given in engines
    )
    assert got.provenance["engines"] == ["fast"]
    np.testing.assert_array_equal(got.traffic, expected.traffic)
    for name in ("errors", "device_errors"):
        one, other = (getattr(result.progressive, name) for result in (got, expected))
        np.testing.assert_allclose(one, other, rtol=1e-9)
