"""The look of all figures: a style file, and the sizes of figures for a journal's columns.

matplotlib reads a style when the parts of a figure are made, so functions that draw are `styled`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, get_args

import matplotlib as mpl
from matplotlib.figure import Figure

from paofed.errors import InputError, unknown

STYLE = Path(__file__).with_name("paofed.mplstyle")
Column = Literal["single", "double"]


class Measure(NamedTuple):
    """The size of a figure in inches, and the rcParams that differ from those of a page."""

    width: float
    height: float
    changes: Mapping[str, float]


_SMALL = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "figure.titlesize": 8,
    "figure.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "lines.linewidth": 1.1,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
}
PAGE = Measure(6.4, 4.0, {})
# The widths of columns in IEEE's journals, from which other journals hardly differ.
MEASURES: Mapping[Column, Measure] = {
    "single": Measure(3.5, 2.5, _SMALL),
    "double": Measure(7.16, 3.0, _SMALL),
}


def measure(column: Column | None) -> Measure:
    """Return the size of a figure for a journal's column; None: for a screen or a page."""
    if column is None:
        return PAGE
    if column not in MEASURES:
        raise InputError(unknown("column", str(column), get_args(Column)))
    return MEASURES[column]


@cache
def _rules() -> Mapping[Any, Any]:
    return dict(mpl.rc_params_from_file(STYLE, use_default_template=False))


@contextmanager
def style(column: Column | None = None, **changes: Any) -> Iterator[None]:
    """Give everything that is drawn in a `with` block the look of paofed's figures.

    `column` makes letters and lines as small as a journal's column needs them. Further changes are
    matplotlib's rcParams, with _ in the place of dots: font_family="STIXGeneral".
    """
    known = {key.replace(".", "_"): key for key in mpl.rcParams}
    for name in changes:
        if name not in known:
            raise InputError(f"matplotlib has no rcParam {name!r}: expected one as font_family is")
    rules: dict[Any, Any] = {**_rules(), **measure(column).changes}
    rules |= {known[name]: value for name, value in changes.items()}
    interactive = mpl.rcParams["interactive"]
    try:
        with mpl.rc_context(rules):
            try:
                yield
            finally:
                interactive = mpl.rcParams["interactive"]
    finally:
        # A notebook makes matplotlib interactive when the first figure is made, which may be inside
        # this block; if that were undone, no later figure would be shown.
        mpl.rcParams["interactive"] = interactive


class Drawing(Figure):
    """A figure that a notebook shows wherever it is the value of a cell."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        with style():
            self.savefig(file, format="png", dpi="figure")
        return file.getvalue()


_Asked = ParamSpec("_Asked")
_Drawn = TypeVar("_Drawn", bound=Figure | None)


def styled(draw: Callable[_Asked, _Drawn]) -> Callable[_Asked, _Drawn]:
    """Make a function draw the figure that it returns in the look of all figures."""

    @wraps(draw)
    def drawn(*args: _Asked.args, **kwargs: _Asked.kwargs) -> _Drawn:
        with style():
            figure = draw(*args, **kwargs)
            if figure is not None:
                keep_ticks(figure)
            return figure

    return drawn


def keep_ticks(figure: Figure) -> None:
    """Make the first tick of every axis now, inside the style.

    matplotlib makes the other ticks later, outside the style, and copies the look of the first.
    """
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_ticks(1)
