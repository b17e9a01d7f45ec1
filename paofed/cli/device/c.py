"""Write what a microcontroller needs to be a device of a fleet: C sources and a header.

MANIFEST is what the fleet has agreed on: a model that `paofed fleet model` wrote (.npz), from which
the device then begins, or the JSON of the fleet's retained topic. docs/device-in-c.md says what to
do with the folder.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.core.arrays import FloatArray
from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import HEADER, write_kit
from paofed.errors import InputError, MissingMethodError
from paofed.files import read_text, require_folder
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import ManifestError

EXAMPLE = "paofed device c model.npz --out firmware"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "manifest",
        type=Path,
        metavar="MANIFEST",
        help="model of the fleet (.npz), or its manifest (.json)",
    )
    add("--out", type=Path, metavar="DIR", required=True,
        help="folder to write to, made if it is not there")  # fmt: skip
    add("--map", choices=("table", "drawn"), default="table",
        help="where the numbers of the Fourier map are: table keeps them in flash, drawn draws "
        "them for each sample (default: %(default)s)")  # fmt: skip


def run(args: Namespace) -> int:
    """Write the folder."""
    require_folder(args.out)
    manifest, start = _agreed(args.manifest)
    agreed = agreed_in_c(manifest, start=start, drawn=args.map == "drawn")
    write_kit(args.out, agreed, f"The fleet of {args.manifest.name}, epoch {manifest.epoch}.")
    values = (
        [number.name for number in manifest.inputs] if agreed.seen is None else agreed.seen.inputs
    )
    print(
        f"wrote {args.out / HEADER} and the sources beside it: {agreed.features} parameters, "
        f"{agreed.shared} of them in a contact, inputs "
        f"{', '.join(values)}, target {manifest.target.name}"
    )
    return 0


def _agreed(path: Path) -> tuple[Manifest, FloatArray | None]:
    """Return what a fleet has agreed on, and the model in the file if it has one."""
    try:
        if path.suffix == ".npz":
            model = FleetModel.load(path)
            return model.manifest, model.w
        return Manifest.from_json(read_text(path)), None
    except MissingMethodError:
        raise InputError(
            f"the fleet of {path} follows a method of somebody's own: the device in C has paofed's "
            f"own methods alone; let a gateway take part for the device"
        ) from None
    except ManifestError as error:
        raise InputError(
            f"{path} is no manifest ({error}): expected a model that `paofed fleet model` wrote as "
            f".npz, or what is retained under the fleet's topic c2"
        ) from None
