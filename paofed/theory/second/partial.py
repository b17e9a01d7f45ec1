"""Windows travel: the covariances of the server's model and of typical members, tick by tick."""

from paofed.algorithms.base import Algorithm
from paofed.core.arrays import FloatArray
from paofed.theory.fleet import FleetInTheory
from paofed.theory.models import ModelsInModes
from paofed.theory.reach import Reach
from paofed.theory.second.coordinated import Coordinated
from paofed.theory.second.covariances import Covariances
from paofed.theory.second.detail import Detail
from paofed.theory.second.exchange import CovarianceExchange, TickOfMeans
from paofed.theory.second.groups import Groups
from paofed.theory.second.learning import Learning
from paofed.theory.second.uncoordinated import Uncoordinated


class PartialSpread:
    """The spread of one algorithm that shares windows, in one fleet."""

    def __init__(
        self,
        fleet: FleetInTheory,
        method: Algorithm,
        reach: Reach,
        groups: Groups,
        alpha: FloatArray,
        means: ModelsInModes,
        detail: Detail,
        *,
        noisy: bool,
    ) -> None:
        """`alpha` are the weights of the ages that count; `noisy`: targets have noise."""
        parts = method.require_paper_parts("theory")
        moments, mu = fleet.moments, reach.mu
        self._exchange: CovarianceExchange = (
            Coordinated(groups, groups.means(moments.R), parts, reach.ages, alpha, mu)
            if parts.downlink.coordinated
            else Uncoordinated(groups, fleet, parts, alpha, mu, detail)
        )
        self._learning = Learning(
            fleet, groups, mu, detail, away=method.learns_while_away, noisy=noisy
        )
        self._means, self._stride = means, detail.stride
        classes, total = groups.size.size, groups.group_size.size
        self._state = Covariances.zero(classes, total, moments.r.shape[1], detail.precision)

    @property
    def mean(self) -> FloatArray:
        """The server's mean model, (D,)."""
        return self._means.w

    @property
    def server(self) -> FloatArray:
        """The covariance of the server's model, (D, D)."""
        return self._state.server

    def tick(self, n: int) -> None:
        """Move on by tick n."""
        learning, state, means = self._learning, self._state, self._means
        noise = learning.noise(n, means, state.own)
        tick = TickOfMeans(n, means.w, means, noise.of_sample)
        self._exchange.before_learning(state, tick)
        if n % self._stride == self._stride // 2:
            learning.advance(state, noise.of_tick)
        means.tick(n)
        self._exchange.after_learning(state, tick)
