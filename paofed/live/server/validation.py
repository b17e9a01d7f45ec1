"""How wrong the server's model is on a file of samples, and whether somebody should know.

Devices report the errors of their own models, against what they measure themselves. A file of
samples that somebody trusts tells what they cannot: that the server's model is ruined, or that most
devices are wrong together. It is a problem when the error is above the limit in the fleet's
settings, or has become worse than it usually is, by the rule of paofed.live.protocol.trend.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.validated import Validated
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.trend import NEVER, Trend

_EVERY = 2.0  # seconds, or a tick if that is longer: there is no other model meanwhile
_SHARE = 20  # it rests so many times as long as it works, since devices are waiting


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What was found last, and what somebody should know of it."""

    error: float  # root mean squared, as measured
    target: str
    # In dB of the target's scale squared; None where the model sees a logarithm.
    decibels: float | None
    samples: int
    held: float | None
    problem: str = ""


def validation_of(found: Validated, manifest: Manifest, problem: str = "") -> Validation:
    """Return what was found, with its unit."""
    scale = manifest.error_scale
    decibels = None if scale is None else _decibels(found.error / scale)
    return Validation(
        **found._asdict(), target=manifest.target.name, decibels=decibels, problem=problem
    )


class Validating:
    """Follows the error on the file while a server runs."""

    def __init__(self, manifest: Manifest, limit: float = 0.0) -> None:
        """`limit` is the greatest error that is right, in the target's unit; 0: there is none."""
        self._manifest, self._limit = manifest, limit
        self._trend = Trend()

    def follow(self, found: Validated, now: float) -> Validation:
        """Take what was found now, in seconds since 1970."""
        self._trend.follow(int(now), _decibels(found.error))
        return validation_of(found, self._manifest, self._problem(found.error))

    def _problem(self, error: float) -> str:
        target = self._manifest.target.name
        words = f"the model is wrong by {error:.4g} {target} on the validation file"
        if self._limit and error > self._limit:
            return f"{words}, above the limit of {self._limit:g}"
        if self._trend.worse_since != NEVER:
            return f"{words}, usually by {10 ** (self._trend.usual / 20):.4g}"
        return ""


def _decibels(size: float) -> float:
    return 20 * float(np.log10(max(size, 1e-300)))


Judge = Callable[[FleetModel], Validated]


class Judging:
    """Computes the error again and again beside the server's loop, as long as its block lasts."""

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
