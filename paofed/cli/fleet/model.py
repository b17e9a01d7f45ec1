"""Write a fleet's model; may be run while the fleet is served.

As npz it is for `paofed predict` and `paofed fleet init --from`, as JSON for programs of any
language (docs/predictions.md); `paofed.predictor` reads both. As c it is the header of the device
in C (docs/device-in-c.md), which predicts and learns from this model on.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal, get_args

from paofed.cli.shared.folder import add_folder, say_result
from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import header
from paofed.files import require_writable, write_text
from paofed.live.fleet.settings import FILE as SETTINGS
from paofed.live.fleet.settings import Settings
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FileFormat, FleetModel
from paofed.live.server.clock import at_present

EXAMPLE = "paofed fleet model greenhouse --out model.json --format json"
_Kind = FileFormat | Literal["c"]
_BY_ENDING: Mapping[str, _Kind] = {".json": "json", ".h": "c"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", required=True, help="file to write the model to")
    add("--format", choices=(*get_args(FileFormat), "c"),
        help="npz for paofed, json for programs of any language, c for the device in C (default: "
        "json where FILE ends with .json, c where it ends with .h, else npz)")  # fmt: skip


def run(args: Namespace) -> int:
    """Write the model."""
    require_writable(args.out)
    kind: _Kind = args.format or _BY_ENDING.get(args.out.suffix, "npz")
    with closing(Store.open(args.folder)) as store:
        model = FleetModel.of(at_present(store), _name(args.folder))
    if kind == "c":
        about = f"The model of the fleet {model.fleet} at tick {model.tick}."
        write_text(args.out, header(agreed_in_c(model.manifest, start=model.w), about))
    else:
        model.save(args.out, kind)
    text = f"wrote the model of tick {model.tick} to {args.out}"
    say_result(args, text, tick=model.tick, out=str(args.out), format=kind)
    return 0


def _name(folder: Path) -> str:
    """Return the fleet's name; a journal without settings has the name of its folder."""
    has_settings = (folder / SETTINGS).is_file()
    return Settings.load(folder).name if has_settings else folder.resolve().name
