"""With which settings an algorithm was run, as far as a fleet must agree on them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from paofed.core import bounded_steps
from paofed.core.learners import FORGETFUL
from paofed.core.rules import LMS
from paofed.simulate.results.result import Result


class AdvisedSettings(NamedTuple):
    """The settings that a fleet would be made with."""

    algorithm: str
    shared: int | None  # coordinates of a message; None: their number varies
    features: int
    step_size: float
    # Where the step size is from: a race, the default, the algorithm's name, or the scenario.
    step_from: str
    raced: tuple[str, ...]  # all options that a race chose
    learner: str
    start: str
    linear: bool
    newcomers: str
    personal: bool


def settings(result: Result, name: str) -> AdvisedSettings:
    """The settings of one algorithm of a run."""
    scenario = result.provenance["scenario"]
    described = result.provenance["algorithms"][result.algorithms.index(name)]
    own = described.get("step_size")
    race = _race(result, name)
    asked = tuple(race.get("options", ()))
    step_from = "scenario" if own is None else "name"
    if "step_size" in asked:
        step_from = "usual" if race.get("reason") else "race"
    return AdvisedSettings(
        algorithm=name,
        shared=_shared(described.get("uplink"), scenario["features"]),
        features=scenario["features"],
        step_size=scenario["step_size"] if own is None else own,
        step_from=step_from,
        raced=() if race.get("reason") else asked,
        learner=_learner(described.get("learner")),
        start=scenario.get("start", "zeros"),
        linear=scenario.get("linear", False),
        newcomers=scenario.get("newcomers", "windows"),
        personal=scenario.get("linear", False) and scenario.get("personal", False),
    )


def _shared(uplink: Any, features: int) -> int | None:
    if not isinstance(uplink, dict) or uplink.get("kind") != "Windows":
        return None
    width: int | None = uplink["width"]
    return features if width is None else width


def _race(result: Result, name: str) -> Mapping[str, Any]:
    """Return the race that chose an algorithm's options; empty where they were given."""
    races = result.provenance.get("chosen", ())
    return next((race for race in races if race.get("winner") == name), {})


def _written(function: Callable[..., object]) -> str:
    """Return a function as provenance writes it."""
    return f"{function.__module__}.{function.__qualname__}"


_LEARNERS: Mapping[str, str] = {
    _written(LMS.learn): "lms",
    _written(bounded_steps.learn): "lms",
    **{_written(forgets.step): name for name, forgets in FORGETFUL.items()},
}


def _learner(described: Any) -> str:
    """Return the name of a learner as provenance describes it."""
    step = described.get("learn") if isinstance(described, dict) else None
    function = step.get("function") if isinstance(step, dict) else step
    return _LEARNERS.get(str(function), "its own")
