"""Progressive validation: how well samples were predicted before anything was learned from them.

The device's model is the one it has when the sample arrives; the server's is the one of before that
tick, as a newcomer would be given it. All learners are judged on the same samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.errors import InputError, unknown
from paofed.simulate.results.places import divided
from paofed.simulate.results.statistics import Final, final
from paofed.words import ShapesShown

Names = NDArray[np.str_]
Whose = Literal["device", "server", "baseline"]
MODELS: tuple[Whose, ...] = ("device", "server")  # of an algorithm, in the order of the arrays
# How a newcomer begins, likewise: with the server's whole model, or with zeros and then window by
# window. The last is no newcomer: the same device over the same time, having learned all along.
WAYS = ("whole", "windows", "old")


def learner_index(learners: Names, name: str, whose: Whose) -> int:
    """Where a learner stands among others (L, 2)."""
    known = [f"{n} ({w})" for n, w in learners.tolist()]
    if f"{name} ({whose})" not in known:
        raise InputError(unknown("learner", f"{name} ({whose})", known))
    return known.index(f"{name} ({whose})")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Progressive(ShapesShown):
    """Squared errors of L learners over R runs: P points of time, K devices."""

    learners: Names  # (L, 2): the name of an algorithm or baseline, and whose model predicted
    devices: Names  # (K,)
    errors: FloatArray  # (R, L, P), summed over the samples since the last point
    samples: IntArray  # (P,)
    device_errors: FloatArray  # (R, L, K), summed over the samples that count
    device_samples: IntArray  # (K,)

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines."""
        return [name for name, whose in self.learners.tolist() if whose == "baseline"]

    def run_finals(self, name: str, whose: Whose) -> FloatArray:
        """The mean squared error of every run over all samples that count, (R,)."""
        return divided(
            self.device_errors[:, self._index(name, whose)].sum(axis=-1), self.device_samples.sum()
        )

    def run_errors(self, name: str, whose: Whose) -> FloatArray:
        """The squared errors of every run, summed over the samples since the last point, (R, P)."""
        return self.errors[:, self._index(name, whose)]

    def final(self, name: str, whose: Whose) -> Final:
        """The final error in dB, over runs."""
        return final(self.run_finals(name, whose))

    def curve_db(
        self, name: str, whose: Whose, begins: IntArray | Sequence[int] | None = None
    ) -> FloatArray:
        """The error since the last point in dB, mean over runs, (P,); NaN without samples.

        With `begins`, points are pooled, from each of these (by index) up to the next.
        """
        errors, samples = self.run_errors(name, whose).mean(axis=0), self.samples
        if begins is not None:
            errors, samples = np.add.reduceat(errors, begins), np.add.reduceat(samples, begins)
        return decibels(divided(errors, samples))

    def until_db(self, name: str, whose: Whose) -> FloatArray:
        """The error on all samples until each point in dB, mean over runs, (P,)."""
        errors = self.run_errors(name, whose).mean(axis=0)
        return decibels(divided(errors.cumsum(), self.samples.cumsum()))

    def by_device_db(self, name: str, whose: Whose) -> FloatArray:
        """The error of every device in dB, mean over runs, (K,); NaN without samples."""
        mean = self.device_errors[:, self._index(name, whose)].mean(axis=0)
        return decibels(divided(mean, self.device_samples))

    def _index(self, name: str, whose: Whose) -> int:
        return learner_index(self.learners, name, whose)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ColdStart(ShapesShown):
    """Squared errors of newcomers, summed from their start on: R runs, S starts, K newcomers.

    A counts the algorithms, H the horizons. Errors are those of the newcomer's own model.
    """

    algorithms: Names  # (A,)
    devices: IntArray  # (K,): who joined, by index
    starts: IntArray  # (S,) ticks
    horizons: IntArray  # (H,) ticks, rising
    errors: FloatArray  # (R, A, 3, S, K, H), by the ways
    alone: FloatArray  # (R, S, K, H): without any contact
    last_value: FloatArray  # (S, K, H): repeating what was measured last
    samples: IntArray  # (S, K, H)

    @property
    def beside(self) -> dict[str, FloatArray]:
        """What newcomers are held against, (..., S, K, H) each."""
        return {"last value": self.last_value, "alone": self.alone}

    def independent(self, horizon: int) -> int:
        """How many of the starts share no sample over a horizon, in ticks."""
        return 1 + int(self.starts[-1] - self.starts[0]) // horizon

    def by_start(self, errors: FloatArray) -> FloatArray:
        """Errors (..., S, K, H) by start and horizon, (S, H): of all devices, mean over runs."""
        over_devices = errors.sum(axis=-2)
        mean: FloatArray = over_devices.reshape(-1, *over_devices.shape[-2:]).mean(axis=0)
        return mean

    def by_start_db(self, errors: FloatArray) -> FloatArray:
        """Errors (..., S, K, H) in dB by start and horizon, all devices and runs pooled: (S, H)."""
        return decibels(divided(self.by_start(errors), self.samples.sum(axis=-2)))

    def pooled_db(self, errors: FloatArray) -> FloatArray:
        """Errors (..., S, K, H) in dB by horizon, all starts, devices and runs pooled: (H,).

        NaN without samples, infinite where some diverged.
        """
        sums = self.by_start(errors).sum(axis=0)
        pooled = np.where(np.isnan(sums), np.inf, sums)
        return decibels(divided(pooled, self.samples.sum(axis=(0, 1))))

    def joined(self, name: str, way: str) -> FloatArray:
        """The errors (R, S, K, H) of newcomers to an algorithm's fleet."""
        a = self.algorithms.tolist().index(name)
        errors: FloatArray = self.errors[:, a, WAYS.index(way)]
        return errors

    def joined_db(self, name: str, way: str) -> FloatArray:
        """The same in dB by start and horizon: (S, H)."""
        return self.by_start_db(self.joined(name, way))
