"""The command line: one file per verb; each parses, calls the library and prints."""

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

from paofed import __version__
from paofed.errors import PaofedError

VERBS = ("replay", "algorithms")
_BAD_INPUT, _INTERRUPTED = 2, 130


class Parser(ArgumentParser):
    """Says what is wrong in one line, and suggests the nearest option."""

    def error(self, message: str) -> NoReturn:
        """Print one line and leave with 2."""
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        raise SystemExit(_BAD_INPUT)

    def refuse_unknown(self, unknown: Sequence[str]) -> None:
        """Refuse leftovers of parsing, suggesting the nearest option for the first."""
        got = unknown[0]
        near = get_close_matches(got.partition("=")[0], self._option_string_actions, n=1)
        hint = f": did you mean {near[0]}?" if near else f" (see {self.prog} --help)"
        self.error(f"unexpected {got!r}{hint}")


def build_parser() -> tuple[Parser, dict[str, Parser]]:
    """Build the parser and those of its verbs, by name."""
    parser = Parser(
        prog="paofed",
        description="Learn one nonlinear model from a fleet of unreliable devices.",
        epilog="example: paofed algorithms",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"paofed {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, dest="verb")
    by_name: dict[str, Parser] = {}
    for name in VERBS:
        module = import_module(f"paofed.cli.{name}")
        by_name[name] = verbs.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            epilog=f"example: {module.EXAMPLE}",
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(by_name[name])
        by_name[name].set_defaults(run=module.run)
    return parser, by_name


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; a domain error is one line and exit code 2."""
    parser, by_name = build_parser()
    args, unknown = parser.parse_known_args(argv)
    verb = by_name[args.verb]
    if unknown:
        verb.refuse_unknown(unknown)
    return _run(verb, args)


def _run(verb: Parser, args: Namespace) -> int:
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except PaofedError as error:
        print(f"{verb.prog}: error: {error}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print(f"{verb.prog}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`paofed ... | head`): leave quietly, and let nothing flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
