"""A fleet whose devices learn otherwise than by LMS."""

import json

import numpy as np
import pytest

from paofed.core.learners import AGREED, Chosen, learner_of
from paofed.core.parts import Part
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import Model, encode
from paofed.live.protocol.quantity import ManifestError
from tests.live.fleets import f32, manifest

X = np.random.default_rng(4).normal(size=(40, 2))


def test_a_manifest_names_a_learner_only_where_there_is_one() -> None:
    plain = json.loads(manifest().to_json())
    assert plain["wire"] == 2
    assert not plain.keys() & {"learner", "forgetting"}
    agreed = manifest(learner="rls", bound=6.0)
    values = json.loads(agreed.to_json())
    assert (values["wire"], values["learner"]) == (3, "rls")
    assert "forgetting" not in values
    assert Manifest.from_json(agreed.to_json()) == agreed
    other = manifest(learner="two-speed", forgetting=0.5)
    assert Manifest.from_json(other.to_json()) == other


@pytest.mark.parametrize("name", AGREED)
def test_a_device_learns_as_the_learner_does(name: str) -> None:
    edge = Edge(manifest(learner=name, forgetting=0.8, bound=6.0), 1)
    edge.receive(encode(Model(3, 10, f32(*range(1, 9)))), 0.0)
    learner, agreed = learner_of(Chosen(name, 0.8, 6.0)), edge.manifest
    state = learner.merge(learner.init(8), Part(np.arange(8), np.arange(1.0, 9.0)))
    for x in X:
        edge.learn(x, float(x[0]))
        z = agreed.fourier_map(agreed.scaled(x))
        y = (float(x[0]) - agreed.target.offset) / agreed.target.scale
        state = learner.learn(state, z, y, agreed.step_size, 0)
    assert edge.w.tobytes() == state.w.tobytes()


@pytest.mark.parametrize("name", AGREED)
def test_what_a_learner_keeps_survives_a_power_cut(name: str) -> None:
    agreed = manifest(learner=name)
    edge, back = Edge(agreed, 1), Edge(agreed, 1)
    for x in X[:20]:
        edge.learn(x, float(x[0]))
    assert back.restore(edge.state())
    for x in X[20:]:
        for device in (edge, back):
            device.learn(x, float(x[0]))
    assert back.w.tobytes() == edge.w.tobytes()


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"learner": "lsm"}, "'lsm': expected two-speed, rls, or none"),
        ({"learner": "rls", "forgetting": 2.0}, "2.0: expected above 0 and up to 1"),
        ({"forgetting": 0.9}, "0.9: expected above 0 and up to 1 with a learner, or none"),
    ],
)
def test_what_cannot_be_is_told(values: dict[str, object], complaint: str) -> None:
    with pytest.raises(ManifestError, match=complaint):
        manifest(**values)
