"""What people do to a living fleet, with a power cut at any write of it.

The server is stopped, and started again afterwards. An operation that is interrupted leaves the
fleet as it was or as it was to be, which is known from a twin: a copy of the folder on which the
same operation is not interrupted.
"""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from paofed.core.arrays import FloatArray
from paofed.live.journal.database import CONFIRMED, FILE
from paofed.live.journal.store import Store
from paofed.live.protocol.change import Changes, change
from paofed.live.protocol.manifest import SERVED, Manifest
from paofed.live.protocol.scaling import Scaling
from paofed.live.trials.auditor import Auditor, BrokenPromiseError
from paofed.live.trials.fate import Fate
from paofed.live.trials.fleets import MOST_TICKS_LATE
from paofed.live.trials.power import PowerCut

OPERATIONS = ("change",)
_WRITES = (
    "inside epoch",
    "before epoch's commit",
    "after epoch's commit",
    "inside confirmation",
    "after confirmation",
)
INTERRUPTED = tuple(f"{name}: {point}" for name in OPERATIONS for point in _WRITES)
_CHANGES = ("algorithm", "shared", "step_size", "tick_seconds", "max_age", "input", "range")
Sync = Callable[[str], None]


class Operation:
    """One operation on a fleet, and what must come of it."""

    def __init__(self, fate: Fate, name: str, cut: str) -> None:
        """`cut` names the write at which the power fails, if it is one of them."""
        self._fate = fate
        self.name = name
        self._cut = cut
        self._changes = Changes()

    def perform(self, folder: Path) -> bool:
        """Do it to a folder whose server is stopped; it leaves the old or the new fleet.

        Returns whether that is the new one.
        """
        with closing(Store.open(folder)) as store:
            self._changes = _picked(self._fate, store.manifest())
        before, after = _found(folder), self._on_a_twin(folder)
        self._fate.hits[self.name] += 1
        try:
            self._do(folder, self._sync)
            possible = [after]
        except PowerCut:
            possible = [before, after]
        found = _found(folder)
        if found not in possible:
            raise BrokenPromiseError(f"{self.name}, interrupted, left neither old nor new fleet")
        return found == after

    def model(self, auditor: Auditor, tick: int) -> FloatArray:
        """What the server must go on from, by the auditor's account, when it begins at a tick."""
        model: FloatArray = auditor.close(tick)["model"]
        return model

    def _do(self, folder: Path, sync: Sync) -> None:
        with closing(Store.open(folder)) as store:
            changed = change(store.recover(), self._changes, self._fate.wall)
            if changed is None:
                raise BrokenPromiseError("a change that was none")
            store.begin_epoch(changed.server, "changed", sync)

    def _on_a_twin(self, folder: Path) -> tuple[str, bytes]:
        twin = folder / "twin"
        twin.mkdir()
        for name in (FILE, f"{FILE}-wal", CONFIRMED):
            if (folder / name).exists():
                shutil.copy(folder / name, twin)
        self._do(twin, lambda _: None)
        found = _found(twin)
        shutil.rmtree(twin)
        return found

    def _sync(self, point: str) -> None:
        if point == self._cut:
            self._fate.hits[f"{self.name}: {point}"] += 1
            raise PowerCut


class Plan:
    """When what is done to the fleet of a seed, and where the power fails meanwhile.

    Five seeds in a row try every operation, and one of them none; so many times as many as there
    are writes have the power fail at each write of each.
    """

    def __init__(self, fate: Fate, seconds: int) -> None:
        self._fate = fate
        self._at: dict[int, tuple[str, str]] = {}
        turns = (*OPERATIONS, "")
        turn, cuts = fate.seed % len(turns), (*_WRITES, "")
        if turns[turn]:
            cut = cuts[fate.seed // len(turns) % len(cuts)]
            self._at[int(fate.random.integers(5, seconds))] = turns[turn], cut
            for _ in range(int(fate.random.integers(3))):
                when = int(fate.random.integers(5, seconds))
                self._at.setdefault(when, (fate.one_of(OPERATIONS), fate.one_of(cuts)))

    def now(self) -> Operation | None:
        """What is to be done at this time."""
        planned = self._at.get(self._fate.now)
        return None if planned is None else Operation(self._fate, *planned)


def _found(folder: Path) -> tuple[str, bytes]:
    """What a fleet has agreed on, and the state of its server."""
    with closing(Store.open(folder)) as store:
        return store.manifest().to_json(), store.recover().digest()


def _picked(fate: Fate, manifest: Manifest) -> Changes:
    """Something to be different: it is whatever the fleet has agreed on."""
    random, features = fate.random, manifest.features
    match fate.one_of(_CHANGES):
        case "algorithm":
            others = [name for name in SERVED if name != manifest.algorithm]
            return Changes(values={"algorithm": fate.one_of(others)})
        case "shared" if manifest.shared < features:
            return Changes(values={"shared": manifest.shared + 1})
        case "tick_seconds":
            lengths = [seconds for seconds in (0.5, 1.0, 2.0) if seconds != manifest.tick_seconds]
            return Changes(values={"tick_seconds": lengths[int(random.integers(len(lengths)))]})
        case "max_age":
            return Changes(values={"max_age": manifest.max_age % MOST_TICKS_LATE + 1})
        case "input":
            name = f"more {len(manifest.inputs)}"
            return Changes(inputs=(Scaling(name=name, offset=1.0, scale=0.5),))
        case "range":
            target = manifest.target
            return Changes(ranges={target.name: (-8.0 - manifest.epoch / 256, 8.0)})
        case _:
            return Changes(values={"step_size": manifest.step_size * 0.8})
