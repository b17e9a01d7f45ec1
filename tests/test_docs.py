"""The documents do not lie: what they show happens, what they name exists, what exists is named.

A document is followed from top to bottom in one empty folder, as a reader would:

- a block with a file name after its language (```toml fleet.toml) is that file;
- ```python blocks run in one namespace, and a ```text block after one is what it printed;
- in ```console blocks, lines that begin with `$ paofed` run, and the lines below are their output;
  those that begin with `$ python -m lab` are parsed only.

Shown output must agree with the real one in all but standalone numbers. Commands run with at most
two runs, and so does Python but in CI; commands that take long are parsed only.
"""

import io
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from importlib import import_module
from inspect import getdoc, signature
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest

import paofed
from docs.options import PAGE, page
from lab.commands import LAB
from paofed import Outcome, Result, Scenario, Swept, Trace, figures, realize, run, sweep
from paofed.checks import CHECKS
from paofed.cli import PAOFED, main
from paofed.cli.program import Program
from paofed.errors import InputError
from paofed.experiments.candidates import GRIDS
from paofed.report.run.page import write as write_page
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import ColdStart, LabelShares, Progressive
from paofed.simulate.results.runs import Clean
from paofed.simulate.table.baselines import BASELINES
from paofed.world.availability import Availability, Battery, Outages
from paofed.world.delays import Delay, Loss
from paofed.world.faults import KINDS, FaultyReadings
from paofed.world.labels import Labels
from paofed.world.names import PRESETS
from paofed.world.streams import Stream
from paofed.world.table.columns import TRANSFORMS
from paofed.world.value import Value
from tests.effort import in_ci, some

ROOT = Path(__file__).parents[1]
DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if path != PAGE  # made for the site alone
}
SCENARIOS = DOCUMENTS["docs/scenarios.md"]
COMMANDS = DOCUMENTS["docs/command-line.md"]
OPTIONS = page()
FILES = DOCUMENTS["docs/files.md"]
TABLE_RUNS = DOCUMENTS["docs/table-runs.md"]
PYTHON = DOCUMENTS["docs/python.md"]
SLOW = ("demo", "plan", "reproduce")
IN_A_SHELL = (  # tests/live/shell.py follows them
    "docs/clusters.md",
    "docs/operating-a-fleet.md",
    "docs/gateway.md",
    "docs/predictions.md",
)
SENSORS = "With sensors"  # the section of the README that tests/live/shell.py follows
MOST_RUNS = 2


class Block(NamedTuple):
    """A fenced block: its language, the file it is (or ""), its text, where it begins, and under
    which heading of the second rank (or "").
    """

    kind: str
    file: str
    text: str
    line: int
    heading: str


