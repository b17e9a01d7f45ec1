"""Say who may ask the server over HTTP: make a token for somebody, revoke one, or list them.

While no token was ever made, everybody may ask who reaches the port. From the first token on only
those may who have one; the server need not be started again. A token is shown once, when it is
made.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result
from paofed.errors import InputError
from paofed.live.fleet.settings import Settings
from paofed.live.fleet.tokens import FILE, RIGHTS, Tokens, make_token, revoke_token
from paofed.words import table

EXAMPLE = "paofed fleet token greenhouse billing --may predict"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="name of who may ask; left out: list all names")
    add("--may", nargs="+", choices=RIGHTS, metavar="RIGHT",
        help="what the token is good for: see (page, status, metrics), predict (predictions, the "
        "model) (default: both)")  # fmt: skip
    add("--revoke", action="store_true", help="let the token of NAME be good no more")


def run(args: Namespace) -> int:
    """Make, revoke or list."""
    Settings.load(args.folder)  # refuses a folder that is no fleet's
    if args.name is None:
        if args.revoke or args.may:
            raise InputError("fleet token needs the NAME of a token to make or revoke it")
        return _list(args)
    if args.revoke:
        return _revoke(args)
    may = args.may or list(RIGHTS)
    token = make_token(args.folder, args.name, may)
    text = (
        f"{args.name} may {' and '.join(may)} with this token, which is not shown again:\n{token}"
    )
    say_result(args, text, name=args.name, may=may, token=token)
    return 0


def _revoke(args: Namespace) -> int:
    left = revoke_token(args.folder, args.name).holders
    text = f"the token of {args.name} is good no more"
    if not left:
        path = args.folder / FILE
        text += f"\nno token is left, and nobody may ask; to let everybody ask, delete {path}"
    say_result(args, text, name=args.name, left=list(left))
    return 0


def _list(args: Namespace) -> int:
    tokens = Tokens.load(args.folder)
    if tokens is None:
        say_result(args, "there are no tokens: everybody may ask who reaches the port", tokens={})
        return 0
    may = {name: holder.may for name, holder in tokens.holders.items()}
    rows = [[name, ", ".join(rights)] for name, rights in may.items()]
    say_result(args, table(["name", "may"], rows, left=(0, 1)), tokens=may)
    return 0
