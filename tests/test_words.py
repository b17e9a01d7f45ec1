"""One noun, one meaning: the glossary of CONTRIBUTING.md, and the names of modules."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 40
ROW = re.compile(r"^\| ([a-z]+) \| (.+) \|$", re.MULTILINE)

# Names that stand in several rooms, since the room says whose it is: each of these is one thing.
EXPLAINED = {
    *{"engine", "kernels", "layout", "nature", "servers", "simulation"},  # of an engine
    "learners",  # the methods', the card's, and what is promised of them
    "device",  # of fed-ridge, of the demonstration, of a live fleet
    "settings",  # of a fleet, of a gateway, of the comparison
    *{"figures", "page", "words"},  # of a run, a sweep, a study, a fleet
    *{"judgement", "plan", "record", "study"},  # of an experiment, and of what shows it
    "forms",  # of the arrays of any file, and of a sweep's
}


def glossary() -> list[tuple[str, str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return ROW.findall(text.partition("\n## Words\n")[2].partition("\n## ")[0])[1:]  # its head


def in_several_rooms(paths: list[Path]) -> set[str]:
    """Return names of modules in more than one folder; verbs have the names of other rooms."""
    verbs = {ROOT / "paofed/cli", ROOT / "lab/commands"}
    own = [path.stem for path in paths if verbs.isdisjoint(path.parents)]
    return {name for name, count in Counter(own).items() if count > 1 and name[0] != "_"}


def test_the_glossary_is_short_and_each_noun_has_one_meaning() -> None:
    nouns = [noun for noun, _ in glossary()]
    assert 20 < len(nouns) <= MOST
    assert nouns == sorted(set(nouns))


def test_a_name_in_several_rooms_is_one_thing_of_each() -> None:
    modules = [path for room in ("paofed", "lab") for path in (ROOT / room).rglob("*.py")]
    found = in_several_rooms(modules)
    assert "page" in found
    assert found - EXPLAINED == set()


def test_two_rooms_with_a_name_are_found() -> None:
    names = "paofed/a/unit.py", "paofed/b/unit.py", "paofed/cli/run.py", "paofed/a/run.py"
    assert in_several_rooms([ROOT / name for name in names]) == {"unit"}
