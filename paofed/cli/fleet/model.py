"""Write a fleet's model; may be run while the fleet is served.

As npz it is for `paofed predict` and `paofed fleet init --from`, as JSON for programs of any
language (docs/predictions.md); `paofed.predictor` reads both.
"""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path
from typing import get_args

from paofed.cli.shared.folder import add_folder, say_result
from paofed.files import require_writable
from paofed.live.fleet.settings import FILE as SETTINGS
from paofed.live.fleet.settings import Settings
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FileFormat, FleetModel
from paofed.live.server.clock import at_present

EXAMPLE = "paofed fleet model greenhouse --out model.json --format json"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", required=True, help="where to write")
    add("--format", choices=get_args(FileFormat),
        help="(default: json where FILE ends with .json, else npz)")  # fmt: skip


def run(args: Namespace) -> int:
    """Write it."""
    require_writable(args.out)
    kind: FileFormat = args.format or ("json" if args.out.suffix == ".json" else "npz")
    with closing(Store.open(args.folder)) as store:
        model = FleetModel.of(at_present(store), _name(args.folder))
    model.save(args.out, kind)
    text = f"wrote the model of tick {model.tick} to {args.out}"
    say_result(args, text, tick=model.tick, out=str(args.out), format=kind)
    return 0


def _name(folder: Path) -> str:
    """The fleet's; a journal alone, without settings, has the name of its folder."""
    has_settings = (folder / SETTINGS).is_file()
    return Settings.load(folder).name if has_settings else folder.resolve().name
