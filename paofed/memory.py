"""Asks for memory before it is taken: a program that is killed cannot say why."""

import os

from paofed.errors import InputError


def require_memory(needed: float, what: str, advice: str = "make it smaller") -> None:
    """Refuse work that needs more memory than this machine has.

    `needed` is a lower bound in bytes.
    """
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise InputError(
            f"{what} needs {needed / 1e9:,.0f} GB of memory, and this machine has "
            f"{there / 1e9:,.0f} GB: {advice}"
        )
