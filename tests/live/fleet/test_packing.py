"""Tars that lie: nothing but a fleet's plain files is unpacked, and no more than there is."""

import io
import os
import tarfile
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from paofed.errors import FileError
from paofed.live.fleet.packing import Parts, pack, unpack

PARTS = Parts(("needed",), ("key",), ("devices",))
HUGE = 10**11


def forged(
    path: Path,
    name: str = "key",
    *,
    kind: bytes = tarfile.REGTYPE,
    pax: Mapping[str, str] | None = None,
    content: bytes = b"four",
    contents: str | None = None,
) -> Path:
    """A tar of a list, the file that is needed, and one more."""
    with tarfile.open(path, "w") as archive:
        listed = f"needed\n{name}" if contents is None else contents
        members = {"contents": listed.encode(errors="surrogateescape"), "needed": b"it"}
        for known, held in members.items():
            member = tarfile.TarInfo(known)
            member.size = len(held)
            archive.addfile(member, io.BytesIO(held))
        member = tarfile.TarInfo(name)
        member.type, member.size, member.pax_headers = kind, len(content), dict(pax or {})
        archive.addfile(member, io.BytesIO(content))
    return path


def refused(path: Path, tmp_path: Path) -> str:
    """What is said of a tar, in one line; nothing but the folder was written outside."""
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(FileError, match=r"is not a") as error:
        unpack(path, place, PARTS)
    assert {found.name for found in tmp_path.iterdir()} == {path.name, "place"}
    assert sum(found.stat().st_size for found in place.rglob("*") if found.is_file()) < 100
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
    return str(error.value)


def test_what_is_packed_is_unpacked(tmp_path: Path) -> None:
    long = f"devices/{'é' * 90}.json"  # longer than a name in a plain header
    files = {name: tmp_path / str(number) for number, name in enumerate(("needed", "key", long))}
    for name, path in files.items():
        path.write_text(name)
    pack(tmp_path / "b.tar", files)
    assert (tmp_path / "b.tar").stat().st_mode & 0o777 == 0o600
    place = tmp_path / "place"
    place.mkdir()
    unpack(tmp_path / "b.tar", place, PARTS)
    assert {name: (place / name).read_text() for name in files} == {name: name for name in files}


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/evil", "devices/../../evil", "devices/a/b", "evil", "devices/..", "devices"],
)
def test_nothing_is_written_outside_a_fleets_folder(name: str, tmp_path: Path) -> None:
    said = refused(forged(tmp_path / "b.tar", name), tmp_path)
    assert f"is not a backup of a fleet: it holds {name!r}" in said


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE,
        tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE, b"?",
    ],
)  # fmt: skip
def test_only_plain_files_are_part_of_a_backup(kind: bytes, tmp_path: Path) -> None:
    assert "is no plain file" in refused(forged(tmp_path / "b.tar", kind=kind), tmp_path)


SPARSE: dict[str, dict[str, str]] = {
    "0.0": {"GNU.sparse.size": str(HUGE)},
    "0.1": {"GNU.sparse.map": "0,4", "GNU.sparse.size": str(HUGE)},
    "1.0": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(HUGE)},
    "a bad map": {"GNU.sparse.map": "0,x", "GNU.sparse.size": "4"},
    "half a map": {"GNU.sparse.map": "0", "GNU.sparse.size": "4"},
    "a size of none": {"size": "-1024"},
    "a size beyond the tar": {"size": str(HUGE)},
    "a size beyond a disk": {"size": str(10**30)},
}


