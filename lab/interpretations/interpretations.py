"""Every interpretation of what the paper leaves open: what it changes, and nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lab.interpretations.step_sizes import StepChoice
from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message, ServerRule, Stamp, Weights
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.errors import ScenarioError
from paofed.experiments.paper.claims import SGD, U1
from paofed.experiments.paper.stages import stretched
from paofed.world.delays import ListedDelay, SteppedDelay
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.streams import target
from paofed.world.trace import Trace
from paofed.world.value import CERTAIN

LONGER = 25  # times as many ticks as in the paper's settings: at their end curves move little
LARGER = 10  # times the paper's test set
_DEAR, _DEAREST = 0.5, 0.08  # shares of the usual number of runs, where runs take long


# Two server rules that interpret the paper rather than being methods; numba can compile both.


def plain_mean(state: Weights, messages: Sequence[Message], stamp: Stamp) -> Weights:  # noqa: ARG001
    """Take the mean of all that arrives, whatever its age: eq. 4 as if nothing were late.

    With windows, each coordinate becomes the mean of the messages that hold the coordinate.
    """
    pull, holders = np.zeros(state.w.size), np.zeros(state.w.size)
    for message in messages:
        for j, c in enumerate(message.coordinates):
            pull[c] += message.values[j] - state.w[c]
            holders[c] += 1.0
    return Weights(state.w + pull / np.maximum(holders, 1.0))


def newest_before_counting(
    base: float, state: Weights, messages: Sequence[Message], stamp: Stamp
) -> Weights:
    """Apply eq. 9, where a message of which newer ones leave nothing does not count in its class.

    The paper adjusts the selection matrices "prior to computing" eq. 9, and does not say whether a
    message whose matrix has become zero is still one of K_{n,l}. Age l weighs base^l.
    """
    newest = np.full(state.w.size, -1)
    for message in messages:
        for c in message.coordinates:
            newest[c] = max(newest[c], message.sent)
    left = np.array([np.any(newest[m.coordinates] == m.sent) for m in messages])
    sent = np.array([m.sent for m in messages])
    w = state.w.copy()
    for message in messages:
        weight = base ** (stamp.tick - message.sent)
        counted = max(np.sum(left & (sent == message.sent)), 1)
        for j, c in enumerate(message.coordinates):
            if newest[c] == message.sent:
                w[c] += weight / counted * (message.values[j] - state.w[c])
    return Weights(w)


@dataclass(frozen=True)
class Interpretation:
    """What an interpretation changes; what it does not mention stays as it is by default."""

    key: str
    words: str
    of_scenario: tuple[Callable[[Scenario], Scenario], ...] = ()
    of_method: tuple[Callable[[Algorithm], Algorithm], ...] = ()
    # Changes of a trace, for what a scenario cannot say.
    of_trace: tuple[Callable[[Trace], Trace], ...] = ()
    steps: StepChoice | None = None
    same_world: bool = False  # whether all runs are in the same world
    share: float = 1.0  # share of the usual number of runs, less where runs take long
    # Whether an update is weighed by the steps of its delay instead of its age in ticks.
    weighs_steps: bool = False

    @property
    def touches_all(self) -> bool:
        """Whether all methods must be run again, since worlds or step sizes are others."""
        return bool(self.of_scenario or self.of_trace or self.steps or self.same_world)

    def scenario(self, scenario: Scenario) -> Scenario:
        """Return the scenario under this interpretation."""
        for change in self.of_scenario:
            scenario = change(scenario)
        return scenario

    def method(self, method: Algorithm, scenario: Scenario) -> Algorithm:
        """Return the method under this interpretation of a scenario; its name stays."""
        for change in self.of_method:
            method = change(method)
        return weighing_steps(method, scenario) if self.weighs_steps else method

    def trace(self, trace: Trace) -> Trace:
        """Return the trace under this interpretation."""
        for change in self.of_trace:
            trace = change(trace)
        return trace

    def __add__(self, other: "Interpretation") -> "Interpretation":
        """Return an interpretation that makes the changes of both."""
        return Interpretation(
            f"{self.key}+{other.key}",
            f"{self.words}; {other.words}",
            self.of_scenario + other.of_scenario,
            self.of_method + other.of_method,
            self.of_trace + other.of_trace,
            other.steps or self.steps,
            self.same_world or other.same_world,
            min(self.share, other.share, _DEAR),
            self.weighs_steps or other.weighs_steps,
        )


def _is_pao_fed(method: Algorithm) -> bool:
    return method.name.startswith("pao-fed")


def by_coverage(method: Algorithm) -> Algorithm:
    """Divide by the messages that hold a coordinate."""
    server = method.server
    if not (_is_pao_fed(method) and isinstance(server, Newest)):
        return method
    return replace(method, server=replace(server, divisor="coverage"))


def averaging(method: Algorithm) -> Algorithm:
    """Let Online-FedSGD and Online-Fed take the plain mean of all that arrives."""
    if _is_pao_fed(method):
        return method
    return replace(method, server=ServerRule(apply=plain_mean))


def counting_what_is_left(method: Algorithm) -> Algorithm:
    """Count in a class only messages of which newer messages leave something.

    In coordinated sharing, newer messages leave all of a class or nothing.
    """
    parts = method.paper_parts
    if not _is_pao_fed(method) or parts is None or parts.uplink.coordinated:
        return method
    rule = partial(newest_before_counting, parts.server.staleness(1))
    return replace(method, server=ServerRule(apply=rule))


def weighing_steps(method: Algorithm, scenario: Scenario) -> Algorithm:
    """Let an update that is late by i steps weigh alpha_i, where delays come in steps of ticks."""
    server, law = method.server, scenario.delay
    if not (isinstance(server, Newest) and isinstance(law, SteppedDelay)):
        return method
    weight = Geometric(float(server.staleness(1) ** (1 / np.max(law.step))))
    return replace(method, server=replace(server, staleness=weight))


def resting(method: Algorithm) -> Algorithm:
    """Let the clients of the "0" versions rest while they are away."""
    return replace(method, learns_while_away=False) if method.name[-1:] == "0" else method


def one_further(method: Algorithm) -> Algorithm:
    """Send S_{k,n+1} literally: a window one further on than by default."""
    up = method.uplink
    if not (_is_pao_fed(method) and isinstance(up, Windows)):
        return method
    return replace(method, uplink=replace(up, ahead=up.ahead + 1))


def sending_first(method: Algorithm) -> Algorithm:
    """Let a client send before it hears the server, where its uplink allows that."""
    parts = method.paper_parts
    received = parts is not None and _is_pao_fed(method) and parts.uplink == parts.downlink
    return method if received else replace(method, exchange="single")


def late_by_more(first: float | None, scenario: Scenario) -> Scenario:
    """Read the law of delays with > in place of >=: messages that are late are a step later.

    P(delay > l) is then what P(delay >= l) was, for l from one step on. `first` is P(delay > 0),
    for which the paper states two values; None leaves it as it was.
    """
    law = scenario.delay
    if isinstance(law, Recorded):
        raise ScenarioError(f"{scenario.name} has recorded delays: expected a law of delays")
    (rungs,), (step,) = law.ladder()
    chances = (rungs / CERTAIN).tolist()
    later = ListedDelay(chances=(first or chances[0], *chances), step=int(step))
    return scenario.model_copy(update={"delay": later})


def evenly(scenario: Scenario) -> Scenario:
    """Let exactly the stated number of samples arrive."""
    stream = scenario.synthetic.model_copy(update={"arrivals": "even"})
    return scenario.model_copy(update={"stream": stream})


def tested_on_more(scenario: Scenario) -> Scenario:
    """Judge on a larger test set."""
    return scenario.model_copy(update={"test_samples": LARGER * scenario.test_samples})


def for_longer(scenario: Scenario) -> Scenario:
    """Run more ticks at the same rates of samples."""
    return stretched(scenario, LONGER * scenario.ticks)


def other_target(x: FloatArray) -> FloatArray:
    """f(x) = sqrt(x1^2 + sin^2(pi x4)) + (0.8 - 0.5 exp(-x2^2) x3): the bracket closes later."""
    x2, x3 = x[..., 1], x[..., 2]
    bell = 0.5 * np.exp(-(x2**2))
    y: FloatArray = target(x) - (0.8 - bell) * x3 + 0.8 - bell * x3
    return y


def with_other_target(trace: Trace) -> Trace:
    """Return the trace with the targets of `other_target`, with the same inputs and noise."""
    moved = np.where(trace.has_data, other_target(trace.x) - target(trace.x), 0.0)
    on_test = other_target(trace.x_test) - target(trace.x_test)
    return replace(trace, y=trace.y + moved, y_test=trace.y_test + on_test)


def wider(scenario: Scenario) -> Scenario:
    """Take a kernel twice as wide, which the paper does not state either."""
    return scenario.model_copy(update={"kernel_width": 2 * scenario.kernel_width})


DEFAULT = Interpretation("default", "as everywhere else here")
COVERAGE = Interpretation(
    "coverage", "a coordinate is divided by the messages that hold it", of_method=(by_coverage,)
)
PLAIN_MEAN = Interpretation(
    "plain-mean",
    "Online-FedSGD takes the plain mean of all that arrives",
    of_method=(averaging,),
    share=_DEAR,
)
NEWEST_FIRST = Interpretation(
    "newest-first",
    "a message of which newer ones leave nothing does not count",
    of_method=(counting_what_is_left,),
    share=_DEAR,
)
LATER_THAN = Interpretation(
    "later-than",
    "late by more than l with delta^l, l from 1 on",
    of_scenario=(partial(late_by_more, None),),
)
ALL_LATE = Interpretation(
    "all-late",
    "late by more than l with delta^l, l from 0 on: all are late",
    of_scenario=(partial(late_by_more, 1.0),),
)
EVEN = Interpretation("even", "exactly so many samples arrive, evenly", of_scenario=(evenly,))
BRACKET = Interpretation(
    "bracket", "the target's bracket closes later", of_trace=(with_other_target,), share=_DEAR
)
TEST_SET = Interpretation(
    "test-set", "a test set ten times as large", of_scenario=(tested_on_more,), share=_DEAR
)
ONE_WORLD = Interpretation("one-world", "one world for all runs", same_world=True)
WEIGHED_STEPS = Interpretation(
    "weighed-steps", "ages weigh by steps of ten in II", weighs_steps=True
)
RESTING = Interpretation("resting", 'clients of "0" versions rest while away', of_method=(resting,))
INDICES = Interpretation(
    "indices", "S_{k,n+1} as written, a window further", of_method=(one_further,)
)
LONGER_RUNS = Interpretation(
    "longer", "25 times as many ticks", of_scenario=(for_longer,), share=_DEAREST
)
WIDER = Interpretation("wider", "a kernel twice as wide", of_scenario=(wider,))
AS_U1 = Interpretation("start-as-u1", "steps for a start like that of U1", steps=StepChoice(U1))
SLOWLY = Interpretation(
    "slow-start", "the same, of U1 at a quarter of its step", steps=StepChoice(U1, 0.25)
)
AS_SGD = Interpretation(
    "start-as-fedsgd", "steps for a start like that of FedSGD", steps=StepChoice(SGD)
)
BEST = Interpretation("best-steps", "each method at its own best step", steps=StepChoice())
SEND_FIRST = Interpretation(
    "send-first", "clients send before they hear", of_method=(sending_first,)
)

INTERPRETATIONS = (
    DEFAULT,
    COVERAGE,
    PLAIN_MEAN,
    NEWEST_FIRST,
    LATER_THAN,
    ALL_LATE,
    EVEN,
    BRACKET,
    TEST_SET,
    ONE_WORLD,
    WEIGHED_STEPS,
    RESTING,
    INDICES,
    LONGER_RUNS,
    AS_U1,
    SLOWLY,
    AS_SGD,
    BEST,
    SEND_FIRST,
    PLAIN_MEAN + AS_U1,
    ALL_LATE + AS_U1,
    LATER_THAN + SLOWLY,
    WEIGHED_STEPS + SLOWLY,
    WIDER + SLOWLY,
    WEIGHED_STEPS + WIDER + SLOWLY,
)
