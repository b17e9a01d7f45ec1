"""What `run` and `result` have in common: a Result as a table, JSON, CSV or figure."""

import json
import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paofed.cli.table import table
from paofed.errors import InputError
from paofed.files import make_folder, require_folder, require_writable
from paofed.simulate.baselines import BASELINES
from paofed.simulate.progressive import Progressive
from paofed.simulate.result import Result

if TYPE_CHECKING:
    from paofed.report.claims import Estimate

FIGURES = (".png", ".svg", ".pdf")
_ENDINGS = ", ".join(FIGURES)
_ERRORS = ("before_db", "worst_db")
_DRAWN = ("curves", "traffic", "over-time", "by-device", "newcomers")
_WRITTEN = ("curves", "errors", "gains", "recovery", "by-device", "over-time", "newcomers")
PAGE = (  # what a page's folder may hold in the end
    "report.html",
    "scenario.toml",
    *(f"{name}.csv" for name in _WRITTEN),
    *(f"{name}.{ending}" for name in _DRAWN for ending in ("svg", "png")),
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the outputs that both verbs offer."""
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the curves as a tidy table")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw them (.png, .svg, .pdf)")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write a page to look at")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def require_figure(path: Path) -> None:
    """Refuse a name that no figure can have."""
    if path.suffix not in FIGURES:
        raise InputError(f"{path} is no figure's name: expected one that ends in {_ENDINGS}")


def check(args: Namespace, *more: Path | None, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse places that cannot be written to before the work begins."""
    if args.figure is not None:
        require_figure(args.figure)
    taken = {Path(str(given)).resolve() for given in inputs}
    pages = [] if args.report is None else [args.report / name for name in PAGE]
    if args.report is not None:
        require_folder(args.report)  # made when there is something to put into it
    for path in pages:
        if path.resolve() in taken:
            raise InputError(f"{path} would be overwritten by the page: write it elsewhere")
    taken |= {path.resolve() for path in pages}
    for path in (args.csv, args.figure, *more):
        if path is not None:
            if path.resolve() in taken:
                raise InputError(f"{path} is given twice: every file needs a name of its own")
            taken.add(path.resolve())
            require_writable(path)


def show(result: Result, args: Namespace) -> None:
    """Write the files asked for, then print the summary."""
    if args.csv is not None:
        result.to_csv(args.csv)
    if args.figure is not None:
        _draw(result, args.figure)
    if args.report is not None:
        from paofed.report.run_page import write

        make_folder(args.report)
        write(result, args.report)
        say(f"open {args.report / 'report.html'}")
    summary = result.summary()
    for line in summary:
        if line["diverged_runs"]:
            say(
                f"{line['algorithm']} diverged in {line['diverged_runs']} of {result.runs} runs, "
                f"first at tick {line['diverged_at']}: its step size is too large"
            )
    if args.json:
        print(json.dumps(plain({"runs": result.runs, "algorithms": summary, **_beside(result)})))
    else:
        print(as_table(result))


def _draw(result: Result, path: Path) -> None:
    from paofed.report.figures import learning_curves, save
    from paofed.report.fleet_figures import over_time

    judged = result.progressive
    save(learning_curves(result) if judged is None else over_time(result, judged), path)


def _beside(result: Result) -> dict[str, Any]:
    """What a run over a table has beside its algorithms, for JSON."""
    if result.progressive is None:
        return {}
    from paofed.report.gains import newcomers

    judged, cold = result.progressive, result.cold_start
    found = {name: {**judged.final(name, "baseline")._asdict()} for name in judged.baselines}
    joined = (
        []
        if cold is None
        else [
            {
                "algorithm": newcomer.name,
                "begins_with": newcomer.way,
                "horizon_ticks": ticks,
                "db": db,
                "gain": gain._asdict(),
            }
            for newcomer in newcomers(cold)
            for ticks, db, gain in zip(
                cold.horizons.tolist(), newcomer.errors, newcomer.gains, strict=True
            )
        ]
    )
    return {"baselines": found, "newcomers": joined}


def say(text: str) -> None:
    """Tell people something that is not a result."""
    print(text, file=sys.stderr)


def as_table(result: Result) -> str:
    """Tables for people: errors with their standard errors, traffic of a run; what is beside."""
    summary = result.summary()
    scenario = result.provenance["scenario"]["name"]
    runs = f"{result.runs} run{'s' if result.runs > 1 else ''}"
    traffic = "traffic in coordinates and payload, mean of a run"
    if result.progressive is not None:
        note = f"error on samples to come, {traffic}"
        parts = _over_table(result, result.progressive, summary)
    else:
        note = f"error over the last 5 % of ticks, {traffic}"
        parts = [_algorithms(summary, {"error (dB)": "db"})]
        parts += [_recoveries(summary)] if result.drifts else []
    return "\n\n".join([f"{scenario}, {runs} ({note})", *parts])


def _algorithms(summary: list[dict[str, Any]], errors: Mapping[str, str]) -> str:
    """One row per algorithm: errors, by heading and key, each with its standard error; traffic."""
    header = ["algorithm"]
    for heading in errors:
        header += [heading, "s.e."]
    rows = []
    for line in summary:
        row = [line["algorithm"]]
        for key in errors.values():
            row += [_error(line[key]), _number(line[f"{key[:-2]}standard_error"])]
        row += [f"{line[key]:,.0f}" for key in ("sent_up", "sent_down")]
        rows.append(row + [size(line[key]) for key in ("bytes_up", "bytes_down")])
    return table([*header, "sent up", "sent down", "bytes up", "bytes down"], rows)


def _over_table(result: Result, judged: Progressive, summary: list[dict[str, Any]]) -> list[str]:
    """Both models of every algorithm, the baselines, and newcomers."""
    from paofed.report.gains import by_start, horizons, newcomers, over_starts

    parts = [_algorithms(summary, {"device (dB)": "device_db", "server (dB)": "db"})]
    if judged.baselines:
        rows = [
            [name, _error(db), _number(error), BASELINES[name]]
            for name in judged.baselines
            for db, error in [judged.final(name, "baseline")]
        ]
        parts.append(table(["baseline", "error (dB)", "s.e.", ""], rows, left=(0, 3)))
    cold = result.cold_start
    if cold is not None:
        spans = horizons(result, cold)
        rows = [
            [name, "", *map(_known, over_starts(by_start(cold, errors)))]
            for name, errors in (("last value", cold.last_value), ("alone", cold.alone))
        ]
        rows += [[found.name, found.way, *map(_gained, found.gains)] for found in newcomers(cold)]
        times = f"{len(cold.starts)} time{'s' if len(cold.starts) > 1 else ''}"
        header = ["newcomer", "begins with", *(f"first {span}" for span in spans)]
        note = (
            f"devices that join late, {times} each: error alone (dB), and by how "
            f"many dB those who take part are better (95 %)"
        )
        parts.append(f"{note}\n\n{table(header, rows, left=(0, 1))}")
    return parts


def _gained(gain: "Estimate") -> str:
    if not math.isfinite(gain.mean):
        return "-" if math.isnan(gain.mean) else "diverged"
    half = (gain.high - gain.low) / 2
    mean = round(gain.mean, 2) + 0.0  # no minus zero
    return f"{mean:+.2f}" + (f" ± {half:.2f}" if math.isfinite(half) else "")


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _recoveries(summary: list[dict[str, Any]]) -> str:
    """A table of what every drift did to the algorithms."""
    header = ["algorithm", "drift", "before (dB)", "worst (dB)", "ticks to recover"]
    rows = [
        [
            line["algorithm"],
            str(drift["tick"]),
            *(_known(drift[key]) for key in _ERRORS),
            "not yet" if drift["ticks"] is None else str(drift["ticks"]),
        ]
        for line in summary
        for drift in line["recovery"]
    ]
    return table(header, rows)


def _error(error: float) -> str:
    """Write an error for people; one that is no finite number has diverged, but none at all."""
    return f"{error:.2f}" if math.isfinite(error) or error < 0 else "diverged"


def _known(error: float) -> str:
    """Write an error that may not be known."""
    return "-" if math.isnan(error) else _error(error)


def size(number: float) -> str:
    """Write a number of bytes as people say it.

    >>> size(950), size(384_000)
    ('950 B', '384.0 kB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("unreachable")


def plain(value: Any) -> Any:
    """JSON has no NaN: what could not be computed is null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
