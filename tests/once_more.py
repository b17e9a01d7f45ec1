"""Tries tests that failed once more, one after another, with nothing beside them.

`python -m tests.once_more STATUS ...` follows a run of pytest that ended with that exit status, and
takes options for pytest. Servers, brokers and browsers are tried by the clock, four
processes of tests at a time on two cores, so that of thousands of tests one fails now and then
because the machine was busy. Such a test passes alone, and is named here, to be mended. A test that
fails again has failed, and so has a run in which more than a few fail, or which did not end.
"""

import json
import subprocess
import sys
from pathlib import Path

MOST = 3  # more failures than these are not the machine's
_SOME_FAILED = 1  # pytest's exit status
_FAILED = Path(".pytest_cache/v/cache/lastfailed")  # where pytest keeps their names


def once_more(status: int, options: list[str]) -> int:
    """Run the tests that failed again; return the exit status that counts."""
    failed = list(json.loads(_FAILED.read_text())) if _FAILED.is_file() else []
    tests = all("::" in name for name in failed)  # a file that cannot be read is no test
    if status != _SOME_FAILED or not tests or not 0 < len(failed) <= MOST:
        return status
    sys.stdout.write("once more, alone: {}\n".format("\n  ".join(failed)))
    sys.stdout.flush()
    status = subprocess.call([sys.executable, "-m", "pytest", *options, *failed])  # noqa: S603
    verdict = "failed again" if status else "failed on a busy machine, and passed alone"
    sys.stdout.writelines(f"{verdict}: {name}\n" for name in failed)
    return status


if __name__ == "__main__":
    sys.exit(once_more(int(sys.argv[1]), sys.argv[2:]))
