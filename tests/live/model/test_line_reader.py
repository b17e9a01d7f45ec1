"""Numbers by name, line by line."""

import contextlib
import io
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import FileError, InputError
from paofed.live.model.sample_lines import HeaderError, Reader, opened


def read(text: str, names: str = "ab", optional: int = 0) -> list[list[float]]:
    """All samples of a text."""
    return list(Reader(list(names), optional).read(io.StringIO(text)))


def refusal(text: str, names: str = "ab", optional: int = 0) -> str:
    with pytest.raises(InputError) as refused:
        read(text, names, optional)
    return str(refused.value)


ROWS = [[0.5, 1.5], [-2.0, 1e-3]]


@pytest.mark.parametrize(
    "text",
    [
        "0.5,1.5\n-2,1e-3\n",
        "0.5, 1.5\r\n -2.0 ,0.001",
        "\n \n0.5,1.5\n-2,1e-3",
        '"0.5","1.5"\n-2,1e-3\n',
        "a,b\n0.5,1.5\n-2,1e-3\n",
        " a , b \n\n0.5,1.5\n  \n-2,1e-3\n\n",
        "\ufeffa,b\n0.5,1.5\n-2,1e-3\n",
        "\ufeff0.5,1.5\n-2,1e-3\n",
        "b,a\n1.5,0.5\n1e-3,-2\n",
        "a,b,note\n0.5,1.5,x\n-2,1e-3\n",
        'note,a,b\n"x, y",0.5,1.5\nz,-2,1e-3\n',
        "# made by hand\nb,a\n1.5,0.5\n1e-3,-2\n",
        "# made, it seems, by hand\nb,a\n1.5,0.5\n1e-3,-2\n",
        "0.5,x\nb,a\n1.5,0.5\n1e-3,-2\n",
        "x,y\nb,a\n1.5,0.5\n1e-3,-2\n",
        "NA,1.5\n,\n0.5,1.5\n-2,1e-3\n",
        "b,a\n1.5,0.5\na,note,b\n-2,x,1e-3\n",
        "0.5,1.5\nb,a\n1e-3,-2\n",
        "0.5,1.5\nNA,NA\n-2,1e-3\n",
        '{"a": 0.5, "b": 1.5}\n{"b": 1e-3, "a": -2}\n',
        '{"a": 0.5, "b": 1.5, "note": [1, {}]}\n  {"b": "1e-3", "a": "-2"}\n',
        'b,a\n1.5,0.5\n{"a": -2, "b": 1e-3}\n',
        '{"a": 0.5, "b": 1.5}\nb,a\n1e-3,-2\n',
    ],
)
def test_every_form_is_the_same_numbers(text: str) -> None:
    """Passing over what cannot be used, as a device does."""
    reader, found = Reader(["a", "b"]), []
    for line in text.splitlines():
        with contextlib.suppress(InputError):
            found.append(reader.parse(line))
    assert [values for values in found if values is not None] == ROWS


@pytest.mark.parametrize("empty", ["1,2", "1,2,  ", '1,2,""', "a,b\n1,2", "y,b,a\n,2,1"])
def test_the_target_may_be_missing(empty: str) -> None:
    for text in (empty, '{"a": 1, "b": 2}', '{"a": 1, "b": 2, "y": null}'):
        ((a, b, y),) = read(text, "aby", optional=1)
        assert (a, b) == (1.0, 2.0)
        assert math.isnan(y)


def test_the_target_may_be_there_and_is_then_a_number() -> None:
    for text in ("1,2,3", "y,a,b\n3,1,2", '{"y": 3, "a": 1, "b": 2}'):
        assert read(text, "aby", optional=1) == [[1.0, 2.0, 3.0]]
    for line in ("1", "1,2,x", "1,2,3,4", "1,2,nan", '{"a":1,"b":2,"y":false}'):
        says = f"line 1 is {line!r}: expected 2 or 3 finite numbers (a, b, y)"
        assert refusal(line, "aby", optional=1) == says


