"""The small fleet of a rehearsal, picked by the seed."""

from dataclasses import replace

import numpy as np

from lab.rehearsal.fate import START
from paofed.core.learners import AGREED
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity

# What fleets follow in rehearsals: the paper's rows, a published server, windows of few bits.
WHOLE, UNBOUNDED, FEW_BITS = "online-fedsgd", "fed-async", "quantised"
ROWS = ("pao-fed-c1", "pao-fed-u1", "pao-fed-c2", "pao-fed-u2", WHOLE)
METHODS = (*ROWS, FEW_BITS, UNBOUNDED)
MOST_TICKS_LATE = 6  # the highest age limit of these fleets


def picked(random: np.random.Generator) -> Manifest:
    """Return the manifest of a fleet."""
    name = ROWS[int(random.integers(len(ROWS)))]
    features = int(random.integers(3, 9))
    manifest = Manifest(
        algorithm=name,
        features=features,
        shared=features if name == WHOLE else int(random.integers(1, features + 1)),
        kernel_width=1.0,
        seed=int(random.integers(2**32)),
        step_size=0.5,
        max_age=int(random.integers(1, MOST_TICKS_LATE + 1)),
        tick_seconds=1.0,
        start=START,
        epoch=int(random.integers(256)),
        inputs=(Quantity(name="a"), Quantity(name="b", offset=0.5, scale=2.0)),
        target=Quantity(name="y"),
    )
    limited = manifest if random.random() < 0.5 else _limited(manifest)
    bounded = replace(
        _learning(limited),
        clip=float(random.uniform(1, 8)) if random.random() < 0.5 else None,
        aside=bool(random.random() < 0.7),
        bound=float(random.uniform(1, 8)) if random.random() < 0.5 else None,
    )
    return _few_bits(_unbounded(bounded))


def _limited(manifest: Manifest) -> Manifest:
    """Return the manifest with plausible ranges."""
    inputs = tuple(number.limited() for number in manifest.inputs)
    return replace(manifest, inputs=inputs, target=manifest.target.limited())


def _learning(manifest: Manifest) -> Manifest:
    """Return the manifest with one of the learners, LMS in half of the fleets.

    The learner is drawn from the manifest's seed, so that all other choices of a rehearsal stay.
    """
    own = np.random.default_rng(manifest.seed)
    learner = None if own.random() < 0.5 else AGREED[int(own.integers(len(AGREED)))]
    forgets = learner is not None and own.random() < 0.5
    return replace(
        manifest, learner=learner, forgetting=float(own.uniform(0.5, 1)) if forgets else None
    )


def _unbounded(manifest: Manifest) -> Manifest:
    """Return the manifest, for a quarter of the fleets with a published server, by its seed."""
    own = np.random.default_rng([manifest.seed, 1])
    if own.random() < 0.75:
        return manifest
    options = {"alpha": float(own.uniform(0.1, 1)), "decay": float(own.uniform(0, 2))}
    return replace(manifest, algorithm=UNBOUNDED, options=options, clip=None)


def _few_bits(manifest: Manifest) -> Manifest:
    """Return the manifest, for a quarter of the paper's rows with fewer bits, by its seed."""
    own = np.random.default_rng([manifest.seed, 2])
    if manifest.algorithm == UNBOUNDED or own.random() < 0.75:
        return manifest
    options = {"bits": int(own.integers(2, 17)), "down_bits": int(own.choice([4, 8, 32]))}
    return replace(manifest, algorithm=FEW_BITS, options=options)
