"""The command line: one file per verb; each parses, calls the library and prints."""

import os
import re
import signal
import sys
import textwrap
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

from paofed import __version__
from paofed.cli.command import Command
from paofed.errors import PaofedError, PaofedWarning, nearest, needs_extra, unknown

# The module of a verb is imported when the verb is used, and imports inside its functions what its
# work needs beside NumPy: a device needs none of the simulator's packages, and no help waits for
# them.
VERBS = {
    "run": "run algorithms over a scenario, many times",
    "sweep": "run methods with many settings over the same worlds, and find the best",
    "scenario": "list the scenarios there are; show, check or copy one",
    "trace": "realise one run of a scenario as a trace file",
    "replay": "run one algorithm over a recorded trace",
    "result": "show a saved result, as a table, CSV or figure",
    "theory": "say before any run which step sizes are safe and what to expect",
    "algorithms": "list the algorithms",
    "fleet": "set up, serve and look after a fleet",
    "device": "be a device of a fleet",
    "gateway": "take part for devices that publish telemetry and cannot run Python",
    "demo": "see a fleet learn on this machine while its parts are killed",
    "predict": "predict with a fleet's model",
    "chaos": "rehearse a fleet's disasters",
    "bench": "measure on this machine what the documents say",
    "plan": "find settings for a fleet and its bytes",
    "compare": "compare methods at equal bytes, each with its best settings",
    "reproduce": "run the paper's settings and draw what they show",
    "readings": "judge the paper's disputed statements under every reading of it",
}
# The extras of verbs, and of actions of verbs, that need others than the simulator's. Where a
# package is missing, all of them are named.
_EXTRAS = {
    "fleet": "fleet",
    "device": "device",
    "gateway": "device",
    "demo": "sim,fleet,demo",
    "bench gateway": "fleet",
    "bench gpu": "sim,gpu",
    "bench load": "fleet",
    "bench predict": "fleet",
    "bench table": "sim,table",
    "bench tables": "sim,table",
    "bench wire": "fleet",
}
_BAD_INPUT, _INTERRUPTED = 2, 130
SCENARIO_FIRST = "it stands first: --algorithm takes all the words after it"
# How argparse says that a word is no number.
_NO_NUMBER = re.compile(r"argument (\S+): invalid (int|float|number) value: (.*)")


