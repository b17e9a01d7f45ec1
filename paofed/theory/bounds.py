"""How large a step may be: the paper's bound, and what it does not see.

Theorem I bounds the step by 2 / (the largest eigenvalue of any R_k). Below the bound, the mean of a
client that is left alone contracts in the Euclidean norm. Sharing some coordinates contracts in the
maximum norm only, so both together guarantee nothing: docs/theory.md has a fleet that diverges
below the bound. What does guarantee convergence, for any windows, presence and delays, is that
every I - mu R_k contracts in the maximum norm.

And the mean is not all: a single LMS step multiplies the error along z by 1 - mu |z|^2, so a step
above 2 / |z|^2 expands the error. Since |z|^2 <= 2 for Fourier features, no step size up to 1 ever
does.
"""

from typing import NamedTuple

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.core.arrays import FloatArray
from paofed.theory.modes import Modes
from paofed.theory.moments import Moments

NEVER_EXPANDS = 1.0  # 2 / (the most that |z|^2 can be)


class StepSizes(NamedTuple):
    """Limits on the step size of one fleet."""

    by_client: FloatArray  # (K,), 2 / lambda_max(R_k)
    typical: float  # 2 / E|z|^2, smallest over the clients: above it steps expand on average
    # For any windows, presence and delays; None where no step size is guaranteed.
    guaranteed: float | None

    @property
    def bound(self) -> float:
        """The bound of Theorem I."""
        return float(self.by_client.min())

    @property
    def client(self) -> int:
        """The client that sets the bound."""
        return int(self.by_client.argmin())

    def warning(self, mu: float) -> str | None:
        """Say what is wrong with a step size, or return None."""
        if mu >= self.bound:
            return (
                f"step size {mu:g} is not below the bound {self.bound:.2f} of Theorem I: "
                f"the mean of client {self.client}'s model diverges"
            )
        if mu >= self.typical:
            return (
                f"step size {mu:g} is below the bound {self.bound:.2f} of Theorem I, but above "
                f"{self.typical:.2f} steps expand on average: models blow up although their mean "
                f"would not"
            )
        if mu > NEVER_EXPANDS:
            return (
                f"step size {mu:g} lets single steps expand where |z|^2 is above {2 / mu:.2f}: "
                f"stay at or below {NEVER_EXPANDS:g} to be safe"
            )
        return None


def step_sizes(moments: Moments, modes: Modes | None = None) -> StepSizes:
    """Return the limits of a fleet; `modes` are those of its R, if they are known already."""
    largest = _largest_eigenvalues(moments.R) if modes is None else modes.rates[:, -1]
    traces = np.trace(moments.R, axis1=1, axis2=2)
    sums = np.stack([np.abs(R).sum(axis=1) for R in moments.R])
    dominant = bool((2 * np.diagonal(moments.R, axis1=1, axis2=2) > sums).all())
    guaranteed = float(2.0 / sums.max()) if dominant else None
    return StepSizes(2.0 / largest, float(2.0 / traces.max()), guaranteed)


def _largest_eigenvalues(correlations: FloatArray) -> FloatArray:
    with one_thread_algebra():
        return np.array([np.linalg.eigvalsh(R)[-1] for R in correlations])
