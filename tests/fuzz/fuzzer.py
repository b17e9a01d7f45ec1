"""Makes cases of a seed, lets them be read, and says what came of them."""

import resource
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from paofed.errors import InputError
from tests.fuzz.formats import FORMATS
from tests.fuzz.mutation import of_name

_LONGEST = 2000  # characters of an error: a longer one quotes too much of the file
_MOST = 2**20  # kilobytes of memory that a small file may take
_PATIENCE = 120  # seconds after which a case is said to hang

# Formats whose cases take long come seldom.
_DEAREST = max(known.cost for known in FORMATS.values())
_TURNS = [name for name, known in FORMATS.items() for _ in range(_DEAREST // known.cost)]


class Outcome(NamedTuple):
    """What came of a case: how it was refused, or empty if it was accepted; and what is wrong."""

    format: str
    refusal: str
    harm: str  # empty: none

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        if self.harm:
            return "harmed"
        if len(self.refusal) > _LONGEST:
            return "refused at length"
        return "refused" if self.refusal else "accepted"


def try_file(seed: int) -> Outcome:
    """Change a valid file by a seed, and read it."""
    chance = Random(seed)  # noqa: S311 (no secret)
    name = chance.choice(_TURNS)
    made, read, _ = FORMATS[name]
    files = dict(made())
    changed = next(iter(files))
    files[changed] = of_name(changed)(files[changed], chance)
    with tempfile.TemporaryDirectory(prefix="paofed-fuzz-") as folder:
        for file, content in files.items():
            (Path(folder) / file).parent.mkdir(exist_ok=True)
            (Path(folder) / file).write_bytes(content)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        refusal = harm = ""
        try:
            with _patience(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of numbers that overflow
                read(Path(folder))
        except InputError as error:
            refusal = str(error)
            if "\n" in refusal:
                harm = f"an error of several lines: {refusal[:200]!r}"
        except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
            harm = f"{type(error).__name__}: {str(error)[:200]} {_place(error)}"
        took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if took > _MOST:
            harm = f"{took // 1024} MB of memory"
    return Outcome(name, refusal, harm)


def _place(error: BaseException) -> str:
    """Where in the package an error came from."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/paofed/" in code.co_filename:
            found = f"({code.co_filename.rpartition('/paofed/')[2]}:{trace.tb_lineno})"
        trace = trace.tb_next
    return found


@contextmanager
def _patience() -> Iterator[None]:
    """Break off what does not end."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"no answer in {_PATIENCE} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def try_files(seeds: range) -> tuple[Counter[tuple[str, str]], dict[int, Outcome]]:
    """Try many files; returns counts of formats and outcomes, and what did harm, by seed."""
    counts: Counter[tuple[str, str]] = Counter()
    harmful = {}
    for seed in seeds:
        outcome = try_file(seed)
        counts[outcome.format, outcome.word] += 1
        if outcome.harm:
            harmful[seed] = outcome
    return counts, harmful
