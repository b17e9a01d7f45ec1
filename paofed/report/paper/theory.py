"""Theory beside simulation: the mean model as predicted, and as the average of many runs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from paofed.core.metrics import decibels
from paofed.theory.mean import Prediction

if TYPE_CHECKING:  # theory alone need not wait for an engine
    from paofed.simulate.average import Average

CURVES = ("mean_model_db", "averaged_model_db", "learning_curve_db")


class Beside(NamedTuple):
    """Both over the same ticks, for the same algorithms in the same world."""

    prediction: Prediction
    simulated: "Average | None"

    @property
    def names(self) -> list[str]:
        """The algorithms."""
        return self.prediction.names

    def curves(self, name: str) -> dict[str, list[float]]:
        """Error over time in dB: of the predicted mean, the averaged model, and the runs' mean."""
        a = self.names.index(name)
        curves = [self.prediction.mse]
        if self.simulated is not None:
            curves += [self.simulated.mse, self.simulated.learning]
        return {
            key: decibels(curve[a]).tolist() for key, curve in zip(CURVES, curves, strict=False)
        }

    def rows(self) -> Iterator[list[object]]:
        """A tidy table: algorithm, tick (0-based), and the curves there are."""
        for name in self.names:
            columns = self.curves(name).values()
            for tick, *values in zip(self.prediction.ticks.tolist(), *columns, strict=True):
                yield [name, tick, *values]
