"""Collects the records of runs in the arrays of a result while they come in.

Every number is copied once to its final place, in whichever order the runs end.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.memory import require_memory
from paofed.simulate.results.outcome import RunRecord
from paofed.words import counted


class Gathering:
    """Arrays (R, A, ...) for all runs of some algorithms, filled by several engines in turns."""

    def __init__(self, runs: range, algorithms: int) -> None:
        self._runs, self._algorithms = runs, algorithms
        self._arrays: dict[str, NDArray[Any]] = {}
        self._given = np.zeros((len(runs), algorithms), dtype=bool)
        self._cpus: dict[int, set[str]] = {}

    def put(self, index: int, which: Sequence[int], record: RunRecord, cpu: str) -> None:
        """Take the record of run `index` for the algorithms `which`; `cpu` names the processor."""
        if not self._arrays:
            self._begin(record)
        row, columns = self._runs.index(index), list(which)
        for name, part in zip(RunRecord._fields, record, strict=True):
            array = self._arrays[name]
            kind = np.result_type(array.dtype, part.dtype)
            if kind != array.dtype:  # a type that holds both, as np.concatenate chooses it
                self._arrays[name] = array = array.astype(kind)
            array[row, columns] = part
        self._cpus.setdefault(index, set()).add(cpu)
        # This line is last, so that a Ctrl-C before it leaves out a run that was not copied whole.
        self._given[row, columns] = True

    def _begin(self, record: RunRecord) -> None:
        shape = len(self._runs), self._algorithms
        sizes = [part[0].nbytes if len(part) else 0 for part in record]
        require_memory(
            float(np.prod(shape)) * sum(sizes),
            f"the result of {counted(shape[0], 'run')} of {counted(shape[1], 'algorithm')}",
            "ask for fewer runs, or for fewer points of a curve (every)",
        )
        for name, part in zip(RunRecord._fields, record, strict=True):
            self._arrays[name] = np.empty((*shape, *part.shape[1:]), part.dtype)

    @property
    def finished(self) -> list[int]:
        """The runs that all algorithms have finished."""
        return [self._runs[row] for row in np.flatnonzero(self._given.all(axis=1))]

    def arrays(self, kept: Sequence[int]) -> dict[str, Any]:
        """Return the arrays of the runs in `kept`, by the names of RunRecord's fields."""
        if len(kept) == len(self._runs):
            return dict(self._arrays)
        rows = [self._runs.index(index) for index in kept]
        return {name: array[rows] for name, array in self._arrays.items()}

    def cpus(self, index: int) -> set[str]:
        """Return the types of processors that computed a run."""
        return self._cpus.get(index, set())
