"""Several results in one figure: a panel for each, the same axis of errors, one legend."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from matplotlib.figure import Figure

from paofed.errors import InputError, unknown
from paofed.report.shared.figures import literal
from paofed.report.shared.looks import Style, styles
from paofed.report.shared.plotting import plot
from paofed.report.shared.run_curves import with_curves
from paofed.report.shared.style import Column, measure, style
from paofed.simulate.results.result import Result

_ACROSS = 3  # panels in a row
_Given = TypeVar("_Given")


def side_by_side(
    results: Mapping[str, Result],
    names: Iterable[str] | str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    column: Column | None = "double",
    **options: Any,
) -> Figure:
    """Draw results of different scenarios beside each other, each under its label.

    An algorithm looks the same in all panels, and has one entry in the legend below them. `names`
    and further options are those of `plot`. A result that lacks some of `names` is drawn with the
    others.
    """
    if not results:
        raise InputError("there is nothing to draw: expected at least one result by its label")
    from matplotlib import pyplot as plt

    size, across = measure(column), min(_ACROSS, len(results))
    down = -(-len(results) // across)
    texts, painted = labels or {}, colours or {}
    every = _once(name for one in results.values() for name in one.algorithms)
    asked = every if names is None else [names] if isinstance(names, str) else list(names)
    known = _once(name for one in results.values() for name in with_curves(one))
    for name in (*asked, *texts, *painted):
        if name not in known:
            raise InputError(unknown("algorithm", str(name), known))
    for label, result in results.items():
        if set(asked).isdisjoint(with_curves(result)):
            raise InputError(f"{label} has none of {', '.join(asked)}: expected at least one")
    looks: dict[str, str | Style] = {**painted}  # also of baselines, which have their own
    for name, look in styles([name for name in asked if name in every]).items():
        looks[name] = look._replace(colour=painted.get(name, look.colour))
    with style(column):
        figure = plt.figure(figsize=(size.width, size.height * down))
        grid = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
        entries: dict[str, Any] = {}
        for axes, (label, result) in zip(grid, results.items(), strict=False):
            own = [name for name in asked if name in with_curves(result)]
            try:
                plot(
                    result, own, axes=axes, column=column,
                    labels=_of(own, texts), colours=_of(own, looks), **options,
                )  # fmt: skip
            except InputError:
                plt.close(figure)  # else a notebook would show what is half drawn
                raise
            axes.set_title(literal(label))
            legend = axes.get_legend()
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                entries.setdefault(text.get_text(), handle)
            legend.remove()
            axes.label_outer(remove_inner_ticks=False)
        for axes in grid[len(results) :]:
            axes.set_visible(False)
        for axes in grid[max(len(results) - across, 0) : len(results)]:
            axes.tick_params(labelbottom=True)
        figure.legend(entries.values(), entries, loc="outside lower center", ncols=len(entries))
    return figure


def _of(names: Iterable[str], given: Mapping[str, _Given]) -> dict[str, _Given]:
    return {name: given[name] for name in names if name in given}


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
