"""How much a test tries: what finds a mistake in everyday work, and the long form in CI."""

import os


def in_ci() -> bool:
    """Whether CI runs the tests: nothing may be missing there, and long forms have the time."""
    return bool(os.environ.get("PAOFED_CI"))


def effort(*, everyday: int, thorough: int) -> int:
    """How many seeds, runs or kills a test takes: the second number in CI, the first elsewhere."""
    return thorough if in_ci() else everyday
