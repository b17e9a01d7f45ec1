"""Puts parts of one result together, exactly, in whichever way the runs were divided.

The order of the parts does not matter, nor how often a run is among them. Types of processors may
differ in the last digits of a number: of a run that two types computed, the numbers of the type
that is first by name are kept.

`joined` puts results of different algorithms over the same runs together: the result that one call
with all algorithms would have given.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.errors import InputError
from paofed.simulate.results.saved_result import RESULT

# Keys of a provenance that may differ between the parts.
_OF_A_PART = ("first_run", "runs_requested", "cpus", "runs_finished")


class HeldResult(NamedTuple):
    """The contents of a result: its arrays by name, and its provenance."""

    arrays: Mapping[str, NDArray[Any]]
    provenance: Mapping[str, Any]


def merged(parts: Sequence[HeldResult]) -> HeldResult:
    """Put parts together; parts of different scenarios, algorithms, seeds, ... are refused."""
    if not parts:
        raise InputError("there is nothing to merge: expected at least one result")
    first = parts[0]
    for number, part in enumerate(parts[1:], start=2):
        if (wrong := difference(first, part, _OF_A_PART, _of_one_question)) is not None:
            raise InputError(f"results 1 and {number} are not parts of one result: {wrong}")
    chosen = _chosen(parts)
    runs = sorted(chosen)
    arrays = {
        name: _rows(name, parts, [chosen[run] for run in runs]) if _by_run(name) else array
        for name, array in first.arrays.items()
    }
    return HeldResult(arrays, {**first.provenance, **_runs_of(parts, chosen)})


class _Row(NamedTuple):
    """Where a run is: in which part, and in which row of its arrays."""

    cpu: str
    part: int
    row: int


def _chosen(parts: Sequence[HeldResult]) -> dict[int, _Row]:
    """Choose one row for every run.

    Rows of the same run from the same type of processor must agree.
    """
    first: dict[tuple[int, str], _Row] = {}  # by run and type of processor
    for number, part in enumerate(parts):
        cpus = _cpus(part.provenance)
        for row, run in enumerate(part.provenance["runs_finished"]):
            new = _Row(cpus[run], number, row)
            _require_same(run, parts, first.setdefault((run, new.cpu), new), new)
    # Later items of a run replace earlier ones, so the type that is first by name comes last.
    return {run: first[run, cpu] for run, cpu in sorted(first, reverse=True)}


def _require_same(run: int, parts: Sequence[HeldResult], one: _Row, other: _Row) -> None:
    for name in filter(_by_run, parts[0].arrays):
        first, second = (parts[row.part].arrays[name][row.row] for row in (one, other))
        if first.tobytes() != second.tobytes():
            raise InputError(
                f"run {run} is in results {one.part + 1} and {other.part + 1}, and its {name} "
                f"differs though both come from the same type of processor ({one.cpu}): one of "
                f"them was changed, or was computed by another program"
            )


def _rows(name: str, parts: Sequence[HeldResult], rows: Sequence[_Row]) -> NDArray[Any]:
    like = parts[0].arrays[name]
    found = np.empty((len(rows), *like.shape[1:]), like.dtype)
    for place, row in enumerate(rows):
        found[place] = parts[row.part].arrays[name][row.row]
    return found


def _runs_of(parts: Sequence[HeldResult], chosen: Mapping[int, _Row]) -> dict[str, Any]:
    """Return what the provenance of all parts says of runs: from the first one to the last one."""
    firsts = [part.provenance["first_run"] for part in parts]
    ends = [
        first + part.provenance["runs_requested"] for first, part in zip(firsts, parts, strict=True)
    ]
    cpus: dict[str, list[int]] = {}
    for run in sorted(chosen):
        cpus.setdefault(chosen[run].cpu, []).append(run)
    return {
        "first_run": min(firsts),
        "runs_requested": max(ends) - min(firsts),
        "cpus": dict(sorted(cpus.items())),
        "runs_finished": sorted(chosen),
    }


def _cpus(provenance: Mapping[str, Any]) -> dict[int, str]:
    """Return the type of processor of every run."""
    return {run: cpu for cpu, runs in provenance["cpus"].items() for run in runs}


def _by_run(name: str) -> bool:
    return RESULT.known[name].letters.startswith("R")


def _of_one_question(name: str, one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether arrays may belong to parts of one result: equal, or by run and of one form."""
    skipped = 1 if _by_run(name) else 0
    same = one.dtype == other.dtype and one.shape[skipped:] == other.shape[skipped:]
    return same and (skipped == 1 or one.tobytes() == other.tobytes())


def difference(
    one: HeldResult,
    other: HeldResult,
    but: Collection[str],
    agree: Callable[[str, NDArray[Any], NDArray[Any]], bool],
) -> str | None:
    """Say where two results first differ that are to be put together, or return None.

    The keys of the provenance in `but` are left out; `agree` judges two arrays of the same name.
    """
    told = _first_difference(one.provenance, other.provenance, but)
    if told is not None:
        return told
    if (lacking := one.arrays.keys() ^ other.arrays.keys()) != set():
        return f"only one of them has {min(lacking)}"
    names = (name for name in one.arrays if not agree(name, one.arrays[name], other.arrays[name]))
    return next((f"they differ in {name}" for name in names), None)


def _first_difference(
    one: Mapping[str, Any], other: Mapping[str, Any], but: Collection[str]
) -> str | None:
    """Say where two provenances first differ, leaving out the keys in `but`, or return None."""
    asked = [
        json.loads(json.dumps({key: value for key, value in told.items() if key not in but}))
        for told in (one, other)
    ]
    return _different(asked[0], asked[1], "")


def _different(one: Any, other: Any, place: str) -> str | None:
    """Say where two values of JSON first differ; `place` is where both of them are."""
    if isinstance(one, dict) and isinstance(other, dict):
        inside = [(one.get(key), other.get(key), key) for key in {**one, **other}]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        inside = [(a, b, str(i)) for i, (a, b) in enumerate(zip(one, other, strict=True))]
    elif one == other and type(one) is type(other):
        return None
    else:
        return f"{place} is {one!r} in the first and {other!r} in the second"
    found = (_different(a, b, f"{place}.{key}" if place else key) for a, b, key in inside)
    return next(filter(None, found), None)


# Likewise between results of different algorithms that are joined.
_LISTS = ("algorithms", "engines")  # lists with an item for each algorithm, in their order
_IN_ANY = ("apart", "baselines", "chosen")  # lists that each part may have for its own algorithms
_OF_ALGORITHMS = (*_LISTS, *_IN_ANY, "refused", "cpus", "runs_requested")


def joined(parts: Sequence[HeldResult]) -> HeldResult:
    """Put the algorithms of several results together; results of different runs are refused."""
    if not parts:
        raise InputError("there is nothing to put together: expected at least one result")
    for number, part in enumerate(parts[1:], start=2):
        if (wrong := difference(parts[0], part, _OF_ALGORITHMS, _of_the_same_runs)) is not None:
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
    told["cpus"] = _cpus_of_any(parts)
    return told


def _cpus_of_any(parts: Sequence[HeldResult]) -> dict[str, list[int]]:
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
