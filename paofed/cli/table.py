"""A table for people: columns that line up."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows under a header: the first column left-aligned, the others right-aligned.

    >>> print(table(["name", "dB"], [["u1", "-7.65"], ["fedsgd", "-8.95"]]))
    name       dB
    u1      -7.65
    fedsgd  -8.95
    """
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for line in lines
    )
