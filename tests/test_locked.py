"""What `make` installs: every package at its version, with hashes, and no address."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKED = sorted((ROOT / "locked").glob("*.txt"))
REQUIREMENT = re.compile(r"([\w.-]+)==(\S+)(?: ; .+?)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(path: Path) -> dict[str, str]:
    """Versions by name; the file holds nothing but comments and requirements with hashes."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = list(REQUIREMENT.finditer(text))
    assert "".join(one[0] for one in found) == text
    return {normal(one[1]): one[2] for one in found}


CONSTRAINTS = {
    normal(line.partition("==")[0]): line.partition("==")[2]
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if "==" in line
}


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.stem)
def test_a_set_has_the_versions_of_the_tests_and_builds_the_package(path: Path) -> None:
    versions = locked(path)
    known = {name: version for name, version in versions.items() if name in CONSTRAINTS}
    assert known == {name: CONSTRAINTS[name] for name in known}
    # What is not named there is installed on other systems alone.
    assert versions.keys() - known.keys() <= {"appnope", "colorama"}
    assert {"hatchling", "editables", "numpy"} <= versions.keys()


def test_the_sets_are_those_that_make_installs() -> None:
    named = re.findall(
        r"^\t\$\(INSTALL\) locked/(\w+)\.txt$", (ROOT / "Makefile").read_text(), re.M
    )
    assert sorted(named) == [path.stem for path in LOCKED] == ["demo", "dev", "runtime"]


def test_whoever_adds_a_package_locks_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    sets = {
        "runtime": ("sim",),
        "demo": ("sim", "fleet", "demo"),
        "dev": tuple(extras.keys() - {"all", "gpu"}),
    }
    for path in LOCKED:
        lines = [
            *project["dependencies"],
            *(line for name in sets[path.stem] for line in extras[name]),
        ]
        assert {normal(re.match(r"[\w.-]+", line)[0]) for line in lines} <= locked(path).keys()  # type: ignore[index]
