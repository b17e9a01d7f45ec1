"""The result of a simulation: curves, traffic, models, and their provenance."""

import json
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from paofed.archives import save_arrays
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import Traffic, decibels
from paofed.core.tariffs import Tariff, Wire, tariff_of
from paofed.errors import InputError, needs_extra, unknown
from paofed.files import make_folder, write_table
from paofed.simulate.results import stored
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
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.merging import HeldResult, joined, merged
from paofed.simulate.results.progressive import MODELS, ColdStart, Progressive, Whose
from paofed.simulate.results.tables import TableOf, table_of, to_pandas, to_polars, to_xarray
from paofed.simulate.results.words import in_short
from paofed.words import ShapesShown

if TYPE_CHECKING:
    import polars

FINAL_SHARE = 0.05  # the final error is the mean over the last 5 % of the ticks
RECOVERED_DB = 1.0  # a curve has recovered when it is at most this far above its error before
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


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute results."""
    found = {"python": platform.python_version()}
    for package in ("paofed", "numpy", "numba"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def usual_every(ticks: int) -> int:
    """Return the usual ticks between two points of a curve: 10, but at most about 200 points."""
    return max(10, ticks // 200)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Outcome(ShapesShown):
    """The outcome of one algorithm over one trace of N ticks, with D features."""

    server_model: FloatArray  # (D,), after the last tick
    mse: FloatArray  # (N,), linear mean over the test set after each tick
    traffic: IntArray  # (7, N), sent until each tick, whether or not it arrived: see Traffic

    @property
    def sent(self) -> IntArray:
        """The coordinates sent up and down until each tick, (N,)."""
        now = Traffic(*self.traffic)
        sent: IntArray = now.coordinates_up + now.coordinates_down
        return sent

    @property
    def sent_up(self) -> int:
        """The coordinates sent up in all."""
        return int(Traffic(*self.traffic).coordinates_up[-1])

    @property
    def sent_down(self) -> int:
        """The coordinates sent down in all."""
        return int(Traffic(*self.traffic).coordinates_down[-1])

    @property
    def payload(self) -> int:
        """The bytes of all messages, up and down, without those that a transport adds."""
        now = Traffic(*self.traffic)
        return int(now.payload_up[-1] + now.payload_down[-1])

    @property
    def final_db(self) -> float:
        """The error after the last tick in dB."""
        return float(decibels(self.mse[-1]))

    @property
    def diverged_at(self) -> int | None:
        """The first tick whose error is not a finite number, or None."""
        bad = np.flatnonzero(~np.isfinite(self.mse))
        return int(bad[0]) if bad.size else None

    def save(self, path: str | Path, provenance: Mapping[str, object]) -> None:
        """Write the arrays, and where they came from, as one `.npz`, whole or not at all."""
        arrays = {
            "server_model": self.server_model,
            "mse": self.mse,
            "sent_up": np.array(self.sent_up),
            "sent_down": np.array(self.sent_down),
            "provenance": np.array(json.dumps({**provenance, "versions": versions()})),
        }
        save_arrays(Path(path), arrays)


def _later(module: str) -> Any:
    """Import a module that shows or uses results when it is needed: results work without it."""
    return import_module(module)


class RunRecord(NamedTuple):
    """What an engine returns of one run: A algorithms, P points of a curve, D features."""

    mse: FloatArray  # (A, P)
    traffic: IntArray  # (A, 7, P), sent until each point: see Traffic
    models: FloatArray  # (A, D), the server's after the last tick
    over_time: FloatArray  # (A, 2, P): see Tally; (A, 2, 0) where there is a test set
    cells: FloatArray  # (A, 2, 5, C): see Tally; (A, 2, 5, 0) where there is a test set


class Recovery(NamedTuple):
    """How the mean curve recovered from one drift; errors are infinite where it has diverged."""

    tick: int  # the first tick whose samples have a changed target
    before_db: float  # mean over the last 5 % of all ticks before; NaN without a point before
    worst_db: float  # largest error until the next drift or the end; NaN without a point there
    ticks: int | None  # from the end of the drift until within 1 dB of `before_db`; None: never


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Clean(ShapesShown):
    """Errors of the same algorithms over the same runs, had there been no faults."""

    mse: FloatArray  # (R, A, P), linear
    # (R, A, 2), linear: of the devices' models (NaN unless over a table), and of the server's.
    finals: FloatArray

    @classmethod
    def of(cls, result: "Result") -> Self:
        """Take the errors from a result without faults."""
        finals = [
            [
                result.progressive.run_finals(name, "device")
                if result.progressive is not None
                else np.full(result.runs, np.nan),
                result.run_finals(name),
            ]
            for name in result.algorithms
        ]
        return cls(mse=result.mse, finals=np.moveaxis(np.array(finals), -1, 0))


_PARTS: Mapping[str, type[Any]] = {
    "progressive": Progressive,
    "lives": Lives,
    "cold_start": ColdStart,
    "clean": Clean,
}
_ARRAYS = ("ticks", "mse", "traffic", "models")


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """The result of A algorithms over R runs that share their worlds, with P points of a curve."""

    provenance: Mapping[str, Any]  # scenario, algorithms, seed, versions, ...
    ticks: IntArray  # (P,), 0-based; errors are those of the model after the tick
    mse: FloatArray  # (R, A, P), linear
    traffic: IntArray  # (R, A, 7, P), sent until each point: see Traffic
    models: FloatArray  # (R, A, D), the server's after the last tick
    progressive: Progressive | None = None  # only over a table
    lives: Lives | None = None  # only over a table
    cold_start: ColdStart | None = None  # only over a table, where it was asked for
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
    def samples_seen(self) -> FloatArray:
        """The number of samples that the whole fleet has had until each point, (P,).

        Over a table samples are counted; for a scenario they are the expected number.
        """
        if self.progressive is not None:
            return self.progressive.samples.cumsum().astype(np.float64)
        scenario = self.provenance["scenario"]
        samples, clients = scenario["stream"].get("samples"), int(scenario["clients"])
        if samples is None:
            raise InputError(
                "how many samples a fleet has seen is not known of worlds of one's own: "
                "expected a scenario or a table"
            )
        in_all = sum(samples[len(samples) * client // clients] for client in range(clients))
        seen: FloatArray = (self.ticks + 1) * (in_all / scenario["ticks"])
        return seen

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

    @property
    def _twentieth(self) -> int:
        """The number of ticks that are 5 % of all."""
        return max(1, round(FINAL_SHARE * (int(self.ticks[-1]) + 1)))

    def run_finals(self, name: str) -> FloatArray:
        """Return the linear error of the server's model in every run, (R,).

        It is the mean over the last 5 % of the ticks; over a table, over all samples that count.
        """
        if self.progressive is not None:
            return self.progressive.run_finals(name, "server")
        last = self.ticks >= self.ticks[-1] + 1 - self._twentieth
        finals: FloatArray = self.run_curves(name)[:, last].mean(axis=-1)
        return finals

    def final(self, name: str) -> Final:
        """Return the error over the last 5 % of the ticks in dB, with its standard error.

        Over a table it is the error over all samples that count.
        """
        return final(self.run_finals(name))

    def compare(self, a: str, b: str, whose: Whose = "server") -> Estimate:
        """Estimate by how many dB the final error of `a` is below that of `b`, run by run.

        Below 0, `a` is worse. Over a table, `whose` says which models are compared: the "server"'s
        or those of the devices ("device").
        """
        finals = [decibels(self._whose_finals(name, whose)) for name in (a, b)]
        with np.errstate(invalid="ignore"):  # where both diverged there is no difference
            return estimate(finals[1] - finals[0])

    def _whose_finals(self, name: str, whose: Whose) -> FloatArray:
        if self.progressive is not None:
            return self.progressive.run_finals(name, whose)
        if whose != "server":
            raise InputError(f"whose is {whose!r}: expected 'server', since this is no table")
        return self.run_finals(name)

    def clean_finals(self, name: str, whose: Whose = "server") -> FloatArray:
        """Return the linear final error that every run would have had without faults, (R,)."""
        if self.clean is None:
            raise InputError("this result says nothing of the same runs without faults")
        finals: FloatArray = self.clean.finals[:, self._index(name), MODELS.index(whose)]
        return finals

    def recovery(self, name: str) -> list[Recovery]:
        """Return how the mean curve recovered from every drift."""
        mean, _ = self.curve(name)
        mean = np.where(np.isfinite(mean), mean, np.inf)
        longer = max(self.drift_ticks, 1) - 1  # a drift of one tick is done in its first
        begins, ends = self.drifts, [*self.drifts[1:], int(self.ticks[-1]) + 1]
        done = [begin + longer for begin in begins]
        times = zip([0, *done], begins, done, ends, strict=False)
        return [self._recovery(mean, *drift) for drift in times]

    def _recovery(self, mean: FloatArray, past: int, begin: int, done: int, end: int) -> Recovery:
        since = max(past, begin - self._twentieth)  # what another drift did does not count
        early, first, arrived, beyond = np.searchsorted(self.ticks, (since, begin, done, end))
        # Where the 5 % hold no point of the curve, the last one before them will do.
        before = mean[max(min(early, first - 1), 0) : first]
        after = mean[first:beyond]
        usual = before.mean() if before.size else np.nan
        worst = after.max() if after.size else np.nan
        there = mean[arrived:beyond]
        near = np.isfinite(there) & (there <= 10 ** (RECOVERED_DB / 10) * usual)
        back = self.ticks[arrived:beyond][near]
        return Recovery(
            tick=begin,
            before_db=float(decibels(usual)),
            worst_db=float(decibels(worst)),
            ticks=int(back[0]) - done if back.size else None,
        )

    def diverged(self, name: str) -> tuple[int, int | None]:
        """Return in how many runs the error stopped being finite, and the first tick of that."""
        bad = ~np.isfinite(self.mse[:, self._index(name)])
        if self.progressive is not None:
            bad &= self.progressive.samples > 0  # without samples there is no error to be finite
        points = np.flatnonzero(bad.any(axis=0))
        return int(bad.any(axis=1).sum()), int(self.ticks[points[0]]) if points.size else None

    def save(self, path: str | Path) -> None:
        """Write everything as one `.npz`, whole or not at all."""
        arrays, provenance = self._held()
        held = {**arrays, "provenance": np.array(json.dumps(provenance))}
        save_arrays(Path(path), held, stored.RESULT)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that `save` wrote; any other file raises one clear error."""
        return cls._of(*stored.load(Path(path)))

    @classmethod
    def merge(cls, parts: "Iterable[Result]") -> Self:
        """Put the runs of several results together: the same as if one call had run them all.

        The results may come in any order, and have runs in common. Results that differ in anything
        else (scenario, algorithms, seed, versions, ...) are refused, and so is a run that is there
        twice with different numbers, unless two types of processors computed it.
        """
        return cls._of(*merged([part._held() for part in parts]))

    @classmethod
    def concat(cls, parts: "Iterable[Result]") -> Self:
        """Put the algorithms of several results together: as if one call had run them all.

        The results must be of the same runs (scenario, seed, runs, versions, ...), so that their
        algorithms can be compared run by run. An algorithm that is there twice is refused.
        """
        return cls._of(*joined([part._held() for part in parts]))

    def _held(self) -> HeldResult:
        """Return all arrays by their names in a file, and the provenance."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        for part in _PARTS:
            held = getattr(self, part)
            for field in fields(held) if held is not None else ():
                arrays[f"{part}/{field.name}"] = getattr(held, field.name)
        return HeldResult(arrays, self.provenance)

    @classmethod
    def _of(cls, arrays: Mapping[str, Any], provenance: Mapping[str, Any]) -> Self:
        held: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        for part, kind in _PARTS.items():
            names = {field.name: f"{part}/{field.name}" for field in fields(kind)}
            if not arrays.keys().isdisjoint(names.values()):
                held[part] = kind(**{field: arrays[name] for field, name in names.items()})
        return cls(provenance=provenance, **held)

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
            as_json = _later("paofed.report.run.summary").as_json
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
            figures = _later("paofed.figures")
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
            page = _later("paofed.report.run.page")
        make_folder(Path(folder))
        page.write(self, Path(folder), tariff, None if saved is None else Path(saved))
        return Path(folder) / "report.html"

    @property
    def advice(self) -> Any:
        """What to do after a run over a table: a record of numbers, which prints as sentences.

        None after any other run. Bytes are those of payload alone.
        """
        with needs_extra("Result.advice"):
            return _later("paofed.report.run.advice").advise(self)

    def predictor(self, name: str | None = None) -> Any:
        """Return what predicts by a model that a run over a table has left, as `paofed.predictor`.

        The model is the server's of the algorithm `name` after the last tick, of the first run.
        Without a name, it is that of the algorithm whose server's model has predicted best.
        """
        with needs_extra("Result.predictor"):
            return _later("paofed.report.run.table_run").TableRun.of(self).predictor(name)

    def fleet(
        self,
        folder: str | Path,
        name: str | None = None,
        *,
        model: str = "first",
        settings: Any = None,
        **values: Any,
    ) -> Any:
        """Make the folder of a fleet that does what was run over a table; return its `Fleet`.

        It is what `paofed fleet init FOLDER --from` the file of this result makes. `folder` is new
        or empty. `name` is the algorithm; without one, it is the advised or else the best that can
        be served. The fleet begins with the `model` that the run began with ("first") or ended with
        ("final"). `settings` say where its broker is and who may speak to it: a `Settings` of
        paofed.live.fleet.settings (None: a broker on this machine, certificates, and the folder's
        name). `values` are fields of the manifest that are to be different, such as `step_size` or
        `tick_seconds`; the latter is needed where the times of the table are plain numbers.
        """
        with needs_extra("Result.fleet", "sim,fleet"):
            run_fleet = _later("paofed.report.run.run_fleet")
            run = _later("paofed.report.run.table_run").TableRun.of(self)
            return run_fleet.made_fleet(
                run, Path(folder), name, model=model, settings=settings, values=values
            )

    def __repr__(self) -> str:
        return in_short(self)

    def _repr_html_(self) -> str:
        html: str = _later("paofed.report.shared.notebook").as_html(self)
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
            **self._on_device(name),
        }

    def _on_device(self, name: str) -> dict[str, float]:
        if self.progressive is None:
            return {}
        db, error = self.progressive.final(name, "device")
        found = {"device_db": db, "device_standard_error": error}
        if self.lives is not None:
            for prefix, whose in zip(("device_", ""), MODELS, strict=True):
                own = self.lives.own_unit(name, whose)._asdict()
                found |= {f"{prefix}{key}": value for key, value in own.items()}
        return found

    def _index(self, name: str) -> int:
        if name not in self.algorithms:
            raise InputError(unknown("algorithm", name, self.algorithms))
        return self.algorithms.index(name)
