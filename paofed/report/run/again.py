"""How a run is repeated: the end of its page."""

import json
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.simulate.engines import LAST
from paofed.simulate.engines import USUAL as USUAL_ENGINE
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import USUAL
from paofed.words import counted
from paofed.world.scenario import to_toml

_CHOICE = ("gpu", "fast")  # the card first, since the fast engine takes all that the card takes


def is_open(result: Result) -> bool:
    """Whether a function made the worlds, which no file holds."""
    return bool(result.provenance["scenario"].get("kind") == "worlds")


class Again(NamedTuple):
    """What repeats a run."""

    first: int  # the number of its first run
    function: str  # what made its worlds; empty where a scenario did
    typed: str
    versions: dict[str, str]
    processors: str
    scenario: str


def again(result: Result, tariff: Tariff = PAYLOAD) -> Again:
    """Return how to repeat a run: what to type, the versions, and the data."""
    about, scenario = result.provenance, result.provenance["scenario"]
    words = processors(result)
    return Again(
        about.get("first_run", 0),
        scenario["stream"]["function"] if is_open(result) else "",
        call(result) if is_open(result) else command(result, tariff),
        about["versions"],
        f"{words[0].upper()}{words[1:]}." if words else "",
        json.dumps(scenario, indent=1) if is_open(result) else to_toml(scenario),
    )


def processors(result: Result) -> str:
    """Say on which types of processors the runs were computed, where these are several."""
    found = result.provenance.get("cpus", {})  # an earlier version did not keep them
    types = {one for name in found for one in name.split(" and ")}
    if len(types) < 2:
        return ""
    told = "; ".join(f"{name} ({counted(len(runs), 'run')})" for name, runs in found.items())
    return f"computed on {len(types)} types of processors, whose last digits may differ: {told}"


def call(result: Result) -> str:
    """Return the Python call that runs the same again, over worlds of one's own."""
    about, scenario = result.provenance, result.provenance["scenario"]
    worlds = _said({key: scenario[key] for key in ("step_size", "max_age", "about")})
    settings: dict[str, object] = {"runs": result.runs, "every": int(result.ticks[0]) + 1}
    settings |= {key: about[key] for key in ("seed", "same_world", "precision")}
    settings |= {"engine": engines} if (engines := _engines(result)) != USUAL_ENGINE else {}
    over = f"Worlds({scenario['name']!r}, function, {worlds})"
    return f"run({over}, {result.algorithms}, {_said(settings)})"


def _engines(result: Result) -> str:
    """The choice of engines that gives every algorithm the engine that it had."""
    used = [name for name in _CHOICE if name in result.provenance["engines"]]
    return ",".join(used) or LAST


def _said(keywords: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in keywords.items())


def command(result: Result, tariff: Tariff = PAYLOAD) -> str:
    """Return the command that runs the same again, in the folder of the page."""
    about, gap = result.provenance, int(result.ticks[0]) + 1
    scenario = about["scenario"]
    words = ["paofed", "run", "scenario.toml", "--runs", result.runs, "--seed", about["seed"]]
    words += ["--every", gap, "--precision", about["precision"]]
    words += ["--same-world"] if about["same_world"] else []
    words += ["--engine", engines] if (engines := _engines(result)) != USUAL_ENGINE else []
    if result.progressive is not None:
        words += [
            "--cold-starts",
            0 if result.cold_start is None else len(result.cold_start.starts),
        ]
        names = about.get("baselines", list(USUAL))  # results of earlier versions had all baselines
        if names != list(USUAL):
            told = ",".join(name.replace(" ", "-") for name in names)
            words += ["--baselines", told or "none"]
    if scenario.get("faults") and result.clean is None:
        words += ["--no-clean"]
    words += ["--tariff", tariff.word] if tariff.adds else []
    return shlex.join([*map(str, words), "--algorithm", *result.algorithms])
