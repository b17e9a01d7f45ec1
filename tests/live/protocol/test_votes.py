"""A sample gives a device updates for one sweep over the model, after that its contacts only read.

A fleet as `fleet init` makes one, in one process: twelve devices contact once a tick, and only some
of them have targets.
"""

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.live.protocol.coordinator import Coordinator, Send
from paofed.live.protocol.edge import Edge
from tests.effort import effort, long, some
from tests.live.broken import manifest

DEVICES = 12
TICKS = effort(everyday=60, thorough=300)
LEARNED = effort(everyday=25, thorough=10)  # an error that those with targets reach by then
SELDOM = effort(everyday=200, thorough=1500)  # ticks with targets at every tenth contact
LEARNED_SELDOM = effort(everyday=40, thorough=12)  # an error that is reached by then


class Fleet:
    """Twelve devices and their server."""

    def __init__(self, labelled: int, features: int = 200) -> None:
        self.labelled = labelled  # how many devices have targets
        self.every = 1  # and at each of how many contacts
        self.raised = 0.0  # by how much the world has changed
        self.wrong = 0.0  # by how much device 0 measures too much
        self.random = np.random.default_rng(5)
        self.manifest = manifest(features)
        self.server = Coordinator(self.manifest)
        self.edges = [Edge(self.manifest, k) for k in range(DEVICES)]
        for k in range(DEVICES):
            self.server.add(k)

    def sample(self) -> tuple[FloatArray, float]:
        x = np.array([self.random.normal(20, 8), self.random.uniform(0, 24)])
        shape = 60 * np.sin((x[0] - 20) / 8) + 40 * np.cos(x[1] * np.pi / 12)
        return x, float(300 + shape + self.raised)

    def live(self, ticks: int) -> None:
        for tick in range(self.server.tick, self.server.tick + ticks):
            for k, edge in enumerate(self.edges):
                x, y = self.sample()
                if k < self.labelled and tick % self.every == 0:
                    wrong = self.wrong if k == 0 else 0.0
                    edge.learn(x, y + wrong + self.random.normal(0, 3))
                payload = edge.contact(float(tick)) or b""
                for effect in [*self.server.receive(k, payload), *self.server.committed()]:
                    if isinstance(effect, Send):
                        edge.receive(effect.payload, float(tick))
            self.server.close(tick + 1)

    @property
    def sweep(self) -> int:
        return self.manifest.features // self.manifest.shared

    def error(self) -> float:
        """Root mean square, of the server's model."""
        model = Edge(self.manifest, 0)
        model.begin(self.server.w)
        pairs = [self.sample() for _ in range(200)]
        return float(np.sqrt(np.mean([(model.predict(x) - y) ** 2 for x, y in pairs])))

    def accused(self) -> list[int]:
        return np.flatnonzero(self.server.rule.aside).tolist()


@pytest.mark.parametrize("labelled", some([3, 4], everyday=1))
def test_devices_without_targets_do_not_hold_the_others_back(labelled: int) -> None:
    """If each of their contacts is a vote, the error stays above 44 and the others are accused."""
    fleet = Fleet(labelled)
    fleet.live(TICKS)
    assert fleet.error() < LEARNED
    assert fleet.accused() == []
    counts = fleet.server.counts
    # The first contact of a device is a hello, and there is none afterwards.
    assert counts["accepted"] == labelled * (TICKS - 1)
    assert counts["reads"] == (DEVICES - labelled) * (TICKS - 1)
    assert not any(edge.unconfirmed for edge in fleet.edges)


def test_targets_at_every_tenth_contact_are_enough() -> None:
    """The error after 200 and 1500 ticks is 35.4 and 8.1, as if each contact were an update.

    With one update for a sample, reads overwrite what was not sent: the errors are 46.8 and 31.8.
    """
    fleet = Fleet(DEVICES)
    fleet.every = 10
    fleet.live(SELDOM)
    assert fleet.error() < LEARNED_SELDOM
    assert fleet.accused() == []


@long
def test_a_fleet_with_few_targets_follows_a_change_of_the_world() -> None:
    """As soon as those that have no targets any more have sent all that they learned."""
    fleet = Fleet(DEVICES)
    fleet.live(TICKS)
    fleet.labelled, fleet.raised = 3, 60.0
    before = fleet.error()
    fleet.live(fleet.sweep + 2 * TICKS)
    assert before > 50.0
    assert fleet.error() < LEARNED
    assert fleet.accused() == []


@long
def test_who_is_set_aside_does_not_take_over_while_the_others_only_read() -> None:
    """If it makes the scale and nobody has to answer, the error is twice as large afterwards."""
    fleet = Fleet(DEVICES, features=80)
    fleet.live(TICKS)
    fleet.wrong = 100.0
    fleet.live(TICKS)
    before = fleet.error()
    assert fleet.accused() == [0]
    fleet.labelled = 1  # device 0 alone has targets
    fleet.live(2 * TICKS)
    assert fleet.accused() == [0]
    assert fleet.error() < 1.2 * before


def test_three_that_are_set_aside_teach_what_has_changed_for_all() -> None:
    """Nobody else has targets, so these three know best: without them the error stays at 190."""
    fleet = Fleet(DEVICES, features=80)
    fleet.live(60)
    fleet.labelled, fleet.raised = 3, 200.0
    fleet.live(20)
    assert fleet.accused() == [0, 1, 2]
    fleet.live(80)
    assert fleet.accused() == []
    assert fleet.error() < 100.0


def test_who_only_reads_comes_to_the_model_of_the_others() -> None:
    fleet = Fleet(3)
    fleet.live(10)
    fleet.labelled = 0
    fleet.live(2 + 2 * fleet.sweep)  # to send what was learned, and then to read
    assert fleet.server.w.any()
    for edge in fleet.edges:
        assert edge.w.tolist() == fleet.server.w.astype("<f4").tolist()
