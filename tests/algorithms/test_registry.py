import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import ALGORITHMS, OURS, Algorithm, algorithm
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.core.parts import Channel, Learner, Part, ServerRule, Stamp, Weights
from paofed.core.rules import LMS, Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError
from paofed.simulate.engines.reference import replay
from tests.natures import small_trace
from tests.test_docs import DOCUMENTS, rows, section

# docs/notation.md has a line for each row of the paper.
TABLE = rows(section(DOCUMENTS["docs/notation.md"], "## The algorithms as rows"))


def test_the_registry_is_the_table() -> None:
    assert list(ALGORITHMS) == list(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_row_of_the_table(name: str) -> None:
    shared, coordinated, uplink, weight, learns, who = TABLE[name]
    subset = {"all available": None, "the server's pick": 0.3}[who]
    row = algorithm(name, subset=subset)
    assert row.name == (name if subset is None else f"{name}:subset={subset}")
    windows = Windows(None if shared == "D" else int(shared), {"no": False}.get(coordinated, True))
    assert row.downlink == windows
    assert row.uplink == replace(windows, ahead={"same": 0, "next": 1}[uplink])
    assert isinstance(row.server, Newest)
    assert row.server.staleness(0) == 1.0
    assert row.server.staleness(2) == pytest.approx(float(weight.removesuffix("^l")) ** 2)
    assert (row.learns_while_away, row.subset) == (learns == "yes", subset)
    assert (row.step_size, row.max_age) == (None, None)
    assert (row.server.divisor, row.exchange, row.learner) == ("class", "paper", LMS)


def test_options_reach_the_record() -> None:
    made = algorithm(
        "pso-fed",
        shared=8,
        subset=5,
        coordinated=False,
        step_size=0.7,
        max_age=3,
        staleness=0.5,
        divisor="coverage",
        exchange="live",
    )
    assert made.uplink == Windows(8, coordinated=False, ahead=1)
    assert (made.subset, made.step_size, made.max_age) == (5, 0.7, 3)
    assert made.server == Newest(Geometric(0.5), "coverage")
    assert made.exchange == "live"


def every_other(w: FloatArray, memory: tuple[()], stamp: Stamp) -> tuple[Part, tuple[()]]:
    coordinates = np.arange((stamp.client + stamp.tick) % 2, stamp.features, 2)
    return Part(coordinates, w[coordinates]), memory


def test_one_s_own_record_stands_where_a_name_can() -> None:
    own = Algorithm(
        name="mine",
        downlink=Channel(send=every_other),
        uplink=Channel(send=every_other),
        server=Newest(Geometric(0.9)),
        learns_while_away=True,
    )
    assert algorithm(own, step_size=0.2).step_size == 0.2
    assert algorithm(own) == own
    outcome = replay(small_trace(3), own)
    assert outcome.server_model.any()
    assert own.describe()["downlink"]["send"].endswith("every_other")  # type: ignore[index]
    with pytest.raises(AlgorithmError, match="shared cannot be set on the finished algorithm"):
        algorithm(own, shared=3)
    with pytest.raises(AlgorithmError, match="cannot do exchange 'live'"):
        replay(small_trace(3), replace(own, exchange="live"))


def test_a_record_describes_itself_in_plain_words() -> None:
    described = algorithm("pao-fed-c2", shared=2).describe()
    assert described["uplink"] == {"kind": "Windows", "width": 2, "coordinated": True, "ahead": 1}
    staleness = {"kind": "Geometric", "base": 0.2}
    assert described["server"] == {"kind": "Newest", "staleness": staleness, "divisor": "class"}
    assert described["learner"] == {
        "kind": "Learner",
        "learn": "paofed.core.rules._lms",
        "init": "paofed.core.parts.zero_weights",
        "model": "paofed.core.parts.weights",
        "merge": "paofed.core.parts.overwrite",
        "tells": None,
        "starts": None,
        "sees": None,
        "waives": [],
        "served": True,
    }


class Every:
    """A `send` as an object, whose repr is where it is in memory."""

    def __call__(
        self, w: FloatArray, memory: tuple[()], stamp: Stamp, step: int = 2
    ) -> tuple[Part, tuple[()]]:
        coordinates = np.arange(stamp.tick % step, stamp.features, step)
        return Part(coordinates, w[coordinates]), memory


@dataclass(frozen=True)
class Steps:
    """Weights as numbers beside a function."""

    weights: tuple[float, ...]
    beyond: Callable[[int], float]

    def __call__(self, age: int) -> float:
        return self.weights[age] if age < len(self.weights) else self.beyond(age)


class Drawn:
    """A learning rule that says what it is."""

    def __call__(self, state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:
        learned: Weights = LMS.learn(state, z, y, mu, tick)
        return learned

    def __repr__(self) -> str:
        return "Drawn()"


def test_one_s_own_parts_are_described_without_addresses() -> None:
    """The same text in every process, and JSON can hold it."""
    own = replace(
        algorithm("pao-fed-u1"),
        downlink=Channel(send=Every()),
        uplink=Channel(send=partial(Every().__call__, step=3)),
        server=ServerRule(apply=lambda state, *_: state),
        learner=Learner(learn=Drawn()),
    )
    here = "tests.algorithms.test_registry"
    described = json.loads(json.dumps(own.describe()))
    assert described["downlink"]["send"] == f"{here}.Every"
    bound = {"function": f"{here}.Every.__call__", "arguments": [], "keywords": {"step": 3}}
    assert described["uplink"]["send"] == {"kind": "partial", **bound}
    assert described["server"]["apply"].startswith(f"{here}.test_one_s_own_parts")
    assert described["learner"]["learn"] == "Drawn()"
    assert "0x" not in str(described)
    weighed = replace(own, server=Newest(Steps((1.0, 0.5), Geometric(0.1)))).describe()["server"]
    beyond = {"kind": "Geometric", "base": 0.1}
    steps = {"kind": "Steps", "weights": [1.0, 0.5], "beyond": beyond}
    assert weighed == {"kind": "Newest", "staleness": steps, "divisor": "class"}


def test_numbers_of_numpy_are_options_too() -> None:
    eight: Any = np.int64(8)  # as a loop over np.arange gives it
    made = algorithm("pao-fed-u1", shared=eight, step_size=np.float64(0.25))
    assert made == algorithm("pao-fed-u1", shared=8, step_size=0.25)
    assert made.name == "pao-fed-u1:shared=8,step_size=0.25"
    json.dumps(made.describe())


def test_options_are_part_of_the_name_as_the_command_line_takes_them() -> None:
    every = {"subset": 0.2, "shared": 8, "coordinated": False, "step_size": 0.3, "max_age": 5}
    made = algorithm("pso-fed", **every, staleness=0.5, divisor="coverage", exchange="live")  # type: ignore[arg-type]
    assert made.name == (
        "pso-fed:shared=8,subset=0.2,coordinated=false,step_size=0.3,max_age=5,staleness=0.5,"
        "divisor=coverage,exchange=live"
    )
    assert resolve(made.name) == made
    assert algorithm(made, step_size=np.float64(0.4)).name.endswith("exchange=live,step_size=0.4")
    own = replace(made, name="mine: second")
    assert algorithm(own).name == "mine: second"
    assert algorithm(own, max_age=2).name == "mine: second,max_age=2"
    names = [algorithm("pao-fed-u1", step_size=mu).name for mu in (0.1, 0.2)]
    assert names == ["pao-fed-u1:step_size=0.1", "pao-fed-u1:step_size=0.2"]


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("pao-fed-u3", {}, r"did you mean 'pao-fed-u[012]'"),
    ("pso-fed", {}, "needs 'subset': a fraction"),
    ("online-fedsgd", {"shared": 4}, "no option 'shared'; it takes no options of its own"),
    ("pao-fed-u1", {"subset": 3}, "no option 'subset'; it takes shared"),
    ("pao-fed-u1", {"shared": 0}, "shared is 0: expected a whole number"),
    ("pao-fed-u1", {"step_size": 0}, "step size is 0: expected a finite number above 0"),
    ("pao-fed-u1", {"step_size": math.nan}, "step size is nan"),
    ("pao-fed-u1", {"step_size": True}, "step size is True"),
    ("pao-fed-u1", {"max_age": -1}, "max age is -1: expected a whole number"),
    ("pao-fed-u1", {"staleness": 1.2}, "staleness base is 1.2"),
    ("pao-fed-u1", {"divisor": "clas"}, "unknown divisor 'clas': did you mean 'class'"),
    ("pao-fed-u1", {"exchange": "lives"}, "unknown exchange 'lives': did you mean 'live'"),
    *(
        ("pso-fed", {"subset": subset}, "expected a fraction above 0 and below 1, or a whole")
        for subset in (0, 1.0, -0.2, math.nan, True)
    ),
]


@pytest.mark.parametrize(("name", "options", "text"), BAD)
def test_bad_options_are_refused_in_words(name: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(AlgorithmError, match=text):
        algorithm(name, **options)


@pytest.mark.parametrize(
    ("option", "meaning"),
    [
        ("shared", "needs 'shared': how many coordinates a message holds"),
        ("coordinated", "needs 'coordinated': true for the same window"),
    ],
)
def test_the_option_that_is_missing_is_explained(
    option: str, meaning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: dict[str, Callable[..., Algorithm]] = {
        "shared": lambda *, shared: algorithm("pao-fed-u1", shared=shared),
        "coordinated": lambda *, coordinated: algorithm("pao-fed-u1" if coordinated else ""),
    }
    monkeypatch.setitem(OURS, "new", rows[option])
    with pytest.raises(AlgorithmError, match=meaning):
        algorithm("new")


@pytest.mark.parametrize("given", [3, None, ALGORITHMS["pao-fed-u1"]])
def test_what_is_neither_a_name_nor_a_record_is_refused(given: Any) -> None:
    for take in (algorithm, resolve):
        with pytest.raises(AlgorithmError, match="is no algorithm: expected a name such as"):
            take(given)


def test_a_model_too_small_for_the_window() -> None:
    with pytest.raises(AlgorithmError, match="shared is 9, but the model has only 7 features"):
        replay(small_trace(0, features=7), algorithm("pao-fed-u1", shared=9))
