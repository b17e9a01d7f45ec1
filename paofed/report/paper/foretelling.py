"""What theory says of a fleet: mean recursion, second moments, and runs beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paofed.algorithms.base import Algorithm
from paofed.core.tariffs import Tariff
from paofed.report.paper import second_moments
from paofed.report.paper.theory import CURVES, Beside, of_step_sizes
from paofed.simulate.results.result import versions
from paofed.table import ERROR, NAME, ShownColumn, ShownTable, known, numeric
from paofed.theory.bounds import NEVER_EXPANDS
from paofed.theory.fleet import FleetInTheory
from paofed.theory.foresight import Check, Foresight, Outlook

if TYPE_CHECKING:
    from paofed.simulate.average import Average


@dataclass
class Foretold:
    """What theory says of a fleet, as far as it is computed, and the average of runs beside it."""

    foresight: Foresight
    title: str  # what was asked about: the name or the file of a scenario, or of a trace
    seed: int
    world: int
    outlook: Outlook
    second: dict[str, second_moments.Foreseen] | None = None  # by algorithm
    simulated: "Average | None" = None
    remarks: list[str] = field(default_factory=list)  # warnings beside those of theory itself

    @property
    def beside(self) -> Beside:
        """Predicted and simulated curves, beside each other."""
        curves = None if self.second is None else {n: one.curve for n, one in self.second.items()}
        return Beside(self.outlook.prediction, self.simulated, curves)

    @property
    def warnings(self) -> list[str]:
        """What to worry about, one sentence each."""
        of_second = second_moments.warnings(self.second or {}, self.beside)
        return [*self.outlook.warnings(), *of_second, *self.remarks]

    def add_second_moments(
        self,
        methods: Sequence[Algorithm],
        progress: second_moments.Shown,
        *,
        every: int,
        best: bool = False,
        steady: bool = False,
        check: Check = "tell",
    ) -> None:
        """Predict the learning curves of methods, and what else is asked for, one by one."""
        self.second = {}
        for method in methods:
            self.second[method.name] = second_moments.predicted(
                self.foresight, method, every=every, best=best, steady=steady, check=check,
                progress=progress,
            )  # fmt: skip

    def as_json(self, tariff: Tariff) -> dict[str, Any]:
        """Return everything in plain values; NaN is None. Bytes are those of a tariff."""
        lines, records = _lines(self.outlook, self.beside, tariff), self._records()
        if self.second is not None:
            for line in lines:
                line["second_moments"] = records.get(line["algorithm"])
        found, moments = self.outlook, self.foresight.fleet.moments
        return {
            "scenario": self.title,
            "seed": self.seed,
            "world": self.world,
            "versions": versions(),
            "bound": found.steps.bound,
            "bound_set_by_client": found.steps.client,
            "expands_on_average_above": found.steps.typical,
            "never_expands_up_to": NEVER_EXPANDS,
            "guaranteed_below": found.steps.guaranteed,
            "tariff": tariff.name,
            "moments_standard_error": max(moments.R_error, moments.r_error),
            "warnings": self.warnings,
            "algorithms": [known(line) for line in lines],
        }

    def as_text(self, tariff: Tariff) -> str:
        """Return everything for people. Bytes are those of a tariff."""
        fleet, records = self.foresight.fleet, self._records()
        where = "as recorded" if fleet.moments.R_error else f"world {self.world}"
        lines = _lines(self.outlook, self.beside, tariff)
        text = _as_text(self.title, where, self.outlook, lines, fleet)
        return "\n\n".join([text, *([second_moments.as_table(records)] if records else [])])

    def _records(self) -> dict[str, dict[str, Any]]:
        second, beside = self.second or {}, self.beside
        return {name: second_moments.as_record(name, one, beside) for name, one in second.items()}


def _lines(found: Outlook, beside: Beside, tariff: Tariff) -> list[dict[str, Any]]:
    """Return one record per algorithm: the end of the run, and what a client sends per tick."""
    return [
        {
            "algorithm": name,
            "step_size": mu,
            "growth_per_tick": float(factor),
            **{key: curve[-1] for key, curve in beside.curves(name).items() if key in CURVES},
            "contacts_per_tick": cost.contacts,
            "coordinates_per_tick": cost.coordinates_up + cost.coordinates_down,
            "bytes_per_tick": tariff.wire(cost).both,
            "ticks_to_each_db": found.prediction.ticks_to_each_db(name),
        }
        for name, mu, factor, cost in zip(
            beside.names, found.mu, found.growth, found.costs, strict=True
        )
    ]


def _as_text(
    scenario: str, where: str, found: Outlook, lines: list[dict[str, Any]], fleet: FleetInTheory
) -> str:
    steps, moments = found.steps, fleet.moments
    clients, features = moments.r.shape
    parts = [
        f"{scenario}, {where}: {clients} clients, {features} features",
        of_step_sizes(steps).text(),
        _of_lines(lines).text(),
    ]
    if moments.R_error:
        parts.insert(
            1,
            f"moments estimated from samples: standard error {moments.R_error:.2g} of an entry "
            f"of R, {moments.r_error:.2g} of r",
        )
    for line in lines:
        reached = ", ".join(f"{db} dB {n}" for db, n in line["ticks_to_each_db"].items())
        parts.append(f"{line['algorithm']}, tick after which its mean is at: {reached or 'none'}")
    return "\n\n".join(parts)


def _of_lines(lines: list[dict[str, Any]]) -> ShownTable:
    """Return the mean of the models, its growth, and the traffic of one client."""
    columns = [
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("step_size", "step size", numeric(lambda mu: f"{mu:g}")),
        ShownColumn("growth_per_tick", "growth per tick", numeric(lambda factor: f"{factor:.6f}")),
        *(
            ShownColumn(key, key.removesuffix("_db").replace("_", " "), ERROR, "dB")
            for key in CURVES
            if key in lines[0]
        ),
        ShownColumn("contacts_per_tick", "contacts per tick", numeric(lambda rate: f"{rate:.4f}")),
        ShownColumn("bytes_per_tick", "bytes per tick", numeric(lambda rate: f"{rate:.3g}")),
    ]
    return ShownTable(columns, [[line[column.keys[0]] for column in columns] for line in lines])
