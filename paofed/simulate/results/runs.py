"""What algorithms did over runs that share their worlds: errors, traffic, and their estimates."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.core.tariffs import Tariff, Wire, tariff_of
from paofed.core.traffic import Traffic
from paofed.errors import InputError, unknown
from paofed.simulate.results.estimates import (
    Estimate,
    Final,
    estimate,
    final,
    over_runs,
    over_runs_db,
)
from paofed.simulate.results.lives import OwnUnit
from paofed.simulate.results.progressive import MODELS, Whose
from paofed.simulate.results.recovery import Recovery, recoveries
from paofed.words import ShapesShown

# The names in tables of the counts of Traffic, in its order, and of the bytes on the wire.
SENT_COLUMNS = (
    "sent_up",
    "sent_down",
    "messages_up",
    "messages_down",
    "payload_up",
    "payload_down",
    "contacts",
    "wire_up",
    "wire_down",
)


def usual_every(ticks: int) -> int:
    """Return the usual ticks between two points of a curve: 10, but at most about 200 points."""
    return max(10, ticks // 200)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Clean(ShapesShown):
    """Errors of the same algorithms over the same runs, had there been no faults."""

    mse: FloatArray  # (R, A, P), linear
    # (R, A, 2), linear: of the devices' models (NaN unless over a table), and of the server's.
    finals: FloatArray

    @classmethod
    def of(cls, result: "Runs") -> Self:
        """Take the errors from runs without faults."""
        finals = [result.finals_by_model(name) for name in result.algorithms]
        return cls(mse=result.mse, finals=np.stack(finals, axis=1))


@dataclass(frozen=True, eq=False, kw_only=True)
class Runs(ABC):
    """A algorithms over R runs that share their worlds, with P points of a curve."""

    # Whose models have errors. Where nobody says whose model is meant, it is the first of these.
    judged_models: ClassVar[tuple[Whose, ...]]
    # What is drawn of a model over time: see run_curves_of.
    curve_words: ClassVar[str]

    provenance: Mapping[str, Any]  # scenario, algorithms, seed, versions, ...
    ticks: IntArray  # (P,), 0-based; errors are those of the model after the tick
    mse: FloatArray  # (R, A, P), linear
    traffic: IntArray  # (R, A, 7, P), sent until each point: see Traffic
    models: FloatArray  # (R, A, D), the server's after the last tick
    clean: Clean | None = None  # only of a scenario with faults, where it was asked for

    @property
    def runs(self) -> int:
        """The number of finished runs."""
        return len(self.mse)

    @property
    def algorithms(self) -> list[str]:
        """The names of the algorithms, in the order of the arrays."""
        return [str(described["name"]) for described in self.provenance["algorithms"]]

    @property
    def places(self) -> list[tuple[int, int]]:
        """The numbers (world, run) of every finished run."""
        same = self.provenance["same_world"]
        return [(0, i) if same else (i, 0) for i in self.provenance["runs_finished"]]

    @property
    def drifts(self) -> list[int]:
        """The ticks at which the target changed: the first ones whose samples are of another."""
        return list(self.provenance["scenario"]["stream"].get("drifts", ()))

    @property
    def drift_ticks(self) -> int:
        """The ticks that each drift took; 0: the target changed at once."""
        return int(self.provenance["scenario"]["stream"].get("drift_ticks", 0))

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines, which a run over a table alone has."""
        return []

    @property
    @abstractmethod
    def samples_seen(self) -> FloatArray:
        """The number of samples that the whole fleet has had until each point, (P,).

        Over a table samples are counted; for a scenario they are the expected number.
        """

    def run_curves(self, name: str) -> FloatArray:
        """Return the linear error curve of every run, (R, P)."""
        return self.mse[:, self._index(name)]

    def run_traffic(self, name: str) -> Traffic:
        """Return the traffic until each point of every run's curve, (R, P) each."""
        return Traffic(*np.moveaxis(self.traffic[:, self._index(name)], 1, 0))

    def run_wire(self, name: str, tariff: Tariff | str = "payload") -> Wire:
        """Return the bytes on the wire until each point under a tariff, (R, P) up and down each."""
        return tariff_of(tariff).wire(self.run_traffic(name))

    def mean_sent(self, name: str, tariff: Tariff | str = "payload") -> dict[str, FloatArray]:
        """Return the traffic until each point by column of a CSV, mean over runs, (P,) each."""
        counts = self.run_sent_by_column(name, tariff)
        return {column: count.mean(axis=0) for column, count in counts.items()}

    def run_sent_by_column(
        self, name: str, tariff: Tariff | str = "payload"
    ) -> dict[str, FloatArray]:
        """Return the traffic until each point by column of a CSV, for every run, (R, P) each."""
        counted = (*self.run_traffic(name), *self.run_wire(name, tariff))
        return {
            column: np.asarray(count) for column, count in zip(SENT_COLUMNS, counted, strict=True)
        }

    def run_sent(self, name: str) -> IntArray:
        """Return the coordinates sent, up and down together, until each point: (R, P)."""
        now = self.run_traffic(name)
        sent: IntArray = now.coordinates_up + now.coordinates_down
        return sent

    def sent(self, name: str) -> tuple[float, float]:
        """Return the coordinates sent up and those sent down in a run, mean over runs."""
        now = self.run_traffic(name)
        return float(now.coordinates_up[:, -1].mean()), float(now.coordinates_down[:, -1].mean())

    def curve(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return the linear mean curve and its standard error, (P,) each.

        The standard error of a single run is NaN.
        """
        return over_runs(self.run_curves(name))

    def curve_db(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return the mean curve in dB and its standard error in dB (first order), (P,) each."""
        return over_runs_db(self.run_curves(name))

    def own_unit(self, name: str, whose: Whose) -> OwnUnit | None:
        """Return the error of a learner in the target's own unit, which only tables have."""
        del name, whose
        return None

    @abstractmethod
    def run_finals(self, name: str, whose: Whose = "server") -> FloatArray:
        """Return the linear final error of a model in every run, (R,): by default the server's.

        It is the mean over the last 5 % of the ticks; over a table, over all samples that count.
        """

    @abstractmethod
    def run_curves_of(self, name: str, whose: Whose) -> FloatArray:
        """Return the linear error curves to draw of a learner's model, one of every run, (R, P).

        They are on the test set; over a table, at each point, on all samples until then.
        """

    def finals_by_model(self, name: str) -> FloatArray:
        """Return the linear final errors of every run, (R, 2): the devices' and the server's.

        The errors of devices are NaN where only the server's model is judged.
        """
        nothing = np.full(self.runs, np.nan)
        judged = self.judged_models
        finals = [self.run_finals(name, who) if who in judged else nothing for who in MODELS]
        return np.stack(finals, axis=-1)

    def final(self, name: str, whose: Whose = "server") -> Final:
        """Return the error over the last 5 % of the ticks in dB, with its standard error.

        Over a table it is the error over all samples that count.
        """
        return final(self.run_finals(name, whose))

    def compare(self, a: str, b: str, whose: Whose = "server") -> Estimate:
        """Estimate by how many dB the final error of `a` is below that of `b`, run by run.

        Below 0, `a` is worse. Over a table, `whose` says which models are compared: the "server"'s
        or those of the devices ("device").
        """
        finals = [decibels(self.run_finals(name, whose)) for name in (a, b)]
        with np.errstate(invalid="ignore"):  # where both diverged there is no difference
            return estimate(finals[1] - finals[0])

    def clean_finals(self, name: str, whose: Whose = "server") -> FloatArray:
        """Return the linear final error that every run would have had without faults, (R,)."""
        if self.clean is None:
            raise InputError("this result says nothing of the same runs without faults")
        finals: FloatArray = self.clean.finals[:, self._index(name), MODELS.index(whose)]
        return finals

    def recovery(self, name: str) -> list[Recovery]:
        """Return how the mean curve recovered from every drift."""
        return recoveries(self.ticks, self.curve(name)[0], self.drifts, self.drift_ticks)

    def diverged(self, name: str) -> tuple[int, int | None]:
        """Return in how many runs the error stopped being finite, and the first tick of that."""
        bad = self._judged_at & ~np.isfinite(self.mse[:, self._index(name)])
        points = np.flatnonzero(bad.any(axis=0))
        return int(bad.any(axis=1).sum()), int(self.ticks[points[0]]) if points.size else None

    @property
    def _judged_at(self) -> BoolArray:
        """The points at which there is something to judge a model by, (P,)."""
        return np.ones(self.ticks.shape, dtype=bool)

    def _index(self, name: str) -> int:
        if name not in self.algorithms:
            raise InputError(unknown("algorithm", name, self.algorithms))
        return self.algorithms.index(name)
