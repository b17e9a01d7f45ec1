"""Make a fleet's folder: settings, an authority with certificates, what mosquitto needs.

A number is given as NAME, NAME:OFFSET:SCALE or NAME:OFFSET:SCALE:LOW:HIGH. The model sees (value -
offset) / scale, which should mostly lie between -2 and 2; a sample with a value below LOW or above
HIGH (usually 10 scales from the offset) is not learned from. With --from the file that `paofed run
--out` wrote over a table, the fleet does what was run, and all of this is known.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

from paofed.algorithms.admitted import admit
from paofed.archives import is_run
from paofed.cli.shared.agreement import NUMBER, add_agreement, agreed, given, quantity
from paofed.cli.shared.fleet_options import (
    accounts_of,
    add_accounts,
    add_folder,
    rights_of,
    say_result,
)
from paofed.core.arrays import FloatArray
from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.founding import USUAL, going_on, new_identity, new_manifest
from paofed.live.fleet.issuing import AUTHORITY
from paofed.live.fleet.kept_methods import opened
from paofed.live.fleet.mosquitto import CONFIGURATION, FOLDER
from paofed.live.fleet.settings import Security, Settings
from paofed.live.model.fleet_model import FleetModel
from paofed.live.network.topics import SERVER
from paofed.live.protocol.change import Changes
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.served import usual_row
from paofed.live.server.clock import at_present

EXAMPLE = (
    "paofed fleet init greenhouse --input temperature:20:10 --input hour:12:6 "
    "--target load:300:100 --tick 60"
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("--input", action="append", type=quantity, default=[], metavar=NUMBER,
        help="an input; give --input once for each, in order")  # fmt: skip
    add("--target", type=quantity, metavar=NUMBER, help="what the model predicts")
    add("--from", dest="other", type=Path, metavar="OTHER",
        help="folder of another fleet, a model of one, or the file of a run over a table, to go "
        "on from")  # fmt: skip
    add("--model", choices=("first", "final"),
        help="with --from a run: begin with the model that the run began with or ended with "
        "(default: first)")  # fmt: skip
    said = {name: f"default: {value}" for name, value in USUAL.items()}
    beside = {
        "shared": "default: 4",
        "aside": "default: yes",
        "learner": "default: lms",
    }
    add_agreement(parser, {**said, **beside})
    add("--name", help="name that begins every topic (default: the folder's)")
    add("--host", default="localhost",
        help="host of the broker, as devices reach it (default: %(default)s)")  # fmt: skip
    add("--port", type=int, default=8883, help="port of the broker (default: %(default)s)")
    add("--security", choices=get_args(Security), default="certificate",
        help="how devices and server prove who they are; external: to a broker that is not the "
        "fleet's own (default: %(default)s)")  # fmt: skip
    add("--prefix", default="", metavar="TOPIC",
        help="topic that stands before all others, as in company/site7 (default: "
        "none)")  # fmt: skip
    add("--authority", type=Path, metavar="FILE",
        help="with --security external: certificates (PEM) of the authority that certifies the "
        "broker (default: those that the system trusts)")  # fmt: skip
    add_accounts(parser)
    add("--http", default="127.0.0.1:9883", metavar="HOST:PORT",
        help="where the server shows its page, health and metrics; empty: nowhere (default: "
        "%(default)s)")  # fmt: skip


def run(args: Namespace) -> int:
    """Make the folder, and say what comes next."""
    settings = Settings(
        name=args.name or args.folder.resolve().name,
        host=args.host,
        port=args.port,
        security=args.security,
        prefix=args.prefix,
        authority=f"{FOLDER}/{AUTHORITY}" if args.authority else "",
        http=args.http,
    )
    trusted = _trusted(args.authority) if args.authority else ""
    manifest, w, told = _agreed(args)
    told += _unbounded(manifest)
    accounts = accounts_of(args)
    Fleet.create(args.folder, settings, manifest, w, accounts=accounts, trusted=trusted)
    say_result(args, f"made {args.folder}\n{told}{_next(args)}", **_made(args))
    return 0


def _made(args: Namespace) -> dict[str, str]:
    """Return the files that were made, by name."""
    configuration = (args.folder / FOLDER / CONFIGURATION).resolve()
    own = {} if args.security == "external" else {"configuration": str(configuration)}
    return {"folder": str(args.folder), **own}


def _next(args: Namespace) -> str:
    """Say what comes next."""
    fleet, made = Fleet(args.folder, accounts_of(args)), _made(args)
    begin = "\n".join(rights_of(fleet, SERVER, SERVER))
    if "configuration" in made:
        begin = f"start the broker:  mosquitto -c {made['configuration']}"
    add = "LABEL ..." if "configuration" in made else "LABEL ... --accounts FILE"
    return (
        f"{begin}\n"
        f"start the server:  paofed fleet serve {args.folder}\n"
        f"add devices:       paofed fleet add {args.folder} {add}"
    )


class _Agreed(NamedTuple):
    """What a new fleet agrees on, the model it begins with, and what people should know of it."""

    manifest: Manifest
    w: FloatArray | None = None
    told: str = ""


def _agreed(args: Namespace) -> _Agreed:
    if args.other is not None and args.other.is_file() and is_run(args.other):
        return _as_run(args)
    if args.model is not None:
        raise InputError(f"--model {args.model} is for --from a run, as `paofed run --out` writes")
    return _Agreed(_begun(args)) if args.other is None else _taken(args)


def _begun(args: Namespace) -> Manifest:
    """Return the manifest of a fleet that begins with zeros."""
    for option, found in (("--input", args.input), ("--target", args.target)):
        if not found:
            raise InputError(f"fleet init needs {option}, or --from a fleet, a model or a run")
    return new_manifest(args.input, args.target, agreed(args))


def _taken(args: Namespace) -> _Agreed:
    """Return the manifest of a fleet that goes on from another's model, and that model."""
    values = agreed(args)  # names the method first, which the other's model may follow
    model = _model(args.other)
    manifest = going_on(model.manifest, _changes(args, values))
    return _Agreed(replace(manifest, **new_identity()), model.w)


