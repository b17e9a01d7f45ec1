"""The Pythons of this machine for which the package is meant, pyenv's among them.

`python -m tests.pythons` prints the oldest and the newest, but for the one that runs it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TRIED = ("3.11", "3.12", "3.13")  # by the everyday tests; the classifiers name these
_NEWER = ("3.14", "3.15")


def pythons() -> Iterator[str]:
    """Yield one Python of each version that is found, the oldest first."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    for version in (*TRIED, *_NEWER):
        places = [Path(place) / f"python{version}" for place in os.get_exec_path()]
        places += sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
        works = (str(place) for place in places if place.is_file() and _makes_venvs(place))
        yield from list(works)[:1]


def _makes_venvs(python: Path) -> bool:
    """Whether it runs at all: of pyenv's names in PATH, those that are not chosen do not."""
    asked = [str(python), "-c", "import venv, ssl, sqlite3"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0  # noqa: S603


if __name__ == "__main__":
    found = list(pythons())
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    ends = dict.fromkeys((found[0], found[-1]))
    sys.stdout.writelines(f"{python}\n" for python in ends if Path(python).name != own)
