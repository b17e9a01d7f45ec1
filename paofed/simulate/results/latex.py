"""A result as a table of LaTeX: final errors, and gains over one method in paired intervals."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from paofed.core.tariffs import Tariff
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.progressive import Whose
from paofed.table import error, estimated
from paofed.words import counted, size

if TYPE_CHECKING:
    from paofed.simulate.results.result import Result

_NUMBER = re.compile(r"-?\d+\.\d+")
_ESCAPED = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def to_latex(result: "Result", against: str, tariff: Tariff, whose: Whose) -> str:
    """Return the table, for the package booktabs; comments above it say what the columns are."""
    rows = [_row(result, name, against, tariff, whose) for name in result.algorithms]
    head = ("method", "error (dB)", f"gain over {_typed(against)} (dB)", "sent")
    lines = "\n".join(map(_line, rows))
    named = " ".join(str(result.provenance["scenario"]["name"]).split())
    return rf"""% {counted(result.runs, "run")} of {named}; needs \usepackage{{booktabs}}
% error: of the mean over runs, as Result.final; sent: bytes of a run, both ways, {tariff.name}
% gain: mean over runs of the difference in the same run, with its 95 % interval
\begin{{tabular}}{{lrrr}}
\toprule
{_line(head)}
\midrule
{lines}
\bottomrule
\end{{tabular}}
"""


def _line(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _row(result: "Result", name: str, against: str, tariff: Tariff, whose: Whose) -> list[str]:
    final = result.final(name, whose)
    gain = "" if name == against else _interval(result.compare(name, against, whose))
    sent = float(result.run_wire(name, tariff).both[:, -1].mean())
    return [_typed(name), _number(final.db), gain, size(sent).replace(" ", "~")]


def _interval(found: Estimate) -> str:
    return _NUMBER.sub(r"$\g<0>$", estimated(found, "brackets"))


def _number(value: float) -> str:
    """Write an error with a true minus sign."""
    return _NUMBER.sub(r"$\g<0>$", error(value))


def _typed(name: str) -> str:
    return rf"\texttt{{{name.translate(_ESCAPED)}}}"
