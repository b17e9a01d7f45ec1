"""The connection where the library under it has gaps; brokers are in tests/live/server."""

from collections.abc import Iterator

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from paofed.live.network.mqtt import _stop


class _Ending(Client):
    """A client whose thread ends between the library's second look at it and the third."""

    def __init__(self) -> None:
        self._seen: Iterator[object] = iter((object(), object(), None))
        super().__init__(CallbackAPIVersion.VERSION2)

    def __getattribute__(self, name: str) -> object:
        return next(self._seen) if name == "_thread" else super().__getattribute__(name)


def test_a_thread_that_ends_while_it_is_looked_for() -> None:
    with pytest.raises(AttributeError, match="join"):
        _Ending().loop_stop()
    _stop(_Ending())
