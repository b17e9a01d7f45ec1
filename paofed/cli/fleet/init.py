"""Make a fleet's folder: settings, an authority with certificates, what mosquitto needs.

A number is given as NAME, NAME:OFFSET:SCALE or NAME:OFFSET:SCALE:LOW:HIGH. The model sees (value -
offset) / scale, which should mostly lie between -2 and 2; a sample with a value below LOW or above
HIGH (usually 10 scales from the offset) is not learned from.
"""

import secrets
import time
from argparse import ArgumentParser, Namespace
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from paofed.cli.shared.agreement import NUMBER, add_agreement, given, scaling
from paofed.cli.shared.folder import add_folder, say_result
from paofed.core.arrays import FloatArray
from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import CONFIGURATION, FOLDER
from paofed.live.fleet.settings import Security, Settings
from paofed.live.journal.exports import FleetModel
from paofed.live.journal.store import Store
from paofed.live.protocol.change import Changes, changed_manifest
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest, usual_shared
from paofed.live.server.clock import at_present

EXAMPLE = (
    "paofed fleet init greenhouse --input temperature:20:10 --input hour:12:6 "
    "--target load:300:100 --tick 60"
)

_USUAL = {
    "tick_seconds": 60.0,
    "algorithm": "pao-fed-u1",
    "features": 200,
    "kernel_width": 1.0,
    "step_size": 0.4,
    "max_age": 10,
    "seed": 0,
    "clip": USUAL_CLIP,
    "bound": USUAL_BOUND,
    "aside": True,
}
_EPOCHS = 256


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("--input", action="append", type=scaling, default=[], metavar=NUMBER, help="each one")
    add("--target", type=scaling, metavar=NUMBER, help="what is to be predicted")
    add("--from", dest="other", type=Path, metavar="OTHER", help="go on from a fleet or a model")
    said = {name: f"default {value}" for name, value in _USUAL.items()}
    beside = {"shared": "default 4", "aside": "default yes", "learner": "default lms"}
    add_agreement(parser, {**said, **beside})
    add("--name", help="begins every topic (default: the folder's name)")
    add("--host", default="localhost", help="the broker, as devices reach it (%(default)s)")
    add("--port", type=int, default=8883, help="of the broker (default %(default)s)")
    add("--security", choices=get_args(Security), default="certificate", help="(%(default)s)")
    add("--http", default="127.0.0.1:9883", metavar="HOST:PORT", help="health (%(default)s)")


def run(args: Namespace) -> int:
    """Make it, and say what comes next."""
    settings = Settings(
        name=args.name or args.folder.resolve().name,
        host=args.host,
        port=args.port,
        security=args.security,
        http=args.http,
    )
    manifest, w = _begun(args) if args.other is None else _taken(args)
    Fleet.create(args.folder, settings, manifest, w)
    configuration = (args.folder / FOLDER / CONFIGURATION).resolve()
    text = (
        f"made {args.folder}\n"
        f"start the broker:  mosquitto -c {configuration}\n"
        f"start the server:  paofed fleet serve {args.folder}\n"
        f"add devices:       paofed fleet add {args.folder} LABEL ..."
    )
    say_result(args, text, folder=str(args.folder), configuration=str(configuration))
    return 0


def _begun(args: Namespace) -> tuple[Manifest, None]:
    """What a fleet agrees on that begins with nothing."""
    for option, found in (("--input", args.input), ("--target", args.target)):
        if not found:
            raise InputError(f"fleet init needs {option}, or --from another fleet or a model")
    values = {**_USUAL, **given(args)}
    manifest = Manifest(
        **{"shared": usual_shared(values["algorithm"], values["features"]), **values},
        **_new_identity(),
        inputs=tuple(number.limited() for number in args.input),
        target=args.target.limited(),
    )
    return manifest, None


def _taken(args: Namespace) -> tuple[Manifest, FloatArray]:
    """What a fleet agrees on that goes on from another's model, and that model.

    The other may be older than the bounds and ranges that new fleets have.
    """
    model = _model(args.other)
    lacking = {name for name in ("clip", "bound") if getattr(model.manifest, name) is None}
    values = {**{name: _USUAL[name] for name in lacking}, **given(args)}
    changes = Changes(values=values, inputs=tuple(args.input), target=args.target)
    manifest = changed_manifest(model.manifest, changes)
    if manifest.seen is None:  # as old fleets are; others have ranges where there can be any
        inputs = tuple(number.limited() for number in manifest.inputs)
        manifest = replace(manifest, inputs=inputs, target=manifest.target.limited())
    return replace(manifest, **_new_identity()), model.w


def _model(other: Path) -> FleetModel:
    """The present model of a fleet's folder, or the one in a file."""
    if not other.is_dir():
        return FleetModel.load(other)
    with closing(Store.open(other)) as store:
        return FleetModel.of(at_present(store))


def _new_identity() -> dict[str, Any]:
    """What tells a fleet from every other; a device of another would not be understood."""
    return {
        "start": time.time(),
        "epoch": secrets.randbelow(_EPOCHS),
        "from_tick": 0,
        "from_time": None,
        "lineage": 0,
    }
