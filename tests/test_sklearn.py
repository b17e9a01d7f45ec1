"""The estimator for scikit-learn: its checks, a device's bits, pipelines and searches."""

import importlib
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from paofed.core.learners import AGREED
from paofed.errors import InputError, MissingExtraError
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.quantity import Quantity
from paofed.sklearn import FourierLMS
from tests.effort import long
from tests.live.fleets import manifest

_RNG = np.random.default_rng(6)
X = _RNG.normal(size=(60, 2)) * [1.0, 30.0] + [5.0, 0.0]
Y = 100.0 + 20.0 * np.sin(X[:, 0]) + X[:, 1]
SMALL: dict[str, Any] = {"features": 12, "random_state": 3}


def device_of(regressor: Any) -> Edge:
    """A device of a live fleet that sees samples as a fitted regressor does."""
    (*inputs, target), model = regressor.scales_, regressor.model_
    ranges = np.stack(model.fourier_map.ranges, axis=1).tolist()
    agreed = manifest(
        features=regressor.features,
        kernel_width=regressor.kernel_width_,
        seed=regressor.seed_,
        step_size=regressor.step_size,
        inputs=tuple(Quantity(f"x{i}", x.offset, x.scale) for i, x in enumerate(inputs)),
        target=Quantity("y", target.offset, target.scale),
        linear=tuple(map(tuple, ranges)) or None,
        learner=None if regressor.learner == "lms" else regressor.learner,
        forgetting=regressor.forgetting,
        bound=regressor.bound,
    )
    return Edge(agreed, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"standardize": False, "kernel_width": 2.0},
        {"linear": True, "bound": 6.0},
        *({"learner": name, "step_size": 0.4} for name in ("lms", *AGREED)),
        {"learner": "rls", "forgetting": 0.9, "bound": 3.0, "linear": True},
    ],
)
def test_it_learns_bit_for_bit_what_a_device_learns(options: dict[str, Any]) -> None:
    regressor = FourierLMS(**SMALL, **options).partial_fit(X[:40], Y[:40])
    device = device_of(regressor)
    for x, y in zip(X, Y, strict=True):
        device.learn(x, float(y))
    regressor.partial_fit(X[40:], Y[40:])
    assert regressor.weights_.tobytes() == device.w.tobytes()
    assert regressor.weights_.any()
    predicted = [device.predict(x) for x in X]
    np.testing.assert_allclose(regressor.predict(X), predicted, rtol=1e-12)


def test_every_check_of_scikit_learn() -> None:
    found = check_estimator(FourierLMS(), on_skip=None)
    others = {one["check_name"]: one["status"] for one in found if one["status"] != "passed"}
    assert others in ({}, {"check_array_api_input": "skipped"})  # which needs a word to scipy first
    assert len(found) > 40


@long
def test_every_check_with_every_learner_and_none_skipped() -> None:
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from paofed.sklearn import FourierLMS\n"
        "for options in ({'linear': True}, {'learner': 'two-speed'}, {'standardize': False},\n"
        "                {'learner': 'rls', 'step_size': 10, 'features': 50, 'epochs': 1}):\n"
        "    found = check_estimator(FourierLMS(**options))\n"
        "    assert {one['status'] for one in found} == {'passed'}, options\n"
    )
    subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        check=True,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(2, 60), max_size=4))
def test_any_parts_of_the_samples_make_the_same_model(cuts: list[int]) -> None:
    first, *rest = np.split(np.arange(60), sorted({2, *cuts} - {60}))
    options = {**SMALL, "standardize": False, "kernel_width": 1.0}
    parts, whole = FourierLMS(**options), FourierLMS(**options)
    for part in (first, *rest):
        parts.partial_fit(X[part], Y[part])
    whole.set_params(epochs=1, shuffle=False).fit(X, Y)
    assert parts.weights_.tobytes() == whole.weights_.tobytes()


