"""CI tries what failed once more, alone, and lets nothing else pass."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Fails where its file is not there yet, and makes the file: the second time it passes.
SHY = """
from pathlib import Path
def test_shy():
    there = Path("there").exists()
    Path("there").touch()
    assert there
"""
ONCE_MORE = [sys.executable, "-m", "tests.once_more"]
BROKEN = "def test_{0}(): assert False\n"


def tried(folder: Path, **tests: str) -> tuple[int, str]:
    """Exit status and words of a run of these tests, and of what follows it."""
    for name, text in tests.items():
        (folder / f"test_{name}.py").write_text(text)
    paths = [f"test_{name}.py" for name in tests]
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", "."]
    first = ended(folder, [*pytest_, *paths])
    again = ended(folder, [*ONCE_MORE, str(first.returncode), *pytest_[3:]])
    return again.returncode, again.stdout


def ended(folder: Path, command: list[str]) -> "subprocess.CompletedProcess[str]":
    env = {"PYTHONPATH": str(ROOT)}
    return subprocess.run(  # noqa: S603 (our own program)
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def test_a_test_that_passes_alone_passes_and_is_named(tmp_path: Path) -> None:
    status, said = tried(tmp_path, shy=SHY, fine="def test_fine(): pass\n")
    assert status == 0
    assert "failed on a busy machine, and passed alone: test_shy.py::test_shy" in said


def test_a_test_that_fails_again_has_failed(tmp_path: Path) -> None:
    status, said = tried(tmp_path, shy=SHY, broken=BROKEN.format("broken"))
    assert status == 1
    assert "failed again: test_broken.py::test_broken" in said


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    many = "".join(BROKEN.format(i) for i in range(4))
    assert tried(tmp_path, many=many) == (1, "")


@pytest.mark.parametrize("text", ["import nothing_of_that_name\n", "def test_none(\n"])
def test_a_file_that_cannot_be_read_is_a_failure(text: str, tmp_path: Path) -> None:
    assert tried(tmp_path, unreadable=text) == (2, "")


def test_a_run_that_was_stopped_is_a_failure(tmp_path: Path) -> None:
    kept = tmp_path / ".pytest_cache" / "v" / "cache"
    kept.mkdir(parents=True)
    (kept / "lastfailed").write_text(json.dumps({"test_shy.py::test_shy": True}))
    (tmp_path / "test_shy.py").write_text(SHY.replace("assert there", "pass"))
    assert ended(tmp_path, [*ONCE_MORE, "2"]).returncode == 2