@pytest.mark.parametrize(
    "line",
    [
        "0.5",
        "0.5,1.5,2.5",
        "0.5,x",
        ",1.5",
        "nan,1.5",
        "0.5,-Infinity",
        "0.5,1e999",
        "0.5;1.5",
        "0.5," + "1" * 200_000,  # longer than csv takes
        '"0.5',
        '"0.5"x,1.5',
        "True,1.5",
        "c,d",
        "[0.5, 1.5]",
        '{"a": 0.5}',
        '{"a": 0.5, "b": ""}',
        '{"a": 0.5, "b": NaN}',
        '{"a": 0.5, "b": "nan"}',
        '{"a": 0.5, "b": 1e999}',
        '{"a": 0.5, "b": true}',
        '{"a": 0.5, "b": [1.5]}',
        '{"a": 0.5, "b": 1' + "0" * 400 + "}",
        '{"a": 0.5, "b": 1.5',
        '{"a": 0.5 "b": 1.5}',
        '{"A": 0.5, "B": 1.5}',
        "{}",
        '{"a": ' + "[" * 100_000,
    ],
)
def test_a_bad_line_is_told_with_its_number(line: str) -> None:
    says = f"is {line!r}: expected 2 finite numbers (a, b)"
    assert refusal(f"{line}\n") == f"line 1 {says}"
    assert refusal(f"a,b\n\n1,2\n{line}\n3,4\n") == f"line 4 {says}"
    assert refusal(f"1,2\n\ufeff{line}") == f"line 2 {says}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("b,a\n1,2,3\n", "line 2 is '1,2,3': expected 2 finite numbers"),
        ("b,x,a\n1,2\n", "line 2 is '1,2': expected 2 finite numbers"),
        ('"0.5\n",1.5\n', "line 1 is '\"0.5': expected 2"),  # never read on into the next
        ("B, A", "line 1 is 'B, A': expected 2 finite numbers"),
        ("a,b,a\n0.5,1.5,9\n", "the header has 'a' more than once: a, b, a"),
        ("0.5,1.5\na,b,a\n", "the header has 'a' more than once: a, b, a"),
        ("a, temperature\n1,2\n", "the header has no column 'b': it has a, temperature"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, says: str) -> None:
    assert refusal(text).startswith(says)


@pytest.mark.parametrize("words", ["B,A", "load,hour", "B,A,", "# made, by hand", "x\nB,A\nx"])
@pytest.mark.parametrize("before", ["", "\n", "0.5,x\n", '{"a": 1, "b": 2}\n'])
def test_numbers_behind_words_that_may_be_their_header_are_refused(words: str, before: str) -> None:
    reader = Reader(["a", "b"])
    for line in [*before.splitlines(), *words.splitlines()]:
        with contextlib.suppress(InputError):
            reader.parse(line)
    for line in ("1,2", "3,4"):
        with pytest.raises(HeaderError, match="is '1,2', and nobody knows which number is which"):
            reader.parse(line)
    assert reader.parse("b,a") is None
    assert reader.parse("1,2") == [2.0, 1.0]


def test_names_that_are_numbers_are_a_header_in_the_first_line_alone() -> None:
    assert read("2,1\n5,6\n2,1\n", "12") == [[6.0, 5.0], [1.0, 2.0]]


@pytest.mark.parametrize("header", ["b,temperature", "b"])
def test_after_a_bad_header_no_number_is_taken_for_another(header: str) -> None:
    reader = Reader(["a", "b"])
    for line in (header, "1,2", "3,4"):
        with pytest.raises(HeaderError, match="the header has no column 'a'"):
            reader.parse(line)
    assert reader.parse('{"a": 1, "b": 2}') == [1.0, 2.0]


@pytest.mark.parametrize("before", ["1,2,3", "a,b,y", '{"a": 1, "b": 2}\na,b,y'])
@pytest.mark.parametrize("word", ["y", "a", '"b"', "x"])
def test_a_stray_word_is_passed_over(word: str, before: str) -> None:
    reader = Reader(["a", "b", "y"], optional=1)
    for line in before.splitlines():
        reader.parse(line)
    with pytest.raises(InputError, match="expected 2 or 3 finite numbers") as refused:
        reader.parse(word)
    assert not isinstance(refused.value, HeaderError)
    assert reader.parse("4,5,6") == [4.0, 5.0, 6.0]


