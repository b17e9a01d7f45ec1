"""Files that were written once are read for ever; files of formats to come are refused."""

import gzip
import io
import json
import re
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.archives import names_of
from paofed.cli import main
from paofed.errors import InputError
from paofed.live.device.state import taken_up
from paofed.live.journal.database import FILE as STORE
from paofed.simulate.results.forms import RESULT
from tests.formats.make import EXPECTED, FILES, FOLDER
from tests.formats.told import told
from tests.test_docs import DOCUMENTS, section

KEPT = sorted(path.name for path in FOLDER.iterdir() if path != EXPECTED)
EXPECTATIONS: dict[str, Any] = json.loads(EXPECTED.read_text())
NPZ = [name for name in FILES if name.endswith(".npz")]


def require_same(found: Any, expected: Any, place: str, *, computed: bool = False) -> None:
    """Hold what is read against what was expected then; keys may have come since."""
    if isinstance(expected, dict):
        assert isinstance(found, dict), place
        for key, part in expected.items():
            require_same(found[key], part, f"{place}.{key}", computed=key == "computed" or computed)
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, pair in enumerate(zip(found, expected, strict=True)):
            require_same(*pair, f"{place}[{number}]", computed=computed)
    elif isinstance(expected, float) and computed:
        assert found == pytest.approx(expected, rel=1e-9), place
    else:
        assert found == expected or (found != found and expected != expected), place


@pytest.mark.parametrize("name", KEPT)
def test_a_file_that_was_written_once_says_what_it_said(name: str) -> None:
    require_same(told(FOLDER / name), EXPECTATIONS[name], name)


def test_every_format_of_today_is_kept() -> None:
    """Whoever raises a number keeps a file of it: `python -m tests.formats.make`."""
    assert set(FILES) <= set(KEPT) == set(EXPECTATIONS)


def form_of(path: Path) -> tuple[dict[str, tuple[str, int]], set[str]]:
    """The arrays of a file: the kind of their types, their dimensions; the keys of provenance."""
    with np.load(path) as arrays:
        forms = {name: (arrays[name].dtype.kind, arrays[name].ndim) for name in arrays}
        told = json.loads(str(arrays["provenance"])) if "provenance" in arrays else {}
    return forms, {key for key in keys_of(told) if not key.startswith(".cpus.")}


def keys_of(value: Any, place: str = "") -> Iterator[str]:
    """The keys of a JSON value, with those above them."""
    inside = value.items() if isinstance(value, dict) else ()
    inside = (("[]", item) for item in value) if isinstance(value, list) else inside
    for key, part in inside:
        yield f"{place}.{key}"
        yield from keys_of(part, f"{place}.{key}")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".npz")])
def test_what_is_written_today_looks_like_what_is_kept(name: str, tmp_path: Path) -> None:
    """Else earlier releases would not understand it, and its number has to rise."""
    FILES[name](tmp_path / name)
    assert form_of(tmp_path / name) == form_of(FOLDER / name)
    with zipfile.ZipFile(tmp_path / name) as now, zipfile.ZipFile(FOLDER / name) as kept:
        assert now.comment == kept.comment == f"paofed format {number_of(name)}".encode()


def test_the_results_that_are_kept_have_every_array() -> None:
    kept = [
        form_of(FOLDER / f"{kind}-{RESULT.format}.npz")[0] for kind in ("result", "table-result")
    ]
    assert set().union(*kept) == set(RESULT.known)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".json")])
