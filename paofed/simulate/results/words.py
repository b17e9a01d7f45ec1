"""A result in a few lines of text, as Python's prompt shows it: never its arrays."""

import math
from typing import TYPE_CHECKING

from paofed.simulate.results.estimates import Final
from paofed.table import error, number
from paofed.words import counted, size, table

if TYPE_CHECKING:
    from paofed.simulate.results.result import Result

_MOST_LINES = 8  # the most lines below the headline, one for each algorithm


def headline(result: "Result") -> str:
    """Say what was run: the scenario, and how many runs, algorithms and ticks."""
    return (
        f"{result.provenance['scenario']['name']}: {counted(result.runs, 'run')} of "
        f"{counted(len(result.algorithms), 'algorithm')} over {int(result.ticks[-1]) + 1:,} ticks"
    )


def in_short(result: "Result") -> str:
    """Return the headline, and a line for each algorithm: its final error, and bytes of a run.

    Over a table, there is also the error on devices in the target's own unit.
    """
    names = result.algorithms
    shown = names if len(names) <= _MOST_LINES else names[: _MOST_LINES - 1]
    lines = table(["", "", ""], [[f"  {name}", *_told(result, name)] for name in shown])
    more = [f"  and {len(names) - len(shown)} more"] if len(shown) < len(names) else []
    return "\n".join([f"Result of {headline(result)}", *lines.splitlines()[1:], *more])


def finals_of(result: "Result", name: str) -> dict[str, Final]:
    """Return the final errors of an algorithm by name: over a table it has two models, else one."""
    judged = result.judged_models
    words = {whose: "error" if len(judged) == 1 else f"{whose} error" for whose in judged}
    return {word: result.final(name, whose) for whose, word in words.items()}


def _told(result: "Result", name: str) -> tuple[str, str]:
    errors = ", ".join(
        f"{word.removesuffix('error')}{_error(final)}"
        for word, final in finals_of(result, name).items()
    )
    if (own := result.own_unit(name, "device")) is not None:
        errors += f", device RMSE {own.rmse:.4g} (R2 {own.r2:.3f})"
    return errors, size(float(result.run_wire(name).both[:, -1].mean()))


def _error(final: Final) -> str:
    sure = math.isfinite(final.db) and math.isfinite(final.standard_error)
    return error(final.db, " dB") + (f" (s.e. {number(final.standard_error)})" if sure else "")
