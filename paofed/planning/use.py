"""How to use a plan: its scenario as a file, and the commands that run it and make a fleet."""

import shlex
from typing import Any

from paofed.algorithms.spec import parted
from paofed.errors import InputError
from paofed.live.protocol.served import SERVED, own_options, usual_shared
from paofed.planning.record import FleetPlan
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table
from paofed.world.worlds import Setting

FILE, _RUN, _FLEET = "plan.toml", "plan.npz", "FLEET"
_FEATURES = ("features", "kernel_width")


def scenario_file(plan: FleetPlan, command: str) -> str:
    """Return the chosen fleet's scenario as TOML.

    Comments say how it was made and how to run it.
    """
    head = [command, plan.sentence, *commands(plan, FILE)]
    return "".join(f"# {line}\n" for line in head) + _in_a_file(plan.fleet).to_toml()


def _in_a_file(setting: Setting) -> Scenario:
    """Refuse worlds of one's own, which no file and no command can name."""
    if not isinstance(setting, Scenario):
        raise InputError(f"{setting.name} is made by a function: use its plan from Python")
    return setting


def commands(plan: FleetPlan, file: str) -> list[str]:
    """Return the commands to type next: run the plan, make a fleet of it, run its devices."""
    word, over_table = plan.chosen.candidate.word, isinstance(plan.scenario.stream, Table)
    out = f" --out {_RUN}" if over_table else ""
    run = f"paofed run {shlex.quote(file)} --algorithm {word} --runs 4{out}"
    return [run] if _why_not(word) else [run, *_of_fleet(plan, over_table=over_table)]


def advice(plan: FleetPlan) -> str:
    """Say why no fleet can be made of a plan, or what is still to be filled in; often empty."""
    if why := _why_not(plan.chosen.candidate.word):
        return why
    if isinstance(plan.scenario.stream, Table):
        return ""
    return (
        "in place of NAME, say what devices measure and what is to be predicted, scaled as in the "
        "simulation: NAME:OFFSET:SCALE"
    )


def _why_not(word: str) -> str:
    """Say why no live fleet can follow this word, or return an empty text."""
    row, options = parted(word)
    if row not in SERVED:
        return f"no fleet can serve {row} (served: {', '.join(SERVED)})"
    if options.get("exchange") != "live":
        return f"a live fleet has contacts of its own kind: exchange is {options.get('exchange')}"
    if "staleness" in options or "divisor" in options:
        return f"no fleet can agree on the staleness or divisor of {word}"
    return ""


def _of_fleet(plan: FleetPlan, *, over_table: bool) -> list[str]:
    """Return the commands that make a fleet and one of its devices."""
    word, share = plan.chosen.candidate.word, plan.fleet.contacts
    if over_table:
        init = f"paofed fleet init {_FLEET} --from {_RUN} --algorithm {word}"
    else:
        given = " ".join(f"--{key.replace('_', '-')} {v}" for key, v in _agreed(plan).items())
        init = f"paofed fleet init {_FLEET} --input NAME ... --target NAME {given}"
    used = "" if share is None else f" --contacts {share:g}"
    return [init, f"paofed device run DEVICE.json{used}"]


def _agreed(plan: FleetPlan) -> dict[str, Any]:
    """Return what a fleet must agree on, by option of the command line."""
    scenario = _in_a_file(plan.scenario)
    row, options = parted(plan.chosen.candidate.word)
    shaping = [f"{key}={options[key]}" for key in own_options(row) if key in options]
    tick = scenario.tick_seconds
    return {
        **({} if tick is None else {"tick": f"{tick:g}"}),
        "algorithm": f"{row}:{','.join(shaping)}" if shaping else row,
        "shared": options.get("shared", usual_shared(row, scenario.features)),
        "step_size": options.get("step_size", scenario.step_size),
        "max_age": options.get("max_age", scenario.max_age),
        **{key: getattr(scenario, key) for key in _FEATURES},
        "clip": options.get("clip", "none"),
        "bound": options.get("bound", "none"),
    }
