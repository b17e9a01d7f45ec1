import csv
import math
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from paofed.errors import FileError
from paofed.files import load_arrays, replacing, require_writable, save_arrays, write_table


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


def test_a_write_replaces_and_keeps_the_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"old")
    save_arrays(path, {"v": np.arange(3)})
    with np.load(path) as file:
        assert file["v"].tolist() == [0, 1, 2]
    (tmp_path / "usual").touch()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_places_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a directory"):
        require_writable(tmp_path)
    with pytest.raises(FileError, match="is not a directory: create it first"):
        require_writable(tmp_path / "missing" / "a.npz")


def test_a_folder_without_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(FileError, match="may not be written to"):
        require_writable(tmp_path / "a.npz")


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(FileError, match=r"its entry 'notes.txt' is not an array"):
        load_arrays(tmp_path / "a.npz")


def test_a_table_keeps_every_digit_and_whole_numbers_stay_whole(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, -1 / 3, 1e-300, math.pi * 1e17, math.inf, float(np.float64(2) / 3)]
    write_table(tmp_path / "t.csv", ["text", "count", *"abcdef"], [["a, b", 12, *numbers]])
    with (tmp_path / "t.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["text"], row["count"]) == ("a, b", "12")
    assert [float(row[column]) for column in "abcdef"] == numbers
