"""Tries many files and requests, and prints what came of them; exit code 1 if any did harm."""

import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

from tests.fuzz.fuzzer import try_files
from tests.fuzz.questions import try_questions


def main() -> int:
    """Try, and say the numbers."""
    parser = ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=250)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    counts, harmful = try_files(range(asked.first, asked.first + asked.files))
    whole: Counter[str] = Counter()
    for (name, outcome), times in sorted(counts.items()):
        whole[outcome] += times
        sys.stdout.write(f"{name:24} {outcome:18} {times:6}\n")
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(asked.first, asked.first + asked.requests)
        answers, hurt = try_questions(seeds, Path(folder))
    sys.stdout.write(f"files: {dict(whole)}\nrequests: {dict(answers.most_common())}\n")
    for seed, found in harmful.items():
        sys.stdout.write(f"--first {seed} --files 1: {found.format}: {found.harm}\n")
    for seed, said in hurt.items():
        sys.stdout.write(f"--first {seed} --requests 1: {said}\n")
    return 1 if harmful or hurt else 0


if __name__ == "__main__":
    sys.exit(main())