def blocks(document: str) -> Iterator[Block]:
    text = DOCUMENTS[document]
    for found in re.finditer(r"^```(\w+) ?(\S*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        headings = re.findall(r"^## (.*)$", text[: found.start()], re.MULTILINE)
        line = text.count("\n", 0, found.start(3))
        yield Block(found[1], found[2], found[3], line, ["", *headings][-1])


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its rank or above."""
    rank = heading.partition(" ")[0]
    _, found, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert found, f"no heading {heading!r}"
    return re.split(rf"^#{{1,{len(rank)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> dict[str, list[str]]:
    """Tables by the word in backticks that each row begins with: the cells after it."""
    lines = [re.split(r"(?<!\\)\|", line) for line in text.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line[1:-1]] for line in lines]
    return {first.strip("`"): rest for first, *rest in cells}


# What is shown happens.


def ignoring_numbers(text: str) -> list[str]:
    """The lines with # for every number, and for every amount of bytes whatever its unit is.

    A number may be marked (*) as the best of its column.
    """
    number = r"(?<![^\s(])[-+]?\d[\d,.]*(?:e-?\d+)?\*?(?![^\s),;:}])(?: [kMG]B\b)?"
    return [" ".join(re.sub(number, "#", line).split()) for line in text.splitlines()]


def require_shown(shown: str, real: str, where: str) -> None:
    """Every line shown is there, in this order; what is not shown does not matter."""
    lines = iter(ignoring_numbers(real))
    for line in ignoring_numbers(shown):
        assert line in lines, f"{where} shows {line!r}, which is not (or no longer) in:\n{real}"


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Pairs of a command, on one line or several, and the output shown below it."""
    text = block.text.replace("\\\n", "")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def carry_out(command: str, shown: str) -> str:
    """Run one command with few runs, in this process; return all it printed."""
    words = shlex.split(command)
    words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
    if "--runs" in words:
        count = words.index("--runs") + 1
        words[count] = str(min(MOST_RUNS, int(words[count])))
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(words[1:])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    assert code == (2 if " error: " in shown else 0), f"{command}: {err.getvalue()}"
    if target is not None:
        Path(target).write_text(out.getvalue(), encoding="utf-8")
    return err.getvalue() + out.getvalue()


FOLLOWED = [name for name in DOCUMENTS if name not in IN_A_SHELL]


@pytest.mark.usefixtures("without_png")
@pytest.mark.parametrize("document", some(FOLLOWED, everyday=2))
def test_what_is_shown_happens(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": document}
    printed = ""
    for block in blocks(document):
        where = f"{document}:{block.line}"
        if (document, block.heading) == ("README.md", SENSORS):
            continue
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            text = block.text if in_ci() else re.sub(r"\bruns=\d+", f"runs={MOST_RUNS}", block.text)
            # Blank lines before it: a traceback then names the line in the document.
            code = compile("\n" * block.line + text, ROOT / document, "exec")
            with redirect_stdout(io.StringIO()) as out:
                exec(code, namespace)  # noqa: S102 (our own documents)
            printed = out.getvalue()
        elif block.kind == "text" and printed:
            require_shown(block.text, printed, where)
            printed = ""
        elif block.kind == "console":
            for command, shown in commands(block):
                if command.startswith("paofed ") and command.split()[1] not in SLOW:
                    require_shown(shown, carry_out(command, shown), where)


def test_the_readme_shows_the_run_of_the_tutorial() -> None:
    """The same table, columns and laws, and with them the same numbers."""
    shown = []
    for document in ("README.md", "docs/tutorial-air-quality.md"):
        (run,) = (
            (command.split(" --algorithm ")[0].split(), output)
            for block in blocks(document)
            for command, output in commands(block)
            if command.startswith("paofed run setting-1 --table")
        )
        (row,) = re.findall(r"^pao-fed-u1 +-.*$", run[1], re.MULTILINE)
        shown.append((run[0], row.split()))
    assert shown[0] == shown[1]


def test_a_lie_is_found() -> None:
    real = "name dB\nu1 -9.15\n"
    require_shown("name   dB\nu1  -7.65\n", real, "here")
    for lie in ("name   error\n", "u1 -7.65\nname dB\n", "u2  -7.65\n"):
        with pytest.raises(AssertionError, match="here shows"):
            require_shown(lie, real, "here")


# Commands and files.


def test_console_commands_parse() -> None:
    shown_in = [(document, block) for document in DOCUMENTS for block in blocks(document)]
    for document, block in shown_in:
        for command, shown in commands(block) if block.kind == "console" else ():
            if command.startswith(tuple(PROGRAMS)) and " error: " not in shown:
                program, verb, rest = split(re.split(r" 2?[>&]", command)[0])
                assert program.parser_of(verb).parse_known_only(rest).run, document


PROGRAMS = {f"{program.name} ": program for program in (PAOFED, LAB)}


def split(command: str) -> tuple[Program, str, list[str]]:
    """A command line as its program, its verb, with the action where there is one, and the rest."""
    (called,) = (name for name in PROGRAMS if command.startswith(name))
    program, (verb, *rest) = PROGRAMS[called], shlex.split(command.removeprefix(called))
    several = bool(program.actions_of(verb))
    return (program, f"{verb} {rest[0]}", rest[1:]) if several else (program, verb, rest)


def test_commands_in_running_text_exist() -> None:
    text = "\n".join(DOCUMENTS.values())
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for called, words in re.findall(r"`(paofed|python -m lab)\s+([^`]+)`", prose):
        program = PROGRAMS[f"{called} "]
        verb, *rest = words.split()
        if verb not in ("VERB", "help", "--help", "--version") and rest[:1] != ["ACTION"]:
            assert verb in program.verbs, words
            if program.actions_of(verb) and not rest:
                continue
            _, verb, rest = split(f"{called} {words}")
            options = re.findall(r"--[\w-]+", " ".join(rest))
            for action in verb.split(" ")[-1].split("|"):
                known = program.parser_of(f"{verb.split(' ')[0]} {action}" if " " in verb else verb)
                assert set(options) <= set(known._option_string_actions), words


def test_make_knows_its_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):", makefile, re.MULTILINE)
    text = "\n".join(DOCUMENTS.values())
    named = re.findall(r"^\$ make (\w+)$|`make (\w+)`", text, re.MULTILINE)
    assert {a or b for a, b in named} <= set(targets)


def test_every_verb_has_a_section() -> None:
    assert re.findall(r"^## (.*)$", OPTIONS, re.MULTILINE) == [*VERBS, LAB.name]
    headings = re.findall(r"^##+ (.*)$", COMMANDS, re.MULTILINE)
    told = {"Common to all verbs", "With faults", "The figure"}
    assert {*headings} <= {*told, *VERBS, *(one for verb in VERBS for one in ACTIONS[verb])}


VERBS = PAOFED.verbs
ACTIONS = {
    verb: [f"{verb} {action}" for action in PAOFED.actions_of(verb)] or [verb] for verb in VERBS
}
PARSED = [
    *((PAOFED, one) for verb in VERBS for one in ACTIONS[verb]),
    *((LAB, verb) for verb in LAB.verbs),
]


def test_every_action_has_a_section() -> None:
    parts = {verb: actions for verb, actions in ACTIONS.items() if actions != [verb]}
    parts[LAB.name] = [f"lab {verb}" for verb in LAB.verbs]
    for title, expected in parts.items():
        text = section(OPTIONS, f"## {title}")
        assert re.findall(r"^### (.*)$", text, re.MULTILINE) == expected


def test_every_argument_says_what_it_means_and_what_is_usual() -> None:
    """Where an option has a usual number or word, its help says which."""
    parsers = [program.parser_of(verb) for program, verb in PARSED]
    for parser, action in ((one, action) for one in parsers for action in one._actions):
        meaning = re.sub(r"\(.*?\)", "", action.help or "")  # without its default
        assert len(meaning.split()) >= 2, (action.option_strings, action.help)
        assert not re.match(r"of |likewise|as in |see |and |it ", meaning), action.help
        usual = action.default
        if isinstance(usual, (int, float, str)) and usual and usual != "==SUPPRESS==":
            told = f"(default: {usual:g}" if isinstance(usual, float) else str(usual)
            assert told in parser._get_formatter()._expand_help(action), parser.prog


@pytest.fixture(scope="module")
def tiny() -> Scenario:
    return Scenario.load("small")


@pytest.fixture(scope="module")
def faulty(tiny: Scenario) -> Scenario:
    return tiny.replace(faults=[{"kind": "scaled", "by": 10.0, "clients": 2}])


@pytest.fixture(scope="module")
def judged() -> Result:
    """A run over a table, with everything that is beside it."""
    return run(Scenario.load("air-quality"), ["pao-fed-u1"], cold_starts=1)


def saved(result: Result, path: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """The dimensions of a result's arrays and what it says of itself, both as a file has them."""
    result.save(path)
    with np.load(path) as file:
        found = {name: file[name].ndim for name in file.files}
        return found, json.loads(str(file["provenance"]))


def test_the_arrays_of_a_result(tiny: Scenario, tmp_path: Path) -> None:
    arrays, about = saved(run(tiny, ["pao-fed-u1"], runs=1), tmp_path / "result.npz")
    documented = rows(section(FILES, "## A result"))
    assert arrays == dimensions(documented)
    assert set(about) == set(re.findall(r"`(\w+)`", documented["provenance"][-1]))


def test_the_arrays_of_a_result_with_faults(faulty: Scenario, tmp_path: Path) -> None:
    arrays, _ = saved(run(faulty, ["pao-fed-u1"], runs=1), tmp_path / "result.npz")
    parts = rows(section(FILES, "## A result"))
    parts |= rows(section(FILES, "## A result with faults"))
    assert arrays == dimensions(parts)


def test_the_arrays_of_a_result_over_a_table(judged: Result, tmp_path: Path) -> None:
    arrays, about = saved(judged, tmp_path / "result.npz")
    text = section(FILES, "## A result over a table")
    parts = rows(section(FILES, "## A result")) | rows(text)
    assert arrays == dimensions(parts)
    said = re.findall(r"`(\w+)`", text.partition("`provenance` says of the table:")[-1])
    assert set(about["table"]) == set(said)


def test_the_arrays_of_a_sweep(tiny: Scenario, tmp_path: Path) -> None:
    sweep(tiny, "pao-fed-u1", {"shared": [1, 2]}, runs=1, fresh=1).save(tmp_path / "swept.npz")
    documented = rows(section(FILES, "## A sweep"))
    with np.load(tmp_path / "swept.npz") as file:
        assert {name: file[name].ndim for name in file.files} == dimensions(documented)
        about = json.loads(str(file["provenance"]))
    named = set(re.findall(r"`(\w+)`", documented["provenance"][-1]))
    assert set(about) | set(about["points"][0]) == named


def test_the_arrays_of_an_outcome(tiny: Scenario, tmp_path: Path) -> None:
    trace = realize(tiny)
    trace.save(tmp_path / "trace.npz")
    words = f"replay {tmp_path}/trace.npz --algorithm pao-fed-u1 --out {tmp_path}/outcome.npz"
    with redirect_stdout(io.StringIO()):
        assert main(words.split()) == 0
    documented = rows(section(FILES, "## An outcome"))
    with np.load(tmp_path / "outcome.npz") as file:
        assert {name: file[name].ndim for name in file.files} == dimensions(documented)
        about = json.loads(str(file["provenance"]))
    assert set(about) == set(re.findall(r"`(\w+)`", documented["provenance"][-1]))


def dimensions(documented: dict[str, list[str]]) -> dict[str, int]:
    return {name: len(re.findall(r"\w+", cells[0])) for name, cells in documented.items()}


def test_the_columns_of_a_csv(tiny: Scenario, tmp_path: Path) -> None:
    run(tiny, ["pao-fed-u1"], runs=1).to_csv(tmp_path / "curves.csv")
    header, *_ = (tmp_path / "curves.csv").read_text(encoding="utf-8").splitlines()
    assert header.split(",") == list(rows(section(FILES, "## A CSV of curves")))


@pytest.mark.usefixtures("undrawn")
def test_the_files_of_a_page(judged: Result, faulty: Scenario, tmp_path: Path) -> None:
    stream = {**faulty.stream.model_dump(), "drifts": [200]}
    drifting = Scenario.model_validate({**faulty.model_dump(), "stream": stream})
    rare = Scenario.load("air-quality").replace(**{"labels.share": 0.5})
    results = {
        "table": judged,
        "drifting": run(drifting, ["pao-fed-u1"]),
        "labels": run(rare, ["pao-fed-u1"], baselines="start", label_shares=[0.5]),
    }
    text = section(FILES, "## The page")
    documented = dict(re.findall(r"^\| ([\w-]+\.\w+) \| (.*) \|$", text, re.MULTILINE))
    found = set()
    for name, result in results.items():
        (tmp_path / name).mkdir()
        write_page(result, tmp_path / name)
        found |= set((tmp_path / name).iterdir())
    assert {path.name for path in found if path.suffix not in (".svg", ".png")} == set(documented)
    figures = re.findall(r"[\w-]+", rows(text)["*.svg`, `*.png"][-1])
    assert {path.stem for path in found if path.suffix == ".svg"} <= set(figures)
    for path in found:
        if path.suffix == ".csv" and path.name != "curves.csv":
            header = path.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
            words = re.findall(r"\w+", documented[path.name].rpartition(": ")[2])
            assert [word for word in words if word in header] == header


# Scenarios.


def test_every_key_of_a_scenario() -> None:
    assert list(rows(section(SCENARIOS, "## The keys"))) == list(Scenario.model_fields)
    assert all(f"`{preset}`" in SCENARIOS for preset in PRESETS)


def smallest() -> str:
    """The file that docs/scenarios.md shows."""
    (text,) = (block.text for block in blocks("docs/scenarios.md") if block.file == "small.toml")
    return text


def test_the_file_that_is_shown_is_the_preset() -> None:
    assert Scenario.parse(smallest(), "small.toml") == Scenario.load("small")


def test_no_key_of_the_smallest_scenario_may_be_left_out() -> None:
    text = smallest()
    lines = text.splitlines()
    keys = [line for line in lines if " = " in line]
    assert "none of its keys may be left out" in section(SCENARIOS, "## A whole file")
    for key in keys:
        with pytest.raises(InputError):
            Scenario.parse("\n".join(line for line in lines if line != key), "small.toml")
    for name, field in Scenario.model_fields.items():
        assert field.is_required() == any(re.match(rf"\[?{name}\b", line) for line in lines), name


def laws(union: object) -> list[type[Value]]:
    """The members of a union, with or without a tag of their own."""
    return [(get_args(law) or (law,))[0] for law in get_args(get_args(union)[0])]


HEADINGS = {"stream": "The stream of samples", "availability": "Availability", "delay": "Delay"}
LAWS = [
    *(("stream", law) for law in laws(Stream)),
    *(("availability", law) for law in laws(Availability)),
    *(("delay", law) for law in laws(Delay)),
]


HAZARDS: dict[str, type[Value]] = {
    "Loss": Loss,
    "Outages": Outages,
    "Battery": Battery,
    "Labels": Labels,
}


@pytest.mark.parametrize("heading", HAZARDS)
def test_every_key_of_what_befalls_contacts(heading: str) -> None:
    fields, text = HAZARDS[heading].model_fields, section(SCENARIOS, f"## {heading}")
    assert list(rows(text)) == list(fields)
    assert f"\n[{heading.lower()}]\n" in text
    for name, cells in rows(text).items():
        required, default = (
            fields[name].is_required(),
            json.dumps(fields[name].default, default=str),
        )
        assert cells[-1] == ("" if required else "-" if default == "null" else f"`{default}`")


def test_every_kind_of_fault_and_its_keys() -> None:
    common = rows(section(SCENARIOS, "### The keys of every fault"))
    fields = FaultyReadings.model_fields
    assert list(common) == list(fields)
    for name, cells in common.items():
        default = "" if fields[name].is_required() else f"`{json.dumps(fields[name].default)}`"
        assert cells[-1] == ("-" if default == "`null`" else default)
    kinds = rows(section(SCENARIOS, "### The kinds of faults"))
    assert list(kinds) == list(KINDS)
    for name, law in KINDS.items():
        own = [key for key in law.model_fields if key not in (*common, "kind")]
        said = [word for word in re.findall(r"`(\w+)`", kinds[name][-1]) if word not in common]
        assert said == own


def keys_of(table: str, law: type[Value]) -> dict[str, list[str]]:
    """The documented keys of a law: those under the one heading of its kind."""
    text = section(SCENARIOS, f"## {HEADINGS[table]}")
    kind = law.model_fields["kind"].default
    titles = re.findall(rf"^### `{kind}`.*$", text, re.MULTILINE)
    assert len(titles) == 1
    return rows(section(text, titles[0]))


def test_every_law_and_its_keys() -> None:
    for table, law in LAWS:
        assert ["kind", *keys_of(table, law)] == list(law.model_fields)
        assert f'[{table}]\nkind = "{law.model_fields["kind"].default}"' in SCENARIOS


def test_every_default_of_a_stream() -> None:
    """Nothing where a key must be given, a dash where leaving it out has a meaning of its own."""
    for stream in laws(Stream):
        for name, cells in keys_of("stream", stream).items():
            field = stream.model_fields[name]
            default = "" if field.is_required() else f"`{json.dumps(field.default)}`"
            assert cells[-1] == ("-" if default == "`null`" else default)


def test_every_transform() -> None:
    assert list(rows(section(SCENARIOS, "### Columns and transforms"))) == list(TRANSFORMS)


def test_every_choice() -> None:
    text = rows(section(DOCUMENTS["docs/choosing.md"], "## One value: auto"))
    assert list(text) == list(GRIDS)
    for key, (values,) in text.items():
        assert values.partition(", as far")[0] == ", ".join(map(str, GRIDS[key].values))


def test_every_baseline() -> None:
    assert list(rows(section(TABLE_RUNS, "## Baselines"))) == list(BASELINES)


def test_every_toml_block_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fragment takes the place of its table in a preset."""
    monkeypatch.chdir(tmp_path)
    base = Scenario.load("setting-1").model_dump()
    for block in blocks("docs/scenarios.md"):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.kind == "toml":
            values = tomllib.loads(block.text)
            Scenario.model_validate(values if "name" in values else {**base, **values})


# Names and links.


def test_every_public_name() -> None:
    first = re.findall(r"^\| (`.*?) \|", PYTHON.partition("\n## ")[0], re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(first))
    assert sorted(named) == sorted(paofed.__all__)


def test_every_method_of_a_scenario() -> None:
    public = [name for name in vars(Scenario) if not name.startswith(("_", "model_"))]
    named = re.findall(r"\w+", section(PYTHON, "## `Scenario`"))
    assert [name for name in public if name not in named] == []


@pytest.mark.parametrize(("library", "title"), [("sklearn", "scikit-learn"), ("river", "river")])
def test_the_defaults_of_an_estimator(library: str, title: str) -> None:
    parameters = signature(import_module(f"paofed.{library}").FourierLMS).parameters
    documented = rows(section(DOCUMENTS["docs/estimators.md"], f"## {title}"))
    assert {key: cells[0] for key, cells in documented.items()} == {
        key: f"`{value.default!r}`" for key, value in parameters.items()
    }


def test_everything_that_draws() -> None:
    """Every public figure is in the document, and every option of `plot` in its docstring."""
    text = DOCUMENTS["docs/tutorial-notebook.md"]
    assert [name for name in figures.__all__ if not re.search(rf"\b{name}\b", text)] == []
    said = re.findall(r"\w+", getdoc(figures.plot) or "")
    assert [key for key in signature(figures.plot).parameters if key not in said] == []
    for notebook in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        assert f"](notebooks/{notebook.name})" in text


def test_every_check_of_the_contract() -> None:
    table = section(DOCUMENTS["docs/add-an-algorithm.md"], "## The contract")
    listed = re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
    assert listed == ["promise", *CHECKS]


def test_methods_of_one_s_own_are_short_and_promises_are_checked() -> None:
    """Each of the eight in at most 25 lines, with every promise checked or waived by name."""
    methods = ("decaying", "nlms", "rls", "mask", "eight_bits", "top_k", "triggered", "buffered")
    written = [block.text for block in blocks("docs/add-an-algorithm.md")]
    for method in methods:
        (text,) = (text for text in written if f"\ncheck_algorithm({method})\n" in text)
        assert f"\n{method} = replace(" in text
        assert sum(bool(line.strip()) for line in text.splitlines()) <= 25, method


HELD = [Result, Swept, Progressive, Lives, ColdStart, LabelShares, Clean, Outcome, Trace]


@pytest.mark.parametrize("kind", HELD)
def test_every_method_of_what_people_hold_says_what_it_gives(kind: Any) -> None:
    """And the site shows it: the arrays of these records stand in the documents by name."""
    arrays = {field.name for field in fields(kind)}
    methods = {name for name in vars(kind) if not name.startswith("_")} - arrays
    assert [name for name in sorted(methods) if not getdoc(getattr(kind, name))] == []
    text = PYTHON + FILES + DOCUMENTS["docs/notation.md"]
    assert [name for name in arrays if not re.search(rf"\b{name}\b", text)] == []
    shown = f"{kind.__module__}.{kind.__name__}"
    assert kind.__name__ in paofed.__all__ or shown in DOCUMENTS["docs/reference.md"]


def anchors(text: str) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


IN_LAB = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "lab").glob("*/README.md"))]


def test_links_lead_somewhere() -> None:
    for document in (*DOCUMENTS, *IN_LAB, "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            target = ((ROOT / document).parent / path).resolve() if path else ROOT / document
            assert target.exists(), (document, link)
            if anchor:
                assert anchor in anchors(target.read_text(encoding="utf-8")), (document, link)


def test_the_index_leads_to_every_document() -> None:
    """By a link for those who read it on a forge, and by the contents of the site."""
    index = DOCUMENTS["docs/index.md"]
    contents = re.findall(r"^```{toctree}\n(?::.*\n)*\n([\w\n-]*)^```$", index, re.MULTILINE)
    names = [Path(document).stem for document in DOCUMENTS if document.startswith("docs/")]
    names.remove("index")
    assert sorted("".join(contents).split()) == sorted([*names, PAGE.stem])
    assert [name for name in names if f"]({name}.md)" not in index] == []
    assert "](docs/index.md#documents)" in DOCUMENTS["README.md"]


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = section(DOCUMENTS["docs/index.md"], "## Extras")
    listed = [
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]
    assert sorted(listed) == sorted({*project["optional-dependencies"]} - {"dev"})


def test_the_readme_says_in_a_minute_what_it_is_and_takes_three() -> None:
    """At some 300 words a minute, without what is in its blocks and the strokes of its tables."""
    readme = DOCUMENTS["README.md"]
    prose = re.sub(r"^```.*?^```$|\|", "", readme, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 900
    first = prose.partition("\n## ")[0]
    assert len(first.split()) <= 330
    assert "![" in first
    for said in ("federated learning", "https://arxiv.org/abs/", "lower is better", "macOS",
                 "leaves a device", "does it pay?"):  # fmt: skip
        assert said in first
