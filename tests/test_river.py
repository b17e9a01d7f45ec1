"""The estimator for river: its checks, a device's bits, and river's own parts beside it."""

import importlib
import math
import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import checks, linear_model, optim
from river.feature_extraction import RBFSampler

import paofed.sklearn
from paofed.core.features import FourierMap
from paofed.core.learners import AGREED, Chosen, learner_of
from paofed.core.local_model import LocalModel
from paofed.errors import InputError, MissingExtraError
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.quantity import Quantity
from paofed.river import FourierLMS
from tests.effort import some
from tests.live.fleets import manifest

_RNG = np.random.default_rng(8)
X = _RNG.normal(size=(50, 2))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1]
SAMPLES = [{"b": float(b), "a": float(a)} for a, b in X]
SMALL: dict[str, Any] = {"features": 12, "seed": 3}


def learned(model: FourierLMS, samples: list[dict[str, float]] = SAMPLES) -> FourierLMS:
    for x, y in zip(samples, Y.tolist(), strict=True):
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("learner", some(["two-speed", "lms", "rls"], everyday=1))
def test_every_check_of_river(learner: str) -> None:
    model = FourierLMS(features=20, learner=learner)
    assert model._unit_test_skips() == set()
    for check in checks.yield_checks(model):
        check(model.clone())


@pytest.mark.parametrize("learner", ["lms", *AGREED])
def test_it_learns_bit_for_bit_what_a_device_and_the_other_estimator_learn(learner: str) -> None:
    model = learned(FourierLMS(**SMALL, learner=learner, kernel_width=1.5, step_size=0.3, bound=6))
    agreed = manifest(
        features=12,
        kernel_width=1.5,
        seed=3,
        step_size=0.3,
        inputs=(Quantity(name="a"), Quantity(name="b")),
        target=Quantity(name="y"),
        learner=None if learner == "lms" else learner,
        bound=6,
    )
    device = Edge(agreed, 1)
    for x, y in zip(X, Y, strict=True):
        device.learn(x, float(y))
    assert model.weights.tobytes() == device.w.tobytes()
    assert model.predict_one(SAMPLES[0]) == pytest.approx(device.predict(X[0]), rel=1e-12)
    other = paofed.sklearn.FourierLMS(
        features=12,
        random_state=3,
        learner=learner,
        kernel_width=1.5,
        step_size=0.3,
        bound=6,
        standardize=False,
    )
    assert other.partial_fit(X, Y).weights_.tobytes() == model.weights.tobytes()


# river's own parts beside it.


def sampled(sampler: RBFSampler, inputs: int) -> FourierMap:
    """River's features as a map of ours: each of them sees one input, and all inputs the same b."""
    count = sampler.n_components
    frequencies = np.zeros((inputs, inputs * count))
    for i in range(inputs):
        frequencies[i, i * count : (i + 1) * count] = sampler.weights[i]
    return FourierMap(frequencies, np.tile(sampler.offsets, inputs))


@pytest.mark.parametrize("inputs", [1, 2])
def test_with_river_s_features_and_steps_it_is_river_s_regression(inputs: int) -> None:
    """Their steps are 2 lr of features that are not scaled by sqrt(2 / D): lr D of ours."""
    lr, sampler = 0.02, RBFSampler(gamma=0.5, n_components=10, seed=1)
    theirs = linear_model.LinearRegression(optim.SGD(lr), intercept_lr=0.0)
    samples = [dict(enumerate(x[:inputs].tolist())) for x in X]
    sampler.transform_one(samples[0])  # draws the frequencies
    learner = learner_of(Chosen())
    ours = LocalModel(sampled(sampler, inputs), learner, learner.init(10 * inputs))
    for x, row, y in zip(samples, X[:, None, :inputs], Y, strict=True):
        z = sampler.transform_one(x)
        assert ours.predict(row)[0] == pytest.approx(theirs.predict_one(z), rel=1e-9, abs=1e-12)
        theirs.learn_one(z, float(y))
        ours = ours.after(row, np.array([y]), lr * 10 * inputs)
    assert abs(theirs.predict_one(z)) > 0.1


def test_of_two_inputs_river_s_kernel_is_a_mean_and_ours_a_product() -> None:
    """A thousand features: either is within 0.1 of its kernel, and the kernels are 0.43 apart."""
    apart, gamma = np.array([2.0, 0.0]), 0.5
    sampler = RBFSampler(gamma=gamma, n_components=1000, seed=1)
    first, second = sampler.transform_one({0: 0.0, 1: 0.0}), sampler.transform_one({0: 2.0, 1: 0.0})
    theirs = sum(first[key] * second[key] for key in first) * 2 / len(first)
    model = FourierLMS(features=1000, kernel_width=1 / math.sqrt(2 * gamma), seed=1)
    model.learn_one({0: 0.0, 1: 0.0}, 0.0)
    z = model._model.fourier_map(np.stack([0 * apart, apart]))
    one = math.exp(-gamma * 4.0)
    assert theirs == pytest.approx((one + 1.0) / 2, abs=0.1)
    assert float(z[0] @ z[1]) == pytest.approx(one, abs=0.1)


