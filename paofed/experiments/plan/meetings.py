"""Where the candidates of a plan meet: each share of contacts is a scenario, in the same worlds."""

from collections.abc import Iterable
from functools import cache, partial

from paofed.core.tariffs import Tariff
from paofed.experiments.arena import Arena
from paofed.experiments.experiment import Arm, Experiment, Findings
from paofed.experiments.plan.field import Candidate, thinned
from paofed.world.worlds import Setting


class Meetings(Findings):
    """What candidates did where they met; bytes and contacts are per device and tick."""

    def __init__(
        self, arena: Arena, setting: Setting, tariff: Tariff, experiment: Experiment
    ) -> None:
        super().__init__(experiment, arena, tariff, per=setting.clients * setting.ticks)
        self._setting = setting

    def arms(self, candidates: Iterable[Candidate]) -> dict[Candidate, Arm]:
        """Return what is run of each candidate."""
        thin = cache(partial(thinned, self._setting))  # candidates of a share have one scenario
        return {one: Arm(thin(one.contacts), one.setup.algorithm()) for one in candidates}
