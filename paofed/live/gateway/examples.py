"""A GATEWAY.toml to begin with, for each preset."""

from typing import NamedTuple


class _Example(NamedTuple):
    """What differs from preset to preset."""

    inputs: str
    target: str
    words: str


_EXAMPLES = {
    "zigbee2mqtt": _Example(
        'temperature = "temperature"\nhumidity = "humidity"',
        'load = "power"',
        "a key of the JSON that every device publishes at zigbee2mqtt/FRIENDLY_NAME",
    ),
    "tasmota": _Example(
        'temperature = "AM2301.Temperature"\nhumidity = "AM2301.Humidity"',
        'load = "ENERGY.Power"',
        "keys of the JSON at tele/TOPIC/SENSOR, with a dot between them",
    ),
    "homie5": _Example(
        'temperature = "climate/temperature"\nhumidity = "climate/humidity"',
        'load = "meter/power"',
        "NODE/PROPERTY of homie/5/DEVICE/NODE/PROPERTY, whose payload is the number",
    ),
    "statestream": _Example(
        'temperature = "temperature"\nhumidity = "humidity"',
        'load = "power"',
        "the end of homeassistant/sensor/SOURCE_VALUE/state, whose payload is the number",
    ),
}
_TEXT = """\
file = "gateway.json"    # that `paofed fleet gateway` wrote; readable by its owner alone
state = "gateway-state"  # a folder: what survives a restart
admit = []               # names of sources that take part, ["*"] for all; first look at --list
window = 60              # seconds: a sample's readings lie less than that apart

[telemetry]
host = "localhost"
port = 1883
preset = "{preset}"

# Names as the fleet has them; to the right, {words}.
[inputs]
{inputs}

[target]
{target}

[publish]
topic = "paofed/{{source}}"  # predictions and errors, as JSON
every = 1                  # seconds between two of a kind, for each source
"""


def example(preset: str) -> str:
    """Return the text of a file that works once its names are those of the fleet."""
    return _TEXT.format(preset=preset, **_EXAMPLES[preset]._asdict())
