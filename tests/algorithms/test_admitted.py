"""What a process may follow where only a name and a digest are told."""

import hashlib
import sys
from pathlib import Path

import pytest

from paofed.algorithms import admitted
from paofed.algorithms.admitted import admit, admit_kept, admitted_as
from paofed.algorithms.outside import factory_of
from paofed.errors import AlgorithmError, FileError, MissingMethodError
from tests.algorithms.outside import METHODS, install, write_methods


@pytest.fixture(autouse=True)
def nothing_admitted_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(admitted, "_ADMITTED", {})
    monkeypatch.chdir(tmp_path)


def code_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_is_admitted_by_its_content(tmp_path: Path) -> None:
    path = write_methods(tmp_path)
    method = admit("mine.py:calm:step_size=0.2")
    assert (method.name, method.code, method.place) == ("calm", code_of(path), "mine.py:calm")
    assert admitted.admitted("calm", method.code) == method == admitted_as("mine.py:calm")
    assert admitted_as("mine.py:wide") is None
    for name, code in (("wide", method.code), ("calm", "0" * 64)):
        with pytest.raises(MissingMethodError, match=f"^the fleet follows {name} with the code"):
            admitted.admitted(name, code)


def test_a_file_that_has_changed_since_is_not_followed(tmp_path: Path) -> None:
    before = admit(f"{write_methods(tmp_path)}:calm")
    write_methods(tmp_path, more="\n")
    with pytest.raises(MissingMethodError, match=r"no such method here: give --method FILE:calm"):
        admitted.admitted("calm", before.code)
    after = admit("mine.py:calm")
    assert admitted.admitted("calm", after.code).code != before.code
    with pytest.raises(MissingMethodError, match=rf"other code \(.*{after.code[:12]}.*\) here"):
        admitted.admitted("calm", "0" * 64)


def test_a_place_stands_for_what_was_admitted_from_it_last(tmp_path: Path) -> None:
    for more in ("", "\n", ""):
        write_methods(tmp_path, more=more)
        assert admit("mine.py:calm") == admitted_as("mine.py:calm")


def test_a_file_in_two_places_is_followed_where_it_still_is(tmp_path: Path) -> None:
    first = admit(f"{write_methods(tmp_path)}:calm")
    second = tmp_path / "second.py"
    second.write_bytes(first.file.read_bytes())
    assert admitted.admitted("calm", admit(f"{second}:calm").code).file == second
    second.unlink()
    assert admitted.admitted("calm", first.code) == first
    assert admitted_as(f"{second}:calm") is not None


def test_an_entry_point_or_a_module_stands_for_its_file(tmp_path: Path) -> None:
    install(tmp_path, "calming", {"calmer": "calming.methods:calm"})
    sys.path.insert(0, str(tmp_path))
    for word in ("calmer", "calming.methods:calm"):
        method = admit(word)
        assert (method.name, method.code) == ("calm", code_of(write_methods(tmp_path)))
        assert factory_of(method.place) is not None


def test_what_is_kept_is_admitted_without_being_run(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.mkdir()
    text = f"{METHODS}\nraise ValueError\n"
    code = hashlib.sha256(text.encode()).hexdigest()
    (path / f"calm-{code[:12]}.py").write_text(text)
    (path / "calm-000000000000.py").write_text(METHODS)  # is not what it was
    (path / "readme.txt").write_text("")
    admit_kept(path)
    assert admitted.admitted("calm", code).file.read_text() == text
    assert len(admitted._ADMITTED) == 1
    admit_kept(tmp_path / "nowhere")
    (path / "folder-0.py").mkdir()
    with pytest.raises(FileError, match=r"folder-0\.py cannot be read: Is a directory"):
        admit_kept(path)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("pao-fed-u1", "pao-fed-u1 is no method of somebody's own: expected FILE.py:NAME"),
        ("other.py:calm", "other.py imports beside, another file of its own"),
        ("nowhere.py:calm", "nowhere.py cannot be read"),
        ("deep", "deep is deeply.methods:Held.calm: expected a name of a module"),
    ],
)
def test_what_cannot_be_admitted_says_why(word: str, says: str, tmp_path: Path) -> None:
    write_methods(
        tmp_path, "other.py", "\nimport beside, math\n\ndef late():\n    from . import nobody\n"
    )
    (tmp_path / "beside.py").touch()
    held = "\nclass Held:\n    calm = calm\n"
    install(tmp_path, "deeply", {"deep": "deeply.methods:Held.calm"}, held)
    sys.path.insert(0, str(tmp_path))
    with pytest.raises((AlgorithmError, FileError), match=says.replace(".", r"\.")):
        admit(word)
