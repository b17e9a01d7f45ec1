"""The state of a server as it is saved: what its arrays look like, and whether they can be true.

The checksum of a snapshot tells of a disk that failed, not of somebody who changed the snapshot and
its checksum. A state that no server can have had would bring the server down that takes it up, so
it is refused.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from paofed.errors import InputError
from paofed.forms import Contents, Form
from paofed.live.protocol.blocks import Blocks
from paofed.live.protocol.devices import REASONS
from paofed.live.protocol.messages import LAST_TICK

Arrays = Mapping[str, NDArray[Any]]
_Key = TypeVar("_Key")

_COLUMN = Form("iu", "K")
STATE = Contents(
    arrays={
        "tick": Form("iu"),
        "counts": Form("U"),
        "ages": Form("U"),
        "pending": Form("iu", "P3"),
        "pending_values": Form("iuf", "Vm"),  # one empty row where no update waits
        "pending_levels": Form("iu", "P"),
        "known": Form("b", "K"),
        "quarantined": Form("b", "K"),
        **dict.fromkeys(("last_seen", "refused", "messages", "reads"), _COLUMN),
        **dict.fromkeys(("refusals", "refused_since", "refused_why"), _COLUMN),
        "accepted": Form("iu", "WB"),
        "well_devices": Form("V", "N"),
        "well_fleet": Form("f", "4"),
        "well_trend": Form("f", "5"),
        "well_history": Form("f", "HE2"),
        "well_shifts": Form("V", "S"),
        "well_shift": Form("iu", "5"),
    },
    # Where devices have read.
    optional=({"met_devices": Form("V", "M"), "met_fleet": Form("f", "4")},),
    beside="model",  # the state of the server's rule
    sizes={
        **dict.fromkeys("PV", "updates that wait"),
        "m": "shared numbers, or bytes",
        **dict.fromkeys("KNSM", "devices"),
        "W": "ticks that can still arrive",
        "B": "devices, eight in a byte",
        **dict.fromkeys("HE", "values of the history"),
    },
    may_be_none="PmKBNSM",
)

_LATEST = LAST_TICK + 255  # of an update that came from a device whose clock is ahead
_MOST = 2.0**53  # whole numbers up to this are exact as float64
# The least and the largest number that an array can hold.
_RANGES: Mapping[str, tuple[float, float]] = {
    "tick": (0, LAST_TICK),
    "pending": (0, _LATEST),
    "pending_levels": (0, 255),
    "last_seen": (-1, _LATEST),
    "refused_since": (-1, _LATEST),
    "refused_why": (0, len(REASONS) - 1),
    "well_fleet": (-1, _MOST),
    "well_trend": (-_MOST, _MOST),
    "well_history": (-_MOST, _MOST),
    "met_fleet": (-1, _MOST),
}


def require_possible(state: Arrays, begun: Arrays, up: Blocks) -> None:
    """Refuse a state that the server which began with the state `begun` cannot have had.

    `up` says how updates hold their values.
    """
    wrong = STATE.misnamed(state) or STATE.misshapen(state)
    if wrong is not None:
        raise InputError(wrong)
    for name, (least, largest) in _RANGES.items():
        if name in state:
            _require_within(name, state[name], least, largest)
    _require_within("well_trend", state["well_trend"][:1], 0, _MOST)  # a count
    _require_fitting(state, begun)
    _require_waiting(state, up)


def _require_fitting(state: Arrays, begun: Arrays) -> None:
    """Refuse records of other columns, and more devices in one array than in another."""
    devices = state["known"].size
    of = len(begun["accepted"]), devices // 8
    _require("accepted", devices % 8 == 0 and state["accepted"].shape == of)
    for name in ("well_devices", "well_shifts", "met_devices"):
        if name in state:
            fits = state[name].dtype == begun[name].dtype and state[name].size <= devices
            _require(name, fits)
    _require("well_history", state["well_history"].shape == begun["well_history"].shape)


def _require_waiting(state: Arrays, up: Blocks) -> None:
    """Refuse updates that wait and that the server cannot have accepted."""
    pending, values = state["pending"], state["pending_values"]
    _require_within("pending", pending[:, 1], 0, state["known"].size - 1)
    if len(pending):
        _require("pending_values", values.shape == (len(pending), up.size))
        _require("pending_values", values.dtype == up.dtype and all(map(up.can_travel, values)))


def _require_within(name: str, numbers: NDArray[Any], least: float, largest: float) -> None:
    _require(name, bool(np.all((numbers >= least) & (numbers <= largest))))


def _require(name: str, right: object) -> None:
    if not right:
        raise _impossible(name)


def _impossible(name: str) -> InputError:
    return InputError(f"{name} holds what no server can have saved")


def counted(name: str, text: NDArray[Any], kind: Callable[[str], _Key]) -> Counter[_Key]:
    """Read counts, which are saved as JSON; `kind` makes a key of its text."""
    try:
        counts = {kind(key): count for key, count in json.loads(str(text)).items()}
    except (ValueError, AttributeError, RecursionError):
        raise _impossible(name) from None
    _require(name, all(type(count) is int and count >= 0 for count in counts.values()))
    return Counter(counts)
