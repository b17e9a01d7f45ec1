"""Which figures the study has, and what they show."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from paofed.report.paper.claims import II, SUBSETS, I
from paofed.report.paper.experiment import SIZES, VERSIONS
from paofed.report.paper.figures import mean_and_learning
from paofed.report.paper.study import Study
from paofed.report.shared import figures as draw
from paofed.world.realize import realize
from paofed.world.scenario import Scenario


def gallery(study: Study, seed: int) -> Mapping[str, tuple[str, Figure]]:
    """The figures by file name, each with its caption: the paper's three, then ours."""
    one, two = study.results[I], study.results[II]
    chosen = ("online-fedsgd", SUBSETS[1], "pao-fed-u1", "pao-fed-c2")
    sizes = ("online-fedsgd", SUBSETS[1], *SIZES, "pao-fed-u1", "pao-fed-c2")
    traces = {s: realize(Scenario.load(s), seed=seed) for s in (I, II)}
    return {
        "versions-setting-1": (
            "The paper's first figure: the versions of PAO-Fed in Setting I.",
            draw.learning_curves(one, names=VERSIONS),
        ),
        "choices-setting-1": (
            "The paper's second figure: window size and weight of late updates in Setting I.",
            draw.learning_curves(one, names=sizes),
        ),
        "setting-2": (
            "The paper's third figure: Setting II.",
            draw.learning_curves(two, names=chosen),
        ),
        "traffic-setting-1": (
            "Error against what was sent by all, Setting I: where the 98 % shows.",
            draw.error_against_traffic(one, names=(*sizes, SUBSETS[0])),
        ),
        "traffic-setting-2": (
            "Error against what was sent by all, Setting II.",
            draw.error_against_traffic(two, names=(*sizes, SUBSETS[0])),
        ),
        "theory": (
            "Theory (lines) beside simulation (dots) in one world of Setting I; shaded is spread.",
            mean_and_learning(study.theory),
        ),
        "realised": (
            "What nature did in the first run of each setting: delays and contacts.",
            draw.realised(traces),
        ),
    }
