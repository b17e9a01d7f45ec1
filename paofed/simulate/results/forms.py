"""Reads saved results, and checks that their arrays and their provenance agree.

A file that can be read may still be nonsense, and nobody should find that out from a figure.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays
from paofed.core.scaling import FAR
from paofed.errors import FileError
from paofed.forms import Contents, Form
from paofed.simulate.results.places import STAGES
from paofed.simulate.results.progressive import MODELS

Arrays = dict[str, NDArray[Any]]

_OVER_TABLE = {
    "progressive/learners": Form("U", "L2"),
    "progressive/devices": Form("U", "K"),
    "progressive/errors": Form("f", "RLP"),
    "progressive/samples": Form("iu", "P"),
    "progressive/device_errors": Form("f", "RLK"),
    "progressive/device_samples": Form("iu", "K"),
    "lives/learners": Form("U", "L2"),
    "lives/device": Form("iu", "C"),
    "lives/stage": Form("iu", "C"),
    "lives/samples": Form("iu", "C"),
    "lives/group": Form("U", "K"),
    "lives/target": Form("f", "2C"),
    "lives/sums": Form("f", "RL5C"),
}
_COLD_START = {
    "cold_start/algorithms": Form("U", "F"),
    "cold_start/devices": Form("iu", "J"),
    "cold_start/starts": Form("iu", "S"),
    "cold_start/horizons": Form("iu", "H"),
    "cold_start/errors": Form("f", "RF3SJH"),
    "cold_start/alone": Form("f", "RSJH"),
    "cold_start/last_value": Form("f", "SJH"),
    "cold_start/samples": Form("iu", "SJH"),
}
_LABEL_SHARES = {
    "label_shares/shares": Form("f", "Q"),
    "label_shares/errors": Form("f", "RLKQ"),
}
_CLEAN = {"clean/mse": Form("f", "RAP"), "clean/finals": Form("f", "RA2")}
_LABELS = (  # where some devices have no labels, and where labels are rare or late
    {"progressive/with_labels": Form("b", "RK")},
    {"cold_start/last_label": Form("f", "RSJH")},
)
RESULT = Contents(
    arrays={
        "ticks": Form("iu", "P"),
        "mse": Form("f", "RAP"),
        "traffic": Form("iu", "RA7P"),
        "models": Form("f", "RAD"),
        "provenance": Form("U"),
    },
    optional=(_OVER_TABLE, _COLD_START, _LABEL_SHARES, _CLEAN, *_LABELS),
    sizes={
        "R": "runs",
        "A": "algorithms",
        "P": "points of a curve",
        "D": "features",
        "L": "learners",
        "K": "devices",
        "C": "cells",
        "F": "algorithms with newcomers",
        "J": "newcomers",
        "S": "starts",
        "H": "horizons",
        "Q": "shares of labels",
    },
)
_NUMBERS = ("f", "iu")
_MAY_BE_NEGATIVE = ("models", "lives/target")


class Above(NamedTuple):
    """Expects a number above `least`."""

    least: float


# What a provenance must hold. A value is a type or one of several, a list of something, or the keys
# that there must be, among others.
_ORIGIN: Mapping[str, Any] = {
    "scenario": {
        "name": str,
        "ticks": int,
        "clients": int,
        "features": int,
        "step_size": Above(0),
        "stream": dict,
    },
    "algorithms": [
        {
            "name": str,
            "downlink": {"kind": str},
            "uplink": {"kind": str},
            "server": {"kind": str},
            "learner": {"kind": str},
            "learns_by": str | None,
            "step_size": int | float | None,
        }
    ],
    "seed": int,
    "same_world": bool,
    "first_run": int,
    "runs_requested": int,
    "runs_finished": [int],
    "cpus": dict,
    "engines": [str],
    "refused": dict,
    "precision": str,
    "table": dict | None,
    "baselines": [str],
    "apart": [str],
    "versions": {"paofed": str},
}
_SCENARIO_ORIGIN: Mapping[str, Any] = {
    "scenario": {
        "kernel_width": Above(0),
        "linear": bool,
        "start": str,
        "newcomers": str,
        "personal": bool,
    }
}
_WORLDS_ORIGIN: Mapping[str, Any] = {
    "scenario": {"max_age": int, "stream": {"function": str}, "about": dict}
}
_TABLE_ORIGIN: Mapping[str, Any] = {
    "scenario": {"stream": {"file": str, "target": str}},
    "table": {
        "sha256": str,
        "facts": [str],
        "inputs": [str],
        "recipes": [str],
        "columns": [dict],
        "ranges": [list],
        "calendar": bool,
        "begin": Above(-FAR),
        "tick": Above(0),
    },
}
_MISSING = object()


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Read the arrays of a result and its provenance; any other file raises one clear error."""
    return with_provenance(path, RESULT, "a result", _wrong)


