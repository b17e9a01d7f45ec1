"""A program of verbs: how its words are read, how its help is shown, and how it ends."""

import os
import re
import signal
import sys
import textwrap
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType
from typing import Any, NoReturn

from paofed import __version__
from paofed.cli.command import Command
from paofed.errors import InputError, PaofedError, PaofedWarning, nearest, needs_extra, unknown

# By the title of a group: what each verb, or each action of a verb, does.
Groups = Mapping[str, Mapping[str, str]]

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

    def as_typed(self, error: InputError, args: Namespace) -> str:
        """Return an error's text, which names the option that it is about as it was typed."""
        names = {
            action.dest: action.option_strings[0]
            for action in self._actions
            if action.dest == error.key
            and action.option_strings
            # An option that was not given may have the name of one of an algorithm.
            and getattr(args, action.dest, action.default) != action.default
        }
        return error.told(names)


@dataclass(frozen=True)
class Program:
    """A program whose verbs are modules of one package, or have several actions in a package.

    The module of a verb is imported when the verb is used, and imports inside its functions what
    its work needs beside NumPy: a device needs none of the simulator's packages, and no help waits
    for them.
    """

    name: str  # as it is called
    package: str
    groups: Groups
    example: str
    # The extras of verbs, and of actions of verbs, that need others than the simulator's. Where a
    # package is missing, all of them are named.
    extras: Mapping[str, str] = field(default_factory=dict)

    @property
    def verbs(self) -> dict[str, str]:
        """All verbs, with what each of them does."""
        return _ungrouped(self.groups)

    def actions_of(self, verb: str) -> dict[str, str]:
        """Return what a verb can do, if it has several actions."""
        return _ungrouped(self._groups_of(verb))

    def parser_of(self, verb: str) -> Parser:
        """Build the parser of one verb, or of a verb and an action."""
        command = self._command(verb)
        parser = Parser(
            prog=f"{self.name} {verb}",
            description=command.description,
            epilog=f"example: {command.example}",
            formatter_class=_Help,
            allow_abbrev=False,
        )
        command.add_arguments(parser)
        parser.set_defaults(run=command.run)
        return parser

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run one verb; a domain error is one line and exit code 2."""
        words = sys.argv[1:] if argv is None else list(argv)
        if words[:1] == ["help"]:
            words = [*words[1:], "--help"]
        _show_every_character()
        if not words or words[0] not in self.verbs:
            return self._without("", words)
        verb, *rest = words
        try:
            _end_in_good_order()
            with needs_extra(f"{self.name} {verb}", self._extras_of(words)), warnings_said():
                actions = self.actions_of(verb)
                if actions:
                    if not rest or rest[0] not in actions:
                        return self._without(verb, rest)
                    verb, *rest = f"{verb} {rest[0]}", *rest[1:]
                code = self._done(verb, rest)
            sys.stdout.flush()
        except PaofedError as error:
            print(f"{self.name} {verb}: error: {error}", file=sys.stderr)
            return _BAD_INPUT
        except KeyboardInterrupt:
            print(f"{self.name} {verb}: interrupted", file=sys.stderr)
            return _INTERRUPTED
        except BrokenPipeError:  # the reader has gone (`paofed ... | head`): end quietly
            _give_up_stdout()
            return 0
        except OSError as error:  # a full disk, say
            _give_up_stdout()
            print(f"{self.name} {verb}: error: {error.strerror or error}", file=sys.stderr)
            return _BAD_INPUT
        return code

    def _done(self, verb: str, words: Sequence[str]) -> int:
        """Do what a verb is for; its errors name options as they were typed."""
        parser = self.parser_of(verb)
        args = parser.parse_known_only(words)
        try:
            code: int = args.run(args)
        except InputError as error:
            raise InputError(parser.as_typed(error, args)) from error
        return code

    def _command(self, verb: str) -> Command:
        """Return a command: a module of its own, or one of the COMMANDS of its group's module."""
        first, _, action = verb.partition(" ")
        home = getattr(self._module(first), "HOMES", {}).get(action)
        if home is not None:
            commands: dict[str, Command] = self._module(f"{first} {home}").COMMANDS
            return commands[action]
        module = self._module(verb)
        return Command(module.add_arguments, module.run, module.EXAMPLE, module.__doc__)

    def _module(self, verb: str) -> ModuleType:
        """Import the module of a verb, or of a verb and an action; of none, the package."""
        return import_module(".".join((self.package, *verb.split())))

    def _groups_of(self, verb: str) -> Groups:
        groups: Groups = getattr(self._module(verb), "ACTIONS", {})
        return groups

    def _extras_of(self, words: Sequence[str]) -> str:
        """Return all extras that a verb or its action needs; empty for the simulator's verbs."""
        return self.extras.get(" ".join(words[:2]), self.extras.get(words[0], ""))

    def _without(self, verb: str, words: list[str]) -> int:
        """Show what there is if no word is given; else say that the first word is unknown."""
        kind, groups = ("action", self._groups_of(verb)) if verb else ("verb", self.groups)
        called, module = f"{self.name} {verb}".rstrip(), self._module(verb)
        known = _ungrouped(groups)
        parser = Parser(
            prog=called,
            usage=f"{called} {kind.upper()} ...",
            description=module.__doc__,
            epilog=f"{_listed(groups)}\n\n"
            f"`{f'{self.name} help {verb}'.rstrip()} {kind.upper()}` says more about one {kind}\n"
            f"example: {module.EXAMPLE if verb else self.example}",
            formatter_class=_Help,
            allow_abbrev=False,
        )
        if not verb:
            parser.add_argument("--version", action="version", version=f"paofed {__version__}")
        parser.parse_known_args(words[:1] or ["--help"])  # ends here for --help and --version
        parser.error(unknown(kind, words[0], known))


def _ungrouped(groups: Groups) -> dict[str, str]:
    return {name: text for known in groups.values() for name, text in known.items()}


def _listed(groups: Groups) -> str:
    """Return a line for each verb or action, under the titles of their groups."""
    width = 2 + max(10, *map(len, _ungrouped(groups)))
    return "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}{text}" for name, text in known.items())])
        for title, known in groups.items()
    )


@contextmanager
def warnings_said() -> Iterator[None]:
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
