"""The result of a run over worlds: the server's model judged on a test set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from paofed.core.arrays import FloatArray
from paofed.errors import InputError
from paofed.simulate.results.estimates import final_ticks
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.runs import Clean


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WorldResult(Result):
    """The result of a run over worlds: the server's model has an error at every point."""

    judged_models: ClassVar[tuple[Whose, ...]] = ("server",)
    curve_words: ClassVar = "mean squared error (dB)"
    _parts: ClassVar[Mapping[str, type[Any]]] = {"clean": Clean}

    @property
    def samples_seen(self) -> FloatArray:
        """The number of samples that the fleet is expected to have had until each point, (P,)."""
        scenario = self.provenance["scenario"]
        samples, clients = scenario["stream"].get("samples"), int(scenario["clients"])
        if samples is None:
            raise InputError(
                "how many samples a fleet has seen is not known of worlds of one's own: "
                "expected a scenario or a table"
            )
        in_all = sum(samples[len(samples) * client // clients] for client in range(clients))
        seen: FloatArray = (self.ticks + 1) * (in_all / scenario["ticks"])
        return seen

    def run_finals(self, name: str, whose: Whose = "server") -> FloatArray:
        """Return the linear error over the last 5 % of the ticks in every run, (R,)."""
        curves = self.run_curves_of(name, whose)
        last = self.ticks >= self.ticks[-1] + 1 - final_ticks(self.ticks)
        finals: FloatArray = curves[:, last].mean(axis=-1)
        return finals

    def run_curves_of(self, name: str, whose: Whose) -> FloatArray:
        """Return the linear error curve on the test set of every run, (R, P)."""
        if whose != "server":
            raise InputError(f"whose is {whose!r}: expected 'server', since this is no table")
        return self.run_curves(name)