def with_provenance(
    path: Path, contents: Contents, what: str, wrong: Callable[[Arrays, Any], Iterator[str]]
) -> tuple[Arrays, dict[str, Any]]:
    """Read arrays and the provenance among them, if nothing is `wrong` with both together."""
    arrays = load_arrays(path, contents, what)
    text = str(arrays.pop("provenance"))
    try:
        provenance = json.loads(text)
        json.dumps(provenance, ensure_ascii=False).encode()  # refuses lone surrogates
    except (ValueError, RecursionError):
        raise FileError(f"{path} is not {what}: its provenance is not JSON") from None
    for why in wrong(arrays, provenance):
        raise FileError(f"{path} is not {what}: {why}")
    return arrays, provenance


def is_over_table(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether these are the arrays of a result over a table."""
    return not arrays.keys().isdisjoint(_OVER_TABLE)


def _wrong(arrays: Mapping[str, NDArray[Any]], provenance: Any) -> Iterator[str]:
    over_table = is_over_table(arrays)
    if (place := _misplaced(provenance, over_table=over_table)) is not None:
        yield f"its {place} is missing or of another type"
        return
    if provenance["scenario"]["stream"].get("kind") == "table" and not over_table:
        yield "its scenario is over a table, but it holds no errors on the samples of one"
    yield from _wrong_origin(arrays, provenance)
    for name, array in arrays.items():
        number = RESULT.known[name].kind in _NUMBERS and name not in _MAY_BE_NEGATIVE
        if number and (array < 0).any():
            yield f"{name} holds {array.min()}: expected nothing below 0"
    for name, whole in (
        ("progressive/with_labels", "progressive/learners"),
        ("cold_start/last_label", "cold_start/errors"),
        ("label_shares/errors", "progressive/learners"),
    ):
        if name in arrays and whole not in arrays:
            yield f"{name} is given without {whole}"
    for name in ("ticks", "cold_start/starts", "cold_start/horizons", "label_shares/shares"):
        if name in arrays and not _rises(arrays[name]):
            yield f"{name} does not rise"
    if (arrays["traffic"][..., 1:] < arrays["traffic"][..., :-1]).any():
        yield "traffic falls: expected what was sent until each point"
    names = [described["name"] for described in provenance["algorithms"]]
    if over_table:
        yield from _wrong_learners(arrays["progressive/learners"].tolist(), names)
        yield from _wrong_lives(arrays)
        yield from _wrong_shares(arrays.get("label_shares/shares", np.ones(1)))
    if "cold_start/errors" in arrays:
        yield from _wrong_newcomers(arrays, names)


def _misplaced(provenance: Any, *, over_table: bool) -> str | None:
    """Name the first place of a provenance that is not as expected, if any is."""
    if (place := misfit(provenance, _ORIGIN, "provenance")) is not None:
        return place
    is_open = provenance["scenario"].get("kind") == "worlds" and not over_table
    parts = [_WORLDS_ORIGIN if is_open else _SCENARIO_ORIGIN]
    parts += [_TABLE_ORIGIN] if over_table else []
    return next(filter(None, (misfit(provenance, part, "provenance") for part in parts)), None)


def misfit(value: Any, expected: Any, place: str) -> str | None:
    """Name the first place that is missing or of another type than expected, if any is."""
    if isinstance(expected, Above):
        right = type(value) in (int, float) and expected.least < value < FAR
        return None if right else place
    if isinstance(expected, UnionType):
        return None if isinstance(value, expected) else place
    if isinstance(expected, type):
        return None if type(value) is expected else place
    if type(value) is not type(expected):
        return place
    if isinstance(expected, list):
        inside = [(item, expected[0], f"{place}[{i}]") for i, item in enumerate(value)]
    else:
        inside = [
            (value.get(key, _MISSING), part, f"{place}.{key}") for key, part in expected.items()
        ]
    return next((found for part in inside if (found := misfit(*part)) is not None), None)


def _wrong_origin(
    arrays: Mapping[str, NDArray[Any]], provenance: Mapping[str, Any]
) -> Iterator[str]:
    """Say what is wrong in a provenance: where it contradicts the arrays or itself."""
    scenario, ticks = provenance["scenario"], int(arrays["ticks"][-1]) + 1
    runs, algorithms = arrays["mse"].shape[:2]
    names = [described["name"] for described in provenance["algorithms"]]
    for what, told, there in (
        ("ticks", scenario["ticks"], ticks),
        ("features", scenario["features"], arrays["models"].shape[-1]),
        ("algorithms", len(names), algorithms),
        ("finished runs", len(provenance["runs_finished"]), runs),
    ):
        if told != there:
            yield f"its provenance tells of {told} {what}, but its arrays hold {there}"
    for described in provenance["algorithms"]:
        step = described["step_size"]  # None: the scenario's
        if step is not None and misfit(step, Above(0), "") is not None:
            yield f"the step size of {described['name']} is {step!r}: expected a number above 0"
    if len(set(names)) < len(names):
        yield "its provenance tells of two algorithms of the same name"
    drifts = scenario["stream"].get("drifts", [])
    if misfit(drifts, [int], "") is not None or not all(0 < tick < ticks for tick in drifts):
        yield "its drifts are not ticks of its scenario"
    takes = scenario["stream"].get("drift_ticks", 0)
    if misfit(takes, int, "") is not None or takes < 0:
        yield f"its drifts take {takes!r} ticks: expected a whole number from 0 on"
    yield from wrong_faults(scenario.get("faults"))
    yield from _wrong_runs(provenance)
    if misfit(provenance.get("chosen", []), [{"sentence": str, "table": str}], "") is not None:
        yield "its choices are not told in words"


def _wrong_runs(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Say what is wrong in what a provenance says of runs and of types of processors."""
    if provenance["first_run"] < 0:
        yield f"its first run is {provenance['first_run']}: expected a whole number from 0 on"
    lists = list(provenance["cpus"].values())
    is_told = misfit(lists, [[int]], "") is None
    if not is_told or sorted(chain(*lists)) != sorted(provenance["runs_finished"]):
        yield "its types of processors are not those of its runs"


def wrong_faults(faults: Any) -> Iterator[str]:
    """Say whether the faults of a provenance's scenario are none that a scenario may have."""
    if faults:  # to read a result without faults, NumPy is enough
        from pydantic import ValidationError

        from paofed.world.faults import FAULTS

        try:
            FAULTS.validate_python(faults)
        except ValidationError:
            yield "its faults are none that a scenario may have"


def _wrong_learners(learners: list[list[str]], names: list[str]) -> Iterator[str]:
    models = [[name, whose] for name in names for whose in MODELS]
    beside = learners[len(models) :]
    if learners[: len(models)] != models or not all(whose == "baseline" for _, whose in beside):
        yield "its learners are not both models of each algorithm and then baselines"


def _wrong_lives(arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if not np.array_equal(arrays["lives/learners"], arrays["progressive/learners"]):
        yield "its lives are of other learners"
    if (arrays["lives/device"] >= arrays["progressive/devices"].size).any():
        yield "a life is of none of its devices"
    if (arrays["lives/stage"] >= STAGES).any():
        yield f"a life has more than {STAGES} stages"
    if not arrays["lives/samples"].all():
        yield "a cell of its lives has no sample"


def _wrong_shares(shares: NDArray[Any]) -> Iterator[str]:
    if not (shares.size and shares.min() > 0 and shares.max() <= 1):
        yield "its shares of labels are not some above 0 and up to 1"


def _wrong_newcomers(arrays: Mapping[str, NDArray[Any]], names: list[str]) -> Iterator[str]:
    if "progressive/devices" not in arrays:
        yield "cold_start is given without progressive"
    elif (arrays["cold_start/devices"] >= arrays["progressive/devices"].size).any():
        yield "a newcomer is none of its devices"
    if not set(arrays["cold_start/algorithms"].tolist()) <= set(names):
        yield "its newcomers took part in algorithms that it does not have"
    if arrays["cold_start/horizons"][0] < 1:
        yield "a horizon has no tick"


def _rises(array: NDArray[Any]) -> bool:
    return bool((array[1:] > array[:-1]).all())
