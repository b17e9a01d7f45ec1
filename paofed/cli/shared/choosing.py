"""Settings that are to be chosen before a run: `auto` in the place of a value."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from paofed.algorithms.spec import from_text, parted
from paofed.cli.shared.progress import Progress
from paofed.cli.shared.stderr import say
from paofed.racing.candidates import AUTO, asks
from paofed.simulate.engines import announced
from paofed.simulate.spread.crew import Crew

if TYPE_CHECKING:
    from paofed.racing.record import Race
    from paofed.world.scenario import Scenario


def step_size(text: str) -> float | str:
    """Read a step size, or the word `auto`."""
    try:
        return text if text == AUTO else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor {AUTO}") from None


def asked(args: Namespace, words: Sequence[str]) -> list[str]:
    """Return the algorithms; with --step-size auto, each without a step size gets `auto`."""
    if args.step_size != AUTO:
        return list(words)
    return [_with_auto(word) for word in words]


def check(words: Sequence[str]) -> None:
    """Refuse words that are no algorithms before the long work."""
    for word in words:
        if not asks(word):
            from_text(word)


class Choice(NamedTuple):
    """The algorithms to run, and the races that chose their settings."""

    words: list[str]
    scenario: "Scenario"
    races: "list[Race]"


def chosen(words: Sequence[str], scenario: "Scenario", args: Namespace, crew: Crew) -> Choice:
    """Replace every `auto` by what wins a race."""
    from paofed.racing.record import lms_step

    races = {word: _raced(word, scenario, args, crew) for word in words if asks(word)}
    found = [races[word].winner if word in races else word for word in words]
    step = lms_step(list(races.values())) if args.step_size == AUTO else None
    if step is not None:  # for baselines, which take the scenario's step size
        scenario = scenario.model_copy(update={"step_size": step})
    # Two words may now be the same: one with a chosen value, the other with it given.
    return Choice(list(dict.fromkeys(found)) if races else found, scenario, list(races.values()))


def _with_auto(word: str) -> str:
    _, options = parted(word)
    return word if "step_size" in options else f"{word}{',' if options else ':'}step_size={AUTO}"


def _raced(word: str, scenario: "Scenario", args: Namespace, crew: Crew) -> "Race":
    from paofed.racing.race import RaceInterrupted, race

    with Progress(f"{word}, a race") as progress, announced(args.engine, say):
        try:
            return race(
                scenario,
                word,
                seed=args.seed,
                engine=args.engine,
                precision=args.precision,
                report=progress,
                **crew._asdict(),
            )
        except RaceInterrupted as interrupt:
            if interrupt.race is not None:
                say(str(interrupt.race))
            raise
