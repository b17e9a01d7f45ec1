"""What messages of each shape say."""

import time
from collections.abc import Sequence

import pytest

from paofed.live.gateway.life import Hearing
from paofed.live.gateway.pairing import Rule
from paofed.live.gateway.telemetry import (
    PRESETS,
    Pattern,
    TelemetryShape,
    Telling,
    Useless,
    shapes_of,
)
from tests.live.gateway.recorded import CHIRPSTACK, HOMIE5, STATESTREAM, TASMOTA, ZIGBEE2MQTT


def told(preset: str, messages: Sequence[tuple[str, bytes]], **values: str) -> list[object]:
    """What a gateway with this preset hears of recorded messages: source, values, reasons."""
    topic = PRESETS[preset]
    found: dict[str, tuple[Pattern, tuple[str, ...]]]
    if "{value}" in topic:
        found = {n: (Pattern.of(topic.replace("{value}", v)), ()) for n, v in values.items()}
    else:
        found = {n: (Pattern.of(topic), tuple(v.split("."))) for n, v in values.items()}
    shapes = shapes_of(found, ()).values()
    return [
        (source, heard.values, list(map(str, heard.passed_over)))
        for place, payload in messages
        for shape in shapes
        if (source := shape.pattern.source(place)) is not None
        for heard in [shape.read(payload)]
    ]


def test_messages_of_zigbee2mqtt() -> None:
    heard = told("zigbee2mqtt", ZIGBEE2MQTT, t="temperature", h="humidity", p="power")
    assert heard == [
        ("kitchen", {"t": 27.34, "h": 44.72}, []),
        ("0x00158d0001dc126a", {"t": 21.5, "h": 40.1}, []),
        ("wall plug", {"p": 16.0}, []),
        ("hallway", {"h": 51.0}, []),
        ("button", {}, ["without any of the values"]),
    ]
    assert told("zigbee2mqtt", ZIGBEE2MQTT, o="occupancy", s="state")[2:4] == [
        ("wall plug", {}, ["s is not a number"]),
        ("hallway", {"o": 1.0}, []),
    ]


def test_messages_of_tasmota() -> None:
    heard = told("tasmota", TASMOTA, t="AM2301.Temperature", p="ENERGY.Power")
    assert heard == [("th16", {"t": 22.6}, []), ("pow", {"p": 201.0}, [])]


def test_messages_of_homie_5() -> None:
    heard = told("homie5", HOMIE5, t="engine/temperature", v="engine/speed")
    assert heard == [
        ("super-car", {"t": 21.5}, []),
        ("super-car", {"v": -3.0}, []),
        ("bike", {"t": 12.5}, []),
        ("bike", {"v": 1.0}, []),
        ("boat", {}, ["v is not a number"]),
        ("boat", {}, ["t is not finite"]),
    ]


def test_messages_of_home_assistant() -> None:
    heard = told("statestream", STATESTREAM, t="temperature", h="humidity")
    assert heard == [
        ("kitchen", {"t": 21.5}, []),
        ("kitchen", {"h": 44.0}, []),
        ("living_room", {}, ["t is not a number"]),
    ]


def test_messages_of_chirpstack() -> None:
    pattern = Pattern.of("application/1/device/{source}/event/up")
    paths = {"t": ("object", "temperature"), "h": ("object", "humidity")}
    shape = TelemetryShape(pattern, paths, ("time",))
    (up, payload), (join, _) = CHIRPSTACK
    assert (pattern.source(up), pattern.source(join)) == ("0102030405060708", None)
    heard = shape.read(payload)
    assert (heard.values, heard.passed_over) == ({"t": 22.5, "h": 48.0}, [])
    assert heard.at == pytest.approx(1658136855.775023)


def test_a_number_may_be_a_text_or_plain() -> None:
    for text in ("21.5", " 21.5 ", "2.15e1", "+21.5"):
        assert read(b'{"t": "%s"}' % text.encode()).values == {"t": 21.5}
    shape = TelemetryShape(Pattern.of("x/{source}/t"), {"t": ()})
    for payload in (b"1_000", b"", b"ON", b"0x10", b"\xff"):
        assert shape.read(payload) == Telling({}, None, [Useless("is not a number", "t")])


