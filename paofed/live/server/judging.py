"""The error of a fleet's model on a file of samples, again and again, beside the server's loop."""

import threading
import time
from collections.abc import Callable
from typing import Self

from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel

Judge = Callable[[FleetModel], float]  # the root mean squared error of a model, as measured

_EVERY = 30.0  # seconds
_SHARE = 20  # it rests for as many times as long as it works: devices are waiting


class Judging:
    """A thread that lasts as long as its block."""

    def __init__(
        self,
        judge: Judge,
        model: Callable[[], FleetModel],
        found: Callable[[float], None],
        failed: Callable[[str], None],
    ) -> None:
        """`model` gives the present one, `found` and `failed` are told what came of it."""
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
            try:
                self._found(self._judge(self._model()))
            except TimeoutError:
                pass  # the loop is busy: later
            except InputError as error:  # the file was changed, say
                self._failed(str(error))
                return
            took = time.monotonic() - begin
            self._over.wait(max(_EVERY, _SHARE * took))
