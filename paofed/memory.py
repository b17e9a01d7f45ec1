"""Asks for memory before it is taken: a program that is killed cannot say why."""

import os

from paofed.errors import InputError


def has_memory(needed: float) -> bool:
    """Whether this machine has so many bytes of memory."""
    return needed <= _there()


def require_memory(needed: float, what: str, advice: str = "make it smaller") -> None:
    """Refuse work that needs more memory than this machine has.

    `needed` is a lower bound in bytes.
    """
    if not has_memory(needed):
        raise InputError(
            f"{what} needs {needed / 1e9:,.0f} GB of memory, and this machine has "
            f"{_there() / 1e9:,.0f} GB: {advice}"
        )


def _there() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
