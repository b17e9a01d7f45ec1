"""Make a fleet's folder: settings, an authority with certificates, what mosquitto needs.

A number is given as NAME:OFFSET:SCALE, or NAME alone: the model sees (value - offset) / scale,
which should mostly lie between -2 and 2.
"""

import secrets
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import get_args

from paofed.cli.shared.folder import add_folder, say_result
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import CONFIGURATION, FOLDER
from paofed.live.fleet.settings import Security, Settings
from paofed.live.protocol.manifest import SERVED, Manifest
from paofed.live.protocol.scaling import ManifestError, Scaling

EXAMPLE = (
    "paofed fleet init greenhouse --input temperature:20:10 --input hour:12:6 "
    "--target load:300:100 --tick 60"
)

_NUMBER = "NAME[:OFFSET:SCALE]"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("--input", action="append", type=_scaling, required=True, metavar=_NUMBER, help="each one")
    add("--target", type=_scaling, required=True, metavar=_NUMBER, help="what is to be predicted")
    add("--tick", type=float, default=60.0, metavar="SECONDS", help="(default %(default)g)")
    add("--algorithm", default="pao-fed-u1", metavar="NAME", help=f"one of {', '.join(SERVED)}")
    add("--features", type=int, default=200, metavar="D", help="parameters (default %(default)s)")
    add("--shared", type=int, metavar="M", help="of them in a contact (default 4)")
    add("--kernel-width", type=float, default=1.0, metavar="S", help="(default %(default)g)")
    add("--step-size", type=float, default=0.4, metavar="MU", help="(default %(default)g)")
    add("--max-age", type=int, default=10, metavar="L", help="ticks (default %(default)s)")
    add("--seed", type=int, default=0, metavar="S", help="of the map (default %(default)s)")
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
    whole = args.algorithm == "online-fedsgd"
    manifest = Manifest(
        algorithm=args.algorithm,
        features=args.features,
        shared=args.shared if args.shared is not None else args.features if whole else 4,
        kernel_width=args.kernel_width,
        seed=args.seed,
        step_size=args.step_size,
        max_age=args.max_age,
        tick_seconds=args.tick,
        start=time.time(),
        epoch=secrets.randbelow(256),  # a device of another fleet would not be understood
        inputs=tuple(args.input),
        target=args.target,
    )
    Fleet.create(args.folder, settings, manifest)
    configuration = (args.folder / FOLDER / CONFIGURATION).resolve()
    text = (
        f"made {args.folder}\n"
        f"start the broker:  mosquitto -c {configuration}\n"
        f"start the server:  paofed fleet serve {args.folder}\n"
        f"add devices:       paofed fleet add {args.folder} LABEL ..."
    )
    say_result(args, text, folder=str(args.folder), configuration=str(configuration))
    return 0


def _scaling(text: str) -> Scaling:
    name, *numbers = text.split(":")
    try:
        offset, scale = (float(n) for n in numbers or (0, 1))
        return Scaling(name=name, offset=offset, scale=scale)
    except ManifestError as error:
        raise ArgumentTypeError(str(error)) from None
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not NAME or NAME:OFFSET:SCALE") from None
