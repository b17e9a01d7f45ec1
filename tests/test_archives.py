"""Files of arrays: there and back, or one clear refusal before anything is taken."""

import random
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from numpy.typing import NDArray

from paofed.archives import load_array, load_arrays, names_of, save_arrays
from paofed.errors import FileError, InputError, NewerFormatError, TraceError
from paofed.forms import Contents, Form
from paofed.live.device.state import load_state, save_state
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.edge import Edge
from paofed.simulate.results.table_result import TableResult
from paofed.world.trace import Trace
from tests.effort import effort
from tests.forgery import (
    CHECKSUM,
    FLAGS,
    METHOD,
    PACKED_SIZE,
    SIZE,
    archive,
    claiming,
    lie,
    members_of,
    npy,
)
from tests.live.fleets import manifest, server
from tests.natures import small_trace
from tests.simulate.results.test_saved_result import OVER_A_TABLE

PAIR = Contents(
    arrays={"v": Form("f", "N"), "w": Form("iu", "N")},
    optional=({"note": Form("U")}, {"there": Form("b", "N")}),
    sizes={"N": "numbers"},
)
V, W = np.arange(5.0), np.arange(5)


def load(path: Path) -> dict[str, NDArray[Any]]:
    return load_arrays(path, PAIR, "a pair")


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    path = tmp_path / "pair.npz"
    save_arrays(path, {"v": V, "w": W})
    return path


_DTYPES = st.one_of(
    arrays_of.floating_dtypes(sizes=(16, 32, 64)),
    arrays_of.integer_dtypes(),
    arrays_of.unsigned_integer_dtypes(),
    arrays_of.boolean_dtypes(),
    arrays_of.unicode_string_dtypes(max_len=4),
)
# Of texts: halves of a UTF-16 pair are no characters, and refused (FORGERIES, "half a character").
_CHARACTERS = {"alphabet": st.characters(exclude_categories=["Cs"])}


