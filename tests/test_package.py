"""The public surface, what it costs to import, and names that mean one thing."""

import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from inspect import isfunction, signature
from pathlib import Path

import pytest

import paofed
from tests.natures import small_scenario
from tests.test_docs import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
_CLASS = re.compile(r"^ *class ([A-Za-z]\w*)[(:\[]", re.MULTILINE)


def test_a_prompt_offers_the_public_names_alone_and_each_exists() -> None:
    assert dir(paofed) == sorted(paofed.__all__)
    assert all(getattr(paofed, name) is not None for name in paofed.__all__)


def test_a_docstring_names_every_parameter() -> None:
    """Which the site shows with the signature, so that no document has to repeat it."""
    functions = [name for name in paofed.__all__ if isfunction(getattr(paofed, name))]
    assert {"run", "sweep", "plan", "race", "algorithm"} < set(functions)
    for name in functions:
        function = getattr(paofed, name)
        text, parameters = function.__doc__, signature(function).parameters
        assert [one for one in parameters if f"`{one}`" not in text] == [], name
    said = re.findall(r"\w+", (paofed.Worlds.__doc__ or "").lower())
    assert [one for one in signature(paofed.Worlds).parameters if one not in said] == []


def test_one_name_is_one_thing() -> None:
    """Somebody who looks for a class by its name finds one; those with _ are their file's own."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    paths = (path for package in ("paofed", "lab") for path in (ROOT / package).rglob("*.py"))
    for path in sorted(paths):
        for name in _CLASS.findall(path.read_text(encoding="utf-8")):
            homes[name].append(path.name)
    assert len(homes) > 100
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert twice == {"FourierLMS": ["river.py", "sklearn.py"]}  # one estimator, for two libraries


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        paofed.frobnicate  # noqa: B018


def test_a_missing_package_is_one_sentence_in_python_too() -> None:
    code = "import sys; sys.modules['pydantic'] = None; import paofed; paofed.Scenario"
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "paofed.Scenario needs pydantic, which is not installed: pip" in done.stderr


def test_a_device_s_part_needs_numpy_alone() -> None:
    """Algorithms and rules must import without the simulator's packages."""
    code = (
        "import sys, paofed.algorithms, paofed.core.features, paofed.simulate.engines.reference\n"
        "heavy = {'numba', 'pydantic', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 (our own program)


def test_the_simulator_needs_its_own_extra_alone(tmp_path: Path) -> None:
    """`make reproduce` installs no more; what is for tables, fleets or boosting is not there."""
    small = tmp_path / "small.toml"
    small.write_text(small_scenario().to_toml(), encoding="utf-8")
    code = (
        "import sys\n"
        "for name in 'polars sklearn distributed paho cryptography'.split():\n"
        "    sys.modules[name] = None\n"
        "import paofed.cli.reproduce, paofed.cli.theory, paofed.cli.replay, paofed.cli.result\n"
        "from paofed.cli import main\n"
        "run = ['run', sys.argv[1], '--algorithm', 'pao-fed-u1', '--engine', 'reference']\n"
        "sys.exit(main(run))"
    )
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", code, str(small)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pao-fed-u1" in done.stdout


def requirements(extra: str) -> set[str]:
    """What an extra installs, those that it names among them."""
    found: set[str] = set()
    for line in PROJECT["optional-dependencies"][extra]:
        named = re.fullmatch(r"paofed\[(.+)\]", line)
        found |= set().union(*map(requirements, named[1].split(","))) if named else {line}
    return found


def test_the_extra_of_everything_has_everything_that_needs_no_card() -> None:
    aside = {"all", "gpu", "docs", "dev"}
    every = set(PROJECT["optional-dependencies"]) - aside
    assert requirements("all") == set().union(*map(requirements, every))
    assert not any("cuda" in line for line in requirements("all"))


def test_the_citation_is_of_this_version() -> None:
    """Its form was checked with cffconvert; what changes with a release is checked here."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert citation.startswith("cff-version: 1.2.0\n")
    assert f"\nversion: {paofed.__version__}\n" in citation
    assert f"\nlicense: {PROJECT['license'].partition(' AND ')[0]}\n" in citation
    assert f"\n  - name: {PROJECT['authors'][0]['name']}\n" in citation
    title = re.search(r"^  title: (.+)$", citation, re.MULTILINE)
    assert title is not None
    assert title[1] in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split("\n> "))
