"""The result of a run over a table: models judged on the samples to come, and what follows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.tariffs import Tariff
from paofed.errors import needs_extra
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.places import divided
from paofed.simulate.results.progressive import (
    MODELS,
    ColdStart,
    LabelShares,
    Progressive,
    Whose,
)
from paofed.simulate.results.result import Result, later, without_table
from paofed.simulate.results.runs import Clean


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TableResult(Result):
    """The result of a run over a table: both models of every algorithm predict each sample."""

    judged_models: ClassVar = MODELS
    curve_words: ClassVar = "mean squared error until then (dB)"
    _parts: ClassVar[Mapping[str, type[Any]]] = {
        "progressive": Progressive,
        "lives": Lives,
        "label_shares": LabelShares,
        "cold_start": ColdStart,
        "clean": Clean,
    }

    progressive: Progressive
    lives: Lives
    cold_start: ColdStart | None = None  # where it was asked for
    label_shares: LabelShares | None = None  # where it was asked for

    @classmethod
    def of(cls, result: Result, origin: str = "this result") -> "TableResult":
        """Take a result over a table, which `run` returned, say; any other result is refused."""
        if not isinstance(result, cls):
            raise without_table(result.provenance, origin)
        return result

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines."""
        return self.progressive.baselines

    @property
    def samples_seen(self) -> FloatArray:
        """The number of samples that the whole fleet has had until each point, (P,)."""
        return self.progressive.samples.cumsum().astype(np.float64)

    def own_unit(self, name: str, whose: Whose) -> OwnUnit:
        """Return the error of a learner in the target's own unit, mean over runs."""
        return self.lives.own_unit(name, whose)

    def run_finals(self, name: str, whose: Whose = "server") -> FloatArray:
        """Return the linear error of a model over all samples that count, in every run, (R,)."""
        return self.progressive.run_finals(name, whose)

    def run_curves_of(self, name: str, whose: Whose) -> FloatArray:
        """Return the linear error on all samples until each point of every run, (R, P)."""
        errors = self.progressive.run_errors(name, whose).cumsum(axis=-1)
        return divided(errors, self.progressive.samples.cumsum())

    @property
    def _judged_at(self) -> BoolArray:
        return self.progressive.samples > 0  # without samples there is no error to be finite

    def _summary(self, name: str, tariff: Tariff) -> dict[str, Any]:
        db, error = self.final(name, "device")
        found = super()._summary(name, tariff)
        found |= {"device_db": db, "device_standard_error": error}
        found |= self.progressive.without_labels(name, "device")
        for prefix, whose in zip(("device_", ""), MODELS, strict=True):
            own = self.lives.own_unit(name, whose)._asdict()
            found |= {f"{prefix}{key}": value for key, value in own.items()}
        return found

    @property
    def advice(self) -> Any:
        """What to do after a run over a table: a record of numbers, which prints as sentences.

        Bytes are those of payload alone.
        """
        with needs_extra("Result.advice"):
            return later("paofed.report.run.advice").advise(self)

    def predictor(self, name: str | None = None) -> Any:
        """Return what predicts by a model that a run over a table has left, as `paofed.predictor`.

        The model is the server's of the algorithm `name` after the last tick, of the first run.
        Without a name, it is that of the algorithm whose server's model has predicted best.
        """
        with needs_extra("Result.predictor"):
            return later("paofed.deployment.table_run").TableRun.of(self).predictor(name)

    def fleet(
        self,
        folder: str | Path,
        name: str | None = None,
        *,
        model: str = "first",
        settings: Any = None,
        **values: Any,
    ) -> Any:
        """Make the folder of a fleet that does what was run over a table; return its `Fleet`.

        It is what `paofed fleet init FOLDER --from` the file of this result makes. `folder` is new
        or empty. `name` is the algorithm; without one, it is the advised or else the best that can
        be served. The fleet begins with the `model` that the run began with ("first") or ended with
        ("final"). `settings` say where its broker is and who may speak to it: a `Settings` of
        paofed.live.fleet.settings (None: a broker on this machine, certificates, and the folder's
        name). `values` are fields of the manifest that are to be different, such as `step_size` or
        `tick_seconds`; the latter is needed where the times of the table are plain numbers.
        """
        with needs_extra("Result.fleet", "sim,fleet"):
            run_fleet = later("paofed.deployment.run_fleet")
            run = later("paofed.deployment.table_run").TableRun.of(self)
            return run_fleet.made_fleet(
                run, Path(folder), name, model=model, settings=settings, values=values
            )
