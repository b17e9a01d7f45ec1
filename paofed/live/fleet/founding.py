"""What a new fleet agrees on: numbers of its own, or what somebody else has agreed on before."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from paofed.live.protocol.change import Changes, changed_manifest
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.served import usual_row, usual_shared, word_of

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
_BOUNDS = ("clip", "bound")
_EPOCHS = 256


def new_manifest(
    inputs: Sequence[Quantity], target: Quantity, values: Mapping[str, Any] = MappingProxyType({})
) -> Manifest:
    """Return the manifest of a fleet that begins with zeros.

    `inputs` and `target` are the numbers of a sample; numbers without a plausible range get one.
    `values` are fields of a manifest in the place of the usual ones, `USUAL`.
    """
    agreed = {**USUAL, **values}
    word = word_of(agreed["algorithm"], agreed.get("code"))
    possible = usual_row(word).can_bound
    agreed |= {key: None for key in _BOUNDS if key not in possible and key not in values}
    return Manifest(
        **{"shared": usual_shared(word, agreed["features"]), **agreed},
        **new_identity(),
        inputs=tuple(number.limited() for number in inputs),
        target=target.limited(),
    )


def going_on(manifest: Manifest, changes: Changes) -> Manifest:
    """Return a manifest with changes, and with the bounds and ranges of new fleets.

    `manifest` is that of another fleet or of a run, whose model the new fleet goes on from. It
    keeps its identity: see `new_identity`.
    """
    given = changes.values
    word = word_of(given["algorithm"], given.get("code")) if "algorithm" in given else manifest.word
    values = {**{name: USUAL[name] for name in lacking(manifest, word)}, **given}
    manifest = changed_manifest(manifest, replace(changes, values=values))
    # Old fleets have no ranges; those with `seen` have them where there can be any.
    if manifest.seen is None:
        inputs = tuple(number.limited() for number in manifest.inputs)
        manifest = replace(manifest, inputs=inputs, target=manifest.target.limited())
    return manifest


def lacking(manifest: Manifest, word: str) -> list[str]:
    """Return the bounds of new fleets that a manifest lacks, and can have under an algorithm."""
    possible = usual_row(word).can_bound
    return [name for name in _BOUNDS if name in possible and getattr(manifest, name) is None]


def new_identity() -> dict[str, Any]:
    """Return what tells a fleet from every other: devices of other fleets are not understood."""
    return {
        "start": time.time(),
        "epoch": secrets.randbelow(_EPOCHS),
        "from_tick": 0,
        "from_time": None,
        "lineage": 0,
    }