def test_other_names_are_found_in_the_header_and_in_json() -> None:
    reader = Reader(["a", "b", "y"], optional=1)
    assert reader.parse("w,y,b,a") is None
    assert reader.parse("4,3,2,1") == [1.0, 2.0, 3.0]
    reader.rename(["a", "b", "w", "y"])
    assert reader.parse("4,3,2,1") == [1.0, 2.0, 4.0, 3.0]
    assert reader.parse('{"w": 4, "a": 1, "b": 2}')[:3] == [1.0, 2.0, 4.0]  # type: ignore[index]
    with pytest.raises(InputError, match=r"expected 3 or 4 finite numbers \(a, b, w, y\)") as found:
        reader.parse('{"a": 1, "b": 2, "y": 3}')
    assert not isinstance(found.value, HeaderError)
    with pytest.raises(HeaderError, match="the header has no column 'v': it has w, y, b, a"):
        reader.rename(["a", "b", "v", "y"])


def test_with_other_names_a_short_line_is_not_read_by_their_order() -> None:
    reader = Reader(["a", "b", "y"], optional=1)
    assert reader.parse("1,2,3") == [1.0, 2.0, 3.0]
    reader.rename(["a", "b", "w", "y"])
    with pytest.raises(InputError, match="expected 4 finite numbers"):
        reader.parse("1,2,3")
    assert reader.parse("1,2,4,3") == [1.0, 2.0, 4.0, 3.0]
    assert reader.parse("a,b,w,y") is None
    assert reader.parse("1,2,4")[:3] == [1.0, 2.0, 4.0]  # type: ignore[index]


def test_lines_are_taken_as_they_come() -> None:
    lines = iter(["1,2\n", "3,4\n"])
    samples = Reader(["a", "b"]).read(lines)
    assert next(samples) == [1.0, 2.0]
    assert next(lines) == "3,4\n"


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.tuples(numbers, numbers, numbers), max_size=8),
    st.permutations(["a", "b", "y", "note"]),
    st.sampled_from(["positional", "header", "json"]),
)
def test_whatever_is_written_is_read(
    rows: list[tuple[float, float, float]], order: list[str], form: str
) -> None:
    named = [{**dict(zip("aby", row, strict=True)), "note": 0.0} for row in rows]
    if form == "json":
        lines = [json.dumps({name: values[name] for name in order}) for values in named]
    elif form == "header":
        cells = [[repr(values[name]) for name in order] for values in named]
        lines = [",".join(order), *(",".join(line) for line in cells)]
    else:
        lines = [",".join(map(repr, row)) for row in rows]
    back = read("\n".join(lines), "aby")
    assert [tuple(map(repr, row)) for row in back] == [tuple(map(repr, row)) for row in rows]


@given(st.text(max_size=40), st.booleans())
def test_any_line_is_numbers_or_one_clear_error(line: str, header: bool) -> None:
    reader = Reader(["a", "b"])
    if header:
        reader.parse("b,x,a")
    says, values = "one line", None
    try:
        values = reader.parse(line)
    except InputError as error:
        says = str(error)
    assert len(says.splitlines()) == 1
    assert values is None or (len(values) == 2 and all(map(math.isfinite, values)))


def test_a_file_is_opened_without_its_byte_order_mark_or_is_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\r\n")
    with opened(tmp_path / "x.csv") as lines:
        assert lines.read() == "a,b\n1,2\n"
    for name, says in (("missing.csv", "No such file"), (".", "directory")):
        with pytest.raises(FileError, match=f"cannot be read: .*{says}"):
            opened(tmp_path / name)
    stdin = io.StringIO("1,2\n")
    monkeypatch.setattr("sys.stdin", stdin)
    with opened(None) as lines:
        assert lines is stdin
    assert not stdin.closed
