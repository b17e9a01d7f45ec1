"""A file with methods of one's own, and a package that brings them, as people write them."""

from pathlib import Path

METHODS = """
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from paofed import Algorithm, algorithm
from paofed.core.parts import Channel, Learner, Part, draws

SLOWNESS = 0.5


class Calm(NamedTuple):
    w: np.ndarray
    steps: np.ndarray


def begin(features):
    return Calm(np.zeros(features), np.zeros(1))


def slower(mu, steps):
    return mu * SLOWNESS / (1 + steps[0] / 1000)


def learn(state, z, y, mu, tick):
    w = state.w + slower(mu, state.steps) * (y - state.w @ z) * z
    return Calm(w, state.steps + 1)


calm = replace(
    algorithm("pao-fed-u1"), name="known as calm", learner=Learner(init=begin, learn=learn)
)


def masked(*, keep=0.3, step_size=0.25):
    def send(w, memory, stamp):
        coordinates = np.flatnonzero(draws(stamp, w.size) < keep)
        return Part(coordinates, w[coordinates]), memory

    whole = algorithm("online-fedsgd", step_size=step_size)
    return replace(whole, uplink=Channel(send=send), learns_while_away=True)


def needy(*, every):
    return replace(calm, max_age=every)


def wide(shared=8):
    return algorithm("pao-fed-u1", shared=shared)


def odd():
    return 4


def fails(*, keep=1):
    return algorithm("pao-fed-u1", shared=1 // (keep - keep))
"""


def write_methods(folder: Path, name: str = "mine.py", more: str = "") -> Path:
    """Write the file, perhaps with more lines."""
    path = folder / name
    path.write_text(METHODS + more, encoding="utf-8")
    return path


def install(folder: Path, package: str, entries: dict[str, str], more: str = "") -> None:
    """Put a package with these entry points where `folder` on the path finds it installed."""
    home, about = folder / package, folder / f"{package}-1.2.dist-info"
    home.mkdir(parents=True)
    about.mkdir()
    (home / "__init__.py").touch()
    write_methods(home, "methods.py", more)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (about / "entry_points.txt").write_text("\n".join(["[paofed.algorithms]", *lines, ""]))
