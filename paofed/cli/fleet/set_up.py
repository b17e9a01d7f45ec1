"""Add devices and gateways to a fleet, say who may ask it, and set up what runs and watches it."""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from paofed.cli.command import Command
from paofed.cli.shared.fleet_options import (
    add_accounts,
    add_folder,
    fleet_of,
    rights_of,
    say_result,
    say_untold,
)
from paofed.cli.shared.progress import say
from paofed.errors import InputError
from paofed.files import make_folder, write_text
from paofed.live.fleet.settings import Settings, SettingsError
from paofed.live.fleet.tokens import FILE, RIGHTS, Tokens, make_token, revoke_token
from paofed.live.network.credential import Credential
from paofed.live.operations.monitoring import monitoring
from paofed.live.operations.services import owner, services
from paofed.words import counted, table

_MOST_PLACES = 10_000  # places at a time


def _add_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `add`."""
    add_folder(parser)
    parser.add_argument("labels", nargs="+", metavar="LABEL", help="name of a device")
    add_accounts(parser)


def run_add(args: Namespace) -> int:
    """Add devices to a fleet: each gets an index, a credential, and one file to put on it.

    The file holds a secret: move it to its device, readable by its owner alone, and keep no copy.
    Where the broker is not the fleet's own, --accounts has a user for each, and what is printed
    says what the broker's administrator has to allow. After Ctrl-C, the devices whose files were
    printed are in the fleet, and no others.
    """
    fleet = fleet_of(args)
    with closing(fleet.add(args.labels)) as files:  # whatever ends the loop, the broker is told
        for path, label in zip(files, args.labels, strict=True):
            allow = rights_of(fleet, label, Credential.load(path).who)
            text = "\n".join([f"put {path} on its device", *allow])
            say_result(args, text, file=str(path), **({"allow": allow[1:]} if allow else {}))
    if fleet.settings.security == "password":  # certificates need not be told to the broker
        say_untold(fleet)
    return 0


def _gateway_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `gateway`."""
    add_folder(parser)
    add = parser.add_argument
    add("label", metavar="LABEL", help="name of the gateway")
    add("--places", type=int, default=10, metavar="N",
        help="number of devices that it speaks for, 1 to 10,000; for a gateway that is there "
        "already, how many more (default: %(default)s)")  # fmt: skip
    add_accounts(parser)


def run_gateway(args: Namespace) -> int:
    """Add a gateway: one user at the broker that speaks for a number of devices, each with a place.

    For a gateway that exists already, places are added. Either way the gateway gets a new file, and
    a file that it had before is good no more. `paofed gateway` takes part with the new file.
    """
    if not 1 <= args.places <= _MOST_PLACES:
        raise InputError(f"--places is {args.places}: expected 1 to {_MOST_PLACES:,}")
    fleet = fleet_of(args)
    path = fleet.add_gateway(args.label, args.places)
    allow = rights_of(fleet, args.label, *(Credential.load(path).devices or ()))
    put = f"put {path} on its gateway, which has {counted(args.places, 'place')} more"
    text = "\n".join([put, *allow])
    say_result(args, text, file=str(path), **({"allow": allow[1:]} if allow else {}))
    say_untold(fleet)
    return 0


def _token_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `token`."""
    add_folder(parser)
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="name of who may ask; left out: list all names")
    add("--may", nargs="+", choices=RIGHTS, metavar="RIGHT",
        help="what the token is good for: see (page, status, metrics), predict (predictions, the "
        "model) (default: both)")  # fmt: skip
    add("--revoke", action="store_true", help="let the token of NAME be good no more")


def run_token(args: Namespace) -> int:
    """Say who may ask the server over HTTP: make a token for somebody, revoke one, or list them.

    While no token was ever made, everybody may ask who reaches the port. From the first token on
    only those may who have one; the server need not be started again. A token is shown once, when
    it is made.
    """
    Settings.load(args.folder)  # refuses a folder that is no fleet's
    if args.name is None:
        if args.revoke or args.may:
            raise InputError("fleet token needs the NAME of a token to make or revoke it")
        return _list_tokens(args)
    if args.revoke:
        return _revoke_token(args)
    may = args.may or list(RIGHTS)
    token = make_token(args.folder, args.name, may)
    text = (
        f"{args.name} may {' and '.join(may)} with this token, which is not shown again:\n{token}"
    )
    say_result(args, text, name=args.name, may=may, token=token)
    return 0


def _revoke_token(args: Namespace) -> int:
    left = revoke_token(args.folder, args.name).holders
    text = f"the token of {args.name} is good no more"
    if not left:
        path = args.folder / FILE
        text += f"\nno token is left, and nobody may ask; to let everybody ask, delete {path}"
    say_result(args, text, name=args.name, left=list(left))
    return 0


def _list_tokens(args: Namespace) -> int:
    tokens = Tokens.load(args.folder)
    if tokens is None:
        say_result(args, "there are no tokens: everybody may ask who reaches the port", tokens={})
        return 0
    may = {name: holder.may for name, holder in tokens.holders.items()}
    rows = [[name, ", ".join(rights)] for name, rights in may.items()]
    say_result(args, table(["name", "may"], rows, left=(0, 1)), tokens=may)
    return 0


def _services_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `services`."""
    add_folder(parser)
    add = parser.add_argument
    add("--out", type=Path, metavar="FOLDER",
        help="folder to write to, made if it is not there (default: print them)")  # fmt: skip
    add("--program", type=Path, metavar="FILE",
        help="paofed's program on the machine that the services are for (default: this "
        "one)")  # fmt: skip


def run_services(args: Namespace) -> int:
    """Write services for systemd: broker and server, and templates for devices and gateways.

    Broker and server run as the owner of the fleet's folder. Without --out, they are printed.
    """
    settings = Settings.load(args.folder)
    written = services(args.folder, settings, args.program)
    if args.out is not None:
        make_folder(args.out)
    for name, text in written.items():
        if args.out is None:
            say_result(args, f"# {name}\n{text}", name=name)
        else:
            write_text(args.out / name, text)
            say_result(args, f"wrote {args.out / name}", file=str(args.out / name))
    if owner(args.folder) == "root":
        say(
            f"{args.folder} belongs to root, and so its services will: give it to a user (chown -R)"
        )
    return 0


def _monitoring_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `monitoring`."""
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


def run_monitoring(args: Namespace) -> int:
    """Write what Prometheus and Grafana need to watch a fleet.

    Three files: where Prometheus finds the server, when it should call somebody, and a dashboard.
    The last two serve any number of fleets.
    """
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


COMMANDS = {
    "add": Command(_add_options, run_add, "paofed fleet add greenhouse north-wall south-wall"),
    "gateway": Command(
        _gateway_options, run_gateway, "paofed fleet gateway greenhouse hall --places 20"
    ),
    "token": Command(
        _token_options, run_token, "paofed fleet token greenhouse billing --may predict"
    ),
    "services": Command(
        _services_options, run_services, "paofed fleet services greenhouse --out services"
    ),
    "monitoring": Command(
        _monitoring_options, run_monitoring, "paofed fleet monitoring greenhouse --out monitoring"
    ),
}
