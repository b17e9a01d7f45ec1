"""Write what Prometheus and Grafana need to watch a fleet.

Three files: where Prometheus finds the server, when it should call somebody, and a dashboard. The
last two serve any number of fleets.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from paofed.cli.shared.folder import add_folder, say_result
from paofed.errors import InputError
from paofed.files import make_folder, write_text
from paofed.live.fleet.settings import Settings, SettingsError
from paofed.live.fleet.tokens import Tokens
from paofed.live.operations.monitoring import monitoring

EXAMPLE = "paofed fleet monitoring greenhouse --out monitoring"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("--out", type=Path, metavar="FOLDER", required=True,
        help="folder to write to, made if it is not there")  # fmt: skip
    add("--target", metavar="HOST:PORT",
        help="the server, as Prometheus reaches it (default: http of fleet.toml, with localhost "
        "for every address)")  # fmt: skip
    add("--token-file", default="", metavar="FILE",
        help="file in which Prometheus finds its token, where the fleet asks for "
        "tokens")  # fmt: skip


def run(args: Namespace) -> int:
    """Write the files, one by one."""
    settings = Settings.load(args.folder)
    if args.target is not None:
        settings = _reached_at(settings, args.target)
    if not args.token_file and Tokens.load(args.folder) is not None:
        raise InputError(
            f"the fleet asks for tokens: make one (paofed fleet token {args.folder} prometheus "
            f"--may see), keep it in a file for Prometheus, and name that file (--token-file)"
        )
    written = monitoring(settings, args.token_file)
    make_folder(args.out)
    for name, text in written.items():
        write_text(args.out / name, text)
        say_result(args, f"wrote {args.out / name}", file=str(args.out / name))
    return 0


def _reached_at(settings: Settings, target: str) -> Settings:
    try:
        found = replace(settings, http=target)
        found.http_place()
    except SettingsError:
        raise InputError(f"--target is {target!r}: expected HOST:PORT") from None
    return found
