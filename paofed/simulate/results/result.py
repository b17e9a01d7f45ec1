"""What a simulation leaves behind: curves, traffic, models, and where they came from."""

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
from paofed.core.arrays import FloatArray, IntArray, ShapesShown
from paofed.core.metrics import decibels
from paofed.core.tariffs import Tariff, Wire, tariff_of
from paofed.core.traffic import Traffic
from paofed.errors import InputError, needs_extra, unknown
from paofed.files import write_table
from paofed.simulate.results import stored
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.joining import joined
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.merging import HeldResult, merged
from paofed.simulate.results.progressive import MODELS, ColdStart, Progressive, Whose
from paofed.simulate.results.statistics import Final, final, over_runs, over_runs_db
from paofed.simulate.results.tables import TableOf, table_of, to_pandas, to_polars
from paofed.simulate.results.words import in_short

if TYPE_CHECKING:
    import polars

FINAL_SHARE = 0.05  # the final error is the mean over the last 5 % of the ticks
RECOVERED_DB = 1.0  # above the error before a drift: near enough to have recovered
SENT_COLUMNS = (  # those of Traffic, where coordinates are what was sent, and bytes on the wire
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
    """Name what computed a result."""
    found = {"python": platform.python_version()}
    for package in ("paofed", "numpy", "numba"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def usual_every(ticks: int) -> int:
    """Ticks between two points of a curve, where nobody says: 10, but no more than 200 points."""
    return max(10, ticks // 200)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Outcome(ShapesShown):
    """One algorithm over one trace."""

    server_model: FloatArray  # (D,), after the last tick
    mse: FloatArray  # (N,), linear mean over the test set after each tick
    traffic: IntArray  # (7, N), what was sent until then, whether or not it arrived: see Traffic

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
        """The bytes of all messages, up and down, without any transport's own."""
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


def _drawing(module: str) -> Any:
    """What shows results, found by name when first asked for: a result can do without it."""
    return import_module(module)


class RunRecord(NamedTuple):
    """All algorithms over one run: what an engine hands back."""

    mse: FloatArray  # (A, P)
    traffic: IntArray  # (A, 7, P), what was sent until then: see Traffic
    models: FloatArray  # (A, D)
    over_time: FloatArray  # (A, 2, P): see Tally; (A, 2, 0) where there is a test set
    cells: FloatArray  # (A, 2, 5, C), likewise


class Recovery(NamedTuple):
    """What one drift did to the mean curve; an error is infinite where the curve has diverged."""

    tick: int  # from whose samples on the target was another
    before_db: float  # mean over the 5 % of all ticks before; NaN where the curve has no point
    worst_db: float  # until the next drift or the end; likewise
    ticks: int | None  # from when the drift is done until it is back within 1 dB; None: never


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Clean(ShapesShown):
    """The same algorithms over the same runs, had there been no faults."""

    mse: FloatArray  # (R, A, P), linear
    finals: FloatArray  # (R, A, 2), linear: of the devices' models, known over a table alone, and
    # of the server's

    @classmethod
    def of(cls, result: "Result") -> Self:
        """Keep what is needed of a result without faults."""
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
    """Several algorithms over R runs that share their worlds, A algorithms, P points of a curve."""

    provenance: Mapping[str, Any]  # scenario, algorithms, seed, versions, ...
    ticks: IntArray  # (P,), 0-based; the error is that of the model after the tick
    mse: FloatArray  # (R, A, P), linear
    traffic: IntArray  # (R, A, 7, P), what was sent until then: see Traffic
    models: FloatArray  # (R, A, D), the server's after the last tick
    progressive: Progressive | None = None  # over a table
    lives: Lives | None = None  # likewise; an earlier version did not keep it
    cold_start: ColdStart | None = None  # likewise, where it was asked for
    clean: Clean | None = None  # of a scenario with faults, unless it was not asked for

    @property
    def runs(self) -> int:
        """How many runs were finished."""
        return len(self.mse)

    @property
    def algorithms(self) -> list[str]:
        """The names of the algorithms, in the order of the arrays."""
        return [str(described["name"]) for described in self.provenance["algorithms"]]

    @property
    def places(self) -> list[tuple[int, int]]:
        """World and run of every run."""
        same = self.provenance["same_world"]
        return [(0, i) if same else (i, 0) for i in self.provenance["runs_finished"]]

    @property
    def drifts(self) -> list[int]:
        """The ticks from whose samples on the target was another."""
        # Results of before drifts were possible do not say that they have none.
        return list(self.provenance["scenario"].get("stream", {}).get("drifts", ()))

    @property
    def drift_ticks(self) -> int:
        """The ticks that each drift took; 0: the target changed at once."""
        return int(self.provenance["scenario"].get("stream", {}).get("drift_ticks", 0))

    @property
    def samples_seen(self) -> FloatArray:
        """How many samples the whole fleet has had until each point, (P,).

        Over a table they are counted; of a scenario's they are those to be expected.
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
        """The linear error curve of every run, (R, P)."""
        return self.mse[:, self._index(name)]

    def run_traffic(self, name: str) -> Traffic:
        """What was sent until each point of every run's curve, (R, P) each."""
        return Traffic(*np.moveaxis(self.traffic[:, self._index(name)], 1, 0))

    def run_wire(self, name: str, tariff: Tariff | str = "payload") -> Wire:
        """The bytes on the wire until then under a tariff, up and down, (R, P) each."""
        return tariff_of(tariff).wire(self.run_traffic(name))

    def mean_sent(self, name: str, tariff: Tariff | str = "payload") -> dict[str, FloatArray]:
        """What was sent until each point, mean over runs, (P,) each: the columns of a CSV."""
        counts = self.run_sent_by_column(name, tariff)
        return {column: count.mean(axis=0) for column, count in counts.items()}

    def run_sent_by_column(
        self, name: str, tariff: Tariff | str = "payload"
    ) -> dict[str, FloatArray]:
        """The same run by run, (R, P) each."""
        counted = (*self.run_traffic(name), *self.run_wire(name, tariff))
        return {
            column: np.asarray(count) for column, count in zip(SENT_COLUMNS, counted, strict=True)
        }

    def run_sent(self, name: str) -> IntArray:
        """The coordinates sent up and down until each point of every run's curve, (R, P)."""
        now = self.run_traffic(name)
        sent: IntArray = now.coordinates_up + now.coordinates_down
        return sent

    def sent(self, name: str) -> tuple[float, float]:
        """Coordinates up and down per run, on average."""
        now = self.run_traffic(name)
        return float(now.coordinates_up[:, -1].mean()), float(now.coordinates_down[:, -1].mean())

    def curve(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Linear mean over runs and its standard error, (P,) each; NaN errors for a single run."""
        return over_runs(self.run_curves(name))

    def curve_db(self, name: str) -> tuple[FloatArray, FloatArray]:
        """The curve in dB and its standard error in dB (first order)."""
        return over_runs_db(self.run_curves(name))

    @property
    def _twentieth(self) -> int:
        """How many ticks are 5 % of all."""
        return max(1, round(FINAL_SHARE * (int(self.ticks[-1]) + 1)))

    def run_finals(self, name: str) -> FloatArray:
        """The linear error of every run over the last 5 % of the ticks, (R,).

        Over a table: on all samples that count.
        """
        if self.progressive is not None:
            return self.progressive.run_finals(name, "server")
        last = self.ticks >= self.ticks[-1] + 1 - self._twentieth
        finals: FloatArray = self.run_curves(name)[:, last].mean(axis=-1)
        return finals

    def final(self, name: str) -> Final:
        """The error over the last 5 % of the ticks."""
        return final(self.run_finals(name))

    def compare(self, a: str, b: str, whose: Whose = "server") -> Estimate:
        """By how many dB one algorithm is better than another at the end, paired run by run.

        Below 0 it is worse. Over a table, `whose` model: the server's or that of the devices.
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
        """The linear final error of every run had there been no faults, (R,)."""
        if self.clean is None:
            raise InputError("this result says nothing of the same runs without faults")
        finals: FloatArray = self.clean.finals[:, self._index(name), MODELS.index(whose)]
        return finals

    def recovery(self, name: str) -> list[Recovery]:
        """How the mean curve took every drift."""
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
        """In how many runs the error stopped being finite, and the earliest tick of it."""
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
        """Read a result back; a file that is none is one clear error."""
        return cls._of(*stored.load(Path(path)))

    @classmethod
    def merge(cls, parts: "Iterable[Result]") -> Self:
        """Put the runs of several results together: the same as if one call had run them all.

        They may come in any order, and overlap. Results of another question (scenario, algorithms,
        seed, versions, ...) are refused, and so is a run that is there twice with different
        numbers, unless it was computed on different types of processors.
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
        """Everything by name, as files have it."""
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
        """Write a tidy table: of the curves, of the ends of all runs, or of the final errors.

        Beside the errors: what was sent until then, and its bytes on the wire under a tariff.
        """
        columns = table_of(self, of, tariff_of(tariff))
        write_table(Path(path), list(columns), zip(*columns.values(), strict=True))

    def to_polars(
        self, of: TableOf = "curves", tariff: Tariff | str = "payload"
    ) -> "polars.DataFrame":
        """The same table as a frame of polars, which must be installed."""
        return to_polars(table_of(self, of, tariff_of(tariff)))

    def to_pandas(self, of: TableOf = "curves", tariff: Tariff | str = "payload") -> Any:
        """The same table as a frame of pandas, which must be installed."""
        return to_pandas(table_of(self, of, tariff_of(tariff)))

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

        `names` are the algorithms to draw, in the order of the legend. `x` is what the error stands
        over: "ticks", "samples" or "bytes" (under a `tariff`). `bands` are the 95 % "interval" of
        the mean, its "standard error", a pair of percentiles over runs such as (10, 90), or None.
        `labels` and `colours` go by name. A new figure is as wide as a journal's `column`, "single"
        or "double". Over a table, `whose` models: the "device"s' or the "server"'s.
        """
        with needs_extra("Result.plot"):
            figures = _drawing("paofed.figures")
        return figures.plot(
            self, names, axes=axes, x=x, bands=bands, labels=labels, colours=colours,
            tariff=tariff, whose=whose, column=column,
        )  # fmt: skip

    def __repr__(self) -> str:
        return in_short(self)

    def _repr_html_(self) -> str:
        html: str = _drawing("paofed.report.shared.notebook").as_html(self)
        return html

    def summary(self, tariff: Tariff | str = "payload") -> list[dict[str, Any]]:
        """One record per algorithm: final error, traffic per run, divergence, recovery."""
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