def test_a_source_is_a_part_or_a_piece_of_one() -> None:
    pattern = Pattern.of("tele/{source}/SENSOR")
    assert pattern.subscription == "tele/+/SENSOR"
    assert pattern.source("tele/th16/SENSOR") == "th16"
    assert pattern.of_source("th16") == "tele/th16/SENSOR"
    for topic in ("tele/th16", "tele/th16/STATE", "tele/a/b/SENSOR", "x/th16/SENSOR"):
        assert pattern.source(topic) is None
    assert pattern.may_be(Pattern.of("tele/x/{source}"))
    assert not pattern.may_be(Pattern.of("tele/{source}/STATE"))
    pattern = Pattern.of("x/s-{source}_t/state")
    assert pattern.subscription == "x/+/state"
    assert pattern.source("x/s-a_b_t/state") == "a_b"
    for topic in ("x/s-a/state", "x/a_t/state", "x/s_t/state", "x/s-/t/state"):
        assert pattern.source(topic) is None
    assert pattern.may_be(Pattern.of("x/{source}/state"))
    shared = Pattern.of("weather/now")
    assert (shared.is_shared, shared.subscription, shared.source("weather/now")) == (
        *(True, "weather/now", ""),
    )
    assert shared.source("weather/then") is None


def read(payload: bytes, path: str = "t", time: str = "") -> Telling:
    when = tuple(time.split(".")) if time else ()
    return TelemetryShape(Pattern.of("x/{source}"), {"t": tuple(path.split("."))}, when).read(
        payload
    )


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("1709303565", 1709303565.0),
        ("1709303565000", 1709303565.0),
        ('"2024-03-01T15:32:45+01:00"', 1709303565.0),
        ('"2024-03-01T14:32:45Z"', 1709303565.0),
        ('"2024-03-01T14:32:45.500Z"', 1709303565.5),
    ],
)
def test_times_are_understood(written: str, at: float) -> None:
    assert read(b'{"t": 1, "seen": %s}' % written.encode(), time="seen") == Telling(
        {"t": 1.0}, at, []
    )


def test_a_time_without_a_zone_is_local() -> None:
    local = time.mktime(time.strptime("2018-03-02T18:25:03", "%Y-%m-%dT%H:%M:%S"))
    assert read(b'{"t": 1, "Time": "2018-03-02T18:25:03"}', time="Time").at == local


@pytest.mark.parametrize(
    "written", ["null", "true", '"noon"', "1e999", "-1e11", "-1", "1e17", '"0001-01-01T00:00:00Z"']
)
def test_a_time_that_cannot_be_read_is_told(written: str) -> None:
    found = read(b'{"t": 1, "seen": %s}' % written.encode(), time="seen")
    assert found == Telling({}, None, [Useless("without a time that can be read")])


def test_paths_go_through_objects_and_lists() -> None:
    payload = b'{"list": [{"t": 1}, {"t": 2.5}], "plain": 3}'
    assert read(payload, "list.1.t").values == {"t": 2.5}
    assert read(payload, "plain").values == {"t": 3.0}
    for path in ("list.2.t", "list.x", "plain.t", "nothing"):
        assert read(payload, path).passed_over == [Useless("without any of the values")]


def test_why_nothing_comes_of_a_source_names_its_values_whatever_they_are_called() -> None:
    names = "what is it", "y"
    shape = TelemetryShape(Pattern.of("x/{source}"), {name: (name,) for name in names})
    hearing = Hearing(Rule(names[:1], names[1], 1.0))
    for useless in shape.read(b'{"what is it": "on", "y": 3}').passed_over:
        hearing.passed_over(useless)
    hearing.taken({"y": 3.0}, 0.0)
    assert hearing.why_nothing() == "what is it is not a number"
