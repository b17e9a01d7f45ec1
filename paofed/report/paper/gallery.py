"""The figures of the study, with their captions."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from matplotlib.figure import Figure

from paofed.report.paper.claims import II, SUBSETS, I
from paofed.report.paper.experiment import SIZES, VERSIONS
from paofed.report.paper.figures import mean_and_learning
from paofed.report.paper.study import Study
from paofed.report.shared import figures as draw
from paofed.words import counted
from paofed.world.realize import realize
from paofed.world.scenario import Scenario


class Picture(NamedTuple):
    """A figure of the study: its caption, and how it is drawn."""

    caption: str
    draw: Callable[[], Figure]


def gallery(study: Study, seed: int) -> Mapping[str, Picture]:
    """Return the figures that the study has results for, by file name.

    The paper's three figures come first. The caption of a figure that will be drawn again with more
    runs says how many runs it has.
    """
    found: dict[str, Picture] = {}
    one, two = study.results.get(I), study.results.get(II)
    chosen = ("online-fedsgd", SUBSETS[1], "pao-fed-u1", "pao-fed-c2")
    sizes = ("online-fedsgd", SUBSETS[1], *SIZES, "pao-fed-u1", "pao-fed-c2")
    if one is None and study.first_look is not None:
        runs = counted(study.first_look.runs, "run")
        found["versions-setting-1"] = Picture(
            f"The paper's first figure after {runs}: the versions of PAO-Fed in Setting I.",
            partial(draw.learning_curves, study.first_look, names=VERSIONS),
        )
    if one is not None:
        found["versions-setting-1"] = Picture(
            "The paper's first figure: the versions of PAO-Fed in Setting I.",
            partial(draw.learning_curves, one, names=VERSIONS),
        )
        found["choices-setting-1"] = Picture(
            "The paper's second figure: window size and weight of late updates in Setting I.",
            partial(draw.learning_curves, one, names=sizes),
        )
    if two is not None:
        found["setting-2"] = Picture(
            "The paper's third figure: Setting II.",
            partial(draw.learning_curves, two, names=chosen),
        )
    if one is not None:
        found["traffic-setting-1"] = Picture(
            "Error against what was sent by all, Setting I: where the 98 % shows.",
            partial(draw.error_against_traffic, one, names=(*sizes, SUBSETS[0])),
        )
    if two is not None:
        found["traffic-setting-2"] = Picture(
            "Error against what was sent by all, Setting II.",
            partial(draw.error_against_traffic, two, names=(*sizes, SUBSETS[0])),
        )
    if study.theory:
        found["theory"] = Picture(
            "Theory (lines) beside simulation (dots) in one world of Setting I; shaded is spread.",
            partial(mean_and_learning, study.theory),
        )
    found["realised"] = Picture(
        "What nature did in the first run of each setting: delays and contacts.",
        partial(_realised, seed),
    )
    return found


def _realised(seed: int) -> Figure:
    return draw.realised({s: realize(Scenario.load(s), seed=seed) for s in (I, II)})
