"""Progressive validation: how well samples were predicted before anything was learned from them.

The device's model is the one that the device has when the sample arrives. The server's model is the
one of before that tick, as a newcomer would be given it. All learners are judged on the same
samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.errors import InputError, unknown
from paofed.simulate.results.estimates import Final, final
from paofed.simulate.results.places import divided
from paofed.words import ShapesShown

Names = NDArray[np.str_]
Whose = Literal["device", "server", "baseline"]
# The two models of an algorithm, in the order of the arrays.
MODELS: tuple[Whose, ...] = ("device", "server")
# How a newcomer begins, in the order of the arrays: with the server's whole model, or with zeros
# that windows replace one by one. "old" is no newcomer: the same device over the same time, having
# learned all along.
WAYS = ("whole", "windows", "old")
WITHOUT_LABELS = "device_db_without_labels"  # the key of an error in JSON


def learner_index(learners: Names, name: str, whose: Whose) -> int:
    """Return the index of a learner among `learners` (L, 2)."""
    known = [f"{n} ({w})" for n, w in learners.tolist()]
    if f"{name} ({whose})" not in known:
        raise InputError(unknown("learner", f"{name} ({whose})", known))
    return known.index(f"{name} ({whose})")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Progressive(ShapesShown):
    """Squared errors of L learners over R runs: P points of time, K devices."""

    learners: Names  # (L, 2): the name of an algorithm or baseline, and whose model predicted
    devices: Names  # (K,)
    errors: FloatArray  # (R, L, P), summed over the samples since the point before
    samples: IntArray  # (P,)
    device_errors: FloatArray  # (R, L, K), summed over the samples that count
    device_samples: IntArray  # (K,)
    with_labels: BoolArray | None = None  # (R, K): which devices have labels; None: all have

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines."""
        return [name for name, whose in self.learners.tolist() if whose == "baseline"]

    def run_finals(self, name: str, whose: Whose) -> FloatArray:
        """Return the mean squared error of every run over all samples that count, (R,)."""
        return divided(
            self.device_errors[:, self._index(name, whose)].sum(axis=-1), self.device_samples.sum()
        )

    def without_labels(self, name: str, whose: Whose) -> dict[str, float]:
        """Return the error in dB of devices without labels by its name in JSON, mean over runs.

        Nothing where all devices have labels, NaN where the others have no samples that count.
        """
        if self.with_labels is None:
            return {}
        errors = np.where(self.with_labels, 0.0, self.device_errors[:, self._index(name, whose)])
        samples = np.where(self.with_labels, 0, self.device_samples)
        mean = divided(errors.sum(axis=-1), samples.sum(axis=-1)).mean()
        return {WITHOUT_LABELS: float(decibels(mean))}

    def run_errors(self, name: str, whose: Whose) -> FloatArray:
        """Return every run's squared errors, summed since the point before each point: (R, P)."""
        return self.errors[:, self._index(name, whose)]

    def final(self, name: str, whose: Whose) -> Final:
        """Return the error over all samples that count in dB, with its standard error over runs."""
        return final(self.run_finals(name, whose))

    def curve_db(
        self, name: str, whose: Whose, begins: IntArray | Sequence[int] | None = None
    ) -> FloatArray:
        """Return the error since the point before in dB, mean over runs, (P,); NaN without samples.

        With `begins`, points are pooled: from each index in `begins` up to the next one.
        """
        errors, samples = self.run_errors(name, whose).mean(axis=0), self.samples
        if begins is not None:
            errors, samples = np.add.reduceat(errors, begins), np.add.reduceat(samples, begins)
        return decibels(divided(errors, samples))

    def until_db(self, name: str, whose: Whose) -> FloatArray:
        """Return the error on all samples until each point in dB, mean over runs, (P,)."""
        errors = self.run_errors(name, whose).mean(axis=0)
        return decibels(divided(errors.cumsum(), self.samples.cumsum()))

    def by_device_db(self, name: str, whose: Whose) -> FloatArray:
        """Return the error of every device in dB, mean over runs, (K,); NaN without samples."""
        mean = self.device_errors[:, self._index(name, whose)].mean(axis=0)
        return decibels(divided(mean, self.device_samples))

    def _index(self, name: str, whose: Whose) -> int:
        return learner_index(self.learners, name, whose)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LabelShares(ShapesShown):
    """Squared errors by device of the same L learners, with labels on other shares of the samples.

    They are summed over the same samples as those of the run itself.
    """

    shares: FloatArray  # (Q,), rising
    errors: FloatArray  # (R, L, K, Q)

    def judged(self, beside: Progressive) -> Iterator[tuple[float, Progressive]]:
        """Yield each share, with errors by device in the place of those of the run itself."""
        for place, share in enumerate(self.shares.tolist()):
            yield share, replace(beside, device_errors=self.errors[..., place])


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ColdStart(ShapesShown):
    """Squared errors of newcomers' own models, summed from the start of each newcomer on.

    There are R runs, A algorithms, S starts, K newcomers and H horizons.
    """

    algorithms: Names  # (A,)
    devices: IntArray  # (K,): the indices of the devices that joined
    starts: IntArray  # (S,) ticks
    horizons: IntArray  # (H,) ticks, rising
    errors: FloatArray  # (R, A, 3, S, K, H); the axis of 3 goes by WAYS
    alone: FloatArray  # (R, S, K, H): of newcomers without any contact
    last_value: FloatArray  # (S, K, H): of predicting what was measured last
    samples: IntArray  # (S, K, H)
    # (R, S, K, H): of predicting the last label that was known; None: all labels come at once.
    last_label: FloatArray | None = None

    @property
    def beside(self) -> dict[str, FloatArray]:
        """The errors of the baselines that newcomers are compared with, (..., S, K, H) each."""
        last = self.last_value if self.last_label is None else self.last_label
        return {"last value": last, "alone": self.alone}

    def independent(self, horizon: int) -> int:
        """Return how many of the starts share no sample over `horizon` ticks."""
        return 1 + int(self.starts[-1] - self.starts[0]) // horizon

    def by_start(self, errors: FloatArray) -> FloatArray:
        """Sum errors (..., S, K, H) over devices: (S, H), mean over runs."""
        over_devices = errors.sum(axis=-2)
        mean: FloatArray = over_devices.reshape(-1, *over_devices.shape[-2:]).mean(axis=0)
        return mean

    def by_start_db(self, errors: FloatArray) -> FloatArray:
        """Turn errors (..., S, K, H) into dB by start and horizon, over all devices and runs."""
        return decibels(divided(self.by_start(errors), self.samples.sum(axis=-2)))

    def pooled_db(self, errors: FloatArray) -> FloatArray:
        """Turn errors (..., S, K, H) into dB by horizon, over starts, devices and runs: (H,).

        NaN without samples, infinite where some diverged.
        """
        sums = self.by_start(errors).sum(axis=0)
        pooled = np.where(np.isnan(sums), np.inf, sums)
        return decibels(divided(pooled, self.samples.sum(axis=(0, 1))))

    def joined(self, name: str, way: str) -> FloatArray:
        """Return the errors (R, S, K, H) of newcomers to an algorithm's fleet, by one of WAYS."""
        a = self.algorithms.tolist().index(name)
        errors: FloatArray = self.errors[:, a, WAYS.index(way)]
        return errors
