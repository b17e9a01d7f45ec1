"""Prints the lowest versions that pyproject.toml allows, as constraints for pip (`make lowest`)."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("hypothesis", "pytest", "pytest-xdist")  # of the tests themselves: as for all other tests


def lowest() -> list[str]:
    """Every package with a lower bound, at that bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    given = {line for group in groups for line in group if re.search(r"\w>=", line)}
    return sorted(line.replace(">=", "==") for line in given)


def tools() -> list[str]:
    """The tests' own packages, as constraints.txt has them."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.partition("==")[0] in TOOLS]


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in (*lowest(), *tools()))
