"""Tariffs: bytes of a whole run are those of its contacts, one by one."""

import math
import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.tariffs import PARTS, PAYLOAD, TARIFFS, Tariff, tariff_of
from paofed.core.traffic import Traffic
from paofed.errors import InputError
from paofed.live.protocol.messages import Reply, Update, encode

NOTATION = Path(__file__).parents[2] / "docs" / "notation.md"
Contacts = list[tuple[int | None, int | None]]  # bytes of payload up and down; None: silence

COSTS = st.one_of(st.just(0), st.integers(0, 5000), st.floats(0, 5000))
OWN = st.builds(Tariff, name=st.just("own"), **dict.fromkeys(PARTS, COSTS))
MESSAGE = st.none() | st.integers(0, 900)
CONTACTS = st.lists(st.tuples(MESSAGE, MESSAGE).filter(lambda both: both != (None, None)))


def one_by_one(tariff: Tariff, contacts: Contacts) -> tuple[float, float]:
    """What the contacts cost up and down, each told apart."""
    up = down = 0.0
    for sent, answered in contacts:
        up += tariff.contact_up + (tariff.empty_up if sent is None else tariff.up + sent)
        down += tariff.contact_down
        down += tariff.empty_down if answered is None else tariff.down + answered
    return up, down


def counted(contacts: Contacts) -> Traffic:
    up, down = ([c[side] for c in contacts if c[side] is not None] for side in (0, 1))
    return Traffic(0, 0, len(up), len(down), sum(up), sum(down), len(contacts))


@given(st.sampled_from(list(TARIFFS.values())) | OWN, CONTACTS)
def test_a_run_costs_what_its_contacts_cost(tariff: Tariff, contacts: Contacts) -> None:
    wire = tariff.wire(counted(contacts))
    assert (wire.up, wire.down) == pytest.approx(one_by_one(tariff, contacts))
    assert wire.both == pytest.approx(wire.up + wire.down)


@given(OWN)
def test_a_tariff_is_written_and_read_again(tariff: Tariff) -> None:
    assert tariff.adds == (tariff.word != "")
    if tariff.adds:
        assert replace(tariff_of(tariff.word), name="own") == tariff


def test_by_name_or_as_a_record() -> None:
    assert [tariff_of(name) for name in TARIFFS] == list(TARIFFS.values())
    assert [tariff.name for tariff in TARIFFS.values()] == list(TARIFFS)
    assert all(tariff_of(tariff.word) == tariff for tariff in TARIFFS.values() if tariff.adds)
    mine = Tariff(name="mqtt", up=1)
    assert tariff_of(mine) is mine
    assert mine.word == "up=1"
    assert not PAYLOAD.adds
    assert all(tariff.adds and tariff.words for tariff in TARIFFS.values() if tariff != PAYLOAD)


def test_what_is_not_charged_need_not_be_known() -> None:
    sent = Traffic.of_floats(10, 4, 4)
    unknown = sent._replace(messages_up=math.nan, messages_down=math.nan, contacts=math.nan)
    assert PAYLOAD.wire(unknown) == PAYLOAD.wire(sent) == (160, 160)
    assert math.isnan(TARIFFS["mqtt"].wire(unknown).both)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mqqt", "unknown tariff 'mqqt': did you mean 'mqtt'?"),
        ("", "unknown tariff '' (known: payload, mqtt,"),
        ("up=31,dwn=2", "tariff up=31,dwn=2: unknown part 'dwn': did you mean 'down'?"),
        ("up=31,down", "tariff up=31,down: down is '': expected bytes"),
        ("up=1,up=2", "tariff up=1,up=2: up is given twice"),
        ("up=-1", "up of the tariff up=-1 is -1.0: expected bytes, from 0 on"),
    ],
)
def test_what_is_no_tariff_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        tariff_of(text)
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", ["3", True])
def test_a_record_of_something_else_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"down of the tariff mine is .*: expected bytes"):
        Tariff(name="mine", down=value)  # type: ignore[arg-type]


# CoAP, computed again from bytes.

CON, NON, ACK = range(3)
POST, CHANGED = 0x02, 0x44
URI_PATH = 11


def coap(kind: int, code: int, payload: bytes = b"", path: str = "") -> bytes:
    """A message of RFC 7252 without a token, in UDP (RFC 768) and IPv4 (RFC 791)."""
    options = bytes([URI_PATH << 4 | len(path)]) + path.encode() if path else b""
    content = b"\xff" + payload if payload else b""
    message = struct.pack(">BBH", 1 << 6 | kind << 4, code, 7) + options + content
    datagram = struct.pack(">HHHH", 5683, 5683, 8 + len(message), 0) + message
    return struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(datagram), 0, 0, 64, 17, 0, 0, 0) + datagram


@pytest.mark.parametrize("shared", [1, 4, 200])
@pytest.mark.parametrize(("name", "asks", "answers"), [("coap", CON, ACK), ("coap-non", NON, NON)])
def test_coap_is_as_its_specification_says(shared: int, name: str, asks: int, answers: int) -> None:
    values = np.ones(shared, dtype=np.float32)
    up = coap(asks, POST, encode(Update(0, 1, values)), "u")
    down = coap(answers, CHANGED, encode(Reply(0, 1, 0, values)))
    assert TARIFFS[name].wire(Traffic.of_floats(1, shared, shared)) == (len(up), len(down))


def test_coap_acknowledges_with_nothing_else() -> None:
    assert TARIFFS["coap"].empty_down == TARIFFS["coap"].empty_up == len(coap(ACK, CHANGED))


# Documented.


def test_the_documents_have_every_tariff() -> None:
    text = NOTATION.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ((?:[\d,]+ \| ){6})", text, re.MULTILINE)
    told = {name: [int(n.replace(",", "")) for n in cells.split("|")[:-1]] for name, cells in rows}
    assert told == {
        name: [getattr(tariff, part) for part in PARTS] for name, tariff in TARIFFS.items()
    }
