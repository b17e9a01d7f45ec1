"""The rules of a method under the names that its kernel gives them, and the numbers given to them.

Numbers that are given to a rule (paofed.core.given) are no part of the kernel, which takes them as
arguments.
"""

from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core import bounded
from paofed.core.bounded import Bounded
from paofed.core.given import apart
from paofed.core.parts import Channel, ServerRule, overwrite, weights
from paofed.core.rules import LMS
from paofed.core.selection import Windows
from paofed.simulate.engines.guarded import guarded

_TRIED = 64, 8  # features and clients of the model with which a kernel is compiled


class Gathered(NamedTuple):
    """The functions of a method and the types of its states; and the numbers of each, by name."""

    rules: dict[str, Any]
    given: dict[str, tuple[Any, ...]]  # the first arguments of a rule; () where it has none


def gathered(method: Algorithm) -> Gathered:
    """Take numbers and rules apart."""
    rules, given = dict[str, Any](), dict[str, tuple[Any, ...]]()
    for name, rule in _rules(method).items():
        rules[name], numbers = apart(rule)
        if not isinstance(rule, type):
            given[name] = numbers
    return Gathered(rules, given)


def tried(method: Algorithm) -> tuple[int, int]:
    """Features and clients of the model with which a kernel is compiled: its windows fit."""
    features, clients = _TRIED
    both = method.downlink, method.uplink
    return max([features, *(c.width or 0 for c in both if isinstance(c, Windows))]), clients


def takes_paper_step(method: Algorithm) -> bool:
    """Whether devices take LMS steps on a state that is the model, for which there is a fast form.

    >>> from paofed.algorithms import algorithm
    >>> takes_paper_step(algorithm("pao-fed-u1"))
    True
    """
    return method.learner.learn is LMS.learn and method.learner.init is LMS.init


def kind_of(number: Any) -> object:
    """What a kernel must know of a number before the number is there: its type.

    >>> kind_of((0.5, 3))
    ['float', 'int']
    """
    if isinstance(number, tuple):
        return [kind_of(item) for item in number]
    if isinstance(number, np.ndarray):
        return number.dtype.str, number.ndim
    return type(number).__name__


def _rules(method: Algorithm) -> dict[str, Any]:
    """The method's own functions and the types of its states, by the names of the kernel."""
    features, clients = tried(method)
    learner, server = guarded(method, features, clients).learner, method.server
    found: dict[str, Any] = {"Learner": type(learner.init(features))}
    if not takes_paper_step(method):
        found["learn"] = method.learner.learn
    if method.learner.merge is not overwrite:
        found["merge"] = method.learner.merge
    if method.learner.model is not weights:
        found["learner_model"] = method.learner.model
    if isinstance(server, Bounded):
        found |= {"sizes_of": bounded.sizes_of, "received": bounded.received}
        found |= {"Server": bounded.BoundedState}
    if isinstance(server, ServerRule):
        found |= {"apply": server.apply, "Server": type(server.init(features, clients))}
        if server.model is not weights:
            found["server_model"] = server.model
    for name, channel in (("up", method.uplink), ("down", method.downlink)):
        if isinstance(channel, Channel):
            found |= {f"{name}_send": channel.send, name.title(): type(channel.init(features))}
            if channel.encode is not None:
                found |= {f"{name}_encode": channel.encode, f"{name}_decode": channel.decode}
    return found
