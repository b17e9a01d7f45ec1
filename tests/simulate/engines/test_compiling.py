"""While numba compiles, the garbage collector rests; what is compiled is kept where it is safe."""

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import event

import paofed
from paofed.simulate.engines.fast.compiling import kept, note_compilation
from tests.effort import long
from tests.natures import small_scenario


class Witness(event.Listener):
    """Sees whether the collector is on whenever a compilation begins."""

    def __init__(self) -> None:
        self.seen: list[bool] = []

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (the listener's interface)
        self.seen.append(gc.isenabled())

    def on_end(self, event: event.Event) -> None:
        """See nothing."""


def compiled(function: Callable[[float], Any]) -> list[bool]:
    """Compile a function and one that calls it; what a witness saw."""
    inner = numba.njit(function)

    @numba.njit
    def outer(x: float) -> Any:
        return inner(x)

    with event.install_listener("numba:compile", Witness()) as witness:
        outer(1.0)
    assert isinstance(witness, Witness)
    return witness.seen


def half(x: float) -> float:
    return x / 2


def test_it_rests_meanwhile() -> None:
    assert compiled(half) == [False, False]
    assert gc.isenabled()


def test_whoever_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        assert compiled(half) == [False, False]
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program's folder and a home in which nothing can be kept, for root neither.

    A file has the place of each folder that numba would make.
    """
    (tmp_path / "__pycache__").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "__pycache__"))
    return tmp_path


def one_more(folder: Path) -> Any:
    """A function of a file in this folder, kept on disk if possible."""
    path = folder / "program.py"
    path.write_text("def one_more(x):\n    return x + 1\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102 (our own text)
    return kept()(names["one_more"])


def noted(function: Any) -> list[str]:
    """What is said while the function is compiled."""
    said: list[str] = []
    with note_compilation(said.append):
        assert function(1) == 2
    return said


def test_a_function_is_kept_beside_its_file(tmp_path: Path) -> None:
    function = one_more(tmp_path)
    lasting = "once in this environment, ten seconds to a minute"
    assert noted(function) == [f"compiling the kernels: {lasting}"]
    assert list((tmp_path / "__pycache__").glob("*.nbc"))


def test_where_nothing_can_be_kept_it_is_compiled_and_told(nowhere: Path) -> None:
    (said,) = noted(one_more(nowhere))
    assert "every time again" in said
    assert "NUMBA_CACHE_DIR=FOLDER" in said


@pytest.mark.parametrize("others_may_write", [False, True])
def test_only_a_folder_that_is_ours_alone_is_believed(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, *, others_may_write: bool
) -> None:
    """Numba would run whatever somebody has put there."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(nowhere / "named"))
    function = one_more(nowhere)
    place = Path(function.stats.cache_path)
    assert place.parent == nowhere / "named"
    noted(function)
    if others_may_write:
        place.chmod(0o777)
    again = one_more(nowhere)
    assert (again.stats.cache_path is None) == others_may_write
    assert len(noted(again)) == others_may_write  # what was kept is not compiled again


@long
def test_a_run_whose_kernels_cannot_be_kept(nowhere: Path) -> None:
    """The whole package in a folder, and beside a home, in which nothing can be made."""
    package = nowhere / "paofed"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(paofed.__file__).parent, package, ignore=ignored)
    (package / "simulate/engines/fast/__pycache__").touch()
    small = nowhere / "small.toml"
    small.write_text(small_scenario().to_toml(), encoding="utf-8")
    words = ["run", str(small), "--algorithm", "pao-fed-u1"]
    away = {key: text for key, text in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-m", "paofed", *words],
        env={**away, "PYTHONPATH": str(nowhere)}, cwd=nowhere,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "pao-fed-u1" in done.stdout
    assert done.stderr.count("NUMBA_CACHE_DIR=FOLDER keeps them there") == 1
    assert "Traceback" not in done.stderr
