"""The result of a simulation: what was measured over its runs, as a file and in other forms."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from paofed.archives import save_arrays
from paofed.core.tariffs import Tariff, tariff_of
from paofed.errors import FileError, needs_extra
from paofed.simulate.results import forms
from paofed.simulate.results.citing import cited
from paofed.simulate.results.latex import to_latex
from paofed.simulate.results.merging import HeldResult, joined, merged
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.runs import Runs
from paofed.simulate.results.tables import TableOf, table_of, tidy, to_xarray
from paofed.simulate.results.words import in_short

if TYPE_CHECKING:
    import polars


def later(module: str) -> Any:
    """Import a module that shows or uses results when it is needed: results work without it."""
    return import_module(module)


def without_table(provenance: Mapping[str, Any], origin: str = "this result") -> FileError:
    """Return the refusal of a result that is not over a table; `origin` is what people call it."""
    return FileError(
        f"{origin} is a run over {provenance['scenario']['name']}, which has no table: expected "
        f"one over a table, whose columns devices measure"
    )


_ARRAYS = ("ticks", "mse", "traffic", "models")


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(Runs):
    """The result of A algorithms over R runs that share their worlds, with P points of a curve.

    A run over worlds has a WorldResult, whose models are judged on test sets; a run over a table a
    TableResult, whose models are judged on the samples to come.
    """

    _parts: ClassVar[Mapping[str, type[Any]]]  # the records that a result may hold, by field

    def save(self, path: str | Path) -> None:
        """Write everything as one `.npz`, whole or not at all."""
        arrays, provenance = self._held()
        held = {**arrays, "provenance": np.array(json.dumps(provenance))}
        save_arrays(Path(path), held, forms.RESULT)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that `save` wrote; any other file raises one clear error.

        Result.load reads both kinds, TableResult.load and WorldResult.load one kind alone.
        """
        return cls._of(HeldResult(*forms.load(Path(path))), str(path))

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

        kind: type[Result] = TableResult if forms.is_over_table(held.arrays) else WorldResult
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
        tidy(self, of, tariff_of(tariff)).csv(Path(path))

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
        with needs_extra("to_polars"):
            import polars
        return polars.DataFrame(table_of(self, of, tariff_of(tariff)))

    def to_pandas(self, of: TableOf = "curves", tariff: Tariff | str = "payload") -> Any:
        """Return the table that `to_csv` writes as a data frame of pandas, an optional package."""
        with needs_extra("to_pandas"):
            import pandas as pd
        return pd.DataFrame(table_of(self, of, tariff_of(tariff)))

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
        return cited(self.algorithms, self.provenance["versions"]["paofed"])

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
