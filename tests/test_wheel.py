"""The package as strangers get it: built, and tried where nothing else is installed."""

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import paofed
from tests.effort import long
from tests.formats.make import FOLDER as FORMATS
from tests.natures import small_scenario
from tests.pythons import TRIED, pythons
from tests.system import lacks

ROOT = Path(__file__).parents[1]
NAME = f"paofed-{paofed.__version__}"
# What needs NumPy alone: an algorithm over a trace, and predictions by a fleet's model.
SMOKE = """\
import sys
import paofed
from paofed import Trace, algorithm, predictor, replay
trace, model = sys.argv[1:]
outcome = replay(Trace.load(trace), algorithm("pao-fed-u1", shared=2), step_size=0.4)
print(paofed.__version__, paofed.__file__, outcome.sent_up, outcome.mse[-1])
print(predictor(model).tick, *{"numba", "pydantic"} & set(sys.modules))
"""


def built(folder: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it rather than from this folder."""
    for part in ("build", "hatchling"):
        if importlib.util.find_spec(part) is None:
            lacks(f"needs {part}, of paofed[dev]")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / f"{NAME}.tar.gz", folder / f"{NAME}-py3-none-any.whl"


def files_below(folder: str) -> set[str]:
    """All files but those that Python leaves beside its sources."""
    paths = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {p.relative_to(ROOT).as_posix() for p in paths if "__pycache__" not in p.parts}


@long
def test_wheel_and_sources_hold_the_package_and_nothing_else(tmp_path: Path) -> None:
    sources, wheel = built(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = Parser().parsestr(archive.read(f"{NAME}.dist-info/METADATA").decode())
    beside = {name for name in names if name.startswith(f"{NAME}.dist-info/")}
    package = files_below("paofed")
    assert names - beside == package
    assert f"{NAME}.dist-info/licenses/LICENSE" in beside
    for kind in (
        "py.typed",
        ".c",
        ".h",
        ".css",
        ".bib",
        ".js",
        ".html.j2",
        ".toml",
        ".csv.gz",
        ".service",
    ):
        assert any(name.endswith(kind) for name in package), kind
    required = about.get_all("Requires-Dist", [])
    assert [line for line in required if "extra ==" not in line] == ["numpy>=2.1"]
    assert about["Requires-Python"] == ">=3.11"
    said = [line.rpartition(" ")[2] for line in about.get_all("Classifier", []) if "3." in line]
    assert said == list(TRIED)
    assert about["Author"] == "The paofed developers"
    licences = {f"{NAME}.dist-info/licenses/{name}" for name in about.get_all("License-File", [])}
    assert len(licences) == 2  # the code's, and that of the sample of readings
    assert licences <= beside
    readme = about.get_payload()
    assert isinstance(readme, str)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", readme)
    links = re.findall(r"[^!]\[[^\]]*\]\(([^)#][^)]*)\)", readme)
    assert "# paofed" in readme
    assert [address for address in (*pictures, *links) if not address.startswith("https://")] == []

    with tarfile.open(sources) as tar:
        given = {name.removeprefix(f"{NAME}/") for name in tar.getnames()}
    beside_it = files_below("lab") | files_below("docs/vectors") | files_below("tests/data")
    assert package | beside_it <= given
    assert not [
        name for name in given if re.search(r"__pycache__|(^|/)\.(?!gitignore)|\.pyc", name)
    ]
    for document in ("CITATION.cff", "README.md", "RELEASING.md", "SECURITY.md", "Makefile"):
        assert document in given


class Clean:
    """A new environment of some Python, in which nothing is installed."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder = folder
        self.python = str(folder / "bin/python")
        self._run([python, "-m", "venv", "--without-pip", str(folder)])

    def install(self, wheel: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"]
        limits = ["--no-compile", "--constraint", str(ROOT / "constraints.txt")]
        self._run([*pip, "--disable-pip-version-check", *limits, wheel])

    def paofed(self, *words: str) -> str:
        return self._run([str(self.folder / "bin/paofed"), *words])

    def run(self, code: str, *words: str) -> str:
        return self._run([self.python, "-W", "error", "-c", code, *words])

    def _run(self, command: list[str]) -> str:
        """Run a program away from this folder, and without what finds its modules."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(  # noqa: S603 (our own programs)
            command, cwd=self.folder.parent, env=kept, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout


@long
def test_the_wheel_in_clean_environments(tmp_path: Path) -> None:
    """Of every Python here: the package with NumPy alone; of the newest, the simulator as well."""
    _, wheel = built(tmp_path)
    found = list(pythons())
    assert len(found) >= 1, "not even the Python that runs the tests"
    files = str(FORMATS / "trace-1.npz"), str(FORMATS / "model-1.json")
    said = set()
    for number, python in enumerate(found):
        clean = Clean(python, tmp_path / f"clean-{number}")
        clean.install(str(wheel))
        assert clean.paofed("--version") == f"paofed {paofed.__version__}\n"
        assert "reproduce" in clean.paofed("--help")
        first, second = clean.run(SMOKE, *files).splitlines()
        version, place, *numbers = first.split()
        assert (version, second) == (paofed.__version__, "9")
        assert place.startswith(str(clean.folder))
        said.add(tuple(numbers))
    assert len(said) == 1  # the same numbers everywhere

    clean.install(f"{wheel}[sim]")
    small = tmp_path / "small.toml"
    small.write_text(small_scenario().to_toml(), encoding="utf-8")
    words = ("run", str(small), "--algorithm", "pao-fed-u1", "--engine", "reference")
    assert "pao-fed-u1" in clean.paofed(*words)
