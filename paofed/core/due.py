"""Labels that are rare or late: which samples have one, and when a device learns from it.

A device does nothing in a tick without a sample of its own. So a label that is there from some tick
on is learned at the device's first sample from that tick on. Engines and baselines ask here, and
nowhere else, what is learned when.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, IntArray


class SampleLabels(NamedTuple):
    """Which samples have a label, and by how many ticks the label is later than the sample."""

    given: BoolArray
    delay: IntArray  # ignored where no label is given

    def at(self, these: Any) -> "SampleLabels":
        """Return the labels of some samples."""
        return SampleLabels(self.given[these], self.delay[these])

    def if_any_lacks(self) -> "SampleLabels | None":
        """Return the labels, or None where every sample has its label at once."""
        usual = self.given.all() and not self.delay.any()
        return None if usual else self


class Due(NamedTuple):
    """From which samples a device learns at each of M samples, oldest first.

    At sample i it learns from the samples `sample[begin[i]:begin[i + 1]]`, of which the last may be
    sample i itself.
    """

    begin: IntArray  # (M + 1,)
    sample: IntArray  # (E,)

    def at(self, i: int) -> list[int]:
        """Return the samples whose labels are learned at sample i."""
        found: list[int] = self.sample[self.begin[i] : self.begin[i + 1]].tolist()
        return found

    def within(self, begin: int, end: int) -> "Due":
        """Return what is learned at the samples from `begin` up to `end`, counted from 0 on."""
        place = self.begin[begin : end + 1]
        return Due(place - place[0], self.sample[place[0] : place[-1]])

    def turns(self, samples: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield what is learned first at each of some samples, then what is second, and so on.

        That is where these are among `samples`, and the indices of what is learned in `sample`.
        """
        begin = self.begin[samples]
        counts = self.begin[samples + 1] - begin
        for turn in range(int(counts.max(initial=0))):
            which = np.flatnonzero(counts > turn)
            yield which, begin[which] + turn


def due_of(tick: IntArray, client: IntArray, labels: SampleLabels | None) -> Due:
    """Return what is learned at each of M samples; None: each sample's label is there at once.

    The samples of a client are in order of ticks. A label that comes after the client's last sample
    is never learned.
    """
    count = tick.size
    if labels is None:
        return Due(np.arange(count + 1), np.arange(count))
    beyond = int(tick.max(initial=0)) + 1  # a tick after all samples
    order = np.lexsort((tick, client))
    keys = (client * (beyond + 1) + tick)[order]
    label = np.flatnonzero(labels.given)
    since = tick[label] + np.minimum(labels.delay[label], beyond - tick[label])
    place = np.searchsorted(keys, client[label] * (beyond + 1) + since)
    at = np.append(order, -1)[place]
    in_time = (at >= 0) & (client[at] == client[label])
    at, label = at[in_time], label[in_time]
    sorted_by = np.lexsort((label, at))
    return Due(np.searchsorted(at[sorted_by], np.arange(count + 1)), label[sorted_by])
