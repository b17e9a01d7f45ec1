"""GATEWAY.toml."""

from pathlib import Path
from typing import Any

import pytest

from paofed.live.gateway.examples import example
from paofed.live.gateway.login import TelemetryLogin
from paofed.live.gateway.pairing import Rule
from paofed.live.gateway.settings import CalendarInput, GatewayError, GatewaySettings
from paofed.live.gateway.telemetry import PRESETS, Pattern

SMALL = """\
file = "hall.json"
state = "state"
[telemetry]
topic = "plant/{source}/data"
[inputs]
a = "x.a"
b = { topic = "meter/{source}", path = ["odd.key", "b"] }
[target]
y = { topic = "target/{source}" }
"""


def load(folder: Path, text: str) -> GatewaySettings:
    path = folder / "gateway.toml"
    path.write_text(text)
    return GatewaySettings.load(path)


def test_what_is_written_and_what_is_not(tmp_path: Path) -> None:
    found = load(tmp_path, SMALL)
    assert (found.file, found.state) == (tmp_path / "hall.json", tmp_path / "state")
    assert (found.admit, found.rule) == ((), Rule(("a", "b"), "y", 60.0))
    assert [(shape.pattern, shape.paths) for shape in found.shapes] == [
        (Pattern.of("plant/{source}/data"), {"a": ("x", "a")}),
        (Pattern.of("meter/{source}"), {"b": ("odd.key", "b")}),
        (Pattern.of("target/{source}"), {"y": ()}),
    ]
    assert found.broker == TelemetryLogin()
    assert found.publish.topic == ""


@pytest.mark.parametrize("preset", PRESETS)
def test_every_example_can_be_followed(preset: str, tmp_path: Path) -> None:
    found = load(tmp_path, example(preset))
    assert found.rule == Rule(("temperature", "humidity"), "load", 60.0)
    assert found.admit == ()
    prefix = PRESETS[preset].split("/")[0]
    assert {shape.pattern.parts[0] for shape in found.shapes} == {prefix}


WRONG = {
    "not valid TOML": ("file =", "file"),
    "unknown setting 'windw': did you mean 'window'?": ('state = "state"', "windw = 3"),
    "there is no state": ('state = "state"', ""),
    "window is 0: expected a number above 0": ('state = "state"', 'state = "s"\nwindow = 0'),
    "window is True": ('state = "state"', 'state = "s"\nwindow = true'),
    "most_per_second is 0": ('state = "state"', 'state = "s"\nmost_per_second = 0'),
    "admit is 3: expected a list of texts": ('state = "state"', 'state = "s"\nadmit = 3'),
    "unknown setting of telemetry 'topik': did you mean": ('topic = "plant', 'topik = "plant'),
    "expected {source} in it once": ("plant/{source}/data", "plant/data"),
    "expected {source} in it once, and": ("plant/{source}/data", "plant/{source}/+"),
    "has the topic '{source}/{source}'": ("plant/{source}/data", "{source}/{source}"),
    "inputs.b has the topic 'meter/#': expected no + or #": ("meter/{source}", "meter/#"),
    "target.y has a topic of all sources: expected {source}": ("target/{source}", "target/all"),
    "unknown calendar of inputs.a 'ours': did you mean 'hour'?": (
        'a = "x.a"',
        'a = { calendar = "ours" }',
    ),
    "'Oslo' is no zone": ('a = "x.a"', 'a = { calendar = "hour", zone = "Oslo" }'),
    "inputs are of the calendar alone": (
        SMALL.partition("[inputs]\n")[2].partition("[target]")[0],
        'a = { calendar = "hour" }\n',
    ),
    "same is 3: expected lines of": ('state = "state"', 'state = "s"\nsame = 3'),
    "same.b has 'x', which is a's already": (
        "[target]",
        '[same]\na = ["x", "y"]\nb = ["x"]\n[target]',
    ),
    "unknown preset 'zigbee': did you mean 'zigbee2mqtt'?": (
        'topic = "plant/{source}/data"',
        'preset = "zigbee"',
    ),
    "telemetry.preset is ['x']: expected a text": (
        'topic = "plant/{source}/data"',
        'preset = ["x"]',
    ),
    "telemetry.password is no text: expected": ("[inputs]", "password = 1234\n[inputs]"),
    "neither a preset nor a topic": ('topic = "plant/{source}/data"', ""),
    "telemetry.port is 0: expected 1 to 65535": ("[inputs]", "port = 0\n[inputs]"),
    "telemetry.port is '1': expected a value of type int": ("[inputs]", 'port = "1"\n[inputs]'),
    "both certificate and key": ("[inputs]", 'certificate = "c.pem"\n[inputs]'),
    "telemetry.time is given, and y is plain": ("[inputs]", 'time = "t"\n[inputs]'),
    "inputs is {}": (SMALL.partition("[inputs]\n")[2].partition("[target]")[0], ""),
    "inputs.a is '': expected a path": ('a = "x.a"', 'a = ""'),
    "inputs.a is 3: expected a text": ('a = "x.a"', "a = 3"),
    "target needs one name": ("[target]", '[target]\nz = "z"'),
    "which is not an input's": ("y = {", "a = {"),
    "the gateway would hear it": ("[target]", '[publish]\ntopic = "meter/{source}"\n[target]'),
    "publish.every is -1": ("[target]", '[publish]\ntopic = "p/{source}"\nevery = -1\n[target]'),
    "publish.retain is 'no'": ("[target]", '[publish]\nretain = "no"\n[target]'),
    "publish has the topic 'p'": ("[target]", '[publish]\ntopic = "p"\n[target]'),
}


