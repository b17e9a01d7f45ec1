"""What is the matter with a fleet, in a sentence that comes first, and in a few lines."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from paofed.live.server.judgement import KINDS
from paofed.live.server.status import DeviceStatus, Status
from paofed.words import counted

WELL, LOOK, PROBLEM, DOWN = "well", "look", "problem", "down"
_LITTLE = 1.0  # dB from what is usual that count as usual
_NAMES = {  # words for the kinds of trouble, as they stand behind a number
    "aside": "set aside",
    "implausible": "with implausible samples",
    "worse": "far worse than the others",
    "refused": "refused",
    "silent": "silent",
}


class Verdict(NamedTuple):
    """How the fleet is, from WELL to DOWN, and what is to be said."""

    level: str
    words: str
    lines: tuple[str, ...]


def verdict(status: Status) -> Verdict:
    """Return what an operator should know first."""
    present = [d for d in status.devices if d.standing not in ("removed", "quarantined")]
    state = _sentence(f"{_heard(present)}, {_error(status)}")
    if status.service is None:
        words = "Nobody serves this fleet. This is what its folder says."
        return Verdict(DOWN, words, (state, *status.problems, *status.attention))
    if status.problems:
        first, *others = status.problems
        return Verdict(PROBLEM, _sentence(first), (state, *others, *status.attention))
    if status.attention:
        return Verdict(LOOK, f"{_who(status, present)} {state}", status.attention)
    if not present:
        return Verdict(WELL, "This fleet has no devices yet: `paofed fleet add` makes some.", ())
    return Verdict(WELL, f"All is well: {state[0].lower()}{state[1:]}", ())


def _who(status: Status, present: Sequence[DeviceStatus]) -> str:
    """Say how many devices somebody should look at, and what for."""
    if status.quiet_since is not None:
        return "No device at all is heard, for longer than is usual."
    faulty = [device for device in present if device.faults]
    if not faulty:  # nobody is named: it was many at once
        return "Many devices changed at the same time."
    kinds = Counter(fault.kind for device in faulty for fault in device.faults)
    named = ", ".join(f"{kinds[kind]:,} {_NAMES[kind]}" for kind in KINDS if kinds[kind])
    need = "needs" if len(faulty) == 1 else "need"
    return f"{counted(len(faulty), 'device')} {need} somebody to look: {named}."


def _heard(present: Sequence[DeviceStatus]) -> str:
    """Say how many devices are heard."""
    kinds = [{fault.kind for fault in device.faults} for device in present]
    never = sum(device.last_seen is None for device in present)
    lost = sum("silent" in its for its in kinds)
    heard = len(present) - never - lost
    some = "all" if heard == len(present) else f"{heard:,} of"
    said = f"{some} {counted(len(present), 'device')} {'is' if heard == 1 else 'are'} heard"
    return f"{said}, {never:,} never joined" if never else said


def _error(status: Status) -> str:
    error = status.error
    if error is None:
        return "and none has said yet how well it predicts"
    now, usual = status.in_unit(error.now), status.in_unit(error.usual)
    as_usual = abs(error.now - error.usual) < _LITTLE
    return f"error {now}, as usual" if as_usual else f"error {now}, usually {usual}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
