"""What a sweep found: a record to ask, to save and to load."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from paofed.archives import save_arrays
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.tariffs import Tariff, tariff_of
from paofed.core.traffic import Traffic
from paofed.errors import InputError, unknown
from paofed.experiments.sweep import forms
from paofed.experiments.sweep.axes import same
from paofed.experiments.sweep.choice import IN_FILES, Best, Scored, best_of, in_db, scored
from paofed.experiments.sweep.points import Point, worded
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.progressive import MODELS, Whose
from paofed.table import error, in_files
from paofed.words import MEAN_DB, counted, listed

_MOST_BESTS = 8  # that a prompt shows


Given = Mapping[str, Any]  # values that points must have for some keys


class SweepMap(NamedTuple):
    """Errors over two keys: NaN where nothing was run, infinite where the method diverged."""

    across: list[Any]
    down: list[Any]
    db: FloatArray  # (down, across)
    standard_error: FloatArray  # (down, across)


@dataclass(frozen=True, eq=False, kw_only=True)
class Swept:
    """P points over R worlds, which are the same for all points; some may not be finished."""

    provenance: Mapping[str, Any]  # scenario, methods, axes, points, seed, versions, ...
    finished: BoolArray  # (P, R)
    finals: FloatArray  # (P, R, 2), linear: of the devices' models, known over a table alone, and
    # of the server's; as `Result.run_finals`
    traffic: IntArray  # (P, R, 7), the traffic of a whole run: see Traffic
    # (F,): numbers of the best points, if they were judged again.
    fresh_points: IntArray | None = None
    # (F, N, 2), errors of these points on worlds that had no part in the choice.
    fresh_finals: FloatArray | None = None

    def __repr__(self) -> str:
        design = "a grid" if self.is_grid else "drawn at random"
        told = (
            f"Swept {self.provenance['scenario']['name']} over {', '.join(self.keys)}: "
            f"{counted(len(self.points), 'point')} ({design}) in "
            f"{counted(self.finished.shape[1], 'world')}"
        )
        lines = [told]
        if not self.whole:
            lines.append(f"  {self.finished.mean():.0%} of it is finished")
        for _, _, best in islice(self.bests(), _MOST_BESTS):
            said = error(best.found.score.mean, f" {MEAN_DB}")
            lines.append(f"  {best.point}: {said}, the best of {best.among}")
        return "\n".join(lines)

    @cached_property
    def points(self) -> list[Point]:
        """All points, in the order of the arrays."""
        return [Point(one["method"], one["values"]) for one in self.provenance["points"]]

    @property
    def methods(self) -> list[str]:
        """The methods as they were asked for."""
        return list(self.provenance["methods"])

    @property
    def keys(self) -> list[str]:
        """The keys that were swept over."""
        return list(self.provenance["axes"])

    @property
    def conditions(self) -> list[str]:
        """The keys that nature decides: there is no best value of them."""
        return list(self.provenance["conditions"])

    @property
    def is_grid(self) -> bool:
        """Whether all combinations were asked for, rather than some drawn at random."""
        return self.provenance["random"] is None

    @property
    def whole(self) -> bool:
        """Whether every point was run in every world that was asked for."""
        return bool(self.finished.all())

    @property
    def over_table(self) -> bool:
        """Whether all worlds replay the readings of a table."""
        return bool(self.provenance["scenario"]["stream"].get("kind") == "table")

    @property
    def usual_whose(self) -> Whose:
        """Whose model counts by default: the devices' over a table, else the server's."""
        return "device" if self.over_table else "server"

    def algorithm(self, point: Point) -> str:
        """The name of a point's algorithm, as `run` takes it."""
        return str(self.provenance["points"][self._number(point)]["algorithm"])

    def values(self, key: str, method: str | None = None) -> list[Any]:
        """Return the values of a key that points have: numbers rising, others as given."""
        self._require_key(key)
        order = self.provenance["axes"][key].get("values", [])
        mine = [one for one in self.points if method in (None, one.method) and key in one.values]
        return distinct([one.values[key] for one in mine], order)

    def cases(self) -> list[dict[str, Any]]:
        """Return what nature may do in this sweep: all combinations of the conditions."""
        seen: dict[str, dict[str, Any]] = {}
        for point in self.points:
            case = {key: point.values[key] for key in self.conditions}
            seen.setdefault(json.dumps(case), case)
        return list(seen.values())

    def score(self, point: Point | str, whose: Whose | None = None) -> Scored:
        """Return the score of a point over the worlds that it was run in."""
        number = self._number(point)
        return scored(self.points[number], self._db(number, whose))

    def compare(self, a: Point | str, b: Point | str, whose: Whose | None = None) -> Estimate:
        """Return by how many dB `a` is better than `b`, in the worlds that both were run in.

        Below 0, `a` is worse. The interval is that of two points which nobody chose: for the best
        of many points, see `best`.
        """
        numbers = self._number(a), self._number(b)
        both = self.finished[numbers[0]] & self.finished[numbers[1]]
        values = [in_db(self._finals(number, whose)[both]) for number in numbers]
        with np.errstate(invalid="ignore"):  # where both diverged there is no difference
            return estimate(values[1] - values[0])

    def best(
        self, method: str | None = None, given: Given | None = None, whose: Whose | None = None
    ) -> Best:
        """Return the point with the least error, and the points that cannot be told from it.

        It is chosen among the points of `method` (None: of all) with the values `given`; conditions
        must be given.
        """
        given = given or {}
        self._require_given(given, ())
        numbers = in_most_worlds(self.finished, self._matching(method, given))
        if not numbers:
            raise InputError(
                f"nothing was run {self._said(method, given)}: give values that points have"
            )
        points = {number: self.points[number] for number in numbers}
        found = best_of(points, {number: self._db(number, whose) for number in numbers})
        return found._replace(fresh=self._fresh(self._number(found.point), whose))

    def bests(self, whose: Whose | None = None) -> Iterator[tuple[str, dict[str, Any], Best]]:
        """Yield the best of every method in every case in which something was run.

        Yields nothing where conditions were drawn at random, since then no two points meet the
        same.
        """
        cases = [] if self.conditions and not self.is_grid else self.cases()
        for case in cases:
            for method in self.methods:
                if in_most_worlds(self.finished, self._matching(method, case)):
                    yield method, case, self.best(method, case, whose)

    def curve(
        self, key: str, method: str, given: Given | None = None, whose: Whose | None = None
    ) -> list[tuple[Any, Scored]]:
        """Return the error against a key: for each of its values, a method's best point.

        A method without the key has one entry, for None. All conditions but this key must be given.
        """
        numbers = self._over((key,), method, given)
        groups = [
            (v, having(self.points, numbers, {key: v})) for v in self.values(key, method)
        ] or [(None, numbers)]
        return [(value, self._least(group, whose)) for value, group in groups if group]

    def map(
        self,
        across: str,
        down: str,
        method: str,
        given: Given | None = None,
        whose: Whose | None = None,
    ) -> SweepMap:
        """Return the error over two keys: in every cell, that of a method's best point there."""
        numbers = self._over((across, down), method, given)
        xs, ys = self.values(across, method), self.values(down, method)
        db, error = np.full((2, len(ys), len(xs)), np.nan)
        for j, y in enumerate(ys):
            for i, x in enumerate(xs):
                group = having(self.points, numbers, {across: x, down: y})
                if group:
                    cell = self._least(group, whose)
                    db[j, i], error[j, i] = cell.score.mean, cell.standard_error
        return SweepMap(xs, ys, db, error)

    def bytes(self, point: Point | str, tariff: Tariff | str = "payload") -> float:
        """Return the bytes of a whole run on the wire, up and down, mean over worlds."""
        number = self._number(point)
        sent = Traffic(*np.moveaxis(self.traffic[number, self.finished[number]], -1, 0))
        both = np.asarray(tariff_of(tariff).wire(sent).both, dtype=np.float64)
        return float(both.mean()) if both.size else float("nan")

    def to_csv(self, path: str | Path, tariff: Tariff | str = "payload") -> None:
        """Write a tidy table: one row per point and, over a table, whose model."""
        tariff = tariff_of(tariff)
        columns = ("algorithm", "model", *IN_FILES, "bytes", "tariff")
        models = MODELS if self.over_table else ("server",)
        rows = []
        for number, point in enumerate(self.points):
            told = point.in_files(self.keys)
            sent = self.bytes(point, tariff), tariff.name
            for whose in models:
                found = scored(point, self._db(number, whose)).in_files
                rows.append([point.method, *told, self.algorithm(point), whose, *found, *sent])
        in_files(["method", *self.keys, *columns], rows).csv(Path(path))

    def judged_again(self, points: list[Point], finals: FloatArray) -> Self:
        """Return the record with what some points did on fresh worlds, (F, N, 2)."""
        numbers = np.array([self._number(point) for point in points], dtype=np.int64)
        return replace(self, fresh_points=numbers, fresh_finals=finals)

    def save(self, path: str | Path) -> None:
        """Write everything as one `.npz`, whole or not at all."""
        arrays = {name: getattr(self, name) for name in forms.SWEPT.known if name != "provenance"}
        held = {name: array for name, array in arrays.items() if array is not None}
        held["provenance"] = np.array(json.dumps(self.provenance))
        save_arrays(Path(path), held, forms.SWEPT)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a sweep back; any other file raises one clear error."""
        arrays, provenance = forms.load(Path(path))
        return cls(provenance=provenance, **arrays)

    def _finals(self, number: int, whose: Whose | None) -> FloatArray:
        whose = self.usual_whose if whose is None else whose
        if whose not in MODELS or (whose == "device" and not self.over_table):
            raise InputError(f"whose is {whose!r}: expected 'server', or 'device' over a table")
        finals: FloatArray = self.finals[number, :, MODELS.index(whose)]
        return finals

    def _db(self, number: int, whose: Whose | None) -> FloatArray:
        return in_db(self._finals(number, whose)[self.finished[number]])

    def _fresh(self, number: int, whose: Whose | None) -> Estimate | None:
        if self.fresh_points is None or self.fresh_finals is None:
            return None
        place = np.flatnonzero(self.fresh_points == number)
        model = MODELS.index(self.usual_whose if whose is None else whose)
        return estimate(in_db(self.fresh_finals[place[0], :, model])) if place.size else None

    def _least(self, numbers: list[int], whose: Whose | None) -> Scored:
        found = [scored(self.points[number], self._db(number, whose)) for number in numbers]
        return min(found, key=lambda one: one.score.mean)

    def _over(self, keys: tuple[str, ...], method: str, given: Given | None) -> list[int]:
        """Return the points that a picture over some keys shows; all other conditions are given."""
        for key in keys:
            self._require_key(key)
        if self.is_grid:
            self._require_given(given or {}, keys)
        return begun(self.finished, self._matching(method, given or {}))

    def _matching(self, method: str | None, given: Given) -> list[int]:
        if method is not None and method not in self.methods:
            raise InputError(unknown("method", str(method), self.methods))
        for key in given:
            self._require_key(key)
        numbers = [i for i, one in enumerate(self.points) if method in (None, one.method)]
        return having(self.points, numbers, given)

    def _number(self, point: Point | str) -> int:
        named = self._numbers
        if str(point) not in named:
            raise InputError(unknown("point", str(point), named))
        return named[str(point)]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {str(point): number for number, point in enumerate(self.points)}

    def _require_key(self, key: str) -> None:
        if key not in self.keys:
            raise InputError(unknown("key", str(key), self.keys))

    def _require_given(self, given: Given, but: tuple[str, ...]) -> None:
        for key in self.conditions:
            if key not in given and key not in but:
                values = listed([worded(value) for value in self.values(key)])
                drawn = "" if self.is_grid else ", and each point was drawn another value"
                raise InputError(
                    f"{key} is not given: nature decides on it{drawn}, so give its value, as in "
                    f"given={{{key!r}: ...}} (known: {values})"
                )

    def _said(self, method: str | None, given: Given) -> str:
        return f"for {Point(method or 'any method', given)}"


def having(points: Sequence[Point], numbers: Sequence[int], given: Given) -> list[int]:
    """Return which points have these values; a point without such a key fits any value."""
    return [
        number
        for number in numbers
        if all(same(points[number].values.get(key, v), v) for key, v in given.items())
    ]


def begun(finished: BoolArray, numbers: Sequence[int]) -> list[int]:
    """Return which points were run in some world; `finished` says in which, (P, R)."""
    return [number for number in numbers if finished[number].any()]


def in_most_worlds(finished: BoolArray, numbers: Sequence[int]) -> list[int]:
    """Return the points that were run in the most worlds, all in the same; only these compare."""
    some = begun(finished, numbers)
    if not some:
        return []
    most = finished[max(some, key=lambda number: int(finished[number].sum()))]
    return [number for number in some if np.array_equal(finished[number], most)]


def distinct(values: Sequence[Any], order: Sequence[Any]) -> list[Any]:
    """Return each value once: rising where all are numbers, else in the given order.

    >>> distinct([4, 1, 4], []), distinct(["live", "paper"], ["paper", "live"])
    ([1, 4], ['paper', 'live'])
    """
    found: list[Any] = []
    for value in values:
        found += [] if any(same(value, other) for other in found) else [value]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in found):
        return sorted(found)
    return sorted(found, key=lambda v: [*(same(v, other) for other in order), True].index(True))
