import csv
import math
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import FileError
from paofed.files import (
    is_ours_alone,
    make_folder,
    read_text,
    replacing,
    require_folder,
    require_writable,
    write_secret,
    write_table,
    write_text,
)
from tests.system import lacks


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        _write_half(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def _write_half(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"half of the n")
        raise KeyboardInterrupt


def test_places_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="is a directory"):
        require_writable(tmp_path)
    with pytest.raises(FileError, match="is not a directory: create it first"):
        require_writable(tmp_path / "missing" / "a.npz")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(FileError, match="may not be written to"):
        require_writable(tmp_path / "a.npz")


def test_a_table_keeps_every_digit_and_whole_numbers_stay_whole(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, -1 / 3, 1e-300, math.pi * 1e17, math.inf, float(np.float64(2) / 3)]
    write_table(tmp_path / "t.csv", ["text", "count", *"abcdef"], [["a, b", 12, *numbers]])
    with (tmp_path / "t.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["text"], row["count"]) == ("a, b", "12")
    assert [float(row[column]) for column in "abcdef"] == numbers


@pytest.fixture
def open_handed() -> Iterator[None]:
    """A process whose files everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@given(st.text())
def test_text_comes_back(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for write in (write_text, write_secret):
            path = Path(folder) / write.__name__
            write(path, text)
            assert path.read_bytes() == text.encode()
            if "\r" not in text:
                assert read_text(path) == text


@pytest.mark.parametrize("mask", [0o027, 0o000])
@pytest.mark.parametrize("told", [True, False])
def test_text_has_the_rights_of_other_new_files(
    told: bool, mask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system tells them and where they have to be tried out."""

    def untold(*_: object) -> str:
        raise FileNotFoundError

    before = os.umask(mask)
    try:
        (tmp_path / "usual").touch()
        if not told:
            monkeypatch.setattr(Path, "read_text", untold)
        write_text(tmp_path / "a", "x")
        write_secret(tmp_path / "b", "x")
        assert mode(tmp_path / "a") == mode(tmp_path / "usual") == 0o666 & ~mask
        assert mode(tmp_path / "b") == 0o600
    finally:
        assert os.umask(before) == mask  # as it was


def test_no_other_thread_s_files_get_other_rights_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "Umask:" not in Path("/proc/self/status").read_text():
        lacks("this system does not tell its umask")

    def never(_: int) -> int:
        raise AssertionError

    monkeypatch.setattr(os, "umask", never)
    write_text(tmp_path / "a", "x")
    assert (tmp_path / "a").exists()


@pytest.mark.usefixtures("open_handed")
def test_a_secret_is_never_readable_by_others_not_even_half_written(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("old")
    assert mode(path) == 0o666
    with replacing(path, secret=True) as file:
        (temporary,) = set(tmp_path.iterdir()) - {path}
        assert mode(temporary) == 0o600
        file.write(b"new")
        file.flush()
        assert mode(temporary) == 0o600
        assert path.read_text() == "old"
    assert (path.read_text(), mode(path)) == ("new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    write_secret(tmp_path / "key", "ours")
    assert (tmp_path / "elsewhere").read_text() == "theirs"
    assert not (tmp_path / "key").is_symlink()


@pytest.mark.parametrize("write", [write_text, write_secret])
def test_text_that_cannot_be_written_leaves_the_old(
    write: Callable[[Path, str], None], tmp_path: Path
) -> None:
    path = tmp_path / "a"
    write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write(path, "half \ud800")
    assert read_text(path) == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileError, match="is a directory"):
        write(tmp_path, "x")


def test_a_place_that_turns_out_not_to_be_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        write_text(tmp_path / "a", "x")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing", "No such file or directory"),
        (".", "Is a directory"),
        ("binary", "it is not text in UTF-8"),
    ],
)
def test_text_that_cannot_be_read(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"caf\xe9")
    with pytest.raises(FileError) as refused:
        read_text(tmp_path / name)
    assert str(refused.value) == f"{tmp_path / name} cannot be read: {says}"


def test_folders_are_made_with_those_above(tmp_path: Path) -> None:
    for _ in range(2):
        make_folder(tmp_path / "a" / "b")
        assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    for name in ("file", "file/below"):
        with pytest.raises(FileError, match="cannot be made a directory: "):
            make_folder(tmp_path / name)


def test_a_folder_that_could_be_made_is_not_made_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_folder(tmp_path)
    require_folder(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    monkeypatch.chdir(tmp_path)
    require_folder(Path("a/b"))
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"cannot be made a directory: .*file is a file"):
        require_folder(tmp_path / "file" / "b")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match="may not be written to"):
        require_folder(tmp_path / "a")


def test_a_folder_is_ours_alone(tmp_path: Path) -> None:
    """An empty folder that others may write to is closed; one that holds something is not ours."""
    tmp_path.chmod(0o755)
    assert is_ours_alone(tmp_path)
    tmp_path.chmod(0o777)
    assert is_ours_alone(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    (tmp_path / "somebody's").touch()
    for others in (0o770, 0o707):
        tmp_path.chmod(others)
        assert not is_ours_alone(tmp_path)
    assert not is_ours_alone(tmp_path / "missing")


def test_a_folder_of_somebody_else_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert not is_ours_alone(tmp_path)
