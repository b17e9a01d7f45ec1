"""Methods that believe one of their forecasters alone, beside those that weigh them.

What is learned and sent is the same, bit for bit; only what a device predicts with is another
model. So the difference of their errors is what weighing costs or brings:

    python -m lab labels air-quality --algorithm pao-fed-u1:learner=weighed,step_size=0.1 \
        lab/benchmarks/forecasters.py:{heard,alone,filtered}
    python -m lab labels air-quality --algorithm fed-ridge \
        lab/benchmarks/forecasters.py:{shared,corrected,own,by_filter}
"""

from dataclasses import replace
from functools import partial

from paofed.algorithms import Algorithm, made
from paofed.algorithms.fed_ridge.device import SummingDevice, shared_model
from paofed.core.arrays import FloatArray
from paofed.core.weighed import WeighedWeights


def of_weighed(which: int, state: WeighedWeights) -> FloatArray:
    """Return the model of one forecaster of `learner=weighed`."""
    if which == 0:
        return state.w.copy()
    if which == 1:
        return state.own.copy()
    filtered = state.start.copy()
    filtered[filtered.size - state.over.size :] += state.over
    return filtered


def of_sums(which: int, state: SummingDevice) -> FloatArray:
    """Return the model of one forecaster of fed-ridge."""
    shared = shared_model(state.start, state.shared)
    if which == 0:
        return shared
    if which == 1:
        corrected: FloatArray = shared + state.correction[0]
        return corrected
    own = state.start.copy()
    if which == 2:
        own += state.own[0]
    else:
        own[own.size - state.over.size :] += state.over
    return own


_WEIGHED = made("pao-fed-u1", {"learner": "weighed", "step_size": 0.1})
_SUMS = made("fed-ridge", {})


def _weighed(which: int, name: str) -> Algorithm:
    learner = replace(_WEIGHED.learner, model=partial(of_weighed, which))
    return replace(_WEIGHED, name=name, learner=learner)


def _of_sums(which: int, name: str) -> Algorithm:
    return replace(_SUMS, name=name, learner=replace(_SUMS.learner, model=partial(of_sums, which)))


heard = _weighed(0, "the model that hears")
alone = _weighed(1, "the model that never hears")
filtered = _weighed(2, "the filter")
shared = _of_sums(0, "the shared model")
corrected = _of_sums(1, "the shared model, corrected")
own = _of_sums(2, "the model of its own")
by_filter = _of_sums(3, "the filter of its own")
