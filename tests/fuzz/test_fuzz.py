"""Files and requests that chance has changed: read or answered, or refused in a line."""

from collections import Counter
from pathlib import Path

import pytest

from paofed.errors import InputError
from paofed.live.fleet.packing import Parts, unpack
from tests.effort import effort
from tests.fuzz import fuzzer
from tests.fuzz.formats import FORMATS, Format
from tests.fuzz.fuzzer import Outcome, try_file, try_files
from tests.fuzz.questions import question, try_questions

FILES = effort(everyday=60, thorough=1500)
REQUESTS = effort(everyday=24, thorough=300)


def test_a_changed_file_is_read_or_refused_in_a_line() -> None:
    counts, harmful = try_files(range(FILES))
    assert harmful == {}
    outcomes: Counter[str] = Counter()
    for (_, outcome), times in counts.items():
        outcomes[outcome] += times
    # Most changes are found, and some change nothing that matters: the fuzzer does both.
    assert outcomes["refused"] > FILES / 3
    assert outcomes["accepted"] > FILES / 20
    assert len({name for name, _ in counts}) > (len(FORMATS) - 1 if FILES > 1000 else 15)


def test_a_changed_request_is_answered(tmp_path: Path) -> None:
    answers, harmful = try_questions(range(REQUESTS), tmp_path)
    assert harmful == {}
    assert sum(answers.values()) == REQUESTS
    assert answers["400"] > 0
    assert answers["200"] > 0


def test_a_seed_is_a_case() -> None:
    assert try_file(3) == try_file(3)
    assert question(3, "t") == question(3, "t")


def hangs(_: Path) -> object:
    raise TimeoutError("no answer in 1 s")


def bursts(_: Path) -> object:
    return [][1]


def rambles(_: Path) -> object:
    raise InputError("one line\nand another")


@pytest.mark.parametrize(
    ("read", "harm"),
    [(hangs, "TimeoutError"), (bursts, "IndexError"), (rambles, "an error of several lines")],
)
def test_what_does_harm_is_noticed(
    read: object, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {name: Format(found.make, read) for name, found in FORMATS.items()}  # type: ignore[arg-type]
    monkeypatch.setattr(fuzzer, "FORMATS", known)
    outcome = try_file(1)
    assert isinstance(outcome, Outcome)
    assert outcome.word == "harmed"
    assert outcome.harm.startswith(harm)


def test_a_backup_that_unpacks_to_more_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((name, content),) = FORMATS["backup"].make().items()
    (tmp_path / name).write_bytes(content)

    def unpacked(path: Path, place: Path, parts: Parts) -> None:
        unpack(path, place, parts)
        (place / "more").write_bytes(content)

    monkeypatch.setattr("paofed.live.fleet.backup.unpack", unpacked)
    with pytest.raises(OverflowError, match="bytes unpacked of"):
        FORMATS["backup"].read(tmp_path)
