"""Files and requests that chance has changed: read or answered, or refused in a line."""

import io
import tarfile
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from paofed.errors import InputError
from paofed.live.fleet.packing import Parts, unpack
from paofed.live.journal.store import Store
from tests.effort import effort
from tests.fuzz import fuzzer
from tests.fuzz.formats import FORMATS, Format
from tests.fuzz.fuzzer import Outcome, try_file, try_files
from tests.fuzz.mutation import in_tar
from tests.fuzz.questions import asked, port, question, try_questions
from tests.live.stores import execute

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


def claimed(tar: bytes) -> int:
    """Bytes that the files of a tar have, as their headers say."""
    try:
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            return sum(member.size for member in archive)
    except tarfile.TarError:
        return 0


def test_some_backups_claim_more_bytes_than_they_have() -> None:
    (content,) = FORMATS["backup"].make().values()
    made = [in_tar(content, Random(seed)) for seed in range(20)]  # noqa: S311 (no secret)
    greedy = [tar for tar in made if len(tar) < claimed(tar) < 10 * len(tar)]
    assert greedy


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


@pytest.mark.parametrize(
    ("repair", "harm"),
    [(Store.verify, "a repair names itself"), (Store.members, "repaired, and yet")],
)
def test_a_repair_that_does_not_help_is_noticed(
    repair: object, harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in FORMATS["database"].make().items():
        (tmp_path / name).write_bytes(content)
    execute(tmp_path, ("UPDATE journal SET level = 9 WHERE line = 30", ()))  # a wrong checksum
    monkeypatch.setattr(Store, "repair", repair)
    with pytest.raises(RuntimeError, match=harm):
        FORMATS["database, repaired"].read(tmp_path)


def test_the_port_of_the_fuzzer_has_all_routes(tmp_path: Path) -> None:
    paths = ("/", "/health", "/status", "/metrics", "/model", "/events", "/no")
    with port(tmp_path / "fleet", tokens=True) as (number, token):
        fields = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        said = {path: asked(number, f"GET {path} HTTP/1.1\r\n{fields}".encode()) for path in paths}
    assert said == {**dict.fromkeys(paths, "200"), "/no": "404"}
