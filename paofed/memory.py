"""Asks for memory before it is taken: a program that is killed says nothing."""

import os

from paofed.errors import InputError


def require_memory(needed: float, what: str, advice: str = "make it smaller") -> None:
    """Refuse work that this machine cannot hold; `needed` in bytes, a lower bound."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise InputError(
            f"{what} needs {needed / 1e9:,.0f} GB of memory, and this machine has "
            f"{there / 1e9:,.0f} GB: {advice}"
        )