@given(
    array=arrays_of.arrays(
        _DTYPES,
        arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0),
        elements=_CHARACTERS,
    ),
    version=st.sampled_from([(1, 0), (2, 0)]),
    columns_first=st.booleans(),
    method=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]),
)
def test_whatever_numpy_wrote_is_read_as_numpy_reads_it(
    tmp_path_factory: pytest.TempPathFactory,
    array: NDArray[Any],
    version: tuple[int, int],
    columns_first: bool,
    method: int,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    given = np.asarray(array, order="F" if columns_first else "C")
    with (folder / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, given, version, allow_pickle=False)
    path = archive(folder / "a.npz", members_of_file(folder / "a.npy"), method)
    kind: Any = {"f": "f", "i": "iu", "u": "iu", "b": "b", "U": "U"}[array.dtype.kind]
    letters = "ABC"[: array.ndim]
    form = Contents(
        arrays={"a": Form(kind, letters)}, sizes=dict.fromkeys("ABC", ""), may_be_none="ABC"
    )
    with np.load(path) as file:
        expected = file["a"]
    for found in (load_arrays(path, form, "any")["a"], load_array(folder / "a.npy")):
        assert found.dtype == array.dtype.newbyteorder("=")
        assert found.flags.f_contiguous == expected.flags.f_contiguous
        np.testing.assert_array_equal(found, expected)


def members_of_file(path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes()}


def test_chunks_are_joined(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=100_000)  # more than is read at a time
    save_arrays(tmp_path / "a.npz", {"v": numbers, "w": np.arange(100_000)})
    assert load(tmp_path / "a.npz")["v"].tobytes() == numbers.tobytes()


@given(noted=st.integers(1, 999), known=st.integers(1, 999))
def test_a_format_is_read_by_those_who_know_it(
    tmp_path_factory: pytest.TempPathFactory, noted: int, known: int
) -> None:
    path = tmp_path_factory.mktemp("format") / "pair.npz"
    save_arrays(path, {"v": V, "w": W}, replace(PAIR, format=noted))
    with np.load(path) as file:  # another program sees no difference
        assert set(file) == {"v", "w"}
    reader = replace(PAIR, format=known)
    if noted <= known:
        assert load_arrays(path, reader, "a pair")["v"].tolist() == V.tolist()
        return
    with pytest.raises(NewerFormatError) as refused:
        load_arrays(path, reader, "a pair", TraceError)
    said = f"is a pair of format {noted}, this paofed knows {known}: upgrade paofed"
    assert str(refused.value) == f"{path} {said}"


# Forgeries of a pair: what is done to the file, and what is said of it.
Forge = Callable[[Path], object]
FORGERIES: dict[str, tuple[Forge, str]] = {
    "encrypted": (lambda p: lie(p, FLAGS, 1), "'v' is encrypted, or packed in a way"),
    "strongly encrypted": (lambda p: lie(p, FLAGS, 0x40), "truncated, damaged, or"),
    "patched data": (lambda p: lie(p, FLAGS, 0x20), "truncated, damaged, or"),
    "unknown method": (lambda p: lie(p, METHOD, 99), "'v' is encrypted, or packed in a way"),
    "lzma": (lambda p: lie(p, METHOD, 14), "'v' is encrypted, or packed in a way"),
    "stored": (lambda p: lie(p, METHOD, 0), "'v' claims 168 bytes, which the"),
    "checksum": (lambda p: lie(p, CHECKSUM, 1), "truncated, damaged, or"),
    "longer": (lambda p: lie(p, SIZE, 167), "claims shape (5,) of type float64, but has 39"),
    "shorter": (lambda p: lie(p, SIZE, 169), "claims shape (5,) of type float64, but has 41"),
    "ends early": (lambda p: lie(archive(p, {"v.npy": npy(V)[:-8], "w.npy": npy(W)}), SIZE, 168),
                   "truncated, damaged, or"),
    "4 GB": (lambda p: lie(p, SIZE, 2**32 - 2), "'v' claims 4,294,967,294 bytes, which the"),
    "packed in 2 GB": (lambda p: lie(p, PACKED_SIZE, 2**31), "claim more bytes than it has"),
    "goes on": (lambda p: archive(p, {"v.npy": npy(V) + b"\0" * 8, "w.npy": npy(W)}),
                "claims shape (5,) of type float64, but has 48 bytes"),
    "absurd shape": (lambda p: archive(p, {"v.npy": claiming("(99999999999999999999,)")}),
                     "is not a pair: arrays missing: w"),
    "absurd shapes": (lambda p: archive(p, {"v.npy": claiming("(99999999999999999999,)"),
                                            "w.npy": npy(W)}),
                      "claims shape (99999999999999999999,) of type float64, but has 0 bytes"),
    "long header": (lambda p: archive(p, {"v.npy": b"\x93NUMPY\2\0\xff\xff\xff\x7f", "w.npy": b""}),
                    "something else than plain arrays"),
    "no header": (lambda p: archive(p, {"v.npy": b"hello", "w.npy": b""}),
                  "something else than plain arrays"),
    "version": (lambda p: archive(p, {"v.npy": npy(V).replace(b"Y\1", b"Y\7"), "w.npy": npy(W)}),
                "something else than plain arrays"),
    "pickle": (lambda p: archive(p, {"v.npy": claiming("(5,)", "|O"), "w.npy": npy(W)}),
               "something else than plain arrays"),
    "no type": (lambda p: archive(p, {"v.npy": claiming("()", "<f3", b"abc"), "w.npy": npy(W)}),
                "truncated, damaged, or"),
    "names itself twice": (lambda p: twice(p), "it holds 'v' twice"),
    "notes": (lambda p: archive(p, {"notes.txt": b"hello"}), "its entry 'notes.txt' is not an"),
    "truth": (lambda p: archive(p, {"v.npy": npy(V), "w.npy": npy(W),
                                    "there.npy": claiming("(5,)", "|b1", b"\0\1\2\1\0")}),
              "a truth value is neither true nor false"),
    "no character": (lambda p: archive(p, {"v.npy": npy(V), "w.npy": npy(W),
                                           "note.npy": claiming("()", "<U1", b"\0\0\x11\0")}),
                     "a text holds a number that is no character"),
    "half a character": (lambda p: archive(p, {"v.npy": npy(V), "w.npy": npy(W),
                                               "note.npy": claiming("()", ">U1", b"\0\0\xd8\1")}),
                         "a text holds a number that is no character"),
    "another shape": (lambda p: archive(p, {"v.npy": npy(V[:4]), "w.npy": npy(W)}),
                      "is not a pair: w has 5 numbers (N), but v has 4"),
}  # fmt: skip


def twice(path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as file:
        file.writestr("v.npy", npy(V))


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_one_line(pair: Path, forgery: str) -> None:
    forge, told = FORGERIES[forgery]
    forge(pair)
    with pytest.raises(FileError) as refused:
        load(pair)
    assert told in str(refused.value)
    assert str(refused.value).startswith(str(pair))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("checked", [0, 1, 8])
def test_a_member_that_goes_on_behind_its_end_is_told(pair: Path, checked: int) -> None:
    """Its size is what it claims, and its checksum right, but more comes out of it."""
    claimed, more = npy(V), bytes(8)
    archive(pair, {"v.npy": claimed + more, "w.npy": npy(W)})
    lie(pair, SIZE, len(claimed))
    lie(pair, CHECKSUM, zlib.crc32(claimed + more[:checked]))
    told = "more bytes than it claims" if checked == 1 else "truncated, damaged"
    with pytest.raises(FileError, match=told):
        load(pair)


@pytest.mark.parametrize("read", [load, names_of])
def test_places_that_are_no_file(read: Callable[[Path], object], tmp_path: Path) -> None:
    for name, told in (("nowhere.npz", "does not exist"), (".", "cannot be read: Is a directory")):
        with pytest.raises(FileError, match=told):
            read(tmp_path / name)
    np.save(tmp_path / "single.npy", V)
    with pytest.raises(FileError, match=r"holds a single array, not a \.npz archive"):
        read(tmp_path / "single.npy")


def test_memory_is_asked_for_first(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed: list[float] = []

    def ask(size: float, what: str, _: str) -> None:
        needed.append(size)
        raise InputError(f"{what} needs more")

    monkeypatch.setattr("paofed.archives.require_memory", ask)
    v, w = V.astype(np.float16), W.astype(np.uint8)
    save_arrays(pair, {"v": v, "w": w, "there": W > 2, "note": np.array("ab")})
    with pytest.raises(FileError, match=r"what .*pair\.npz holds needs more"):
        load(pair)
    assert needed == [5 * 8 + 5 * 8 + 5 + 8]  # numbers are widened

    def none_left(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("paofed.archives.require_memory", lambda *_: None)
    monkeypatch.setattr(np, "empty", none_left)
    with pytest.raises(FileError, match="needs more memory than this machine gives"):
        load(pair)


BOMB = 2**26  # bytes of zeros, packed into a thousandth


@pytest.mark.parametrize(
    "members",
    [
        {"v.npy": claiming(f"({BOMB // 8},)", "<f8", bytes(BOMB)), "w.npy": npy(W)},
        {"v.npy": npy(V), "w.npy": npy(W), "more.npy": claiming(f"({BOMB},)", "|u1", bytes(BOMB))},
        {"v.npy": bytes(BOMB), "w.npy": npy(W)},
        {"v.npy": b"\x93NUMPY\2\0\xff\xff\xff\x03" + bytes(BOMB), "w.npy": npy(W)},
    ],
    ids=["shape", "name", "no array", "header"],
)
def test_a_bomb_is_refused_before_it_takes_memory(
    tmp_path: Path, members: dict[str, bytes]
) -> None:
    path = archive(tmp_path / "bomb.npz", members)
    assert path.stat().st_size < BOMB / 200
    tracemalloc.start()
    with pytest.raises(FileError):
        load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


# Every kind of file that the product reads: how it is written, and what it holds when read.


def trace_of(path: Path) -> object:
    trace = Trace.load(path)
    return [getattr(trace, name).tobytes() for name in vars(trace)]


def result_of(path: Path) -> object:
    found = TableResult.load(path)
    parts = (found, found.progressive, found.lives, found.cold_start)
    held = (value for part in parts for value in vars(part).values())
    arrays = [value.tobytes() for value in held if isinstance(value, np.ndarray)]
    return found.provenance, arrays


def edge() -> Edge:
    made = Edge(manifest(), 1)
    made.learn(np.array([1.0, 2.0]), 11.0)
    return made


def state_of(path: Path) -> object:
    back = Edge(manifest(), 1)
    assert load_state(path, back)
    return [array.tobytes() for array in back.state().values()]


def model_of(path: Path) -> object:
    found = FleetModel.load(path)
    arrays = found.w.tobytes(), found.levels.tobytes()
    return found.manifest, found.tick, found.fleet, *arrays


FILES: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "trace": (lambda path: small_trace(1, ticks=6).save(path), trace_of),
    "result": (OVER_A_TABLE.save, result_of),
    "state": (lambda path: save_state(path, edge()), state_of),
    "model": (lambda path: FleetModel.of(server()).save(path), model_of),
}


def damaged(rng: random.Random, content: bytes) -> bytes:
    """The same with a byte or a bit changed, a piece lost, doubled or overwritten."""
    i, j = sorted(rng.sample(range(len(content)), 2))
    j = min(j, i + rng.choice((1, 4, 40, 4000)))
    piece = rng.choice(("flip", "flip", "byte", "cut", "lose", "double", "zero", "swap"))
    return {
        "flip": content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :],
        "byte": content[:i] + rng.randbytes(1) + content[i + 1 :],
        "cut": content[:i],
        "lose": content[:i] + content[j:],
        "double": content[:j] + content[i:],
        "zero": content[:i] + bytes(j - i) + content[j:],
        "swap": content[:i] + content[i:j][::-1] + content[j:],
    }[piece]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", FILES)
def test_damage_is_told_or_does_not_matter(tmp_path: Path, kind: str, packed: bool) -> None:
    """Many damaged files: each holds the same as before, or is one clear error."""
    rng = random.Random(15)  # noqa: S311 (the same damage every time)
    save, read = FILES[kind]
    path = tmp_path / "file.npz"
    save(path)
    if not packed:  # where more bytes of the file are those of headers
        archive(path, members_of(path), zipfile.ZIP_STORED)
    content, held = path.read_bytes(), read(path)
    refusals, count = [], effort(everyday=60, thorough=120)
    for _ in range(count):
        path.write_bytes(damaged(rng, content))
        try:
            assert read(path) == held
        except (FileError, TraceError) as error:
            refusals.append(str(error))
    assert len(refusals) > 5 / 12 * count
    assert all(str(path) in told and "\n" not in told for told in refusals)


def test_python_s_objects_are_not_written(tmp_path: Path) -> None:
    """NumPy would write them as a pickle, which nobody reads here."""
    with pytest.raises(TypeError, match="x holds Python objects: expected numbers or text"):
        save_arrays(tmp_path / "x.npz", {"x": np.array([object()])})
    assert not (tmp_path / "x.npz").exists()
