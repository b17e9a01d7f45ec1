"""How to use a plan: its scenario as a file, and the commands that run it and make a fleet."""

import shlex
from typing import Any

from paofed.algorithms.setup import Setup
from paofed.errors import InputError
from paofed.experiments.plan.field import agreed
from paofed.experiments.plan.record import FleetPlan
from paofed.live.protocol.served import is_ours, own_options
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table
from paofed.world.worlds import Setting

FILE, _RUN, _FLEET = "plan.toml", "plan.npz", "FLEET"


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
    setup, over_table = plan.chosen.candidate.setup, isinstance(plan.scenario.stream, Table)
    out = f" --out {_RUN}" if over_table else ""
    run = f"paofed run {shlex.quote(file)} --algorithm {shlex.quote(str(setup))} --runs 4{out}"
    return [run] if _why_not(setup) else [run, *_of_fleet(plan, over_table=over_table)]


def advice(plan: FleetPlan) -> str:
    """Say why no fleet can be made of a plan, or what is still to be filled in; often empty."""
    if why := _why_not(plan.chosen.candidate.setup):
        return why
    if isinstance(plan.scenario.stream, Table):
        return ""
    return (
        "in place of NAME, say what devices measure and what is to be predicted, scaled as in the "
        "simulation: NAME:OFFSET:SCALE"
    )


def _why_not(setup: Setup) -> str:
    """Say why no live fleet can follow this method, or return an empty text."""
    exchange = setup.values.get("exchange")
    if exchange == "live":  # a plan with this exchange tries nothing else than what can be served
        return ""
    return f"a live fleet has contacts of its own kind: exchange is {exchange}"


def _of_fleet(plan: FleetPlan, *, over_table: bool) -> list[str]:
    """Return the commands that make a fleet and one of its devices."""
    setup, share = plan.chosen.candidate.setup, plan.fleet.contacts
    own = None if is_ours(setup.row) else setup.row
    if over_table:
        option = "algorithm" if own is None else "method"
        init = f"paofed fleet init {_FLEET} --from {_RUN} --{option} {shlex.quote(str(setup))}"
    else:
        given = " ".join(
            f"--{key.replace('_', '-')} {shlex.quote(str(v))}" for key, v in _agreed(plan).items()
        )
        init = f"paofed fleet init {_FLEET} --input NAME ... --target NAME {given}"
    used = "" if share is None else f" --contacts {share:g}"
    same = "" if own is None else f" --method {shlex.quote(own)}"
    return [init, f"paofed device run DEVICE.json{same}{used}"]


def _agreed(plan: FleetPlan) -> dict[str, Any]:
    """Return what a fleet must agree on, by option of the command line."""
    scenario, setup = _in_a_file(plan.scenario), plan.chosen.candidate.setup
    row, tick, manifest = setup.row, scenario.tick_seconds, agreed(setup, scenario)
    learner = {key: getattr(manifest, key) for key in ("learner", "forgetting")}
    return {
        **({} if tick is None else {"tick": f"{tick:g}"}),
        "algorithm" if is_ours(row) else "method": setup.only(*own_options(row)),
        **{key: getattr(manifest, key) for key in ("shared", "step_size", "max_age", "features")},
        "kernel_width": scenario.kernel_width,
        **{key: getattr(manifest, key) or "none" for key in setup.algorithm().can_bound},
        **({} if manifest.aside else {"aside": "no"}),
        **{key: value for key, value in learner.items() if value is not None},
    }
