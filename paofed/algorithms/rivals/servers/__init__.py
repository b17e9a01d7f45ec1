"""Asynchronous servers: what becomes of messages that come late."""

from collections.abc import Callable, Mapping

from paofed.algorithms.base import Algorithm

SERVERS: Mapping[str, Callable[..., Algorithm]] = {}
