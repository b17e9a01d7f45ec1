"""Makes options.md, a page of the site: every command with all its options, from the parsers."""

import re
from argparse import Action, ArgumentParser, _ArgumentGroup
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from lab.commands import LAB
from paofed.cli import PAOFED
from paofed.cli.program import Program

PAGE = Path(__file__).with_suffix(".md")
_HEAD = """# Options

Every command with all its options, in the words of `paofed VERB --help`: this page is made from the
programs themselves. [The command line](command-line.md) says what else there is to know of a
command. Those of the laboratory, which a checkout has, [come last](#python--m-lab).
"""


def page() -> str:
    """Return the whole page."""
    shown: dict[str, str] = {}  # by table of a group of options: the command that shows it
    verbs = (part for verb in PAOFED.verbs for part in _verb(verb, shown))
    return "\n".join([_HEAD, *verbs, *_laboratory(shown)])


def write() -> None:
    """Write the page beside the other documents, where the site takes it from."""
    PAGE.write_text(page(), encoding="utf-8")


def _verb(verb: str, shown: dict[str, str]) -> Iterator[str]:
    actions = PAOFED.actions_of(verb)
    yield f"## {verb}\n"
    if not actions:
        yield from _command(PAOFED, verb, verb, shown)
    else:
        yield _paragraphs(import_module(f"paofed.cli.{verb}").__doc__ or "")
    for action in actions:
        words = f"{verb} {action}"
        yield f"### {words}\n"
        yield from _command(PAOFED, words, words, shown)


def _laboratory(shown: dict[str, str]) -> Iterator[str]:
    yield f"## {LAB.name}\n"
    yield _paragraphs(import_module(LAB.package).__doc__ or "")
    for verb in LAB.verbs:
        heading = f"lab {verb}"
        yield f"### {heading}\n"
        yield from _command(LAB, verb, heading, shown)


def _command(program: Program, words: str, heading: str, shown: dict[str, str]) -> Iterator[str]:
    """Describe one command; a group of options that an earlier command shows is a link to it."""
    parser = program.parser_of(words)
    yield _paragraphs(parser.description or "")
    yield f"Example: `{(parser.epilog or '').removeprefix('example: ')}`\n"
    this = heading.replace(" ", "-")
    for title, rows in _groups(parser):
        table = "\n".join(["| argument | meaning |", "|---|---|", *rows, ""])
        anchor = shown.setdefault(table, this) if title else this
        if anchor == this:
            yield f"{title[0].upper()}{title[1:]}:\n\n{table}" if title else table
        else:
            first, *_, last = re.findall(r"`(--[\w-]+)", table)
            where = f"`{first}` to `{last}`, as in [{anchor}](#{anchor})"
            yield f"{title[0].upper()}{title[1:]}: {where}.\n"


def _groups(parser: ArgumentParser) -> list[tuple[str, list[str]]]:
    """Return the rows of a command's own arguments, without a title, then those of each group."""
    plain, titled = [], []
    usual = (parser._positionals, parser._optionals)
    group: _ArgumentGroup
    for group in parser._action_groups:
        rows = [_row(parser, action) for action in group._group_actions if action.dest != "help"]
        if group in usual:
            plain += rows
        elif rows:
            titled.append((group.title or "", rows))
    return [("", plain), *titled] if plain else titled


def _row(parser: ArgumentParser, action: Action) -> str:
    names = [f"{name} {_value(action)}".strip() for name in action.option_strings or [""]]
    needed = "; required" if action.required and action.option_strings else ""
    meaning = parser._get_formatter()._expand_help(action) + needed
    cells = (", ".join(f"`{name}`" for name in names), meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _value(action: Action) -> str:
    """Return what stands for the value of an argument in the table, or for its values."""
    if action.nargs == 0:
        return ""
    choices = "|".join(map(str, action.choices or ()))
    metavar = action.metavar
    if isinstance(metavar, tuple):  # a name for the first value, and one for those after it
        return f"{' '.join(metavar)} ..."
    name = metavar or choices or action.dest.upper()
    forms = {"+": f"{name} ...", "*": f"[{name} ...]", "?": f"[{name}]"}
    return forms.get(str(action.nargs), name)


def _paragraphs(text: str) -> str:
    return text.strip() + "\n"
