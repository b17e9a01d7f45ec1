"""Run a fleet's server, and take its model, messages and backups away."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from paofed.cli.command import Command
from paofed.cli.shared.folder import add_folder, add_validation, say_result
from paofed.cli.shared.serving import log_to_stderr, stopped_by_signals
from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import header
from paofed.files import require_writable, write_text
from paofed.live.fleet.backup import back_up
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.methods import opened
from paofed.live.fleet.settings import FILE as SETTINGS
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import TakenOverError
from paofed.live.journal.exports import export_messages
from paofed.live.model.fleet_model import FileFormat, FleetModel
from paofed.live.model.validated import validated
from paofed.live.server.clock import at_present

_TAKEN_OVER = 3
_Kind = FileFormat | Literal["c"]
_BY_ENDING: Mapping[str, _Kind] = {".json": "json", ".h": "c"}


def _serve_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `serve`."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the fleet's folder")
    add_validation(parser)


def run_serve(args: Namespace) -> int:
    """Run a fleet's server until it is told to stop (SIGTERM, Ctrl-C).

    The server waits for its broker, and reconnects when the broker was away. Exit code 3: another
    server has taken this one's place at the broker; do not start this one again before you know
    why.
    """
    from paofed.live.server.service import Service  # it needs paho-mqtt

    fleet = Fleet(args.folder)
    log = log_to_stderr("paofed.server")
    judge, file = None, args.validation or fleet.settings.validation_file(fleet.folder)
    if file is not None:
        judge = partial(validated, path=file)
        with fleet.store() as store:  # a store that cannot be used is told before anything begins
            judge(FleetModel.of(store.recover()))
    service = Service(fleet, log, judge=judge)
    try:
        with stopped_by_signals(service.stop):
            service.run()
    except TakenOverError as error:
        log.error("%s", error)  # noqa: TRY400 (not a fault of this program)
        return _TAKEN_OVER
    log.info("stopped in good order")
    return 0


def _backup_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `backup`."""
    add_folder(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="tar file to write")


def run_backup(args: Namespace) -> int:
    """Write the whole fleet to one file; may be run while the fleet is served.

    The file holds every secret of the fleet: only its owner may read it, and it should be kept as
    safe as the folder.
    """
    back_up(Fleet(args.folder), args.file)
    size = args.file.stat().st_size
    text = f"wrote {args.folder} to {args.file} ({size:,} bytes, with all its secrets)"
    say_result(args, text, out=str(args.file), bytes=size)
    return 0


def _model_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `model`."""
    add_folder(parser)
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", required=True, help="file to write the model to")
    add("--format", choices=(*get_args(FileFormat), "c"),
        help="npz for paofed, json for programs of any language, c for the device in C (default: "
        "json where FILE ends with .json, c where it ends with .h, else npz)")  # fmt: skip


def run_model(args: Namespace) -> int:
    """Write a fleet's model; may be run while the fleet is served.

    As npz it is for `paofed predict` and `paofed fleet init --from`, as JSON for programs of any
    language (docs/predictions.md); `paofed.predictor` reads both. As c it is the header of the
    device in C (docs/device-in-c.md), which predicts and learns from this model on.
    """
    require_writable(args.out)
    kind: _Kind = args.format or _BY_ENDING.get(args.out.suffix, "npz")
    with opened(args.folder) as store:
        model = FleetModel.of(at_present(store), _name_of(args.folder))
    if kind == "c":
        about = f"The model of the fleet {model.fleet} at tick {model.tick}."
        write_text(args.out, header(agreed_in_c(model.manifest, start=model.w), about))
    else:
        model.save(args.out, kind)
    text = f"wrote the model of tick {model.tick} to {args.out}"
    say_result(args, text, tick=model.tick, out=str(args.out), format=kind)
    return 0


def _name_of(folder: Path) -> str:
    """Return the fleet's name; a journal without settings has the name of its folder."""
    has_settings = (folder / SETTINGS).is_file()
    return Settings.load(folder).name if has_settings else folder.resolve().name


def _export_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `export`."""
    add_folder(parser)
    parser.add_argument("--messages", type=Path, metavar="FILE", required=True,
        help="file (.npz) to write the messages to")  # fmt: skip


def run_export(args: Namespace) -> int:
    """Write the messages that a fleet's model was made from, since the newest snapshot but one."""
    require_writable(args.messages)
    with opened(args.folder) as store:
        lines = export_messages(store, args.messages)
    text = f"wrote {lines} messages to {args.messages}"
    say_result(args, text, messages=lines, out=str(args.messages))
    return 0


COMMANDS = {
    "serve": Command(
        _serve_options, run_serve, "paofed fleet serve greenhouse --validation measured.csv"
    ),
    "backup": Command(_backup_options, run_backup, "paofed fleet backup greenhouse greenhouse.tar"),
    "model": Command(
        _model_options, run_model, "paofed fleet model greenhouse --out model.json --format json"
    ),
    "export": Command(
        _export_options, run_export, "paofed fleet export greenhouse --messages messages.npz"
    ),
}
