"""Where methods of one's own take their samples: drawn a few ticks at a time, or from a list."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast import kernels, layout
from paofed.simulate.engines.fast.compiling import entry_of
from paofed.simulate.engines.fast.nature import moment, samples_of
from paofed.simulate.engines.fast.own.kernels import Stretch
from paofed.simulate.engines.fast.records import Nature, Observed
from paofed.world.trace import SparseTrace

# How many numbers of mapped samples stay in the cache until all methods have learned them.
_IN_CACHE = 1 << 19
# The most ticks of a list at a time: each tick looks through the messages on their way.
_MOST_TICKS = 512


class SampleSource(Protocol):
    """Samples of a run, in order of ticks."""

    def reach(self, begin: int, end: int) -> int:
        """Return up to which tick, at most `end`, samples can be taken at once."""
        ...

    def samples(self, begin: int, end: int) -> tuple[Stretch, FloatArray]:
        """Return the samples of the ticks from `begin` up to `end`, and their lottery numbers."""
        ...


class Drawn:
    """Samples of a world, drawn inside the kernels."""

    def __init__(
        self, nature: Nature, fourier_map: FourierMap, clients: int, precision: Precision
    ) -> None:
        inputs, features = len(fourier_map.frequencies), fourier_map.features
        self._nature, self._moment = nature, moment(1, clients, inputs, 1)
        self._map = layout.mapping(fourier_map, precision)
        self._out = _observed(clients, features, self._moment.x.shape[2])
        self._mapped = np.zeros((self._out.y.size, features), dtype=precision)
        self._z = self._mapped.astype(np.float64, copy=False)
        self._entry: Callable[..., int] | None = None

    def reach(self, begin: int, end: int) -> int:
        """Return as many ticks as there is room for within one stretch of the kernels."""
        ticks = len(self._out.begin) - 1
        return min(end, begin + ticks - begin % ticks)

    def samples(self, begin: int, end: int) -> tuple[Stretch, FloatArray]:
        """Draw and map the samples."""
        out = self._out
        arguments = self._nature, self._moment, begin, end, out
        if self._entry is None:
            self._entry = entry_of(kernels.observe, *arguments)
        count = self._entry(*arguments)
        kernels.mapped(out.x[:count], *self._map, self._mapped[:count])
        if self._z is not self._mapped:
            self._z[:count] = self._mapped[:count]
        samples = Stretch(
            first=begin,
            place=0,
            begin=out.begin[: end - begin + 1],
            client=out.client[:count],
            z=self._z[:count],
            due=np.arange(count + 1),
            due_z=self._z[:count],
            due_y=out.y[:count],
            truth=out.y[:count],
            joins=out.available[:count],
            age=out.delay[:count],
            lost_up=out.lost_up[:count],
            lost_down=out.lost_down[:count],
        )
        return samples, out.lottery[:count]


class Listed:
    """Samples of a trace."""

    def __init__(self, trace: SparseTrace, precision: Precision) -> None:
        self._trace, self._map = trace, layout.mapping(trace.fourier_map, precision)
        padding = (0, 0), (0, -trace.x.shape[1] % kernels.GROUP)
        self._x, self._rows = np.pad(trace.x, padding), samples_of(trace)
        self._client = layout.laid_out(trace.client, np.int64)

    def reach(self, begin: int, end: int) -> int:
        """Return as many ticks as have samples that stay in the cache, but at least one."""
        tick, most = self._trace.tick, max(1, _IN_CACHE // self._trace.features)
        beyond = int(np.searchsorted(tick, begin)) + most
        full = int(tick[beyond]) if beyond < tick.size else end
        return min(end, begin + _MOST_TICKS, max(full, begin + 1))

    def samples(self, begin: int, end: int) -> tuple[Stretch, FloatArray]:
        """Read and map the samples."""
        now, ticks = self._trace.between(begin, end), np.arange(begin, end + 1)
        z, due = self._mapped(self._x[now]), self._trace.due.within(now.start, now.stop)
        at_once = self._trace.labels is None
        rows = {name: values[now] for name, values in self._rows.items()}
        samples = Stretch(
            first=begin,
            place=now.start,
            begin=np.searchsorted(self._trace.tick[now], ticks),
            client=self._client[now],
            z=z,
            due=due.begin,
            due_z=z if at_once else self._mapped(self._x[due.sample]),
            due_y=rows["y"] if at_once else self._rows["y"][due.sample],
            truth=rows["truth"],
            joins=rows["available"],
            age=rows["delay"],
            lost_up=rows["lost_up"],
            lost_down=rows["lost_down"],
        )
        return samples, rows["lottery"]

    def _mapped(self, x: FloatArray) -> FloatArray:
        z = np.empty((len(x), self._trace.features), dtype=self._map[0].dtype)
        kernels.mapped(x, *self._map, z)
        return z.astype(np.float64, copy=False)


def _observed(clients: int, features: int, inputs: int) -> Observed:
    """Return room for the samples of a few ticks in a row: as many as stay in the cache."""
    ticks = next(t for t in (8, 4, 2, 1) if t == 1 or t * clients * features <= _IN_CACHE)
    most = ticks * clients
    return Observed(
        begin=np.zeros(ticks + 1, dtype=np.int64),
        place=np.zeros((ticks, clients), dtype=np.int64),
        client=np.zeros(most, dtype=np.int64),
        x=np.zeros((most, inputs)),
        y=np.zeros(most),
        available=np.zeros(most, dtype=np.uint8),
        delay=np.zeros(most, dtype=np.int64),
        lottery=np.zeros(most),
        lost_up=np.zeros(most, dtype=np.uint8),
        lost_down=np.zeros(most, dtype=np.uint8),
    )
