"""The error of a fleet's model on a file of samples, again and again, beside the server's loop."""

import threading
import time
from collections.abc import Callable
from typing import Self

from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.server.validation import Validated

Judge = Callable[[FleetModel], Validated]

_EVERY = 2.0  # seconds, or a tick if that is longer: there is no other model meanwhile
_SHARE = 20  # it rests so many times as long as it works, since devices are waiting


class Judging:
    """A thread that lasts as long as its block."""

    def __init__(
        self,
        judge: Judge,
        model: Callable[[], FleetModel],
        found: Callable[[Validated], None],
        failed: Callable[[str], None],
    ) -> None:
        """`model` returns the present model; `found` or `failed` are called with each outcome."""
        self._judge, self._model = judge, model
        self._found, self._failed = found, failed
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _work(self) -> None:
        took = 0.0
        while not self._over.is_set():
            begin = time.monotonic()
            model = self._model()
            try:
                self._found(self._judge(model))
            except TimeoutError:
                pass  # the loop is busy: try again later
            except InputError as error:  # the file was changed, say, and may be whole again later
                self._failed(str(error))
            took = time.monotonic() - begin
            self._over.wait(max(_EVERY, model.manifest.tick_seconds, _SHARE * took))