# Inputs that come and go.


def test_the_order_of_inputs_does_not_matter() -> None:
    turned = [dict(reversed(x.items())) for x in SAMPLES]
    assert learned(FourierLMS(**SMALL)).weights.tobytes() == (
        learned(FourierLMS(**SMALL), turned).weights.tobytes()
    )


def test_an_input_that_comes_late_was_0_before() -> None:
    late = [x if n > 20 else {"a": x["a"]} for n, x in enumerate(SAMPLES)]
    zero = [x if n > 20 else {"a": x["a"], "b": 0.0} for n, x in enumerate(SAMPLES)]
    options = {**SMALL, "kernel_width": 1.0}
    model = learned(FourierLMS(**options), late)
    assert model.weights.tobytes() == learned(FourierLMS(**options), zero).weights.tobytes()
    assert model.predict_one({"a": 1.0, "b": 0.0, "c": 5.0}) == model.predict_one({"a": 1.0})


def test_before_anything_was_learned_it_predicts_0() -> None:
    model = FourierLMS()
    assert model.predict_one({"a": 1.0}) == 0.0
    model.learn_one({}, 2.0)
    assert model.predict_one({}) != 0.0


@pytest.mark.parametrize("frames", [pd, pl])
def test_rows_of_a_frame_are_samples(frames: Any) -> None:
    one, many = learned(FourierLMS(**SMALL)), FourierLMS(**SMALL)
    table = frames.DataFrame(SAMPLES)
    many.learn_many(table, frames.Series(Y))
    assert many.weights.tobytes() == one.weights.tobytes()
    predicted = many.predict_many(table)
    assert isinstance(predicted, frames.Series)
    assert predicted.to_list() == pytest.approx([one.predict_one(x) for x in SAMPLES])
    again = pickle.loads(pickle.dumps(many))  # noqa: S301 (our own)
    assert again.predict_one(SAMPLES[0]) == many.predict_one(SAMPLES[0])


def test_without_a_seed_every_model_draws_its_own() -> None:
    one, other = learned(FourierLMS()), learned(FourierLMS())
    assert one.weights.tobytes() != other.weights.tobytes()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"features": 2.5}, "features is 2.5: expected a whole number from 1 on"),
        ({"kernel_width": -1}, "kernel_width is -1: expected a finite number above 0"),
        ({"learner": "sgd"}, "unknown learner 'sgd'"),
        ({"seed": 2**64}, "seed 18446744073709551616 is out of range"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        FourierLMS(**options)


@pytest.mark.parametrize(
    ("x", "y", "complaint"),
    [
        ({"city": "Oslo"}, 1.0, "the input 'city' is 'Oslo': expected a finite number"),
        ({"a": 10**400}, 1.0, "the input 'a' is 10+: expected a finite number"),
        ({"a": math.nan}, 1.0, "the input 'a' is nan: expected a finite number"),
        ({"a": 1.0}, math.inf, "the target is inf: expected a finite number"),
    ],
)
def test_samples_that_are_refused_leave_no_trace(x: Any, y: float, complaint: str) -> None:
    model = learned(FourierLMS(**SMALL))
    before = pickle.dumps(model)
    with pytest.raises(InputError, match=complaint):
        model.learn_one(x, y)
    assert pickle.dumps(model) == before


def test_a_gap_in_a_frame_is_refused() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, None]})
    with pytest.raises(InputError, match="the input 'b' in row 1 is nan: expected a finite number"):
        FourierLMS().learn_many(table, pd.Series([1.0, 2.0]))
    for words in (
        pd.DataFrame({"city": ["Oslo", "Bergen"]}),
        pl.DataFrame({"city": ["Oslo", "B"]}),
    ):
        with pytest.raises(InputError, match=r"the inputs are not all numbers: ValueError: .*Oslo"):
            FourierLMS().learn_many(words, pd.Series([1.0, 2.0]))
    with pytest.raises(InputError, match="2 samples have 1 targets: expected one for each"):
        FourierLMS().learn_many(table[["a"]], pd.Series([1.0]))


def test_a_step_size_may_change_between_samples() -> None:
    model = learned(FourierLMS(**SMALL))
    before, model.step_size = model.weights, 1e-9
    model.learn_one(SAMPLES[0], 1.0)
    np.testing.assert_allclose(model.weights, before, atol=1e-8)
    model.step_size = -1.0
    with pytest.raises(InputError, match=r"step_size is -1\.0: expected a finite number above 0"):
        model.learn_one(SAMPLES[0], 1.0)


def test_without_river_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = [name for name in sys.modules if name.startswith("river.")]
    for name in ("paofed.river", *hidden):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "river", None)
    complaint = r"paofed\.river needs river, which .*: pip install 'paofed\[river\]'"
    with pytest.raises(MissingExtraError, match=complaint):
        importlib.import_module("paofed.river")