class _Help(RawDescriptionHelpFormatter):
    """Keeps the lines of descriptions, and breaks no name such as pao-fed-u1 at its hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class Parser(ArgumentParser):
    """Says what is wrong in one line, and suggests the nearest option."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        if found := _NO_NUMBER.fullmatch(message):
            option, kind, got = found.groups()
            message = f"{option} is {got}: expected a {'whole ' * (kind == 'int')}number"
        if message.endswith("required: SCENARIO") and "--algorithm" in self._option_string_actions:
            message += f" ({SCENARIO_FIRST})"
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        raise SystemExit(_BAD_INPUT)

    def parse_known_only(self, argv: Sequence[str]) -> Namespace:
        """Parse the words; refuse words that are left over, suggesting the nearest option."""
        args, left_over = self.parse_known_args(argv)
        if left_over:
            got = left_over[0]
            near = nearest(got.partition("=")[0], self._option_string_actions)
            hint = f": did you mean {near}?" if near else f" (see {self.prog} --help)"
            self.error(f"unexpected {got!r}{hint}")
        return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; a domain error is one line and exit code 2."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    _show_every_character()
    if not words or words[0] not in VERBS:
        return _without("paofed", "verb", VERBS, words)
    verb, *rest = words
    try:
        _end_in_good_order()
        with needs_extra(f"paofed {verb}", _extras_of(words)), _warnings_said():
            actions = actions_of(verb)
            if actions:
                if not rest or rest[0] not in actions:
                    return _without(f"paofed {verb}", "action", actions, rest)
                verb, *rest = f"{verb} {rest[0]}", *rest[1:]
            args = parser_of(verb).parse_known_only(rest)
            code: int = args.run(args)
        sys.stdout.flush()
    except PaofedError as error:
        print(f"paofed {verb}: error: {error}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print(f"paofed {verb}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader has gone (`paofed ... | head`): end quietly
        _give_up_stdout()
        return 0
    except OSError as error:  # a full disk, say
        _give_up_stdout()
        print(f"paofed {verb}: error: {error.strerror or error}", file=sys.stderr)
        return _BAD_INPUT
    return code


@contextmanager
def _warnings_said() -> Iterator[None]:
    """While inside, say our own warnings in one line each on stderr, and each once.

    Python's own memory of what was said does not last: it is cleared whenever somebody's code, such
    as numba's, catches warnings.
    """
    shown, said = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, PaofedWarning):
            shown(message, category, *place, **more)
        elif str(message) not in said:
            said.add(str(message))
            print(message, file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", PaofedWarning)
        warnings.showwarning = show
        yield


def _show_every_character() -> None:
    """Let streams that cannot hold a character, such as ASCII a minus sign, show its number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a program that calls `main` may have put others
            stream.reconfigure(errors="backslashreplace")


def _end_in_good_order() -> None:
    """Treat a request to end (SIGTERM) like Ctrl-C: what was begun is cleared away."""
    with suppress(ValueError):  # fails outside the main thread, where no signals arrive
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _give_up_stdout() -> None:
    """Prevent Python from flushing standard output again when it ends."""
    with suppress(OSError, ValueError):  # standard output may be no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _extras_of(words: Sequence[str]) -> str:
    """Return all extras that a verb or its action needs; empty for the simulator's verbs."""
    return _EXTRAS.get(" ".join(words[:2]), _EXTRAS.get(words[0], ""))


def actions_of(verb: str) -> dict[str, str]:
    """Return what a verb can do, if it has several actions with a file each."""
    actions: dict[str, str] = getattr(import_module(f"paofed.cli.{verb}"), "ACTIONS", {})
    return actions


def parser_of(verb: str) -> Parser:
    """Build the parser of one verb, or of a verb and an action."""
    command = _command(verb)
    parser = Parser(
        prog=f"paofed {verb}",
        description=command.description,
        epilog=f"example: {command.example}",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    parser.set_defaults(run=command.run)
    return parser


def _command(verb: str) -> Command:
    """Return the command of a verb, or of a verb and an action.

    It is a module of its own, or one of the COMMANDS of the module of its group.
    """
    name, _, action = verb.partition(" ")
    homes = getattr(import_module(f"paofed.cli.{name}"), "HOMES", {})
    if action in homes:
        commands: dict[str, Command] = import_module(f"paofed.cli.{name}.{homes[action]}").COMMANDS
        return commands[action]
    module = import_module(f"paofed.cli.{verb.replace(' ', '.')}")
    return Command(module.add_arguments, module.run, module.EXAMPLE, module.__doc__)


def _without(prog: str, kind: str, known: dict[str, str], words: list[str]) -> int:
    """Show what there is if no word is given; else say that the first word is unknown."""
    top = prog == "paofed"
    module = import_module(f"{prog.replace(' ', '.cli.')}")
    parser = Parser(
        prog=prog,
        usage=f"{prog} {kind.upper()} ...",
        description=module.__doc__,
        epilog=f"{kind}s:\n"
        + "\n".join(f"  {name:<12}{text}" for name, text in known.items())
        + f"\n\n`{prog.replace('paofed', 'paofed help')} {kind.upper()}` says more about one {kind}"
        + f"\nexample: {'paofed run setting-1 --runs 4' if top else module.EXAMPLE}",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    if top:
        parser.add_argument("--version", action="version", version=f"paofed {__version__}")
    parser.parse_known_args(words[:1] or ["--help"])  # ends here for --help and --version
    parser.error(unknown(kind, words[0], known))
