"""The option --seed of the verbs that draw worlds."""

from argparse import ArgumentParser


def add_seed(parser: ArgumentParser) -> None:
    """Declare the option --seed."""
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="seed of every random number, from 0 to 2^64 - 1: the same seed gives the same "
        "events everywhere (default: %(default)s)",
    )
