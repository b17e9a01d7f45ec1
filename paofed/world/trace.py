"""Trace: one run's nature, realised as arrays that anyone's program can be fed."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from paofed.archives import load_arrays, save_arrays
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.due import Due, SampleLabels, due_of
from paofed.core.features import FourierMap, Ranges, linear_terms
from paofed.core.parts import Calibration
from paofed.errors import TraceError
from paofed.forms import Contents, Form
from paofed.words import ShapesShown

TRACE = Contents(
    arrays={
        "x": Form("f", "NKd"),
        "y": Form("f", "NK"),
        "has_data": Form("b", "NK"),
        "available": Form("b", "NK"),
        "delay": Form("iu", "NK"),
        "lottery": Form("f", "NK"),
        "frequencies": Form("f", "dD"),
        "phases": Form("f", "D"),
        "x_test": Form("f", "Td"),
        "y_test": Form("f", "T"),
    },
    optional=(
        {"drifts": Form("iu", "E"), "y_test_drifted": Form("f", "ET")},  # where the target changes
        {"drift_ticks": Form("iu", "E")},
        {"lost_up": Form("b", "NK")},
        {"lost_down": Form("b", "NK")},
        {"linear_low": Form("f", "d"), "linear_high": Form("f", "d")},  # ranges of linear terms
        {"start": Form("f", "P")},
        {"newcomers_whole": Form("b", "1")},
        {"personal": Form("b", "1")},
        {"labelled": Form("b", "NK")},
        {"label_delay": Form("iu", "NK")},
    ),
    sizes={
        "N": "ticks",
        "K": "clients",
        "d": "inputs",
        "D": "features",  # Fourier features; linear terms are not counted
        "P": "parameters",
        "T": "test samples",
        "E": "drifts",
    },
)
# These arrays are written only if some entry is not 0 or false.
_WHERE_USED = (
    *("drift_ticks", "lost_up", "lost_down", "start", "newcomers_whole", "personal"),
    "label_delay",
)
_ALWAYS_NUMBERS = (  # arrays whose entries must be numbers also where there is no sample
    "frequencies",
    "phases",
    "linear_low",
    "linear_high",
    "x_test",
    "y_test",
    "y_test_drifted",
    "start",
)
_DTYPES = {"b": np.bool_, "iu": np.int64, "f": np.float64}  # the types in which engines compute


NOTHING_LOST: BoolArray = np.zeros((0, 0), dtype=np.bool_)
NO_DELAYS: IntArray = np.zeros((0, 0), dtype=np.int64)


class Losses(NamedTuple):
    """Which messages of all ticks and clients never arrive, (N, K) each."""

    up: BoolArray  # the message that a client sends
    down: BoolArray  # what the server shares, or its answer to the client's message


class Targets(NamedTuple):
    """The targets of one test set, which change at the drifts."""

    drifts: IntArray  # (E,), ticks; the samples from each of them on have another target
    y: FloatArray  # (E + 1, T), at the start and after each drift
    # (E,), how many ticks each drift takes: its i-th tick sees i / takes of the change
    takes: IntArray

    def progress(self, ticks: int | IntArray) -> tuple[IntArray, FloatArray]:
        """Return how many drifts have begun at each tick, and how much of the last one is done."""
        seen = np.searchsorted(self.drifts, ticks, side="right")
        # Before the first drift, the result is that of a drift which is done.
        begins, takes = np.append(0, self.drifts), np.append(1, np.maximum(self.takes, 1))
        return seen, np.minimum((ticks + 1 - begins[seen]) / takes[seen], 1.0)

    def at(self, ticks: int | IntArray) -> FloatArray:
        """Return the targets at one tick, (T,), or at several, (n, T)."""
        seen, done = self.progress(ticks)
        return blend(self.y[np.maximum(seen - 1, 0)], self.y[seen], done[..., None])


def blend(old: FloatArray, new: FloatArray, done: FloatArray) -> FloatArray:
    """Mix two targets: `done` 0 is exactly `old`, 1 is exactly `new`."""
    return (1 - done) * old + done * new


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trace(ShapesShown):
    """Everything that happens to N ticks of K clients, whatever algorithm they run.

    The arrays are checked when the trace is made; see docs/notation.md for their meaning.
    """

    x: FloatArray  # (N, K, d)
    y: FloatArray  # (N, K)
    has_data: BoolArray  # (N, K)
    available: BoolArray  # (N, K); implies has_data
    delay: IntArray  # (N, K); age on arrival of the message sent at this tick
    lottery: FloatArray  # (N, K) in [0, 1); for server-side picking
    frequencies: FloatArray  # (d, D)
    phases: FloatArray  # (D,)
    x_test: FloatArray  # (T, d)
    y_test: FloatArray  # (T,), at the start
    drifts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (E,)
    y_test_drifted: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (E, T)
    drift_ticks: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (E,)
    lost_up: BoolArray = field(default_factory=lambda: NOTHING_LOST)  # (N, K)
    lost_down: BoolArray = field(default_factory=lambda: NOTHING_LOST)  # (N, K)
    linear_low: FloatArray = field(default_factory=lambda: np.zeros(0))  # (d,)
    linear_high: FloatArray = field(default_factory=lambda: np.zeros(0))  # (d,)
    start: FloatArray = field(default_factory=lambda: np.zeros(0))  # (P,), P = features of the map
    newcomers_whole: BoolArray = field(default_factory=lambda: np.zeros(1, dtype=bool))  # (1,)
    personal: BoolArray = field(default_factory=lambda: np.zeros(1, dtype=bool))  # (1,)
    labelled: BoolArray = field(default_factory=lambda: NOTHING_LOST)  # (N, K)
    label_delay: IntArray = field(default_factory=lambda: NO_DELAYS)  # (N, K)

    def __post_init__(self) -> None:
        arrays = {name: np.asarray(getattr(self, name)) for name in TRACE.known}
        given = self._given()
        wrong = TRACE.misnamed(given) or TRACE.misshapen({name: arrays[name] for name in given})
        if wrong is not None:
            raise TraceError(wrong)
        for name in given:
            dtype = _DTYPES[TRACE.known[name].kind]
            object.__setattr__(self, name, arrays[name].astype(dtype, copy=False))
        self._check_values()

    def _given(self) -> list[str]:
        """The names of the arrays that this trace has."""
        optional = [name for part in TRACE.optional for name in part]
        return [
            name for name in TRACE.known if name not in optional or np.size(getattr(self, name))
        ]

    def _check_values(self) -> None:
        if (lonely := self.available & ~self.has_data).any():
            raise TraceError(
                f"{_where('available', lonely)} is true where has_data is false: "
                f"a client without a sample cannot be available"
            )
        _refuse("x", ~np.isfinite(self.x) & self.has_data[..., None], "is not finite, with data")
        _refuse("y", ~np.isfinite(self.y) & self.has_data, "is not finite, with data")
        for name in _ALWAYS_NUMBERS:
            _refuse(name, ~np.isfinite(getattr(self, name)), "is not finite")
        _refuse("linear_high", self.linear_high <= self.linear_low, "is not above linear_low")
        if self.start.size not in (0, self.features):
            raise TraceError(
                f"start has {self.start.size} parameters, but the map has {self.features} features"
            )
        _refuse("delay", (self.delay < 0) & self.available, "is negative")
        if self.label_delay.size:
            _refuse("label_delay", (self.label_delay < 0) & self.labels.given, "is negative")
        in_range = (self.lottery >= 0) & (self.lottery < 1)
        _refuse("lottery", ~in_range & self.available, "is not in [0, 1)")
        _refuse("drifts", np.diff(self.drifts, prepend=0) <= 0, "does not rise, from 1 on")
        _refuse("drifts", self.drifts >= self.ticks, "is after the last tick")
        if self.drift_ticks.size > self.drifts.size:
            raise TraceError("drift_ticks is given without drifts, y_test_drifted")
        _refuse("drift_ticks", self.drift_ticks < 0, "is negative")
        takes = self.test_targets.takes[:-1]
        _refuse("drift_ticks", takes > np.diff(self.drifts), "goes on beyond the next drift")

    @property
    def ticks(self) -> int:
        """Count the ticks (N)."""
        return len(self.has_data)

    @property
    def clients(self) -> int:
        """Count the clients (K)."""
        return int(self.has_data.shape[1])

    @property
    def features(self) -> int:
        """Count the features of the map (D)."""
        return self.fourier_map.features

    @property
    def fourier_map(self) -> FourierMap:
        """Return the map that all clients and the server share."""
        ranges = Ranges(self.linear_low, self.linear_high)
        return FourierMap(self.frequencies, self.phases, ranges)

    @property
    def test_targets(self) -> Targets:
        """Return the targets of the test set over time."""
        takes = self.drift_ticks if self.drift_ticks.size else np.zeros_like(self.drifts)
        return Targets(self.drifts, np.vstack([self.y_test, *self.y_test_drifted]), takes)

    @property
    def losses(self) -> Losses:
        """The losses of the trace: none, where the trace does not say."""
        nothing = np.broadcast_to(np.False_, self.has_data.shape)
        return Losses(*(lost if lost.size else nothing for lost in (self.lost_up, self.lost_down)))

    @property
    def labels(self) -> SampleLabels:
        """The labels of the trace: every sample's at once, where the trace does not say."""
        given = self.labelled & self.has_data if self.labelled.size else self.has_data
        late = self.label_delay if self.label_delay.size else np.zeros_like(self.delay)
        return SampleLabels(given, late)

    def sparse(self) -> "SparseTrace":
        """Return the trace as a list of its samples."""
        there = tick, client = np.nonzero(self.has_data)
        lost = self.losses
        return SparseTrace(
            ticks=self.ticks,
            clients=self.clients,
            tick=tick,
            client=client,
            x=self.x[there],
            y=self.y[there],
            truth=self.y[there],
            available=self.available[there],
            delay=self.delay[there],
            lottery=self.lottery[there],
            lost_up=lost.up[there],
            lost_down=lost.down[there],
            fourier_map=self.fourier_map,
            x_test=self.x_test,
            test_targets=self.test_targets,
            start=self.start if self.start.size else np.zeros(self.features),
            newcomers_whole=bool(self.newcomers_whole[0]),
            personal=bool(self.personal[0]),
            labels=self.labels.at(there).if_any_lacks(),
        )

    def save(self, path: str | Path) -> None:
        """Write the trace as one `.npz`, whole or not at all."""
        arrays = {name: getattr(self, name) for name in self._given()}
        unused = [name for name in _WHERE_USED if name in arrays and not arrays[name].any()]
        unused += ["labelled"] if self.labels.given[self.has_data].all() else []
        held = {name: array for name, array in arrays.items() if name not in unused}
        save_arrays(Path(path), held, TRACE)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and check a trace; whatever is wrong with the file raises one clear error."""
        arrays = load_arrays(Path(path), TRACE, "a trace", TraceError)
        try:
            return cls(**arrays)
        except TraceError as error:
            raise TraceError(f"{path} is not a trace: {error}") from None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SparseTrace(ShapesShown):
    """A trace as a list of its M samples: a tick without a sample of a client decides nothing.

    The samples are in order of ticks and, within a tick, of clients.
    """

    ticks: int
    clients: int
    tick: IntArray  # (M,)
    client: IntArray  # (M,)
    x: FloatArray  # (M, d)
    y: FloatArray  # (M,)
    truth: FloatArray  # (M,): y without faults of sensors; models are judged on it
    available: BoolArray  # (M,)
    delay: IntArray  # (M,)
    lottery: FloatArray  # (M,)
    lost_up: BoolArray  # (M,)
    lost_down: BoolArray  # (M,)
    fourier_map: FourierMap
    x_test: FloatArray  # (T, d)
    test_targets: Targets
    start: FloatArray  # (D,): the model with which all devices and the server begin
    newcomers_whole: bool  # at its first contact a device gets the server's whole model
    personal: bool  # devices keep their own linear terms and take none from windows
    labels: SampleLabels | None = None  # None: every sample has its label at once
    calibration: Calibration | None = None  # what the server knows from before tick 0

    @cached_property
    def due(self) -> Due:
        """From which samples a device learns at each of its samples."""
        return due_of(self.tick, self.client, self.labels)

    @property
    def due_if_late(self) -> Due | None:
        """The same, or None where each sample is learned at once."""
        return None if self.labels is None else self.due

    @property
    def features(self) -> int:
        """Count the features of the map (D)."""
        return self.fourier_map.features

    @property
    def heard(self) -> int:
        """Count the coordinates that devices take from a window: all, or all but linear terms."""
        own = linear_terms(self.fourier_map.ranges) if self.personal else 0
        return self.features - own

    def between(self, begin: int, end: int) -> slice:
        """Return the slice of the samples of the ticks from `begin` up to `end`."""
        return slice(*np.searchsorted(self.tick, [begin, end]).tolist())

    def at(self, tick: int) -> "Samples":
        """Return the samples of one tick."""
        now = self.between(tick, tick + 1)
        return Samples(*(getattr(self, name)[now] for name in Samples._fields))


class Samples(NamedTuple):
    """The S samples of one tick, in order of clients, and what becomes of their contacts."""

    client: IntArray
    x: FloatArray  # (S, d)
    y: FloatArray
    truth: FloatArray
    available: BoolArray
    delay: IntArray
    lottery: FloatArray
    lost_up: BoolArray
    lost_down: BoolArray


def _refuse(name: str, bad: BoolArray, what: str) -> None:
    if bad.any():
        raise TraceError(f"{_where(name, bad)} {what}")


def _where(name: str, bad: BoolArray) -> str:
    first = ", ".join(str(i) for i in np.argwhere(bad)[0])
    return f"{name}[{first}]"
