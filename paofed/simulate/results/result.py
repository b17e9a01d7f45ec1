"""The result of a simulation: curves, traffic, models, and their provenance."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from paofed.archives import save_arrays
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.core.tariffs import Tariff, Wire, tariff_of
from paofed.core.traffic import Traffic
from paofed.errors import FileError, InputError, needs_extra, unknown
from paofed.files import make_folder, write_table
from paofed.simulate.results import saved_result
from paofed.simulate.results.citing import cited
from paofed.simulate.results.estimates import (
    Estimate,
    Final,
    estimate,
    final,
    over_runs,
    over_runs_db,
)
from paofed.simulate.results.latex import to_latex
from paofed.simulate.results.lives import OwnUnit
from paofed.simulate.results.merging import HeldResult, joined, merged
from paofed.simulate.results.progressive import MODELS, Whose
from paofed.simulate.results.prompt_text import in_short
from paofed.simulate.results.recovery import Recovery, recoveries
from paofed.simulate.results.tidy_tables import TableOf, table_of, to_pandas, to_polars, to_xarray
from paofed.words import ShapesShown

if TYPE_CHECKING:
    import polars

# The names in tables of the counts of Traffic, in its order, and of the bytes on the wire.
SENT_COLUMNS = (
    "sent_up",
    "sent_down",
    "messages_up",
    "messages_down",
    "payload_up",
    "payload_down",
    "contacts",
    "wire_up",
    "wire_down",
)


def usual_every(ticks: int) -> int:
    """Return the usual ticks between two points of a curve: 10, but at most about 200 points."""
    return max(10, ticks // 200)


def later(module: str) -> Any:
    """Import a module that shows or uses results when it is needed: results work without it."""
    return import_module(module)


def without_table(provenance: Mapping[str, Any], origin: str = "this result") -> FileError:
    """Return the refusal of a result that is not over a table; `origin` is what people call it."""
    return FileError(
        f"{origin} is a run over {provenance['scenario']['name']}, which has no table: expected "
        f"one over a table, whose columns devices measure"
    )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Clean(ShapesShown):
    """Errors of the same algorithms over the same runs, had there been no faults."""

    mse: FloatArray  # (R, A, P), linear
    # (R, A, 2), linear: of the devices' models (NaN unless over a table), and of the server's.
    finals: FloatArray

    @classmethod
    def of(cls, result: "Result") -> Self:
        """Take the errors from a result without faults."""
        finals = [result.finals_by_model(name) for name in result.algorithms]
        return cls(mse=result.mse, finals=np.stack(finals, axis=1))


_ARRAYS = ("ticks", "mse", "traffic", "models")


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(ABC):
    """The result of A algorithms over R runs that share their worlds, with P points of a curve.

    A run over worlds has a WorldResult, whose models are judged on test sets; a run over a table a
    TableResult, whose models are judged on the samples to come.
    """

    # Whose models have errors. Where nobody says whose model is meant, it is the first of these.
    judged_models: ClassVar[tuple[Whose, ...]]
    # What is drawn of a model over time: see run_curves_of.
    curve_words: ClassVar[str]
    _parts: ClassVar[Mapping[str, type[Any]]]  # the records that a result may hold, by field

    provenance: Mapping[str, Any]  # scenario, algorithms, seed, versions, ...
    ticks: IntArray  # (P,), 0-based; errors are those of the model after the tick
    mse: FloatArray  # (R, A, P), linear
    traffic: IntArray  # (R, A, 7, P), sent until each point: see Traffic
    models: FloatArray  # (R, A, D), the server's after the last tick
    clean: Clean | None = None  # only of a scenario with faults, where it was asked for

    @property
    def runs(self) -> int:
        """The number of finished runs."""
        return len(self.mse)

    @property
    def algorithms(self) -> list[str]:
        """The names of the algorithms, in the order of the arrays."""
        return [str(described["name"]) for described in self.provenance["algorithms"]]

    @property
    def places(self) -> list[tuple[int, int]]:
        """The numbers (world, run) of every finished run."""
        same = self.provenance["same_world"]
        return [(0, i) if same else (i, 0) for i in self.provenance["runs_finished"]]

    @property
    def drifts(self) -> list[int]:
        """The ticks at which the target changed: the first ones whose samples are of another."""
        return list(self.provenance["scenario"].get("stream", {}).get("drifts", ()))

    @property
    def drift_ticks(self) -> int:
        """The ticks that each drift took; 0: the target changed at once."""
        return int(self.provenance["scenario"].get("stream", {}).get("drift_ticks", 0))

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines, which a run over a table alone has."""
        return []

    @property
    @abstractmethod
    def samples_seen(self) -> FloatArray:
        """The number of samples that the whole fleet has had until each point, (P,).

        Over a table samples are counted; for a scenario they are the expected number.
        """

    def run_curves(self, name: str) -> FloatArray:
        """Return the linear error curve of every run, (R, P)."""
        return self.mse[:, self._index(name)]

    def run_traffic(self, name: str) -> Traffic:
        """Return the traffic until each point of every run's curve, (R, P) each."""
        return Traffic(*np.moveaxis(self.traffic[:, self._index(name)], 1, 0))

    def run_wire(self, name: str, tariff: Tariff | str = "payload") -> Wire:
        """Return the bytes on the wire until each point under a tariff, (R, P) up and down each."""
        return tariff_of(tariff).wire(self.run_traffic(name))

    def mean_sent(self, name: str, tariff: Tariff | str = "payload") -> dict[str, FloatArray]:
        """Return the traffic until each point by column of a CSV, mean over runs, (P,) each."""
        counts = self.run_sent_by_column(name, tariff)
        return {column: count.mean(axis=0) for column, count in counts.items()}

    def run_sent_by_column(
        self, name: str, tariff: Tariff | str = "payload"
    ) -> dict[str, FloatArray]:
        """Return the traffic until each point by column of a CSV, for every run, (R, P) each."""
        counted = (*self.run_traffic(name), *self.run_wire(name, tariff))
        return {
            column: np.asarray(count) for column, count in zip(SENT_COLUMNS, counted, strict=True)
        }

    def run_sent(self, name: str) -> IntArray:
        """Return the coordinates sent, up and down together, until each point: (R, P)."""
        now = self.run_traffic(name)
        sent: IntArray = now.coordinates_up + now.coordinates_down
        return sent

    def sent(self, name: str) -> tuple[float, float]:
        """Return the coordinates sent up and those sent down in a run, mean over runs."""
        now = self.run_traffic(name)
        return float(now.coordinates_up[:, -1].mean()), float(now.coordinates_down[:, -1].mean())

    def curve(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return the linear mean curve and its standard error, (P,) each.

        The standard error of a single run is NaN.
        """
        return over_runs(self.run_curves(name))

    def curve_db(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return the mean curve in dB and its standard error in dB (first order), (P,) each."""
        return over_runs_db(self.run_curves(name))

    def own_unit(self, name: str, whose: Whose) -> OwnUnit | None:
        """Return the error of a learner in the target's own unit, which only tables have."""
        del name, whose
        return None

    @abstractmethod
    def run_finals(self, name: str, whose: Whose = "server") -> FloatArray:
        """Return the linear final error of a model in every run, (R,): by default the server's.

        It is the mean over the last 5 % of the ticks; over a table, over all samples that count.
        """

    @abstractmethod
    def run_curves_of(self, name: str, whose: Whose) -> FloatArray:
        """Return the linear error curves to draw of a learner's model, one of every run, (R, P).

        They are on the test set; over a table, at each point, on all samples until then.
        """

    def finals_by_model(self, name: str) -> FloatArray:
        """Return the linear final errors of every run, (R, 2): the devices' and the server's.

        The errors of devices are NaN where only the server's model is judged.
        """
        nothing = np.full(self.runs, np.nan)
        judged = self.judged_models
        finals = [self.run_finals(name, who) if who in judged else nothing for who in MODELS]
        return np.stack(finals, axis=-1)

    def final(self, name: str, whose: Whose = "server") -> Final:
        """Return the error over the last 5 % of the ticks in dB, with its standard error.

        Over a table it is the error over all samples that count.
        """
        return final(self.run_finals(name, whose))

    def compare(self, a: str, b: str, whose: Whose = "server") -> Estimate:
        """Estimate by how many dB the final error of `a` is below that of `b`, run by run.

        Below 0, `a` is worse. Over a table, `whose` says which models are compared: the "server"'s
        or those of the devices ("device").
        """
        finals = [decibels(self.run_finals(name, whose)) for name in (a, b)]
        with np.errstate(invalid="ignore"):  # where both diverged there is no difference
            return estimate(finals[1] - finals[0])

    def clean_finals(self, name: str, whose: Whose = "server") -> FloatArray:
        """Return the linear final error that every run would have had without faults, (R,)."""
        if self.clean is None:
            raise InputError("this result says nothing of the same runs without faults")
        finals: FloatArray = self.clean.finals[:, self._index(name), MODELS.index(whose)]
        return finals

    def recovery(self, name: str) -> list[Recovery]:
        """Return how the mean curve recovered from every drift."""
        return recoveries(self.ticks, self.curve(name)[0], self.drifts, self.drift_ticks)

    def diverged(self, name: str) -> tuple[int, int | None]:
        """Return in how many runs the error stopped being finite, and the first tick of that."""
        bad = self._judged_at & ~np.isfinite(self.mse[:, self._index(name)])
        points = np.flatnonzero(bad.any(axis=0))
        return int(bad.any(axis=1).sum()), int(self.ticks[points[0]]) if points.size else None

    @property
    def _judged_at(self) -> BoolArray:
        """The points at which there is something to judge a model by, (P,)."""
        return np.ones(self.ticks.shape, dtype=bool)

    def save(self, path: str | Path) -> None:
        """Write everything as one `.npz`, whole or not at all."""
        arrays, provenance = self._held()
        held = {**arrays, "provenance": np.array(json.dumps(provenance))}
        save_arrays(Path(path), held, saved_result.RESULT)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that `save` wrote; any other file raises one clear error.

        Result.load reads both kinds, TableResult.load and WorldResult.load one kind alone.
        """
        return cls._of(HeldResult(*saved_result.load(Path(path))), str(path))

    @classmethod
    def merge(cls, parts: "Iterable[Result]") -> Self:
        """Put the runs of several results together: the same as if one call had run them all.

        The results may come in any order, and have runs in common. Results that differ in anything
        else (scenario, algorithms, seed, versions, ...) are refused, and so is a run that is there
        twice with different numbers, unless two types of processors computed it.
        """
        return cls._of(merged([part._held() for part in parts]))

    @classmethod
    def concat(cls, parts: "Iterable[Result]") -> Self:
        """Put the algorithms of several results together: as if one call had run them all.

        The results must be of the same runs (scenario, seed, runs, versions, ...), so that their
        algorithms can be compared run by run. An algorithm that is there twice is refused.
        """
        return cls._of(joined([part._held() for part in parts]))

    def _held(self) -> HeldResult:
        """Return all arrays by their names in a file, and the provenance."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        for part in self._parts:
            held = getattr(self, part)
            for field in fields(held) if held is not None else ():
                if (array := getattr(held, field.name)) is not None:
                    arrays[f"{part}/{field.name}"] = array
        return HeldResult(arrays, self.provenance)

    @classmethod
    def _of(cls, held: HeldResult, origin: str = "this result") -> Self:
        """Make the result, over a table or over worlds, that these arrays are of."""
        # Both kinds are made of this class, whose module must be there first.
        from paofed.simulate.results.table_result import TableResult
        from paofed.simulate.results.world_result import WorldResult

        kind: type[Result] = TableResult if saved_result.is_over_table(held.arrays) else WorldResult
        if not issubclass(kind, cls):
            if kind is WorldResult:
                raise without_table(held.provenance, origin)
            raise FileError(f"{origin} is a run over a table: expected one over worlds")
        values: dict[str, Any] = {name: held.arrays[name] for name in _ARRAYS}
        for part, record in kind._parts.items():
            names = {field.name: f"{part}/{field.name}" for field in fields(record)}
            if not held.arrays.keys().isdisjoint(names.values()):
                there = {key: name for key, name in names.items() if name in held.arrays}
                values[part] = record(**{key: held.arrays[name] for key, name in there.items()})
        return kind(provenance=held.provenance, **values)

    def to_csv(
        self, path: str | Path, tariff: Tariff | str = "payload", of: TableOf = "curves"
    ) -> None:
        """Write a tidy table: of the mean "curves", the "run_curves", the "runs" or the "finals".

        "run_curves" has every point of every run, "runs" the end of every run.
        Beside the errors it has the traffic until then, and the bytes on the wire under `tariff`.
        """
        columns = table_of(self, of, tariff_of(tariff))
        write_table(Path(path), list(columns), zip(*columns.values(), strict=True))

    def to_json(self, tariff: Tariff | str = "payload") -> str:
        """Return what `paofed run --json` prints: the summary and, over a table, advice and more.

        Bytes are those of `tariff`. Numbers that are not finite are null.
        """
        with needs_extra("Result.to_json"):
            as_json = later("paofed.report.run.words").as_json
        return json.dumps(as_json(self, tariff_of(tariff)))

    def to_polars(
        self, of: TableOf = "curves", tariff: Tariff | str = "payload"
    ) -> "polars.DataFrame":
        """Return the table that `to_csv` writes as a data frame of polars, an optional package."""
        return to_polars(table_of(self, of, tariff_of(tariff)))

    def to_pandas(self, of: TableOf = "curves", tariff: Tariff | str = "payload") -> Any:
        """Return the table that `to_csv` writes as a data frame of pandas, an optional package."""
        return to_pandas(table_of(self, of, tariff_of(tariff)))

    def to_xarray(self, tariff: Tariff | str = "payload") -> Any:
        """Return the curves of all runs as a dataset of xarray, an optional package.

        Its dimensions are algorithm, run and tick. Beside the errors (`mse`, `db`) it has the
        traffic until each point, and the bytes on the wire under `tariff`.
        """
        return to_xarray(self, tariff_of(tariff))

    def to_latex(
        self,
        against: str | None = None,
        tariff: Tariff | str = "payload",
        whose: Whose = "server",
    ) -> str:
        """Return a table for LaTeX: final errors, gains over one algorithm, and bytes.

        `against` is that algorithm (None: the first). A gain is that of `compare`, run by run, with
        its 95 % interval. `tariff` and `whose` are as in `to_csv` and `compare`.
        """
        base = self.algorithms[0] if against is None else against
        self._index(base)  # a wrong name is refused before any of the table is made
        return to_latex(self, base, tariff_of(tariff), whose)

    def cite(self) -> str:
        """Return BibTeX entries: of paofed in the version that ran, and of every method here."""
        return cited(self.algorithms, self.provenance["versions"].get("paofed", "unknown"))

    def plot(
        self,
        names: Iterable[str] | str | None = None,
        *,
        axes: Any = None,
        x: str = "ticks",
        bands: str | tuple[float, float] | None = "interval",
        labels: Mapping[str, str] | None = None,
        colours: Mapping[str, str] | None = None,
        tariff: Tariff | str = "payload",
        whose: str | None = None,
        column: str | None = None,
    ) -> Any:
        """Draw the error curves into new axes of matplotlib, or into `axes`, and return the axes.

        `names` are the algorithms to draw, in the order of the legend. `x` is the horizontal axis:
        "ticks", "samples" or "bytes" (under a `tariff`). `bands` are the 95 % "interval" of the
        mean, its "standard error", a pair of percentiles over runs such as (10, 90), or None.
        `labels` and `colours` are by name of algorithm. A new figure is as wide as a journal's
        `column`, "single" or "double". Over a table, `whose` says whose models' errors are drawn:
        the "device"s' or the "server"'s.
        """
        with needs_extra("Result.plot"):
            figures = later("paofed.figures")
        return figures.plot(
            self, names, axes=axes, x=x, bands=bands, labels=labels, colours=colours,
            tariff=tariff, whose=whose, column=column,
        )  # fmt: skip

    def report(
        self, folder: str | Path, tariff: Tariff | str = "payload", saved: str | Path | None = None
    ) -> Path:
        """Write a page to look at into `folder`, with its figures and numbers; return its path.

        The folder is made if it is not there. Bytes are those of `tariff`. `saved` is the file of
        this result, if there is one: the page then says how to make a fleet from it.
        """
        with needs_extra("Result.report"):
            page = later("paofed.report.run.page")
        make_folder(Path(folder))
        page.write(self, Path(folder), tariff, None if saved is None else Path(saved))
        return Path(folder) / "report.html"

    @property
    def advice(self) -> Any:
        """What to do after a run over a table: see TableResult.advice."""
        raise without_table(self.provenance)

    def predictor(self, *_: Any, **__: Any) -> Any:
        """Return what predicts by a model of a run over a table: see TableResult.predictor."""
        raise without_table(self.provenance)

    def fleet(self, *_: Any, **__: Any) -> Any:
        """Make a fleet that does what was run over a table: see TableResult.fleet."""
        raise without_table(self.provenance)

    def __repr__(self) -> str:
        return in_short(self)

    def _repr_html_(self) -> str:
        html: str = later("paofed.report.run.notebook").as_html(self)
        return html

    def summary(self, tariff: Tariff | str = "payload") -> list[dict[str, Any]]:
        """Return one record per algorithm: final error, traffic of a run, divergence, recovery."""
        return [self._summary(name, tariff_of(tariff)) for name in self.algorithms]

    def _summary(self, name: str, tariff: Tariff) -> dict[str, Any]:
        runs, tick = self.diverged(name)
        return {
            "algorithm": name,
            **self.final(name)._asdict(),
            **{column: float(sent[-1]) for column, sent in self.mean_sent(name, tariff).items()},
            "diverged_runs": runs,
            "diverged_at": tick,
            "recovery": [found._asdict() for found in self.recovery(name)],
        }

    def _index(self, name: str) -> int:
        if name not in self.algorithms:
            raise InputError(unknown("algorithm", name, self.algorithms))
        return self.algorithms.index(name)
