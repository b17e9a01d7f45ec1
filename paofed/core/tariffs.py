"""What messages cost on the wire: a tariff turns counts of traffic into bytes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from paofed.core.traffic import Traffic
from paofed.errors import InputError, unknown


class Wire(NamedTuple):
    """Bytes on the wire: numbers, or arrays of any common shape."""

    up: Any
    down: Any

    @property
    def both(self) -> Any:
        """Both directions together."""
        return self.up + self.down


@dataclass(frozen=True, kw_only=True)
class Tariff:
    """The bytes that a transport adds to the payload.

    >>> Tariff(name="mine", up=31, down=29).wire(Traffic.of_floats(10, 4, 4))
    Wire(up=470, down=450)
    """

    name: str
    up: float = 0  # added to each message that a client sends
    down: float = 0  # added to each message that the server sends
    contact_up: float = 0  # added to each contact, whatever is sent in it: for the connection, say
    contact_down: float = 0
    empty_up: float = 0  # added to each contact in which the server sends, but the client does not
    # Added to each contact in which the server sends nothing: an acknowledgement, say.
    empty_down: float = 0
    words: str = ""  # describes the tariff for people

    def __post_init__(self) -> None:
        for part in PARTS:
            value = getattr(self, part)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not (math.isfinite(value) and value >= 0):
                raise InputError(
                    f"{part} of the tariff {self.name} is {value!r}: expected bytes, from 0 on"
                )

    @property
    def adds(self) -> bool:
        """Whether the tariff adds any bytes to the payload."""
        return any(getattr(self, part) for part in PARTS)

    @property
    def word(self) -> str:
        """The tariff as the command line takes it: by name, or as numbers.

        >>> Tariff(name="mine", up=31, contact_up=0.5).word
        'up=31,contact_up=0.5'
        """
        if TARIFFS.get(self.name) == self:
            return self.name
        numbers = {part: getattr(self, part) for part in PARTS}
        return ",".join(f"{part}={number}" for part, number in numbers.items() if number)

    def wire(self, traffic: Traffic) -> Wire:
        """Turn counts of traffic into bytes on the wire."""
        sent = traffic
        return Wire(
            up=sent.payload_up
            + _times(self.up, sent.messages_up)
            + _times(self.empty_up, sent.contacts - sent.messages_up)
            + _times(self.contact_up, sent.contacts),
            down=sent.payload_down
            + _times(self.down, sent.messages_down)
            + _times(self.empty_down, sent.contacts - sent.messages_down)
            + _times(self.contact_down, sent.contacts),
        )


PARTS = tuple(field.name for field in fields(Tariff) if field.name not in ("name", "words"))


def _times(cost: float, count: Any) -> Any:
    """Multiply; a count that costs nothing may be unknown (NaN)."""
    return cost * count if cost else 0


def tariff_of(given: Tariff | str) -> Tariff:
    """Return the tariff that people give by name, in numbers of their own, or as a record.

    >>> tariff_of("up=31,down=29").down
    29.0
    """
    if isinstance(given, Tariff):
        return given
    text = str(given)
    if "=" in text:
        return Tariff(name=text, **_numbers(text))
    if text not in TARIFFS:
        raise InputError(
            f"{unknown('tariff', text, TARIFFS)}: or give your own as up=31,down=29", key="tariff"
        )
    return TARIFFS[text]


def _numbers(text: str) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for pair in text.split(","):
        part, _, value = pair.partition("=")
        if part not in PARTS:
            raise InputError(f"tariff {text}: {unknown('part', part, PARTS)}", key="tariff")
        if part in numbers:
            raise InputError(f"tariff {text}: {part} is given twice", key="tariff")
        try:
            numbers[part] = float(value)
        except ValueError:
            said = f"tariff {text}: {part} is {value!r}: expected bytes"
            raise InputError(said, key="tariff") from None
    return numbers


PAYLOAD = Tariff(name="payload", words="the messages themselves, without any transport")
# Over MQTT as the live federation speaks it, to a fleet whose name has one letter, over IPv4:
# measured by `python -m lab wire`, and again by its test. Of the 120 bytes, 7 are the header of an
# update, 9 the headers of MQTT, 52 those of TCP and IP, and 52 the packet that acknowledges the
# reply. A message without coordinates is sent all the same, since the reply says that the update is
# on disk.
_MQTT = Tariff(
    name="mqtt", up=120, down=68, empty_up=120, empty_down=68, words="MQTT on TCP, stays connected"
)
# TLS adds 22 bytes to a message: the record in which the message travels.
_MQTT_TLS = Tariff(
    name="mqtt-tls", up=142, down=90, empty_up=142, empty_down=90,
    words="MQTT on TLS, stays connected",
)  # fmt: skip
# Computed, not measured. 20 bytes are the header of IPv4 (RFC 791), 8 that of UDP (RFC 768) and 4
# that of CoAP (RFC 7252, no token): together they make an acknowledgement. A message has 1 more
# byte that ends the options, and the 7 of the header of an update or a reply, as over MQTT. An
# update also has 2 for its option Uri-Path of one letter.
_COAP = Tariff(
    name="coap", up=42, down=40, empty_up=32, empty_down=32,
    words="CoAP on UDP, acknowledged",
)  # fmt: skip

TARIFFS: Mapping[str, Tariff] = {
    tariff.name: tariff
    for tariff in (
        PAYLOAD,
        _MQTT,
        replace(_MQTT, name="mqtt-anew", contact_up=403, contact_down=277,
                words="MQTT on TCP, connects for each contact"),
        _MQTT_TLS,
        replace(_MQTT_TLS, name="mqtt-tls-anew", contact_up=1827, contact_down=3017,
                words="MQTT on TLS with certificates, connects for each contact"),
        _COAP,
        replace(_COAP, name="coap-non", empty_up=0, empty_down=0,
                words="CoAP on UDP, not acknowledged"),
    )
}  # fmt: skip
