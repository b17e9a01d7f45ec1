"""How much a message is expected to move the server, by sender, age and coordinate.

A message of age l that holds coordinate j moves the server's value by alpha_l / |K_l|, unless a
newer message holds j too. Client k's message of age l arrives at a tick with probability q_{k,l},
independently of all others. So for the X other messages of a class, E[1 / (1 + X)] is the integral
of E[s^X], a product of (1 - q + q s), over s in [0, 1]: a polynomial, which Gauss-Legendre
quadrature integrates exactly.
"""

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray

_NODES = 128  # exact for up to 256 messages in a class, and accurate far beyond


class ExpectedWeights:
    """The expected weights of one algorithm; phases are sending ticks modulo the period P."""

    def __init__(
        self,
        ages: IntArray,
        alpha: FloatArray,
        q: FloatArray,
        held: BoolArray,
        *,
        by_coverage: bool,
    ) -> None:
        """Take the ages that count (L,), their weights (L,), q (L, K) and windows (P, K, D)."""
        self.ages = ages
        self.q = q
        self._which = np.arange(ages.size)
        holders = held.sum(axis=1).max() if by_coverage else q.shape[1]
        s, weight = np.polynomial.legendre.leggauss(int(min(_NODES, holders // 2 + 1)))
        s, weight = (s + 1) / 2, weight / 2
        miss = 1 - q[:, None, :] * (1 - s[:, None])  # (L, S, K): E[s^1{arrives}]
        if by_coverage:
            # With "coverage", the class of a coordinate is who holds it: one product for each
            # coordinate and phase.
            others = np.stack([np.exp(np.log(miss) @ mask.astype(np.float64)) for mask in held])
            self._by_node = weight[:, None] * others  # (P, L, S, D)
            self._share = alpha[:, None, None] * q[:, None, :] / miss  # (L, S, K)
        else:
            class_product = weight * np.exp(np.log(miss).sum(axis=-1))  # (L, S)
            expected = np.einsum("ls,lsk->lk", class_product, 1 / miss)
            self._by_node = np.ones((1, 1, 1, 1))
            self._share = (alpha[:, None] * q * expected)[:, None, :]
        with np.errstate(divide="ignore"):  # the log of a message that surely arrives is -inf
            lost = np.log1p(-q)
        total, missed = [], []
        for phase, mask in enumerate(held):
            holds = mask.astype(np.float64)
            total.append(self.pulls(phase, holds))
            missed.append(np.exp(_product(lost, holds)))
        self._total, self._missed = np.stack(total), np.stack(missed)  # (P, L, D)

    def pulls(self, phase: int, sent: FloatArray) -> FloatArray:
        """Return the weighted sums, by age, (L, D), of what is sent.

        `sent` has shape (K, D), and is zero outside the windows.
        """
        by_node = self._by_node[phase % len(self._by_node)]
        L, S, K = self._share.shape
        by_share = (self._share.reshape(L * S, K) @ sent).reshape(L, S, sent.shape[1])
        pulled: FloatArray = (by_node * by_share).sum(axis=1)
        return pulled

    def move(self, w: FloatArray, n: int, pulls: FloatArray) -> FloatArray:
        """Return the server's expected model after tick n.

        Pulls of age l are those of tick n - l.
        """
        begun = self.ages <= n
        phase, which = (n - self.ages[begun]) % len(self._total), self._which[begun]
        missed = np.cumprod(self._missed[phase, which], axis=0)
        newest = np.concatenate([np.ones_like(missed[:1]), missed[:-1]])
        change: FloatArray = (newest * (pulls[begun] - self._total[phase, which] * w)).sum(axis=0)
        return w + change


def _product(logs: FloatArray, mask: FloatArray) -> FloatArray:
    """Sum the logs (L, K) over the holders of each coordinate; -inf times 0 counts as 0."""
    certain = np.isneginf(logs)
    if not certain.any():
        return logs @ mask
    finite: FloatArray = np.where(certain, 0.0, logs) @ mask
    finite[(certain.astype(np.float64) @ mask) > 0] = -np.inf
    return finite
