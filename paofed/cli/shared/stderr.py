"""What people are told beside the results."""

import sys


def say(text: str) -> None:
    """Tell people, on stderr, something that is not a result."""
    print(text, file=sys.stderr)
