"""The study behind the page: its results, and what they say of each claim."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from paofed.algorithms.setup import Setup
from paofed.core.tariffs import PAYLOAD
from paofed.experiments.paper.claims import CLAIMS, II, SUBSETS, Claim, I, better, finals_db
from paofed.experiments.paper.theory import COLUMNS, Beside
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.result import Result
from paofed.simulate.results.tables import tidy
from paofed.table import (
    ERROR,
    ESTIMATE,
    NAME,
    NUMBER,
    SIGNIFICANT,
    WHOLE,
    CellForm,
    ShownColumn,
    ShownTable,
    code,
    ends,
    in_files,
)
from paofed.theory.bounds import NEVER_EXPANDS, StepSizes

VERSIONS = tuple(f"pao-fed-{version}" for version in ("c0", "u0", "c1", "u1", "c2", "u2"))
SIZES = ("pao-fed-u1:shared=1", "pao-fed-u1:shared=32")
PSO_FED = "pso-fed:subset=0.2"
ROWS = ("online-fedsgd", *SUBSETS, PSO_FED, *VERSIONS, *SIZES)
# Pairs of algorithms: with the paper's two round trips per contact, and with one request and reply.
EXCHANGES = tuple(
    (name, Setup(name).with_(exchange=exchange))
    for name in ("pao-fed-u1", "pao-fed-c2", "online-fedsgd")
    for exchange in ("single", "live")
)


# An algorithm with another exchange: on a page, the exchange alone.
_EXCHANGE = CellForm(str, lambda setup: code(setup.values["exchange"]), is_number=False)
_ESTIMATE = ("mean", "low", "high", "runs")
_ON_GRID = ("grid_holds", "grid_fails", "grid_cells")


class Cell(NamedTuple):
    """One point of the grid over kernel width and step size."""

    kernel_width: float
    step_size: float


@dataclass(frozen=True)
class Study:
    """Results by scenario at the default step size and kernel width, and in every cell of a grid.

    A study that is under way has a part of these results, and `coming` says what is missing.
    """

    results: Mapping[str, Result]
    grid: Mapping[Cell, Mapping[str, Result]]
    theory: Mapping[str, Beside] = field(default_factory=dict)  # by what the inputs are like
    steps: StepSizes | None = None  # the bounds that theory gives for the paper's inputs
    coming: tuple[str, ...] = ()  # settings by name, and other parts in words
    first_look: Result | None = None  # the first runs of Setting I, while the others are run

    def without(self, finished: str) -> Self:
        """Return the study with `finished` taken from the parts that are still coming."""
        return replace(self, coming=tuple(part for part in self.coming if part != finished))

    def verdicts(self) -> Iterator[tuple[Claim, Estimate]]:
        """Judge the claims at the defaults: those for whose settings there are results."""
        for claim in CLAIMS:
            if self.results.keys() >= set(claim.scenarios):
                yield claim, claim.judge(self.results)

    def map_of(self, claim: Claim) -> dict[Cell, Estimate]:
        """Judge one claim in every cell of the grid."""
        return {cell: claim.judge(results) for cell, results in self.grid.items()}

    def _on_grid(self, claim: Claim) -> tuple[int | None, ...]:
        """Count the cells in which a claim holds, those in which it does not, and all cells.

        A claim that is not judged on the grid has empty cells of the table instead.
        """
        if not claim.on_grid:
            return (None,) * len(_ON_GRID)
        verdicts = [found.verdict for found in self.map_of(claim).values()]
        return verdicts.count("holds"), verdicts.count("does not hold"), len(verdicts)

    def exchanges(self) -> Iterator[tuple[str, str, Setup, Estimate]]:
        """Yield how many dB worse one exchange per contact is than the paper's two round trips.

        Each item is (setting, the paper's algorithm, the other one, estimate).
        """
        for setting in (setting for setting in (I, II) if setting in self.results):
            for paper, other in EXCHANGES:
                worse = better(paper, str(other), setting)(self.results)
                yield setting, paper, other, estimate(worse)

    def best_steps(self) -> Iterator[tuple[str, str, float, float, float]]:
        """Yield each algorithm at the cell of the grid that is best for it.

        Each item is (setting, name, step size, kernel width, final error in dB).
        """
        for setting in (I, II):
            for name in self._names_on_grid(setting):
                errors = {
                    cell: float(np.mean(finals_db(results[setting], name)))
                    for cell, results in self.grid.items()
                }
                finite = {cell: db for cell, db in errors.items() if np.isfinite(db)}
                if finite:  # else the algorithm diverged in every cell
                    cell = min(finite, key=lambda c: finite[c])
                    yield setting, name, cell.step_size, cell.kernel_width, finite[cell]

    def exchange_table(self) -> ShownTable:
        """Return how much worse one exchange per contact is, algorithm by algorithm."""
        columns = (
            ShownColumn("setting", "setting"),
            ShownColumn("paper", "algorithm", NAME),
            ShownColumn("other", "exchange", _EXCHANGE),
            ShownColumn(_ESTIMATE, "worse by", ESTIMATE, "dB"),
        )
        return ShownTable(columns, list(self.exchanges()))

    def best_table(self) -> ShownTable:
        """Return each algorithm at its own best step size and kernel width."""
        columns = (
            ShownColumn("setting", "setting"),
            ShownColumn("algorithm", "algorithm", NAME),
            ShownColumn("step_size", "step size", SIGNIFICANT),
            ShownColumn("kernel_width", "kernel width", SIGNIFICANT),
            ShownColumn("db", "error", ERROR, "dB"),
        )
        return ShownTable(columns, list(self.best_steps()))

    def verdict_table(self) -> ShownTable:
        """Return the verdict on every claim, for a terminal."""
        columns = (
            ShownColumn("claim", "claim"),
            ShownColumn("mean", "found", NUMBER),
            ShownColumn("ends", "95 %", WHOLE),
            ShownColumn("unit", ""),
            ShownColumn("verdict", "verdict"),
        )
        rows = [
            [claim.key, e.mean, ends(e), claim.shown_unit, found.verdict]
            for claim, found in self.verdicts()
            for e in [claim.shown(found)]
        ]
        return ShownTable(columns, rows)

    def _names_on_grid(self, setting: str) -> list[str]:
        return next((results[setting].algorithms for results in self.grid.values()), [])

    def tables(self) -> Iterator[tuple[str, ShownTable]]:
        """Yield every number by the names of files: finals, claims, grid, exchanges, theory, ..."""
        finals = [
            [setting, line["algorithm"], result.runs, line["db"], line["standard_error"],
             line["sent_up"], line["sent_down"]]
            for setting, result in self.results.items()
            for line in result.summary()
        ]  # fmt: skip
        claims = [
            [c.key, c.unit, c.level, e.above(c.level), e.verdict, *self._on_grid(c)]
            for c, e in self.verdicts()
        ]
        grid = [
            [claim.key, *cell, found.above(claim.level), found.verdict]
            for claim in CLAIMS
            if claim.on_grid
            for cell, found in self.map_of(claim).items()
        ]
        theory = [[label, *row] for label, beside in self.theory.items() for row in beside.rows()]
        sent = ("sent_up", "sent_down")
        yield "finals", in_files(["setting", "algorithm", "runs", "db", "db_se", *sent], finals)
        judged = (_ESTIMATE, "verdict")
        yield "claims", in_files(["claim", "unit", "level", *judged, *_ON_GRID], claims)
        yield "grid", in_files(["claim", *Cell._fields, *judged], grid)
        yield "exchanges", self.exchange_table()
        yield "best-steps", self.best_table()
        yield "theory", in_files(["inputs", "algorithm", "tick", *COLUMNS], theory)
        if (steps := self.steps) is not None:
            bounds = [steps.bound, steps.client, steps.typical, NEVER_EXPANDS]
            keys = ("bound", "set_by_client", "expands_on_average_above", "never_expands_up_to")
            yield "step-sizes", in_files(keys, [bounds])
        for setting, result in self.results.items():
            yield f"curves-{setting}", tidy(result, "curves", PAYLOAD)

    def save(self, folder: Path) -> None:
        """Write all tables as CSV."""
        for name, table in self.tables():
            table.csv(folder / f"{name}.csv")
