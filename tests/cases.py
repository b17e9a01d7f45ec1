"""Algorithms with options drawn at random, as the product and as the oracle spell them."""

from dataclasses import dataclass

from hypothesis import strategies as st

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm, options_of
from paofed.algorithms.base import Exchange
from paofed.core.rules import Divisor
from tests.oracle import literal

NAMES = list(ALGORITHMS)


@dataclass(frozen=True)
class Case:
    """One algorithm with options, as the product and as the oracle spell it."""

    name: str
    shared: int
    subset: float
    coordinated: bool | None
    staleness: float | None
    divisor: Divisor
    exchange: Exchange
    step_size: float
    max_age: int

    @property
    def product(self) -> Algorithm:
        shape = {
            "shared": self.shared,
            "subset": self.subset,
            "coordinated": self.coordinated,
        }
        taken = options_of(self.name)
        own = {key: value for key, value in shape.items() if key in taken}
        row: Algorithm = ALGORITHMS[self.name](**{k: v for k, v in own.items() if v is not None})
        return algorithm(
            row,
            staleness=self.staleness,
            divisor=self.divisor,
            exchange=self.exchange,
            step_size=self.step_size,
            max_age=self.max_age,
        )

    @property
    def oracle(self) -> literal.Row:
        return literal.row(
            self.name,
            shared=self.shared,
            coordinated=self.coordinated if self.name == "pso-fed" else None,
            base=self.staleness,
            subset=self.subset if literal.ROWS[self.name].picks else None,
            divisor=self.divisor,
            exchange=self.exchange,
            step_size=self.step_size,
            max_age=self.max_age,
        )


@st.composite
def cases(draw: st.DrawFn, features: int, exchanges: tuple[Exchange, ...]) -> Case:
    exchange = draw(st.sampled_from(exchanges))
    shared = draw(st.integers(1, features))
    zero = () if exchange == "paper" or shared == features else ("pao-fed-c0", "pao-fed-u0")
    return Case(
        name=draw(st.sampled_from([name for name in NAMES if name not in zero])),
        shared=shared,
        subset=draw(st.sampled_from([0.2, 0.5, 0.9, 1, 2, 3, 99])),
        coordinated=draw(st.sampled_from([None, True, False])),
        staleness=draw(st.sampled_from([None, 0.0, 0.5, 1.0])),
        divisor=draw(st.sampled_from(["class", "coverage"])),
        exchange=exchange,
        step_size=draw(st.sampled_from([0.1, 0.4, 0.9])),
        max_age=draw(st.integers(0, 7)),
    )