@pytest.mark.parametrize("says", WRONG)
def test_what_cannot_be_followed_is_told_with_its_file(says: str, tmp_path: Path) -> None:
    right, wrong = WRONG[says]
    assert right in SMALL
    with pytest.raises(GatewayError) as refused:
        load(tmp_path, SMALL.replace(right, wrong, 1))
    text = str(refused.value)
    assert says in text
    assert str(tmp_path / "gateway.toml") in text


def test_how_telemetry_is_encrypted(tmp_path: Path) -> None:
    assert TelemetryLogin().tls() is None
    assert TelemetryLogin(encrypted=True).tls() is not None
    missing = TelemetryLogin.of(
        {"authority": "ca.pem", "user": "u", "password": "secret"}, tmp_path
    )
    with pytest.raises(Exception, match=r"ca.pem cannot be used: No such file") as refused:
        missing.tls()
    assert "secret" not in f"{refused.value} {missing!r}"
    assert (missing.name, TelemetryLogin().name) == ("u", "gateway")


def test_inputs_of_all_sources_of_the_calendar_and_sources_of_several_names(tmp_path: Path) -> None:
    text = SMALL.replace("[target]", '''\
outdoor = { topic = "weather/now", path = "t" }
hour = { calendar = "hour", zone = "Europe/Oslo" }
[same]
kitchen = ["kitchen-sensor", "kitchen-plug"]
[target]''')  # fmt: skip
    found = load(tmp_path, text)
    assert found.rule == Rule(("a", "b", "outdoor"), "y", 60.0, frozenset({"outdoor"}))
    assert found.inputs == ("a", "b", "outdoor", "hour")
    assert found.calendar == {"hour": CalendarInput("hour", "Europe/Oslo")}
    assert found.same == {"kitchen-sensor": "kitchen", "kitchen-plug": "kitchen"}


@pytest.mark.parametrize(
    ("part", "number"), [("hour", 1.75), ("weekday", 4.0), ("month", 3.0), ("yearday", 61.0)]
)
def test_what_the_clock_tells(part: Any, number: float) -> None:
    """Friday, 1 March 2024, 00:45 UTC: in Oslo an hour later."""
    assert CalendarInput(part, "Europe/Oslo").at(1709253900.0) == number