def test_what_is_written_as_json_has_the_keys_of_what_is_kept(name: str, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    now, kept = (json.loads((place / name).read_text()) for place in (tmp_path, FOLDER))
    assert list(now) == list(kept)


def number_of(name: str) -> int:
    return int(re.findall(r"-(\d+)", name)[0])


# Formats to come: how a file of one would look, and what is said of it.


def newer_archive(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"paofed format %d" % (number_of(path.name) + 1)


def newer_json(key: str) -> Callable[[Path, bytes], None]:
    def write(path: Path, content: bytes) -> None:
        values = {**json.loads(content), key: number_of(path.name) + 1}
        path.write_text(json.dumps(values), encoding="utf-8")

    return write


def newer_fleet(path: Path, content: bytes) -> None:
    """A backup whose database has a format to come."""
    tar, database = io.BytesIO(), path.with_name("database")
    with (
        tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as old,
        tarfile.open(fileobj=tar, mode="w") as new,
    ):
        for member in old:
            held = old.extractfile(member)
            assert held is not None
            part = held.read()
            if member.name == STORE:
                database.write_bytes(part)
                with closing(sqlite3.connect(database)) as connection:
                    connection.execute(f"PRAGMA user_version = {number_of(path.name) + 1}")
                part = database.read_bytes()
                member.size = len(part)
            new.addfile(member, io.BytesIO(part))
    path.write_bytes(gzip.compress(tar.getvalue()))


def newer_key(path: Path, content: bytes) -> None:
    path.write_bytes(b"horizon = 3\n" + content)


NEWER: dict[str, tuple[Callable[[Path, bytes], None], str]] = {
    **dict.fromkeys(NPZ, (newer_archive, r"of format 2, this paofed knows 1: upgrade paofed$")),
    "model-1.json": (newer_json("format"), r"it is JSON of format 2, .* knows 1: upgrade paofed"),
    "sources-1.json": (
        newer_json("format"),
        r"has sources of format 2, .* knows 1: upgrade paofed",
    ),
    "manifest-3.json": (
        newer_json("wire"),
        r"speaks wire version 4, this paofed 3: upgrade paofed",
    ),
    "device.json": (
        lambda path, content: newer_credential(path, content),
        r"unknown entry 'horizon' .*: upgrade paofed",
    ),
    "fleet-1-tokens-1.tar.gz": (newer_fleet, r"database of format 2, .* knows 1: upgrade paofed$"),
    **dict.fromkeys(("scenario.toml", "sweep.toml", "gateway.toml"), (newer_key, r"'horizon'")),
}


def newer_credential(path: Path, content: bytes) -> None:
    path.write_text(json.dumps({**json.loads(content), "horizon": 3}), encoding="utf-8")


@pytest.mark.parametrize("name", NEWER)
def test_a_file_of_a_format_to_come_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    write, says = NEWER[name]
    write(tmp_path / name, (FOLDER / name).read_bytes())
    with pytest.raises(InputError, match=says) as refused:
        told(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_every_file_that_is_kept_has_a_newer_one() -> None:
    assert {*NEWER, "manifest-2.json"} == set(KEPT)


def test_a_number_that_no_format_has_is_refused(tmp_path: Path) -> None:
    values = json.loads((FOLDER / "sources-1.json").read_text())
    (tmp_path / "sources-1.json").write_text(json.dumps({**values, "format": 0}))
    with pytest.raises(InputError, match=r"has sources of format 0: expected one from 1 to 1$"):
        told(tmp_path / "sources-1.json")


def test_the_command_line_says_so_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = tmp_path / "result-1.npz"
    newer_archive(newer, (FOLDER / newer.name).read_bytes())
    assert main(["result", str(newer)]) == 2
    assert capsys.readouterr().err == (
        f"paofed result: error: {newer} is a result of format 2, this paofed knows 1: "
        f"upgrade paofed\n"
    )


def test_a_device_puts_a_newer_state_aside_and_joins_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state-1.npz"
    content = (FOLDER / state.name).read_bytes()
    newer_archive(state, content)
    newer = state.read_bytes()
    assert taken_up(state, 1, 1.0, 5) is None
    assert "a device's state of format 2, this paofed knows 1; it is now" in caplog.text
    assert (tmp_path / "state-1.npz.aside").read_bytes() == newer
    state.write_bytes(content)
    assert taken_up(state, 1, 1.0, 5) is not None


@pytest.mark.parametrize("comment", [b"", b"made by another program", b"paofed format 01"])
def test_a_comment_that_says_nothing_of_a_format_is_passed_over(
    tmp_path: Path, comment: bytes
) -> None:
    path = tmp_path / "trace-1.npz"
    path.write_bytes((FOLDER / path.name).read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment
    assert "x" in names_of(path)
    require_same(told(path), EXPECTATIONS[path.name], str(comment))


def test_the_document_tells_of_every_format() -> None:
    """The table of docs/formats.md: a row for each file that is kept, with its number."""
    table = section(DOCUMENTS["docs/formats.md"], "## The formats")
    shown = set(re.findall(r"`tests/data/formats/([^`]+)`", table))
    assert shown == set(FILES)
