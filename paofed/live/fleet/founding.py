"""What a new fleet agrees on: numbers of its own, or what somebody else has agreed on before."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from paofed.live.protocol.change import Changes, changed_manifest
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.scaling import Scaling
from paofed.live.protocol.served import UNBOUNDED, usual_shared

USUAL: Mapping[str, Any] = MappingProxyType(
    {
        "tick_seconds": 60.0,
        "algorithm": "pao-fed-u1",
        "features": 200,
        "kernel_width": 1.0,
        "step_size": 0.4,
        "max_age": 10,
        "seed": 0,
        "clip": USUAL_CLIP,
        "bound": USUAL_BOUND,
        "aside": True,
    }
)
_EPOCHS = 256


def new_manifest(
    inputs: Sequence[Scaling], target: Scaling, values: Mapping[str, Any] = MappingProxyType({})
) -> Manifest:
    """Return the manifest of a fleet that begins with zeros.

    `inputs` and `target` are the numbers of a sample; numbers without a plausible range get one.
    `values` are fields of a manifest in the place of the usual ones, `USUAL`.
    """
    agreed = {**USUAL, **values}
    if agreed["algorithm"] in UNBOUNDED and "clip" not in values:
        agreed["clip"] = None
    return Manifest(
        **{"shared": usual_shared(agreed["algorithm"], agreed["features"]), **agreed},
        **new_identity(),
        inputs=tuple(number.limited() for number in inputs),
        target=target.limited(),
    )


def going_on(manifest: Manifest, changes: Changes) -> Manifest:
    """Return a manifest with changes, and with the bounds and ranges of new fleets.

    `manifest` is that of another fleet or of a run, whose model the new fleet goes on from. It
    keeps its identity: see `new_identity`.
    """
    algorithm = changes.values.get("algorithm", manifest.algorithm)
    values = {**{name: USUAL[name] for name in lacking(manifest, algorithm)}, **changes.values}
    manifest = changed_manifest(manifest, replace(changes, values=values))
    # Old fleets have no ranges; those with `seen` have them where there can be any.
    if manifest.seen is None:
        inputs = tuple(number.limited() for number in manifest.inputs)
        manifest = replace(manifest, inputs=inputs, target=manifest.target.limited())
    return manifest


def lacking(manifest: Manifest, algorithm: str) -> list[str]:
    """Return the bounds of new fleets that a manifest lacks, and can have under an algorithm."""
    possible = ("bound",) if algorithm in UNBOUNDED else ("clip", "bound")
    return [name for name in possible if getattr(manifest, name) is None]


def new_identity() -> dict[str, Any]:
    """Return what tells a fleet from every other: devices of other fleets are not understood."""
    return {
        "start": time.time(),
        "epoch": secrets.randbelow(_EPOCHS),
        "from_tick": 0,
        "from_time": None,
        "lineage": 0,
    }
