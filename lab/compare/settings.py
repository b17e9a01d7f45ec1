"""Where methods are compared, each setting a scenario, and how much of a comparison is run.

Help texts name both without what runs it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from paofed.errors import InputError
from paofed.world.names import PRESETS

if TYPE_CHECKING:  # names of settings can be offered without what scenarios need
    from paofed.world.scenario import Scenario


class Extent(NamedTuple):
    """How much is run: worlds of each round of the search, and of the judgement."""

    rounds: tuple[int, ...]
    runs: int

    @property
    def halved(self) -> "Extent":
        """Return about half of this: one round, and half of the worlds of the judgement."""
        return Extent(self.rounds[:1], max(2, self.runs // 2))


FULL = Extent((2, 2), 12)
QUICK = Extent((2,), 2)


# How each setting differs from the paper's Setting I.
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    # Half of the messages are lost, in either direction.
    "heavy-loss": {"loss": {"up": 0.5, "down": 0.5}},
    # The target changes at once, twice.
    "drift": {"drifts": (700, 1400)},
    # From a quarter of the run on, one sensor in twenty repeats its last value, and one device in
    # twenty sends random numbers.
    "faults": {
        "faults": (
            {"kind": "stuck", "clients": 0.05, "start": 500},
            {"kind": "garbage", "clients": 0.05, "start": 500, "size": 1.0},
        )
    },
}
# Everybody is in contact at every tick, so that a run takes as long as six others, and worlds
# differ least: half as many worlds are enough.
COSTLY = ("ideal",)
USUAL = ("setting-1", "setting-2", "ideal", *_CHANGES, "air-quality")


def setting_of(name: str) -> "Scenario":
    """Return the scenario of a setting by name, or of a file of one's own."""
    from paofed.world.scenario import Scenario, scenario_of

    if name not in _CHANGES:
        try:
            return scenario_of(name)
        except InputError as error:
            known = ", ".join(dict.fromkeys((*USUAL, *PRESETS)))
            raise InputError(f"{error}; settings of the comparison: {known}") from None
    values = Scenario.load("setting-1").model_dump()
    changes = dict(_CHANGES[name])
    values["stream"]["drifts"] = changes.pop("drifts", ())
    return Scenario.made({**values, **changes, "name": name}, name)