def test_a_fit_forgets_what_was_before_and_repeats_itself() -> None:
    once, again = (FourierLMS(**SMALL, epochs=2) for _ in range(2))
    again.fit(-X, Y[::-1])
    assert again.fit(X, Y).weights_.tobytes() == once.fit(X, Y).weights_.tobytes()
    ordered = clone(once).set_params(shuffle=False).fit(X, Y)
    assert ordered.weights_.tobytes() != once.weights_.tobytes()
    other = clone(once).set_params(random_state=np.random.RandomState(3)).fit(X, Y)
    assert other.seed_ != once.seed_


def test_a_step_size_may_change_between_samples() -> None:
    regressor = FourierLMS(**SMALL).partial_fit(X, Y)
    before = regressor.weights_
    regressor.set_params(step_size=1e-9).partial_fit(X, Y)
    np.testing.assert_allclose(regressor.weights_, before, atol=1e-6)
    assert regressor.weights_.tobytes() != before.tobytes()


def test_in_a_pipeline_and_a_search() -> None:
    pipeline = make_pipeline(StandardScaler(), FourierLMS(**SMALL, epochs=3))
    grid = {"fourierlms__step_size": np.array([1e-6, 0.3]), "fourierlms__learner": ["lms", "rls"]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, Y)
    assert search.best_params_["fourierlms__step_size"] == 0.3
    assert search.score(X, Y) > 0.5


def test_names_pickles_and_constants() -> None:
    table = pd.DataFrame(X, columns=["hour", "load"]).assign(always=7.5)
    regressor = FourierLMS(**SMALL).fit(table, Y)
    assert regressor.feature_names_in_.tolist() == ["hour", "load", "always"]
    assert regressor.n_features_in_ == 3
    assert regressor.scales_[2].scale == 1.0
    again = pickle.loads(pickle.dumps(regressor))  # noqa: S301 (our own)
    assert again.predict(table).tobytes() == regressor.predict(table).tobytes()
    again.partial_fit(table, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(table.rename(columns={"hour": "minute"}))
    with pytest.raises(NotFittedError):
        FourierLMS().predict(table)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"features": 0}, "features is 0: expected a whole number from 1 on"),
        ({"features": 4, "linear": True}, "features is 4: expected at least 5"),
        (
            {"kernel_width": "mean"},
            "kernel_width is 'mean': expected a number above 0, or 'median'",
        ),
        ({"kernel_width": 1e-9}, "kernel_width is 1e-09: expected 1e-06 to 1e.06"),
        ({"step_size": "fast"}, "step_size is 'fast': expected a finite number above 0"),
        ({"learner": "two_speed"}, "unknown learner 'two_speed': did you mean 'two-speed'"),
        ({"forgetting": 0.9}, "forgetting is given, but lms keeps nothing"),
        ({"random_state": -1}, "seed -1 is out of range"),
        ({"step_size": 1e9}, "with a step_size of 1e.09 the model has grown beyond all numbers"),
    ],
)
def test_what_is_refused(options: dict[str, Any], complaint: str) -> None:
    regressor = FourierLMS(**{**SMALL, **options})
    with pytest.raises(InputError, match=complaint):
        regressor.fit(X, Y)
    assert not hasattr(regressor, "model_")


def test_one_sample_has_no_spread() -> None:
    with pytest.raises(InputError, match="there is 1 sample to begin with"):
        FourierLMS().partial_fit(X[:1], Y[:1])
    options = {**SMALL, "kernel_width": np.float32(1), "standardize": False}
    plain = FourierLMS(**options).partial_fit(X[:1], Y[:1])
    assert plain.weights_.any()


@pytest.mark.parametrize(("x", "y"), [(1e200, 1.0), (1.0, 1e306)])
def test_samples_without_a_finite_spread_are_refused(x: float, y: float) -> None:
    """Divided by an infinite standard deviation, they would all be the same."""
    with pytest.raises(InputError, match=r"too large for a standard deviation: .* below 1e150"):
        FourierLMS(**SMALL).fit(X * x, Y * y)


def test_without_scikit_learn_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = [name for name in sys.modules if name.startswith("sklearn.")]
    for name in ("paofed.sklearn", *hidden):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    complaint = r"paofed\.sklearn needs sklearn\S*, which .*: pip install 'paofed\[sklearn\]'"
    with pytest.raises(MissingExtraError, match=complaint):
        importlib.import_module("paofed.sklearn")
