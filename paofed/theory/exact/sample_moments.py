"""Moments of what clients see, up to the fourth order: all that LMS steps ask of samples.

A step w + mu z (y - z.w) is linear in the model, with one factor z outside and one factor (y, z)
inside. Its square therefore holds two factors z and two factors u = (y, z), and no more.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from paofed.core.arrays import FloatArray
from paofed.errors import InputError

_ROUNDING = 1e-9  # by how much the sum of probabilities may differ from 1


class SampleLaw(NamedTuple):
    """Every sample that a client may see, with probabilities; or the nodes of a quadrature.

    Targets are without noise, which is given to `SampleMoments` separately.
    """

    z: FloatArray  # (P, D), mapped inputs
    y: FloatArray  # (P,), targets
    probability: FloatArray  # (P,)


class SampleMoments(NamedTuple):
    """What a step's mean and square need, by client; u = (y, z) has D + 1 entries."""

    second: FloatArray  # (K, D, D + 1), E[z u^T], of targets without noise
    fourth: FloatArray  # (K, D, D, D + 1, D + 1), E[z z^T u u^T], of targets without noise
    # (K,), variance of the noise that is added to targets, independently of all else.
    noise: FloatArray

    @classmethod
    def of(cls, laws: Sequence[SampleLaw], noise: ArrayLike = 0.0) -> Self:
        """Sum over every sample; `noise` is one variance for all clients, or one for each."""
        parts = [_checked(law, k) for k, law in enumerate(laws)]
        if len({law.z.shape[1] for law in parts}) != 1:
            sizes = [law.z.shape[1] for law in parts]
            raise InputError(f"clients have {sizes} features: expected clients with as many each")
        u = [np.column_stack([law.y, law.z]) for law in parts]
        second = [
            np.einsum("p,pa,pi->ai", law.probability, law.z, v)
            for law, v in zip(parts, u, strict=True)
        ]
        fourth = [
            np.einsum("p,pa,pb,pi,pj->abij", law.probability, law.z, law.z, v, v, optimize=True)
            for law, v in zip(parts, u, strict=True)
        ]
        variances = np.asarray(noise, dtype=np.float64)
        if variances.shape not in ((), (len(parts),)) or not (
            np.isfinite(variances).all() and (variances >= 0).all()
        ):
            raise InputError(
                f"noise is {noise!r}: expected a variance from 0 on, or one for each of the "
                f"{len(parts)} clients"
            )
        return cls(np.stack(second), np.stack(fourth), np.broadcast_to(variances, len(parts)))

    def without_noise(self) -> Self:
        """Return the moments of the same samples without noise."""
        return self._replace(noise=np.zeros_like(self.noise))

    def without_target(self) -> Self:
        """Return the moments of the same inputs with targets of 0, by which deviations move."""
        second, fourth = self.second.copy(), self.fourth.copy()
        second[:, :, 0] = 0.0
        fourth[..., 0, :] = fourth[..., :, 0] = 0.0
        return self._replace(second=second, fourth=fourth).without_noise()


def _checked(law: SampleLaw, k: int) -> SampleLaw:
    """Return the arrays of a client's law, or refuse what is no law."""
    z, y, p = (np.asarray(values, dtype=np.float64) for values in law)
    if z.ndim != 2 or z.size == 0 or y.shape != (len(z),) or p.shape != (len(z),):
        raise InputError(
            f"client {k} has inputs of shape {z.shape}, targets {y.shape} and probabilities "
            f"{p.shape}: expected (P, D), (P,) and (P,)"
        )
    if not (np.isfinite(z).all() and np.isfinite(y).all()):
        raise InputError(f"client {k} may see samples that are no numbers: leave them out")
    if not ((p >= 0).all() and abs(p.sum() - 1) <= _ROUNDING):
        raise InputError(
            f"the probabilities of client {k}'s samples are {p.tolist()}: expected numbers from 0 "
            f"on whose sum is 1"
        )
    return SampleLaw(z, y, p)
