"""The figure at the head of a page: errors and gain over the life of a device."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.report.run.fleet_figures import WIDE, finish, models
from paofed.report.run.lives import Stage, stages, stops_paying
from paofed.report.shared.baselines import baseline_look
from paofed.report.shared.captions import default_title
from paofed.report.shared.figures import literal
from paofed.report.shared.looks import styles
from paofed.report.shared.names import method_name
from paofed.report.shared.style import Drawing, styled
from paofed.simulate.results.estimates import TIE
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.result import Result

_MOST_ENTRIES = 18  # of a legend: of more algorithms, only some have names


@styled
def over_lives(result: Result, judged: Progressive, lives: Lives, name: str) -> Figure:
    """Draw the error on devices by the readings they have had, and the gain of one algorithm."""
    found = list(stages(lives, name))
    alone = [name for name in judged.baselines if baseline_look(name).whose == "device"]
    entries = len(alone) + len(result.algorithms)
    # As low as the legend allows, so that the first screen of a page shows all of it.
    figure = Drawing(figsize=(9.6, max(5.0, 1.5 + 0.28 * min(entries, _MOST_ENTRIES))))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    place = np.arange(lives.stages)
    for baseline in alone:
        look = baseline_look(baseline)
        above.plot(place, lives.stage_db(baseline, "baseline"), color=look.colour, ls=look.dashes,
                   marker=".", label=baseline, **WIDE)  # fmt: skip
    models(above, result, judged, "device", lambda n, whose: (place, lives.stage_db(n, whose)))
    finish(above, "the models on the devices")
    above.set_ylabel("error (dB)")
    _gains(below, found, name, styles(result.algorithms)[name].colour)
    below.set_xticks(place, [str(1 << stage) for stage in place.tolist()])
    below.set_xlabel("readings that the device has had, from this number to the next")
    figure.suptitle(literal(default_title(result)), x=0.01, ha="left")
    return figure


def _gains(axes: Axes, found: Sequence[Stage], name: str, colour: str) -> None:
    """Draw the gain over the best way of being alone at every stage, and where it stops paying."""
    place = np.log2([stage.first for stage in found])
    mean, low, high = np.array([stage.gain[:3] for stage in found]).T
    half = np.nan_to_num([mean - low, high - mean])
    axes.axhspan(-TIE, TIE, color="#eeeeee", zorder=0, label="a tie")
    axes.axhline(0, color="#777777", lw=1)
    axes.errorbar(place, mean, yerr=half, color=colour, marker="o", ms=4, lw=1.3, capsize=3,
                  label=f"{method_name(name)}\n95 % intervals\nover devices")  # fmt: skip
    stop = stops_paying(found)
    if stop is not None and stop > 1:
        axes.axvline(np.log2(stop) - 0.5, color="#777777", lw=1, ls=(0, (5, 2)),
                     label="stops paying here")  # fmt: skip
    begin = next((stage.first for stage in found if stage.pays), 1)
    to_the_end = f"it pays from reading {begin} on" if begin > 1 else "it pays throughout"
    told = {None: to_the_end, 1: "it never pays"}.get(stop, "")
    finish(axes, f"gain over the best way of being alone{': ' if told else ''}{told}")
    axes.set_ylabel("gain (dB)")
