"""What the model sees of a sample is in C what it is in Python, in all bits of a float32."""

import json
import math
from itertools import accumulate
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from paofed.core.columns.calendar import Calendar, Cycle
from paofed.core.columns.categories import COMPASS, Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.core.columns.transform import Transform
from paofed.core.columns.written import read
from paofed.device_c.agreed import agreed_in_c
from paofed.errors import InputError
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.seen import Seen
from tests.device_c.seeing import Seeing
from tests.effort import effort
from tests.live.fleets import manifest

VECTORS = json.loads(
    (Path(__file__).parents[2] / "docs/vectors/columns.json").read_text(encoding="utf-8")
)
VECTOR_COLUMNS = tuple(dict.fromkeys(read(one["column"]) for one in VECTORS))
HOUR = 3600.0
BEGAN = 1_711_846_790.0  # shortly before clocks go forward in Europe
APART = 2.0**-16
KINDS = ("wet", "dry", 'a "b"\\c, é?', "7 up")
_OWN = (
    Number("a"),
    Number("a", 2.3, 0.7),
    Number("b", 1.5, 0.25, logarithm=True),
    Number("b", 0.5, 1.75, logarithm=True, lag=1),
    Number("a", 0.125, 3.1, diff=3),
    Number("b", 0.125, 3.1, logarithm=True, diff=2),
    Number("y", 3.0, 1.5, logarithm=True, lag=2),
    Number("y", 3.0, 1.5, lag=1),
    Cyclic("a", 24.0),
    Cyclic("b", 0.01),
    Compass("wind"),
    OneHot("kind", KINDS),
    Calendar("time", "hour"),
    Calendar("time", "weekday", "America/St_Johns"),
    Calendar("time", "yearday", "Europe/Oslo"),
    Calendar("time", "hour", "Europe/Oslo"),
    Cyclic("time", 60.0, time=True),
    Cyclic("time", 604800.0, time=True),
)
# With those of the vectors that are of now; a device in C takes a text in one way, that of _OWN.
_OF_NOW = [one for one in VECTOR_COLUMNS if one.lags == (0,) and one.measures != "text"]
EVERYTHING = tuple(dict.fromkeys((*_OWN, *_OF_NOW)))


def fleet(*columns: Transform, target: Number | None = None, **changes: Any) -> Manifest:
    """A small fleet that sees these columns."""
    unit = target or Number("y", 3.0, 1.5, logarithm=True)
    names = dict.fromkeys(c.name for c in columns if c.measures != "time" and c.name != unit.name)
    told: dict[str, Any] = {
        "inputs": tuple(Quantity(name=name) for name in names),
        "target": Quantity(name=unit.name, low=-0.5, high=500.0),
        "seen": Seen(columns, unit),
        "features": 20,
        "tick_seconds": HOUR,
        "start": BEGAN - 1000.25,
    }
    return manifest(**{**told, **changes})


def seen_by(edge: Edge, x: list[Any], time: float) -> Any:
    """The numbers of the device in Python, as float32."""
    return edge._numbers(x, time).astype(np.float32)


def some_sample(random: np.random.Generator) -> list[Any]:
    a = float(random.choice([random.normal(0, 30), random.normal(), 0.1, 0.0]))
    b = min(float(np.exp(random.normal(0, 4))), 2e5) - float(random.random() < 0.3) * 0.9
    wind = str(random.choice(COMPASS))
    return [a, max(b, -0.99), wind if random.random() < 0.5 else wind.lower(),
            str(random.choice([*KINDS, "odd"])), float(random.uniform(0, 24))]  # fmt: skip


def test_every_transform_has_the_bits_of_python_over_years() -> None:
    random, agreed = np.random.default_rng(7), fleet(*EVERYTHING)
    edge, c = Edge(agreed, 3), Seeing(agreed)
    time, seen = BEGAN, 0
    for _ in range(effort(everyday=400, thorough=3_000)):
        x, y = some_sample(random), float(np.exp(random.normal(2, 2))) - 0.5
        np.testing.assert_array_equal(c.sees(x, time), seen_by(edge, x, time), str((x, time)))
        assert c.learn(x, y, time) == edge.learn(x, y, time)
        assert c.c.unknown_past() == edge.unknown_past
        assert c.c.state().passed_over == edge.implausible
        seen += bool(np.isfinite(edge._numbers(x, time)).all())
        steps = [0.5, 1.0, -1.0, 2.0, 1.0, 24.0, 1000.7]
        time += HOUR * float(random.choice(steps)) + float(random.choice([0.0, 0.25, 1 / 3]))
        time = time if time < BEGAN + 25 * 365 * 24 * HOUR else BEGAN
    assert seen > 20
    w = edge.w
    assert np.abs(c.c.state().w - w).max() <= APART * max(np.abs(w).max(), 1.0)


