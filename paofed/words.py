"""Numbers and names in sentences."""

from collections.abc import Sequence

_NAMED = 5  # names that a sentence has room for


def counted(number: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "run"), counted(0, "run"), counted(1200, "device")
    ('1 run', '0 runs', '1,200 devices')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """All names where they are few, else some of them and how many more there are.

    >>> listed(["a", "b"]), listed([f"d{k}" for k in range(300)])
    ('a, b', 'd0, d1, d2, d3, d4 and 295 more')
    """
    if len(names) <= _NAMED + 1:  # one more takes no more room than to say so
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED:,} more"
