"""What a fleet agrees on, as options of the command line: for a new fleet, and to change one."""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from typing import Any

from paofed.core.learners import AGREED
from paofed.errors import InputError
from paofed.live.protocol.change import Limits
from paofed.live.protocol.quantity import ManifestError, Quantity
from paofed.live.protocol.served import of_own, served_names, with_options

NUMBER = "NAME[:OFFSET:SCALE[:LOW:HIGH]]"
# What is added for numbers that are left out, by how many are given.
_LEFT_OUT = {0: ("0", "1", "", ""), 2: ("", ""), 4: ()}
_NONE = "none"


def _or_none(text: str) -> float | None:
    try:
        return None if text == _NONE else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor {_NONE}") from None


def _learner(text: str) -> str | None:
    return None if text == "lms" else text


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ArgumentTypeError(f"{text!r} is neither yes nor no")
    return text == "yes"


# By field of the manifest: the option, its type, its placeholder, and its meaning.
_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any], str, str]] = {
    "tick_seconds": (
        "--tick",
        float,
        "SECONDS",
        "length of a tick, in which a device contributes at most once",
    ),
    "algorithm": (
        "--algorithm",
        str,
        "METHOD",
        f"method of the fleet, with options after a colon: {', '.join(served_names())}",
    ),
    "method": (
        "--method",
        str,
        "FILE:NAME",
        (
            "in place of --algorithm, a method of one's own, with options after a colon; FILE is "
            "run, and kept in the fleet's folder; devices need the very same file"
        ),
    ),
    "shared": ("--shared", int, "M", "number of parameters that travel in a contact"),
    "step_size": ("--step-size", float, "MU", "step size of the devices' learning"),
    "max_age": (
        "--max-age",
        int,
        "L",
        "greatest age of an update that is used, in ticks, at most 200",
    ),
    "clip": (
        "--clip",
        _or_none,
        "C",
        (
            "how many times the fleet's usual distance from the model a message counts at most; "
            "none: in full"
        ),
    ),
    "aside": (
        "--aside",
        _yes,
        "yes|no",
        "with --clip: whether a device whose messages are too far away time and again counts less",
    ),
    "bound": (
        "--bound",
        _or_none,
        "B",
        "how many times a device's usual error an error counts at most; none: in full",
    ),
    "learner": ("--learner", _learner, "NAME", f"how devices learn: {', '.join(('lms', *AGREED))}"),
    "forgetting": (
        "--forgetting",
        _or_none,
        "F",
        (
            "share of the past that a learner other than lms keeps from sample to sample; none: "
            "the learner's usual share"
        ),
    ),
    "features": ("--features", int, "D", "number of features, the size of the model"),
    "kernel_width": (
        "--kernel-width",
        float,
        "S",
        "width of the Gaussian kernel, in scaled inputs",
    ),
    "seed": ("--seed", int, "S", "seed of the Fourier map"),
}


def add_agreement(parser: ArgumentParser, usual: Mapping[str, str]) -> None:
    """Declare the options; `usual` says what holds where an option is not given."""
    for name, (option, read, shown, meaning) in _OPTIONS.items():
        parser.add_argument(
            option,
            dest=name,
            type=read,
            default=SUPPRESS,
            metavar=shown,
            help=f"{meaning} ({usual[name]})" if name in usual else meaning,
        )


def given(args: Namespace) -> dict[str, Any]:
    """Return the values that were given, by option."""
    values = {name: getattr(args, name) for name in _OPTIONS if hasattr(args, name)}
    if values.keys() >= {"algorithm", "method"}:
        raise InputError("--algorithm and --method both name a method: give one of them")
    return values


def agreed(args: Namespace) -> dict[str, Any]:
    """Return the values that were given, by field of the manifest."""
    values = given(args)
    if "method" not in values:
        return with_options(values)
    return {**of_own(values.pop("method")), **values}


def quantity(text: str) -> Quantity:
    """Read one number of a sample."""
    name, *numbers = text.split(":")
    try:
        offset, scale, low, high = (*numbers, *_LEFT_OUT[len(numbers)])
        return Quantity(
            name=name, offset=float(offset), scale=float(scale), low=_limit(low), high=_limit(high)
        )
    except ManifestError as error:
        raise ArgumentTypeError(str(error)) from None
    except (ValueError, KeyError):
        raise ArgumentTypeError(f"{text!r} is not {NUMBER}") from None


def limits(text: str) -> tuple[str, Limits]:
    """Read the plausible range of a number; an empty limit means no limit."""
    try:
        name, low, high = text.rsplit(":", 2)
        return name, (_limit(low), _limit(high))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not NAME:LOW:HIGH") from None


def _limit(text: str) -> float | None:
    return float(text) if text else None
