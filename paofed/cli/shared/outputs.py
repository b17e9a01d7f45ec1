"""What `run` and `result` have in common: a Result as a table, JSON, CSV or figure."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path

from paofed.cli.shared.progress import say
from paofed.core.tariffs import PAYLOAD, TARIFFS, Tariff, tariff_of
from paofed.errors import InputError
from paofed.files import require_folder, require_writable
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.words import counted

FIGURES = (".png", ".svg", ".pdf")
_ENDINGS = ", ".join(FIGURES)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the outputs that all these verbs offer."""
    add = parser.add_argument
    add(
        "--csv",
        type=Path,
        metavar="FILE",
        help="CSV file to write the curves to, one row per point",
    )
    add("--figure", type=Path, metavar="FILE",
        help="file to draw the curves into (.png, .svg, .pdf)")  # fmt: skip
    add("--json", action="store_true", help="print the summary as JSON")
    add_tariff(parser)


def add_tariff(parser: ArgumentParser) -> None:
    """Declare the tariff in which bytes are counted."""
    parser.add_argument("--tariff", type=_tariff, default=PAYLOAD, metavar="T",
        help=f"which bytes of a message are counted: {', '.join(TARIFFS)}, or numbers of your own "
        "as in up=31,down=29 (default: payload)")  # fmt: skip


def _tariff(text: str) -> Tariff:
    try:
        return tariff_of(text)
    except InputError as error:
        raise ArgumentTypeError(str(error)) from None


def add_of_results(parser: ArgumentParser) -> None:
    """Declare the outputs of verbs that show a result."""
    add = parser.add_argument
    add("--traffic-figure", type=Path, metavar="FILE",
        help="file to draw the error against the bytes sent into (.png, .svg, .pdf)")  # fmt: skip
    add("--report", type=Path, metavar="DIR",
        help="folder to write a page to look at into, with its figures and numbers")  # fmt: skip


def require_figure(path: Path) -> None:
    """Refuse a name that no figure can have."""
    if path.suffix not in FIGURES:
        raise InputError(f"{path} is no figure's name: expected one that ends in {_ENDINGS}")


def check(args: Namespace, *more: Path | None, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse places that cannot be written to before the work begins."""
    from paofed.report.run.page_files import PAGE

    figures: list[Path | None] = [args.figure, getattr(args, "traffic_figure", None)]
    for figure in figures:
        if figure is not None:
            require_figure(figure)
    taken = {Path(str(given)).resolve() for given in inputs}
    folder: Path | None = getattr(args, "report", None)
    pages = [] if folder is None else [folder / name for name in PAGE]
    if folder is not None:
        require_folder(folder)  # the folder is made when there is something to put into it
    for path in pages:
        if path.resolve() in taken:
            raise InputError(f"{path} would be overwritten by the page: write it elsewhere")
    taken |= {path.resolve() for path in pages}
    for path in (args.csv, *figures, *more):
        if path is not None:
            if path.resolve() in taken:
                raise InputError(f"{path} is given twice: every file needs a name of its own")
            taken.add(path.resolve())
            require_writable(path)


def show(result: Result, args: Namespace, saved: Path | None = None) -> None:
    """Write the files asked for, then print the summary; `saved` is the result's file, if any."""
    from paofed.report.run.words import as_table, processors

    if args.csv is not None:
        result.to_csv(args.csv, args.tariff)
    _draw(result, args)
    if args.report is not None:
        say(f"open {result.report(args.report, args.tariff, saved)}")
    for line in result.summary():
        if line["diverged_runs"]:
            say(
                f"{line['algorithm']} diverged in {line['diverged_runs']} of "
                f"{counted(result.runs, 'run')}, first at tick {line['diverged_at']}: its step "
                f"size is too large"
            )
    if words := processors(result):
        say(words)
    print(result.to_json(args.tariff) if args.json else as_table(result, args.tariff, saved))


def _draw(result: Result, args: Namespace) -> None:
    if args.figure is None and args.traffic_figure is None:
        return  # before anything that draws is imported
    from paofed.report.run import figures as of_tables
    from paofed.report.shared import figures as draw

    judged = result.progressive if isinstance(result, TableResult) else None
    tariff = args.tariff
    if args.figure is not None:
        curves = of_tables.over_time(result, judged) if judged else draw.learning_curves(result)
        draw.save(curves, args.figure)
    if args.traffic_figure is not None:
        against = (
            of_tables.against_traffic(result, judged, tariff)
            if judged
            else draw.error_against_traffic(result, tariff=tariff)
        )
        draw.save(against, args.traffic_figure)
