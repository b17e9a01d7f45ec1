"""A result in a few lines, as a prompt or a notebook shows it: never its arrays."""

import math
from typing import TYPE_CHECKING

from paofed.words import counted, size, table

if TYPE_CHECKING:
    from paofed.simulate.results.result import Result

_MOST_LINES = 8  # algorithms that are told, each in a line


def headline(result: "Result") -> str:
    """What was run: scenario, runs, algorithms, ticks."""
    return (
        f"{result.provenance['scenario']['name']}: {counted(result.runs, 'run')} of "
        f"{counted(len(result.algorithms), 'algorithm')} over {int(result.ticks[-1]) + 1:,} ticks"
    )


def in_short(result: "Result") -> str:
    """The headline, and a line for each algorithm: its final error and the bytes of a run."""
    names = result.algorithms
    shown = names if len(names) <= _MOST_LINES else names[: _MOST_LINES - 1]
    lines = table(["", "", ""], [[f"  {name}", *_told(result, name)] for name in shown])
    more = [f"  and {len(names) - len(shown)} more"] if len(shown) < len(names) else []
    return "\n".join([f"Result of {headline(result)}", *lines.splitlines()[1:], *more])


def _told(result: "Result", name: str) -> tuple[str, str]:
    final = result.final(name)
    error = f"{final.db:.2f} dB" if math.isfinite(final.db) else "diverged"
    if math.isfinite(final.standard_error):
        error += f" (s.e. {final.standard_error:.2f})"
    return error, size(float(result.run_wire(name).both[:, -1].mean()))
