"""Who is compared, and what each may choose: equally many candidates for all."""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

from paofed.errors import InputError, unknown

SEARCH = 24  # candidates of every entrant
Axes = Mapping[str, tuple[object, ...]]


class Entrant(NamedTuple):
    """A method, and the options that are chosen for it; None leaves an option out."""

    word: str
    axes: Axes

    def candidates(self) -> list[str]:
        """All settings that are tried, as words.

        >>> Entrant("pao-fed-u1", {"shared": (None, 8)}).candidates()
        ['pao-fed-u1', 'pao-fed-u1:shared=8']
        """
        choices = product(*self.axes.values())
        return [_said(self.word, dict(zip(self.axes, one, strict=True))) for one in choices]


def _said(word: str, values: Mapping[str, object]) -> str:
    pairs = [f"{key}={value}" for key, value in values.items() if value is not None]
    return word if not pairs else f"{word}{',' if ':' in word else ':'}{','.join(pairs)}"


_STEPS: Axes = {"step_size": (0.2, 0.5, 1.0)}
_AGES: Axes = {"staleness": (1.0, 0.2)}
_WIDTHS: Axes = {"shared": (1, 4, 16, 64)}
_WIDTHS_OR_WHOLE: Axes = {"shared": (None, 4, 16, 64)}
_PICKED: Axes = {"subset": (0.02, 0.1, 0.3, 0.6)}

LINEUP: Mapping[str, Entrant] = {
    # The paper's family: uncoordinated, coordinated, with a subset, and whole models.
    "pao-fed-u": Entrant("pao-fed-u1", {**_WIDTHS, **_STEPS, **_AGES}),
    "pao-fed-c": Entrant("pao-fed-c1", {**_WIDTHS, **_STEPS, **_AGES}),
    "pso-fed": Entrant("pso-fed", {"shared": (4, 32), "subset": (0.1, 0.3), **_STEPS, **_AGES}),
    "online-fed": Entrant("online-fed", {**_PICKED, **_STEPS, **_AGES}),
    "online-fedsgd": Entrant(
        "online-fedsgd",
        {"step_size": (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2), "staleness": (1.0, 0.5, 0.2)},
    ),
}
PAO_FED = ("pao-fed-u", "pao-fed-c")  # what others are held against


def entrants_of(names: str | None) -> dict[str, Entrant]:
    """Choose entrants by name, with commas; None: all of them.

    PAO-Fed is always among them: others are held against it.
    """
    chosen = list(LINEUP) if names is None else [*PAO_FED, *names.split(",")]
    for name in chosen:
        if name not in LINEUP:
            raise InputError(unknown("entrant", name, LINEUP))
    return {name: LINEUP[name] for name in LINEUP if name in chosen}
