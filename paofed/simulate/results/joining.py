"""Puts results of different algorithms over the same runs together as one result.

It is the result that one call with all algorithms would have given. `merging` does the same for
different runs of the same algorithms.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.errors import InputError
from paofed.simulate.results.merging import HeldResult, difference
from paofed.simulate.results.stored import RESULT

# Keys of a provenance that may differ between the parts.
_LISTS = ("algorithms", "engines")  # lists with an item for each algorithm, in their order
_IN_ANY = ("apart", "baselines", "chosen")  # lists that each part may have for its own algorithms
_OF_A_PART = (*_LISTS, *_IN_ANY, "refused", "cpus", "runs_requested")


def joined(parts: Sequence[HeldResult]) -> HeldResult:
    """Put the algorithms of several results together; results of different runs are refused."""
    if not parts:
        raise InputError("there is nothing to put together: expected at least one result")
    for number, part in enumerate(parts[1:], start=2):
        if (wrong := difference(parts[0], part, _OF_A_PART, _of_the_same_runs)) is not None:
            raise InputError(
                f"results 1 and {number} are not of the same runs: {wrong}; draw them with "
                f"paofed.figures.side_by_side"
            )
    _require_distinct(parts)
    arrays = {name: _joined(name, parts) for name in parts[0].arrays}
    return HeldResult(arrays, {**parts[0].provenance, **_provenance(parts)})


def _of_the_same_runs(name: str, one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether arrays are equal, or have an axis along which algorithms are put together."""
    return _grows(name) or (one.shape, one.tobytes()) == (other.shape, other.tobytes())


def _grows(name: str) -> bool:
    """Whether an array has an axis of algorithms, newcomers' algorithms or learners."""
    return not set("AFL").isdisjoint(RESULT.known[name].letters)


def _require_distinct(parts: Sequence[HeldResult]) -> None:
    homes: dict[str, int] = {}
    for number, part in enumerate(parts, start=1):
        for described in part.provenance["algorithms"]:
            name = str(described["name"])
            if name in homes:
                raise InputError(
                    f"{name} is in results {homes[name]} and {number}: expected every algorithm "
                    f"once; runs of the same algorithms are put together by Result.merge"
                )
            homes[name] = number


def _joined(name: str, parts: Sequence[HeldResult]) -> NDArray[Any]:
    letters = RESULT.known[name].letters
    arrays = [part.arrays[name] for part in parts]
    for letter in set("AF").intersection(letters):
        return np.concatenate(arrays, axis=letters.index(letter))
    if "L" not in letters:
        return arrays[0]
    axis, order = letters.index("L"), _learners(parts)
    rows = [arrays[one.part].take([one.learner], axis=axis) for one in order]
    return np.concatenate(rows, axis=axis)


class _Place(NamedTuple):
    """Where a learner over a table is: in which part, and where among the part's learners."""

    part: int
    learner: int


def _learners(parts: Sequence[HeldResult]) -> list[_Place]:
    """Return where every learner is: the models of all algorithms, then every baseline once."""
    models: list[_Place] = []
    baselines: dict[str, _Place] = {}
    for number, part in enumerate(parts):
        for place, (name, whose) in enumerate(part.arrays["progressive/learners"].tolist()):
            if whose == "baseline":
                baselines.setdefault(name, _Place(number, place))
            else:
                models.append(_Place(number, place))
    return [*models, *baselines.values()]


def _provenance(parts: Sequence[HeldResult]) -> dict[str, Any]:
    told: dict[str, Any] = {
        key: [one for part in parts for one in part.provenance[key]] for key in _LISTS
    }
    for key in (key for key in _IN_ANY if any(key in part.provenance for part in parts)):
        every = [one for part in parts for one in part.provenance.get(key, ())]
        told[key] = [one for place, one in enumerate(every) if one not in every[:place]]
    refused = [part.provenance["refused"] for part in parts]
    told["refused"] = {name: why for some in refused for name, why in some.items()}
    told["cpus"] = _cpus(parts)
    return told


def _cpus(parts: Sequence[HeldResult]) -> dict[str, list[int]]:
    """Return the runs by the types of processors that computed them for any algorithm."""
    types: dict[int, set[str]] = {}
    for part in parts:
        for cpu, runs in part.provenance["cpus"].items():
            for run in runs:
                types.setdefault(run, set()).update(cpu.split(" and "))
    found: dict[str, list[int]] = {}
    for run in sorted(types):
        found.setdefault(" and ".join(sorted(types[run])), []).append(run)
    return dict(sorted(found.items()))
