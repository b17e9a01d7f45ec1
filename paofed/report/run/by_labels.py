"""What contacts are worth to devices with labels, and what to devices without.

A device that has labels may learn alone. One that has none can keep the fit of the calibration
period, or repeat a value of that time, and do no more: the rival of its contacts is the best of the
ways that learn nothing. Beside both stands the pooled fit: what all readings at one place would
know from the same labels.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.report.shared.looks import rank
from paofed.simulate.results.estimates import Estimate, pooled_gain
from paofed.simulate.results.progressive import Progressive, Whose
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import ALONE, POOLED, UNTAUGHT
from paofed.simulate.table.learners_alone import kind_of
from paofed.world.labels import Labels

Whom = Literal["with labels", "without labels"]


class BestBeside(NamedTuple):
    """The best of some learners, and what a method gains over it."""

    name: str  # empty where none of them was judged
    db: float
    gain: Estimate  # dB, paired over devices; below 0 the method is worse


class Worth(NamedTuple):
    """How one method fared on the devices that have labels, or on those that have none."""

    name: str
    whom: Whom
    devices: int
    db: float  # the error of the models on these devices
    alone: BestBeside  # the best way of being alone that such a device has
    pooled: BestBeside  # the better of the batch fits
    first: BestBeside  # the first of the methods, perhaps this one


class AtShare(NamedTuple):
    """How one method fared with labels on a share of the samples."""

    share: float
    worth: Worth


def by_label_share(result: TableResult) -> Iterator[AtShare]:
    """Yield the same as `by_labels` for every share of labels that was tried."""
    if result.label_shares is not None:
        for share, judged in result.label_shares.judged(result.progressive):
            for worth in by_labels(judged):
                yield AtShare(share, worth)


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.025)
    '2.5 %'
    """
    return f"{100 * share:.4g} %"


def law_in_words(result: TableResult) -> str:
    """Say which samples of a run had labels; nothing where every sample had one at once."""
    scenario, table = result.provenance["scenario"], result.provenance["table"]
    if (law := scenario.get("labels")) is None:
        return ""
    holders = result.progressive.with_labels
    some = "" if holders is None else f"{holders[0].sum():,} of {holders.shape[1]:,} devices"
    tick = table["tick"] if table["calendar"] else None
    return Labels.model_validate(law).in_words(tick, some)


def by_labels(judged: Progressive) -> Iterator[Worth]:
    """Yield what every method is worth to devices with labels, then to those without, if any."""
    for whom, chosen in _kinds(judged).items():
        errors = _Errors.of(judged, chosen)
        ways = ALONE if whom == "with labels" else UNTAUGHT
        methods = [name for name, whose in judged.learners.tolist() if whose == "device"]
        for name in methods if errors.devices else []:
            yield Worth(
                name,
                whom,
                errors.devices,
                errors.db(name, "device"),
                errors.beside(name, ways),
                errors.beside(name, POOLED),
                errors.over(methods[0], "device", name),
            )


def _kinds(judged: Progressive) -> Mapping[Whom, BoolArray]:
    """Return which devices are of each kind in every run, (R, K) each."""
    if judged.with_labels is None:
        shape = judged.device_errors.shape
        return {"with labels": np.ones((shape[0], shape[2]), dtype=bool)}
    return {"with labels": judged.with_labels, "without labels": ~judged.with_labels}


class _Errors(NamedTuple):
    """Squared errors of all learners by device, summed over the runs in which it is of a kind."""

    squared: Mapping[tuple[str, Whose], FloatArray]
    samples: IntArray  # of the devices that have any in such runs

    @classmethod
    def of(cls, judged: Progressive, chosen: BoolArray) -> "_Errors":
        samples = judged.device_samples * chosen.sum(axis=0)
        there = samples > 0
        with np.errstate(over="ignore", invalid="ignore"):  # of a learner that diverged
            squared = np.where(chosen[:, None], judged.device_errors, 0.0).sum(axis=0)[:, there]
        learners = [(name, whose) for name, whose in judged.learners.tolist()]
        return cls(dict(zip(learners, squared, strict=True)), samples[there])

    @property
    def devices(self) -> int:
        return self.samples.size

    def db(self, name: str, whose: Whose) -> float:
        return float(decibels(self.squared[name, whose].sum() / self.samples.sum()))

    def beside(self, name: str, kinds: Collection[str]) -> BestBeside:
        """Return the best baseline of some kinds, and what a method gains over it."""
        sums = {
            learner: rank(float(squared.sum()))
            for (learner, whose), squared in self.squared.items()
            if whose == "baseline" and kind_of(learner) in kinds
        }
        if not sums:
            nothing = Estimate(np.nan, np.nan, np.nan, self.devices)
            return BestBeside("", np.nan, nothing)
        best = min(sums, key=lambda learner: sums[learner])
        return self.over(best, "baseline", name)

    def over(self, rival: str, whose: Whose, name: str) -> BestBeside:
        """Return one learner, and what a method gains over it."""
        gain = pooled_gain(self.squared[rival, whose], self.squared[name, "device"])
        return BestBeside(rival, self.db(rival, whose), gain)
