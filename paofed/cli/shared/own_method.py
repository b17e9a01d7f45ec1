"""A method of one's own, which a device, a gateway or a reader of models may follow."""

from argparse import ArgumentParser, Namespace

from paofed.algorithms.admitted import admit


def add_method(parser: ArgumentParser) -> None:
    """Declare --method."""
    parser.add_argument("--method", metavar="FILE:NAME",
        help="method of one's own that the fleet follows: the very file that the server has, or "
        "an entry point; it is run (default: only paofed's own are followed)")  # fmt: skip


def admit_given(args: Namespace) -> None:
    """Let this process follow the method that was given, if one was."""
    if args.method is not None:
        admit(args.method)
