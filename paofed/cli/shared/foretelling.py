"""What theory says of a fleet, computed and shown: mean recursion, second moments, beside runs."""

import json
from argparse import Namespace
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.spec import from_text
from paofed.cli.shared import outputs, second_moments
from paofed.cli.shared.progress import Progress
from paofed.cli.shared.stderr import say
from paofed.core.tariffs import Tariff
from paofed.errors import InputError
from paofed.files import write_table
from paofed.report.paper.theory import CURVES, Beside
from paofed.simulate.engines import USUAL, engine_of
from paofed.simulate.results.result import versions
from paofed.theory.bounds import NEVER_EXPANDS
from paofed.theory.fleet import FleetInTheory
from paofed.theory.foresight import Foresight, Outlook, foresee
from paofed.theory.second.stability import require_stable
from paofed.words import counted, table
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace

if TYPE_CHECKING:
    from paofed.simulate.average import Average


def foretell(args: Namespace) -> None:
    """Compute, simulate if asked, and show; after an interrupt, show what is finished."""
    methods = [from_text(text) for text in args.algorithm]
    trace = Trace.load(args.scenario) if Path(args.scenario).suffix == ".npz" else None
    if trace is not None and args.runs:
        raise InputError(f"{args.scenario} is a trace, one run that was: --runs needs a scenario")
    source = Scenario.load(args.scenario) if trace is None else trace
    foresight = foresee(source, seed=args.seed, world=args.world)
    second = args.second or args.best_step or args.steady_state
    for method in methods if second else ():  # before anything that takes long
        require_stable(foresight.fleet, method, foresight.settings)
    with Progress(f"{args.scenario}, mean recursion") as progress:
        found = _Found(foresight.outlook(methods, every=args.every, report=progress))
    try:
        if second:
            _second_moments(args, found, foresight, methods)
        if args.runs and isinstance(source, Scenario):
            _simulate(args, found, methods, source)
    except KeyboardInterrupt:
        found.warnings.append("interrupted: this is what was finished")
        _show(args, found, foresight)
        raise
    _show(args, found, foresight)


@dataclass
class _Found:
    """What is known so far."""

    outlook: Outlook
    second: dict[str, second_moments.Foreseen] | None = None  # by algorithm
    simulated: "Average | None" = None
    warnings: list[str] = field(default_factory=list)

    @property
    def beside(self) -> Beside:
        """Predicted and simulated curves, beside each other."""
        curves = None if self.second is None else {n: one.curve for n, one in self.second.items()}
        return Beside(self.outlook.prediction, self.simulated, curves)


def _second_moments(
    args: Namespace, found: _Found, foresight: Foresight, methods: list[Algorithm]
) -> None:
    """Compute second moments; runs that are asked for say how far off they are, else own ones."""
    found.second = {}
    for method in methods:
        found.second[method.name] = second_moments.predicted(
            foresight, method, every=args.every, best=args.best_step, steady=args.steady_state,
            check="none" if args.runs else "tell", title=args.scenario,
        )  # fmt: skip


def _simulate(args: Namespace, found: _Found, methods: list[Algorithm], scenario: Scenario) -> None:
    """Average the runs that are asked for."""
    # Imported here with the engine, which takes a second.
    from paofed.simulate.average import average

    with (
        Progress(f"{args.scenario}, {counted(args.runs, 'run')}") as progress,
        engine_of(USUAL).announced(say),
    ):
        found.simulated = average(
            scenario, methods, runs=args.runs, seed=args.seed, world=args.world,
            every=args.every, report=progress,
        )  # fmt: skip


def _show(args: Namespace, found: _Found, foresight: Foresight) -> None:
    outlook, beside, fleet = found.outlook, found.beside, foresight.fleet
    if args.csv is not None:
        curves = beside.curves(beside.names[0])
        write_table(args.csv, ["algorithm", "tick", *curves], beside.rows())
    if args.figure is not None:
        from paofed.report.paper.figures import mean_and_learning
        from paofed.report.shared.figures import save

        save(mean_and_learning({args.scenario: beside}), args.figure)
    second = found.second or {}
    told = [*outlook.warnings(), *second_moments.warnings(second, beside), *found.warnings]
    for warning in told:
        say(warning)
    records = {name: second_moments.as_record(name, one, beside) for name, one in second.items()}
    lines = _lines(outlook, beside, args.tariff)
    if args.json:
        for line in lines:
            if found.second is not None:
                line["second_moments"] = records.get(line["algorithm"])
        print(json.dumps(_as_json(args, outlook, lines, fleet, told)))
    else:
        where = "as recorded" if fleet.moments.R_error else f"world {args.world}"
        text = _as_text(args.scenario, where, outlook, lines, fleet)
        print("\n\n".join([text, *([second_moments.as_table(records)] if records else [])]))


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


def _as_json(
    args: Namespace,
    found: Outlook,
    lines: list[dict[str, Any]],
    fleet: FleetInTheory,
    warnings: list[str],
) -> dict[str, Any]:
    return {
        "scenario": args.scenario,
        "seed": args.seed,
        "world": args.world,
        "versions": versions(),
        "bound": found.steps.bound,
        "bound_set_by_client": found.steps.client,
        "expands_on_average_above": found.steps.typical,
        "never_expands_up_to": NEVER_EXPANDS,
        "guaranteed_below": found.steps.guaranteed,
        "tariff": args.tariff.name,
        "moments_standard_error": max(fleet.moments.R_error, fleet.moments.r_error),
        "warnings": warnings,
        "algorithms": [outputs.plain(line) for line in lines],
    }


def _as_text(
    scenario: str, where: str, found: Outlook, lines: list[dict[str, Any]], fleet: FleetInTheory
) -> str:
    steps, moments = found.steps, fleet.moments
    clients, features = moments.r.shape
    rows = [
        [f"{steps.bound:.3g}", f"bound of Theorem I, set by client {steps.client}"],
        [f"{steps.typical:.3g}", "above this, single steps expand on average"],
        [f"{NEVER_EXPANDS:g}", "up to this, no single step expands"],
    ]
    if steps.guaranteed is not None:
        rows.append([f"{steps.guaranteed:.3g}", "below this, any sharing converges in the mean"])
    parts = [
        f"{scenario}, {where}: {clients} clients, {features} features",
        table(["step size", ""], rows, left=(1,)),
        table(*_columns(lines)),
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


def _columns(lines: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table: the mean, its growth, and the traffic of one client."""
    keys = [key for key in CURVES if key in lines[0]]
    curves = [key.removesuffix("_db").replace("_", " ") + " (dB)" for key in keys]
    header = ["algorithm", "step size", "growth per tick", *curves]
    return [*header, "contacts per tick", "bytes per tick"], [
        [
            line["algorithm"],
            f"{line['step_size']:g}",
            f"{line['growth_per_tick']:.6f}",
            *(f"{line[key]:.2f}" if np.isfinite(line[key]) else "diverged" for key in keys),
            f"{line['contacts_per_tick']:.4f}",
            f"{line['bytes_per_tick']:.3g}",
        ]
        for line in lines
    ]
