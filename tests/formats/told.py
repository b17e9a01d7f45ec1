"""What a file of each format says when the present code reads it, as plain values.

What is not read but computed from it is under the key "computed": libraries differ in last bits.
"""

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from paofed.experiments.sweep import asked
from paofed.experiments.sweep.swept import Swept
from paofed.live.device.state import load_state, saved_manifest
from paofed.live.fleet.backup import restore
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.tokens import Tokens
from paofed.live.gateway import sources
from paofed.live.gateway.settings import GatewaySettings
from paofed.live.journal.exports import replay_messages
from paofed.live.model.fleet_model import FleetModel, predictor
from paofed.live.network.credential import Credential
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.simulate.results.result import Result
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from tests.live.fleets import manifest
from tests.live.model.models import READING

# Whose gateway it is that the list of sources was made for.
GATEWAY = Credential(
    fleet="greenhouse", since=1.0, name="greenhouse/0", label="hall", host="localhost", port=1883
)

PARTS = ("progressive", "lives", "cold_start", "label_shares", "clean")  # of a result


def _of_arrays(held: object) -> dict[str, Any]:
    """The arrays among what something holds."""
    return {name: value for name, value in vars(held).items() if isinstance(value, np.ndarray)}


def _result(path: Path) -> dict[str, Any]:
    result = Result.load(path)
    parts = [getattr(result, name, None) for name in PARTS]
    return {
        "provenance": dict(result.provenance),
        **_of_arrays(result),
        "parts": [None if part is None else _of_arrays(part) for part in parts],
        "computed": {name: result.final(name).db for name in result.algorithms},
    }


def _sweep(path: Path) -> dict[str, Any]:
    swept = Swept.load(path)
    return {"provenance": dict(swept.provenance), **_of_arrays(swept)}


def _model(path: Path) -> dict[str, Any]:
    model = FleetModel.load(path)
    return {"manifest": asdict(model.manifest), "tick": model.tick, "w": model.w,
            "fleet": model.fleet, "levels": model.levels}  # fmt: skip


def _json_model(path: Path) -> dict[str, Any]:
    found = predictor(path)
    return {"fleet": found.fleet, "tick": found.tick, "epoch": found.epoch, "w": found.w,
            "computed": found.predict(READING)._asdict()}  # fmt: skip


def _messages(path: Path) -> dict[str, Any]:
    model = replay_messages(path)
    return {"tick": model.tick, "computed": model.w}


def _state(path: Path) -> dict[str, Any]:
    edge = Edge(manifest(), 1)
    assert saved_manifest(path) == manifest()
    assert load_state(path, edge)
    return edge.state()


def _backup(path: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        tar, place = Path(folder) / "backup.tar", Path(folder) / "restored"
        tar.write_bytes(gzip.decompress(path.read_bytes()))
        restored = restore(tar, place, now=100.0)
        fleet, tokens = Fleet(place), Tokens.load(place)
        assert tokens is not None
        with fleet.store() as store:
            members, server = [member.label for member in store.roster.members()], store.recover()
        return {
            "tick": restored.tick,
            "members": members,
            "lineage": server.manifest.lineage,
            "computed": server.w,
            "settings": asdict(fleet.settings),
            "tokens": {name: list(holder.may) for name, holder in tokens.holders.items()},
        }


def _sources(path: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / sources.FILE).write_bytes(path.read_bytes())
        known, passed_over = sources.load(Path(folder), GATEWAY)
    return {"known": {name: asdict(one) for name, one in known.items()}, "passed over": passed_over}


def _manifest(path: Path) -> dict[str, Any]:
    return asdict(Manifest.from_json(path.read_text()))


def _sweep_file(path: Path) -> dict[str, Any]:
    sweep = asked.load(path)
    points = [point._asdict() for point in sweep.layout.points]
    return {"runs": sweep.runs, "seed": sweep.seed, "fresh": sweep.fresh, "points": points}


def _gateway_file(path: Path) -> dict[str, Any]:
    found = GatewaySettings.load(path)
    return {"file": found.file.name, "admit": found.admit, "window": found.window,
            "values": [dict(shape.paths) for shape in found.shapes]}  # fmt: skip


# By how the name of a file begins, and its ending.
_READERS: Mapping[tuple[str, str], Callable[[Path], dict[str, Any]]] = {
    ("trace", ".npz"): lambda path: _of_arrays(Trace.load(path)),
    ("result", ".npz"): _result,
    ("table", ".npz"): _result,
    ("sweep", ".npz"): _sweep,
    ("model", ".npz"): _model,
    ("model", ".json"): _json_model,
    ("messages", ".npz"): _messages,
    ("state", ".npz"): _state,
    ("fleet", ".gz"): _backup,
    ("sources", ".json"): _sources,
    ("manifest", ".json"): _manifest,
    ("device", ".json"): lambda path: asdict(Credential.load(path)),
    ("scenario", ".toml"): lambda path: Scenario.load(path).model_dump(),
    ("sweep", ".toml"): _sweep_file,
    ("gateway", ".toml"): _gateway_file,
}


def told(path: Path) -> dict[str, Any]:
    """What a file says, as JSON has it: numbers with every digit."""
    read = _READERS[path.stem.partition("-")[0], path.suffix]
    plain: dict[str, Any] = json.loads(json.dumps(read(path), default=_plain))
    return plain


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} is nothing that a file says")