@pytest.mark.parametrize("pax", SPARSE.values(), ids=SPARSE)
@pytest.mark.parametrize("name", ["key", "contents"])
def test_a_file_is_no_larger_than_the_tar(name: str, pax: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "b.tar"
    content = b"1\n0\n4\n".ljust(512) + b"four"
    if name == "key":
        forged(path, pax=pax, content=content)
    else:
        with tarfile.open(path, "w") as archive:
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = len(content), pax
            archive.addfile(member, io.BytesIO(content))
    refused(path, tmp_path)


def peak(work: Callable[[], object]) -> int:
    """The most bytes of memory that some work takes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_line_of_contents_is_not_read(tmp_path: Path) -> None:
    path, member = tmp_path / "b.tar", tarfile.TarInfo("contents")
    member.size = 2**27
    path.write_bytes(member.tobuf())
    os.truncate(path, 2**28)  # a hole on this disk
    assert peak(lambda: refused(path, tmp_path)) < 2**21


def test_a_long_list_of_contents_takes_no_memory(tmp_path: Path) -> None:
    listed = "\n".join(f"devices/{number:x}" for number in range(30_000))
    path = forged(tmp_path / "b.tar", contents=f"needed\nkey\n{listed}")
    assert peak(lambda: refused(path, tmp_path)) < len(listed)


def overlapping(path: Path, members: int, size: int, *, hidden: bool) -> Path:
    """A tar of files that claim the bytes of those behind them.

    GNU.sparse.realsize alone changes a file's size, and not where the next one begins. A second
    header, about nothing, is what the library keeps of both: the first header is `hidden` then.
    """
    names = ["needed", *(f"devices/{number}" for number in range(members - 1))]
    blocks = [plain("contents", "\n".join(names).encode())]
    for place, name in enumerate(names):
        blocks += [pax_header("comment", "x")] * hidden
        blocks += [pax_header("GNU.sparse.realsize", str(size * (members - place)))]
        blocks += [plain(name, bytes(size))]
    path.write_bytes(b"".join(blocks) + bytes(1024))
    return path


def plain(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type = len(content), kind
    return member.tobuf() + content + bytes(-len(content) % 512)


def pax_header(key: str, value: str) -> bytes:
    """A header that says more of the next file."""
    rest = f" {key}={value}\n"
    line = f"{len(rest) + 2}{rest}"  # its own length is a part of it, here of two digits
    assert 10 <= len(line) < 100
    return plain("about", line.encode(), tarfile.XHDTYPE)


@pytest.mark.parametrize("hidden", [False, True])
def test_files_together_are_no_larger_than_the_tar(hidden: bool, tmp_path: Path) -> None:
    path = overlapping(tmp_path / "b.tar", 30, 5000, hidden=hidden)
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(FileError, match="has not the bytes that it claims"):
        unpack(path, place, PARTS)
    written = sum(found.stat().st_size for found in place.rglob("*") if found.is_file())
    assert written <= path.stat().st_size * hidden


def test_a_file_has_no_bytes_of_the_next(tmp_path: Path) -> None:
    """Also where the files together are smaller than the tar, whose headers take room."""
    refused(overlapping(tmp_path / "b.tar", 2, 10, hidden=False), tmp_path)


def nul(path: Path) -> None:
    forged(path, pax={"path": "devices/a\0b"}, contents="needed\ndevices/a\0b")


def twice(path: Path) -> None:
    forged(path, "needed")


def unlisted(path: Path) -> None:
    forged(path, contents="needed")


def listed_alone(path: Path) -> None:
    forged(path, contents="needed\nkey\ndevices/more")


def not_needed(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("contents"))


def without_contents(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("needed"))


def not_text(path: Path) -> None:
    forged(path, contents="needed\nkey\udcff")


def long_header(path: Path) -> None:
    forged(path, pax={"comment": "x" * 70_000})


def nested(path: Path) -> None:
    """Headers of headers, as deep as Python calls functions."""
    with tarfile.open(path, "w") as archive:
        for _ in range(3000):
            member = tarfile.TarInfo("contents")
            member.type = tarfile.XHDTYPE
            archive.addfile(member)


def cut(path: Path) -> None:
    forged(path, content=bytes(5000))
    path.write_bytes(path.read_bytes()[:3000])


@pytest.mark.parametrize(
    "forge",
    [
        nul, twice, unlisted, listed_alone, not_needed, without_contents, not_text, long_header,
        nested, cut,
    ],
)  # fmt: skip
def test_what_is_no_backup_is_one_line(forge: Callable[[Path], None], tmp_path: Path) -> None:
    forge(tmp_path / "b.tar")
    refused(tmp_path / "b.tar", tmp_path)
