"""Where the candidates of a plan meet: each share of contacts is a scenario, in the same worlds."""

from collections.abc import Sequence

from paofed.core.tariffs import Tariff
from paofed.experiments.arena import Arena
from paofed.experiments.experiment import Arm, Experiment, Findings
from paofed.experiments.plan.field import Candidate, thinned
from paofed.experiments.rejection import Standing
from paofed.simulate.stopping import Report
from paofed.world.worlds import Setting


class Meetings(Findings):
    """What candidates did where they met; bytes and contacts are per device and tick."""

    def __init__(
        self, arena: Arena, setting: Setting, tariff: Tariff, experiment: Experiment
    ) -> None:
        super().__init__(experiment, arena, tariff, per=setting.clients * setting.ticks)
        self._setting = setting

    def hold(
        self, candidates: Sequence[Candidate], runs: int, number: int, report: Report
    ) -> dict[Candidate, Standing]:
        """Run candidates in the worlds of a numbered meeting; return how they stand."""
        shares = {one.contacts for one in candidates}
        settings = {share: thinned(self._setting, share) for share in shares}
        arms = {one: Arm(settings[one.contacts], one.setup.algorithm()) for one in candidates}
        return self.meet(arms, runs, number, report)
