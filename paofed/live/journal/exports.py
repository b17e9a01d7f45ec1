"""The messages that a fleet's model was made from, exported, and the model that they make."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, save_arrays
from paofed.errors import FileError, InputError
from paofed.forms import Contents, Form
from paofed.live.journal.roster import MOST_DEVICES
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import LAST_TICK
from paofed.live.protocol.quantity import ManifestError
from paofed.live.protocol.rule_state import RuleState, Sent

_LATEST = LAST_TICK + 255  # of an update that came from a device whose clock is ahead
MESSAGES = Contents(
    arrays={
        "device": Form("iu", "M"),
        "sent": Form("iu", "M"),
        "arrived": Form("iu", "M"),
        "level": Form("iu", "M"),
        "values": Form("iuf", "Vm"),  # as they travelled; one empty row where there is no message
        "start_tick": Form("iu"),
        "manifest": Form("U"),
    },
    sizes={"M": "messages", "V": "messages", "m": "shared numbers, or bytes"},
    may_be_none="Mm",
    beside="start_model",  # the state of the server's rule
)


def export_messages(store: Store, path: str | Path) -> int:
    """Write the updates since the newest snapshot but one, and its model; return how many."""
    base, records = store.past.history()
    lines = [*base.waiting(), *records]
    up = base.manifest.up
    values = [up.entries(line.values) for line in lines] or [np.zeros(0, dtype=up.dtype)]
    columns = {
        name: np.array([getattr(line, name) for line in lines], dtype=np.int64)
        for name in ("device", "sent", "arrived", "level")
    }
    start = {f"start_{name}": array for name, array in base.rule.arrays().items()}
    start["start_tick"] = np.array(base.tick)
    about = {"manifest": np.array(base.manifest.to_json())}
    held = {**columns, "values": np.stack(values), **start, **about}
    save_arrays(Path(path), held, MESSAGES)
    return len(lines)


def replay_messages(path: str | Path) -> FleetModel:
    """Apply the server's rule, and nothing else, to exported messages; return the model."""
    what = "an export of messages"
    arrays = load_arrays(Path(path), MESSAGES, what)
    try:
        manifest = Manifest.from_json(str(arrays["manifest"]))
    except ManifestError as error:
        raise FileError(f"{path} is not {what}: {error}") from None
    messages, values = arrays["device"].size, arrays["values"]
    of_fleet = (messages, manifest.up.size), manifest.up.dtype
    fits = (values.shape, values.dtype) == of_fleet or not messages
    foreign = FileError(f"{path} is not {what}: it has numbers of another fleet's")
    if not fits:
        raise foreign
    if (wrong := _impossible(arrays, manifest)) is not None:
        raise FileError(f"{path} is not {what}: {wrong}")
    rule, tick = RuleState(manifest), int(arrays["start_tick"])
    try:
        rule.restore({name.removeprefix("start_"): array for name, array in arrays.items()})
    except InputError:
        raise foreign from None
    by_tick: defaultdict[int, list[Sent]] = defaultdict(list)
    columns = (arrays[name].tolist() for name in ("device", "sent", "arrived"))
    for device, sent, arrived, held in zip(*columns, values, strict=False):
        by_tick[arrived].append((device, sent, held))
    for arrived in sorted(by_tick):
        rule.apply(arrived, by_tick[arrived])
        tick = arrived + 1
    return FleetModel(manifest, tick, rule.w)


def _impossible(arrays: Mapping[str, NDArray[Any]], manifest: Manifest) -> str | None:
    """Say what no server can have accepted in these messages, or return None."""
    for name, largest in (("device", MOST_DEVICES - 1), ("sent", _LATEST), ("arrived", _LATEST)):
        column = arrays[name]
        if ((column < 0) | (column > largest)).any():
            return f"{name} is not from 0 to {largest:,} in every message"
    if (arrays["sent"] > arrays["arrived"]).any():
        return "a message arrived before it was sent"
    if arrays["device"].size and not all(map(manifest.up.can_travel, arrays["values"])):
        return "values holds what no device can have sent"
    return None
