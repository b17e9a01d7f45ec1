"""The rules of a method by the names that its kernel gives them, and the numbers given to rules.

Numbers that a `partial` gives to a rule (paofed.core.parts) are not compiled into the kernel, which
takes them as arguments.
"""

from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core import bounded
from paofed.core.bounded import Bounded
from paofed.core.parts import Channel, ServerRule, overwrite, rule_and_numbers, weights
from paofed.core.rules import LMS
from paofed.core.selection import Windows
from paofed.simulate.engines.guarded import guarded

_TRIED = 64, 8  # features and clients of the model with which a kernel is compiled


class Gathered(NamedTuple):
    """The functions and state types of a method, and the numbers given to each rule, by name."""

    rules: dict[str, Any]
    given: dict[str, tuple[Any, ...]]  # the first arguments of a rule; () if it has none


def gathered(method: Algorithm) -> Gathered:
    """Separate the rules of a method from the numbers given to them."""
    rules, given = dict[str, Any](), dict[str, tuple[Any, ...]]()
    for name, rule in _rules(method).items():
        rules[name], numbers = rule_and_numbers(rule)
        if not isinstance(rule, type):
            given[name] = numbers
    return Gathered(rules, given)


def tried(method: Algorithm) -> tuple[int, int]:
    """Return the features and clients with which a kernel is compiled: the windows must fit."""
    features, clients = _TRIED
    both = method.downlink, method.uplink
    return max([features, *(c.width or 0 for c in both if isinstance(c, Windows))]), clients


def takes_paper_step(method: Algorithm) -> bool:
    """Whether devices take LMS steps and keep the model alone, for which there is a fast form.

    >>> from paofed.algorithms import algorithm
    >>> takes_paper_step(algorithm("pao-fed-u1"))
    True
    """
    return method.learner.learn is LMS.learn and method.learner.init is LMS.init


def kind_of(number: Any) -> object:
    """Return what a kernel must know of a number when it is compiled: the number's type.

    >>> kind_of((0.5, 3))
    ['float', 'int']
    """
    if isinstance(number, tuple):
        return [kind_of(item) for item in number]
    if isinstance(number, np.ndarray):
        return number.dtype.str, number.ndim
    return type(number).__name__


def _rules(method: Algorithm) -> dict[str, Any]:
    """Return the method's own functions and state types, by the names that its kernel uses."""
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
