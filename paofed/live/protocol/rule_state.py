"""The server's rule at work: its state, whatever arrays that is made of, and what arrives."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.bounded import LEAST, BoundedState, grown
from paofed.core.parts import SERVER, Message, Stamp, keys_of
from paofed.core.starting import server_from
from paofed.errors import InputError
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import Values

Sent = tuple[int, int, Values]  # device, tick, and the values as they travelled
_MODEL = "model"
_TRUSTED = f"{_MODEL}_trusted"
_NOBODY: BoolArray = np.zeros(0, dtype=np.bool_)


class RuleState:
    """The state of the server's rule: begins with the manifest's model, then messages change it."""

    def __init__(self, manifest: Manifest) -> None:
        self._up, self._rule = manifest.up, manifest.parts.server
        self._algorithm = manifest.algorithm
        self._features, self._key = manifest.features, keys_of(manifest.seed).server
        self.state: Any
        # Who is trusted under a rule that sets nobody aside, for a later rule that does.
        self._trusted = _NOBODY
        self.begin(manifest.begins_with)

    @property
    def w(self) -> FloatArray:
        """The server's model."""
        return self._rule.model(self.state)

    @property
    def aside(self) -> NDArray[np.bool_]:
        """Which devices the rule has set aside, by index; empty for a rule that sets none aside."""
        return np.asarray(getattr(self.state, "aside", ()), dtype=bool)

    @property
    def trusted(self) -> set[int]:
        """The devices that are never set aside, because somebody said so."""
        return set(np.flatnonzero(getattr(self.state, "trusted", self._trusted)).tolist())

    def trust(self, devices: Collection[int]) -> None:
        """Never set these devices aside, and all others again where they lie far outside."""
        trusted = np.isin(np.arange(max(devices, default=-1) + 1), list(devices))
        if not isinstance(self.state, BoundedState):
            self._trusted = trusted
            return
        state = grown(self.state._replace(trusted=trusted), ())
        self.state = state._replace(aside=state.aside & ~state.trusted)

    def allowance(self, device: int) -> float:
        """Return how far from the model a device that is set aside may be, in scales."""
        allowed = getattr(self.state, "allowed", np.zeros(0))
        return max(float(allowed[device]) if device < allowed.size else 0.0, LEAST)

    def apply(self, tick: int, sent: Iterable[Sent]) -> None:
        """Apply all messages that count at a tick (eq. 9), in whatever order they came."""
        messages = [Message(k, n, *self._up.read(values, k, n)) for k, n, values in sent]
        messages.sort(key=lambda m: (tick - m.sent, m.client))
        stamp = Stamp(SERVER, tick, self._features, self._key)
        self.state = self._rule.apply(self.state, messages, stamp)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the whole state, for snapshots, digests and exports."""
        trusted = {_TRUSTED: self._trusted} if self._trusted.any() else {}
        return {**named(self.state), **trusted}

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Take up the arrays of this state among those that were saved."""
        own, found = named(self.state), self._without_trust(saved)
        found = {name: array for name, array in found.items() if name.startswith(_MODEL)}
        if found.keys() != own.keys() or not all(_fits(found[n], own[n]) for n in found):
            raise InputError(
                f"a server's state that was saved has {_forms(found)}: expected {_forms(own)}; "
                f"use the paofed that wrote it"
            )
        self._take_up(found)

    def begin(self, w: FloatArray) -> None:
        """Begin anew with a model; devices may join at any time."""
        self.state = server_from(self._algorithm, self._rule, 0, w)

    def carry(self, saved: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
        """Take up the arrays of another rule's state that fit; return the fields that do not."""
        own, saved = named(self.state), self._without_trust(saved)
        fitting = {n: saved[n] for n in own if n in saved and _fits(saved[n], own[n])}
        self._take_up({**own, **fitting})
        if self.aside.any() and not getattr(self._rule, "aside", True):
            self.state = self.state._replace(aside=np.zeros_like(self.state.aside))
        left = sorted(set(saved) - set(fitting))
        return tuple(name.removeprefix(f"{_MODEL}_") for name in left)

    def _take_up(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        own = named(self.state)
        self.state = type(self.state)(*(arrays[n].astype(own[n].dtype) for n in own))
        if isinstance(self.state, BoundedState):  # another rule may have kept only who is trusted
            self.state = grown(self.state, ())

    def _without_trust(self, saved: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the arrays of the rule itself, and keep who is trusted where the rule does not."""
        arrays = dict(saved)
        if not isinstance(self.state, BoundedState) and _fits(
            saved.get(_TRUSTED, _NOBODY), _NOBODY
        ):
            self._trusted = np.asarray(arrays.pop(_TRUSTED, _NOBODY))
        return arrays


def named(state: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of a state, of a server's rule or a device's learner, by name on disk.

    The field `w` is called `model`; another field `f` is called `model_f`.
    """
    fields = state._asdict().items()
    return {
        _MODEL if field == "w" else f"{_MODEL}_{field}": np.asarray(array)
        for field, array in fields
    }


def _fits(array: NDArray[Any], begun: NDArray[Any]) -> bool:
    """Whether a rule could go on with an array in place of the one that it begins with.

    Arrays with a row for each device begin without rows.
    """
    rows = array.shape[:1] if begun.shape[:1] == (0,) else begun.shape[:1]
    return array.dtype.kind == begun.dtype.kind and array.shape == rows + begun.shape[1:]


def _forms(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Describe names, types and shapes, the same words for the same form."""
    return ", ".join(f"{n} ({a.dtype.kind}) {a.shape}" for n, a in sorted(arrays.items()))
