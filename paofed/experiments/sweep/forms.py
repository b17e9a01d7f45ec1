"""What a saved sweep must hold before it is believed: arrays that agree, and their origin."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.scaling import FAR
from paofed.forms import Contents, Form
from paofed.simulate.results.forms import Above, Arrays, misfit, with_provenance, wrong_faults

_FRESH = {"fresh_points": Form("iu", "F"), "fresh_finals": Form("f", "FN2")}
SWEPT = Contents(
    arrays={
        "finished": Form("b", "PR"),
        "finals": Form("f", "PR2"),
        "traffic": Form("iu", "PR7"),
        "provenance": Form("U"),
    },
    optional=(_FRESH,),
    sizes={"P": "points", "R": "worlds", "F": "points judged again", "N": "fresh worlds"},
)
# The form of provenance: a type, a list of something, or keys that must be there, among others.
_ORIGIN: Mapping[str, Any] = {
    "scenario": {"name": str, "stream": dict},
    "methods": [str],
    "axes": dict,
    "conditions": [str],
    "points": [{"method": str, "values": dict, "algorithm": str}],
    "seed": int,
    "runs_requested": int,
    "fresh_requested": int,
    "engine": str,
    "precision": str,
    "refused": dict,
    "versions": dict,
}

_SPAN: Mapping[str, Any] = {"from": Above(-FAR), "to": Above(-FAR), "scale": str}


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Read the arrays of a sweep and its provenance; any other file raises one clear error."""
    return with_provenance(path, SWEPT, "a sweep", _wrong)


def _wrong(arrays: Mapping[str, NDArray[Any]], provenance: Any) -> Iterator[str]:
    if (place := misfit(provenance, _ORIGIN, "provenance")) is not None:
        yield f"its {place} is missing or of another type"
        return
    random = provenance.get("random")
    if random is not None and misfit(random, int, "") is not None:
        yield "its provenance.random is of another type"
    points, worlds = arrays["finished"].shape
    for what, told, there in (
        ("points", len(provenance["points"]), points),
        ("worlds", provenance["runs_requested"], worlds),
    ):
        if told != there:
            yield f"its provenance tells of {told} {what}, but its arrays hold {there}"
    yield from wrong_faults(provenance["scenario"].get("faults"))
    yield from _wrong_axes(provenance["axes"])
    yield from _wrong_points(provenance)
    for name in ("finals", "fresh_finals", "traffic"):
        if name in arrays and (arrays[name] < 0).any():
            yield f"{name} holds {np.nanmin(arrays[name])}: expected nothing below 0"
    again = arrays.get("fresh_points", np.zeros(1, dtype=np.int64))
    if not ((again >= 0) & (again < points)).all():
        yield "what was judged again is none of its points"


def _wrong_axes(axes: Mapping[str, Any]) -> Iterator[str]:
    for key, axis in axes.items():
        is_list = isinstance(axis, dict) and isinstance(axis.get("values"), list)
        if not is_list and misfit(axis, _SPAN, "") is not None:
            yield f"what was tried for {key} is neither values nor a span"


def _wrong_points(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with points: each must have methods and keys of the sweep, and be new."""
    keys, conditions = set(provenance["axes"]), set(provenance["conditions"])
    if not conditions <= keys:
        yield "its conditions are not among what was swept over"
    for number, point in enumerate(provenance["points"]):
        if point["method"] not in provenance["methods"]:
            yield f"point {number} is of none of its methods"
        if not conditions <= set(point["values"]) <= keys:
            yield f"point {number} has other keys than the sweep"
    names = [json.dumps([one["method"], one["values"]]) for one in provenance["points"]]
    if len(set(names)) < len(names):
        yield "two of its points are the same"