def _as_run(args: Namespace) -> _Agreed:
    """Return the manifest of a fleet that does what was run over a table, beginning now."""
    from paofed.deployment.run_fleet import Begin, agreed_as_run
    from paofed.deployment.table_run import TableRun

    values = given(args)
    begin: Begin = args.model or "first"
    name, own = values.pop("algorithm", None), values.pop("method", None)
    if own is not None:
        admit(own)
        name = own
    found = agreed_as_run(TableRun.load(args.other), name, begin, _changes(args, values))
    beside = f", with {' and '.join(found.added)} as in any new fleet" if found.added else ""
    told = f"as was run:        {found.name}, from its {begin} model on{beside}\n"
    if not found.tells_code:
        told += (
            f"mind:              the run does not say by which code of {found.name} it was made; "
            f"the fleet\n                   follows what is installed now\n"
        )
    return _Agreed(found.manifest, found.manifest.begins_with, told)


def _changes(args: Namespace, values: Mapping[str, Any]) -> Changes:
    return Changes(values=values, inputs=tuple(args.input), target=args.target)


def _unbounded(manifest: Manifest) -> str:
    """Say what people should know of a server rule that bounds nobody and has no `clip`."""
    if usual_row(manifest.word).can_be_bounded:
        return ""
    return (
        f"mind:              the server rule of {manifest.algorithm} bounds nobody's influence; "
        f"what is left\n                   are plausible ranges and the devices' own bound\n"
    )


def _trusted(path: Path) -> str:
    from paofed.live.fleet.authority import trusted_text  # imported here: it needs cryptography

    return trusted_text(path)


def _model(other: Path) -> FleetModel:
    """Return the present model of a fleet's folder, or the model in a file."""
    if not other.is_dir():
        return FleetModel.load(other)
    with opened(other) as store:
        return FleetModel.of(at_present(store))