@pytest.mark.parametrize("zone", ["Europe/Oslo", "America/St_Johns", "Asia/Shanghai", "UTC"])
def test_clocks_that_change(zone: str) -> None:
    """To the second, in spring and autumn, and at the end of a leap year."""
    agreed = fleet(Number("a"), *(Calendar("time", cycle, zone) for cycle in get_args(Cycle)))
    edge, c = Edge(agreed, 3), Seeing(agreed)
    for turn in (1_711_846_800.0, 1_729_990_800.0, 1_710_052_200.0, 1_735_689_600.0, 1_735_615_800):
        for second in (-86_400.0, -1.0, -0.001, 0.0, 0.5, 1.0, 3_600.0, 86_400.0):
            time = turn + second
            np.testing.assert_array_equal(c.sees([1.0], time), seen_by(edge, [1.0], time))


def test_the_vectors_of_columns() -> None:
    """docs/vectors/columns.json, of which every column is in one fleet."""
    agreed = fleet(*VECTOR_COLUMNS, tick_seconds=1.0)
    sizes = accumulate([len(column.labels) for column in VECTOR_COLUMNS], initial=0)
    places = dict(zip(VECTOR_COLUMNS, sizes))  # noqa: B905
    names = [number.name for number in agreed.inputs]
    c = Seeing(agreed)
    usual: dict[str, Any] = {"a": 0.5, "hour": 1.0, "wind": "N", "kind": "wet"}
    for vector in VECTORS:
        column = read(vector["column"])
        time = vector["values"][0] if column.measures == "time" else 1_719_835_262.0
        now = usual
        for lag, value in zip(column.lags, vector["values"], strict=True):
            if lag:
                then = {**usual, column.name: value}
                c.remember([then[name] for name in names], None, time - lag)
            elif column.measures != "time":
                now = {**usual, column.name: value}
        found = c.sees([now[name] for name in names], time)
        right = np.array(vector["numbers"], dtype=np.float32)
        place = places[column]
        np.testing.assert_array_equal(found[place : place + right.size], right, str(vector))


@pytest.mark.parametrize("length", [0.1, 0.3, 1.1, 1.001])
def test_ticks_begin_as_in_python_where_their_length_has_no_exact_bits(length: float) -> None:
    agreed = fleet(Number("a"), Number("a", lag=1), tick_seconds=length, start=1.7e9)
    edge, c = Edge(agreed, 3), Seeing(agreed)
    for n in range(1, 60):
        for time in (agreed.begins(n) - length / 3, agreed.start + n * length, agreed.begins(n)):
            np.testing.assert_array_equal(c.sees([2.0], time), seen_by(edge, [2.0], time))
            assert c.learn([float(n)], 1.0, time) == edge.learn([float(n)], 1.0, time)


@pytest.mark.parametrize("began", [1762572030.4108055, 1786804530.7143297, 1732000000.0])
def test_ticks_begin_as_in_python_where_a_manifest_says_when(began: float) -> None:
    """Times of 17 digits, which a double does not hold without their point."""
    agreed = fleet(Number("a"), Number("a", lag=1), tick_seconds=1.0)
    c = Seeing(agreed)
    other = fleet(Number("a"), Number("a", lag=1), tick_seconds=1.0, epoch=4, from_tick=9,
                  from_time=began)  # fmt: skip
    edge = Edge(agreed, 3).under(other)
    assert c.c.follow(other.to_json())
    for n, time in enumerate((began - 1, math.nextafter(began, 0.0), began, began + 1)):
        assert c.learn([float(n)], 1.0, time) == edge.learn([float(n)], 1.0, time)
        np.testing.assert_array_equal(c.sees([2.0], time), seen_by(edge, [2.0], time))


