"""Figures of one's own results, in the look of the figures that `paofed` draws.

`plot` draws the curves of a result into any axes; the other functions make whole figures: those of
`paofed reproduce`, of sweeps, of plans and of runs over a table. `save` writes figures as journals
take them, and `style` gives the same look to anything else that is drawn.
"""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.errors import InputError
from paofed.experiments.paper.theory import Beside, theory_beside
from paofed.report.paper.figures import mean_and_learning
from paofed.report.plan import front
from paofed.report.run.figures import against_traffic, by_device, over_time
from paofed.report.shared.figures import error_against_traffic, learning_curves, realised
from paofed.report.shared.figures import save as _save
from paofed.report.shared.plotting import plot, side_by_side
from paofed.report.shared.style import STYLE, style
from paofed.report.sweep.figures import against, against_bytes
from paofed.report.sweep.maps import over_two

__all__ = [
    "STYLE",
    "Beside",
    "against",
    "against_bytes",
    "against_traffic",
    "by_device",
    "error_against_traffic",
    "front",
    "learning_curves",
    "mean_and_learning",
    "over_time",
    "over_two",
    "plot",
    "realised",
    "save",
    "side_by_side",
    "style",
    "theory_beside",
]

_ENDINGS = (".eps", ".pdf", ".png", ".ps", ".svg", ".tif", ".tiff")


def save(drawn: Figure | Axes, path: str | Path, *, dpi: int = 300) -> None:
    """Write a figure, or the figure of some axes, in the format that the ending of `path` names.

    Letters are embedded as TrueType in PDF and PostScript, and stay text in SVG; `dpi` is the
    resolution of formats made of pixels. The same figure gives the same file, byte for byte; the
    file is written whole or not at all.
    """
    figure = drawn if isinstance(drawn, Figure) else getattr(drawn, "figure", None)
    if not isinstance(figure, Figure):
        raise InputError(f"{drawn!r} is nothing that was drawn: expected a figure or axes")
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS:
        raise InputError(f"{place} is no figure's name: expected one that ends in "
                         f"{', '.join(_ENDINGS)}")  # fmt: skip
    _save(figure, place, dpi)
