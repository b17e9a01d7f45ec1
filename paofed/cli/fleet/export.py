"""Write the messages that a fleet's model was made from, since the newest snapshot but one."""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path

from paofed.cli.shared.folder import add_folder, say_result
from paofed.files import require_writable
from paofed.live.journal.exports import export_messages
from paofed.live.journal.store import Store

EXAMPLE = "paofed fleet export greenhouse --messages messages.npz"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("--messages", type=Path, metavar="FILE", required=True,
        help="file (.npz) to write the messages to")  # fmt: skip


def run(args: Namespace) -> int:
    """Write the messages."""
    require_writable(args.messages)
    with closing(Store.open(args.folder)) as store:
        lines = export_messages(store, args.messages)
    text = f"wrote {lines} messages to {args.messages}"
    say_result(args, text, messages=lines, out=str(args.messages))
    return 0
