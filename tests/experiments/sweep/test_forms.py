"""A file of a sweep that was damaged or forged is one clear line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.errors import FileError
from paofed.experiments.sweep.swept import Swept
from tests.experiments.sweep.made import bowl, swept_of
from tests.simulate.results.test_result import TWO_RUNS

SWEPT = swept_of(bowl, worlds=2)
ARRAYS: dict[str, Any] = {name: getattr(SWEPT, name) for name in ("finished", "finals", "traffic")}


def about(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Arrays with another provenance."""
    told = json.loads(json.dumps(SWEPT.provenance))
    change(told)
    return {**ARRAYS, "provenance": np.array(json.dumps(told))}


def arrays(**changes: Any) -> dict[str, Any]:
    given = {**ARRAYS, "provenance": np.array(json.dumps(SWEPT.provenance)), **changes}
    return {name: array for name, array in given.items() if array is not None}


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "missing": (arrays(traffic=None), "arrays missing: traffic"),
    "other": (arrays(more=np.zeros(2)), "unknown array 'more'"),
    "type": (arrays(finished=np.ones((24, 2))), "finished is of type float64: expected bool"),
    "shape": (arrays(finals=np.ones((24, 3, 2))), "finals has 3 worlds (R), but finished has 2"),
    "half": (arrays(fresh_points=np.zeros(1, int)), "fresh_points is given without fresh_finals"),
    "negative": (arrays(finals=-ARRAYS["finals"]), "expected nothing below 0"),
    "elsewhere": (
        arrays(fresh_points=np.array([24]), fresh_finals=np.ones((1, 2, 2))),
        "what was judged again is none of its points",
    ),
    "not JSON": (arrays(provenance=np.array("{")), "its provenance is not JSON"),
    "empty": (about(dict.clear), "its provenance.scenario is missing or of another type"),
    "stream": (
        about(lambda p: p["scenario"].update(stream="x")),
        "its provenance.scenario.stream is missing or of another type",
    ),
    **{
        f"faults {faults}": (
            about(lambda p, faults=faults: p["scenario"].update(faults=faults)),  # type: ignore[misc]
            "its faults are none that a scenario may have",
        )
        for faults in ("x", [3], [{"kind": "x"}])
    },
    "seed": (about(lambda p: p.update(seed="0")), "its provenance.seed is missing or of another"),
    "random": (about(lambda p: p.update(random="9")), "its provenance.random is of another type"),
    "points": (about(lambda p: p["points"].pop()), "tells of 23 points, but its arrays hold 24"),
    "worlds": (about(lambda p: p.update(runs_requested=9)), "tells of 9 worlds"),
    "method": (about(lambda p: p["methods"].pop()), "point 1 is of none of its methods"),
    "keys": (about(lambda p: p["points"][3]["values"].update(x=1)), "point 3 has other keys"),
    "twice": (about(lambda p: p["points"].__setitem__(0, p["points"][2])), "points are the same"),
    "conditions": (about(lambda p: p.update(conditions=["x"])), "its conditions are not among"),
    "axes": (about(lambda p: p["axes"].update(shared=[1])), "what was tried for shared is neither"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_sweep_is_told(case: str, tmp_path: Path) -> None:
    held, told = CASES[case]
    save_arrays(tmp_path / "swept.npz", held)
    with pytest.raises(FileError) as caught:
        Swept.load(tmp_path / "swept.npz")
    assert str(caught.value).startswith(f"{tmp_path / 'swept.npz'} is not a sweep: ")
    assert told in str(caught.value)


def test_other_files(tmp_path: Path) -> None:
    TWO_RUNS.save(tmp_path / "run.npz")
    with pytest.raises(FileError, match=r"run\.npz is not a sweep: "):
        Swept.load(tmp_path / "run.npz")
    SWEPT.save(tmp_path / "swept.npz")
    whole = (tmp_path / "swept.npz").read_bytes()
    (tmp_path / "swept.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="truncated, damaged, or something else"):
        Swept.load(tmp_path / "swept.npz")
    with pytest.raises(FileError, match="does not exist"):
        Swept.load(tmp_path / "nothing.npz")
