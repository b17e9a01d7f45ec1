"""The options --seed and --world of the verbs that draw worlds."""

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


def add_world(parser: ArgumentParser) -> None:
    """Declare the options --seed and --world of verbs that look at one world."""
    add_seed(parser)
    parser.add_argument(
        "--world",
        type=int,
        default=0,
        metavar="W",
        help="number of the world (default: %(default)s)",
    )