def test_what_is_remembered_survives_a_restart_and_no_change_of_the_fleet() -> None:
    agreed = fleet(Number("a"), Number("y", lag=1), tick_seconds=1.0)
    edge, c = Edge(agreed, 3), Seeing(agreed)
    assert c.learn([1.0], 7.5, BEGAN) == edge.learn([1.0], 7.5, BEGAN)
    assert c.c.save()
    assert c.c.begin(3)
    np.testing.assert_array_equal(c.sees([2.0], BEGAN + 1), np.array([2.0, 7.5], dtype="<f4"))
    began = BEGAN + 100.625  # ticks begin at another part of a second
    other = fleet(Number("a"), Number("y", lag=1), tick_seconds=1.0, epoch=4, from_tick=9,
                  from_time=began)  # fmt: skip
    edge = edge.under(other)
    assert c.c.follow(other.to_json())
    assert math.isnan(c.predict([2.0], BEGAN + 1))
    for time in (0.0, 0.5, 1.0, 1.99, 2.0, 2.0, 4.0):
        assert c.learn([1.0], time, began + time) == edge.learn([1.0], time, began + time)
    assert c.c.unknown_past() == edge.unknown_past


@pytest.mark.parametrize("saves", [True, False], ids=["saved", "not saved"])
def test_what_is_wrong_with_a_sample_is_counted_as_in_python(saves: bool) -> None:
    agreed = fleet(
        Number("a"),
        Number("b", logarithm=True),
        Compass("wind"),
        OneHot("kind", ("wet", "dry")),
        Number("y", lag=1),
        tick_seconds=1.0,
    )
    edge, c = Edge(agreed, 3), Seeing(agreed)
    samples: list[tuple[list[Any], float]] = [
        ([1.0, 2.0, "N", "wet"], 5.0),  # nothing to look back at
        ([1.0, 2.0, "N", "wet"], 5.0),
        ([1.0, 2.0, "north", "wet"], 5.0),  # no direction: nothing is remembered
        ([1.0, 2.0, "N", "unheard of"], 5.0),
        ([1.0, -1.0, "N", "dry"], 5.0),  # no logarithm
        ([1.0, 2.0, "N", ""], 5.0),
        ([1.0, 2.0, "sSw", "wet"], -0.75),  # below its range
        ([1.0, 2.0, "N", "wet"], 6.0),
        ([math.inf, 2.0, "N", "wet"], 6.0),
        ([1.0, 2.0, "N", "Wet"], math.nan),
        ([1.0, 2.0, "N", "wet"], 6.0),
        ([1.0, 2.0, "N", "wet"], 6.0),
    ]
    for number, (x, y) in enumerate(samples):
        time = BEGAN + number
        try:
            learned = edge.learn(x, y, time)
        except InputError:
            learned = False
        assert c.learn(x, y, time) == learned, number
        assert c.c.unknown_past() == edge.unknown_past, number
        assert c.c.state().passed_over == edge.implausible, number
        if saves:
            assert c.c.save()
            assert c.c.begin(3)
            edge.unknown_past = edge.implausible = 0  # which are counted since a start


def test_a_target_that_is_a_logarithm_is_predicted_as_measured() -> None:
    agreed = fleet(Number("a"), Cyclic("a", 24.0))
    edge, c = Edge(agreed, 3), Seeing(agreed)
    for y in (0.0, 4.5, 99.0, -0.25, 3.0, 480.0):
        assert c.learn([0.3], y, 0.0)
        assert edge.learn([0.3], y)
        right = edge.predict([0.3])
        assert c.predict([0.3], 0.0) == pytest.approx(right, rel=1e-5, abs=1e-5)
    assert math.isnan(c.predict([math.nan], 0.0))


@pytest.mark.parametrize(
    ("agreed", "says"),
    [
        (
            fleet(Number("a"), Cyclic("time", 59.0, time=True)),
            "sees the time in turns of 59 seconds",
        ),
        (fleet(Compass("wind"), OneHot("wind", ("N", "S"))), "sees wind as compass and as one-"),
        (
            fleet(Number("a"), Number("y", lag=1), start=1e11),
            "ticks begin 1e+11 seconds after",
        ),
    ],
    ids=["period", "text", "start"],
)
def test_what_c_does_not_do_is_refused_in_a_line(agreed: Manifest, says: str) -> None:
    with pytest.raises(InputError) as caught:
        agreed_in_c(agreed)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
