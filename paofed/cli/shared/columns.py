"""A table for people: columns that line up."""

from collections.abc import Collection, Sequence


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)
) -> str:
    """Lay out rows under a header; columns of words are `left`-aligned, numbers to the right.

    >>> print(table(["name", "dB"], [["u1", "-7.65"], ["fedsgd", "-8.95"]]))
    name       dB
    u1      -7.65
    fedsgd  -8.95
    """
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
