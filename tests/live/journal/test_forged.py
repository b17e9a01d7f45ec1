"""Rows that somebody changed together with their checksums: told in a line, and never a traceback.

Whatever makes sense is believed: nobody can tell it from what a server wrote. An error that names a
repair is right: the repair works, and the fleet can be verified and served after it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.archives import packed, unpacked
from paofed.cli import main
from paofed.live.journal.database import LAST_RESORT, REMEDY, StoreError
from paofed.live.journal.repair import repair
from paofed.live.journal.roster import Roster
from paofed.live.journal.schema import COLUMNS, TOTAL, checksum
from paofed.live.journal.store import Store
from paofed.live.protocol.saved import STATE
from tests.effort import some
from tests.live.fleets import live, manifest, opened
from tests.live.stores import ask, execute, refusal

LINE = ", ".join(COLUMNS["journal"])
MANIFEST = ", ".join(COLUMNS["manifest"])
VALUES = np.ones(2, dtype="<f4").tobytes()

# A line of the journal as somebody changed it, of a fleet of three whose updates have two numbers.
LINES: dict[str, tuple[Any, ...]] = {
    "a device that never was": (22, 999, 22, VALUES, 0),
    "a device below none": (22, -1, 22, VALUES, 0),
    "a device beyond memory": (22, 10**9, 22, VALUES, 0),
    "before it was sent": (21, 1, 22, VALUES, 0),
    "before the first tick": (-5, 1, -5, VALUES, 0),
    "after the last tick": (2**40, 1, 2**40, VALUES, 0),
    "too old": (22, 1, 2, VALUES, 0),
    "too long": (22, 1, 22, VALUES * 2, 0),
    "too short": (22, 1, 22, VALUES[:5], 0),
    "empty": (22, 1, 22, b"", 0),
    "a text": (22, 1, 22, "ones", 0),
    "a time that is a text": ("x", 1, 22, VALUES, 0),
    "half a device": (22, 1.5, 22, VALUES, 0),
    "no number": (22, 1, 22, np.array([np.nan, 1], dtype="<f4").tobytes(), 0),
    "too large": (22, 1, 22, np.array([1e9, 1], dtype="<f4").tobytes(), 0),
    "a level of none": (22, 1, 22, VALUES, 300),
}


def told(folder: Path) -> None:
    """Everything that reads a journal says that it is damaged, and that a repair helps."""
    for does in (Store.verify, Store.recover):
        assert "fleet.sqlite" in (said := refusal(folder, does))
        assert REMEDY in said
    assert main(["fleet", "verify", str(folder)]) == 2


def repaired(folder: Path, *, lost: int = 0) -> None:
    """A repair loses the updates behind the damage alone, and the fleet goes on."""
    with opened(folder, to_repair=True) as store:
        assert repair(store).lost == lost
    with opened(folder) as store:
        assert store.verify().agrees
        assert store.recover().counts["accepted"] == 75 - lost


@pytest.mark.parametrize("columns", some(LINES.values(), everyday=8), ids=some(LINES, everyday=8))
def test_a_line_that_no_server_wrote_is_told(columns: tuple[Any, ...], fleet: Path) -> None:
    named = LINE.replace(",", " = ?,") + " = ?"
    forged = (*columns, checksum(*columns), 66)
    execute(fleet, (f"UPDATE journal SET {named}, checksum = ? WHERE line = ?", forged))  # noqa: S608
    told(fleet)
    repaired(fleet, lost=10)


def test_a_line_before_a_snapshot_is_told(fleet: Path) -> None:
    total = checksum(12, 10**9, 12, VALUES, 0)
    columns = "device = ?, checksum = ?, arrived = 12, sent = 12, vals = ?, level = 0"
    changed = f"UPDATE journal SET {columns} WHERE line = 40"  # noqa: S608
    execute(fleet, (changed, (10**9, total, VALUES)))
    assert "a line of device 1000000000, which is not in the fleet" in refusal(fleet, Store.verify)
    repaired(fleet)


State = dict[str, NDArray[Any]]


def changing(name: str, change: Callable[[NDArray[Any]], Any]) -> Callable[[State], Any]:
    def changed(state: State) -> Any:
        state[name] = np.asarray(change(state[name]))

    return changed


def with_value(place: Any, value: float) -> Callable[[NDArray[Any]], Any]:
    def changed(array: NDArray[Any]) -> Any:
        array[place] = value
        return array

    return changed


def without(name: str) -> Callable[[State], Any]:
    return lambda state: state.pop(name)


STATES: dict[str, Callable[[State], Any]] = {
    **{f"without {name}": without(name) for name in (*STATE.arrays, "model", "well_trend")},
    "another type": changing("last_seen", lambda array: array.astype(float)),
    "other columns": changing("well_devices", lambda array: array[["level", "said"]].copy()),
    "another shape": changing("pending", lambda array: array.reshape(3, -1)),
    "devices of more than there are": changing("well_devices", lambda array: np.resize(array, 99)),
    "fewer devices": changing("known", lambda array: array[:5]),
    "another window": changing("accepted", lambda array: array[1:]),
    "no window": changing("accepted", lambda array: array[:0]),
    "a tick before the first": changing("tick", lambda _: np.array(-1)),
    "a tick after the last": changing("tick", lambda _: np.array(2**40)),
    "a reason that is none": changing("refused_why", with_value(0, 200)),
    "a pace without end": changing("well_fleet", with_value(3, np.inf)),
    "a clock that is no number": changing("well_fleet", with_value(1, np.nan)),
    "fewer values than none": changing("well_trend", with_value(0, -1)),
    "another history": changing("well_history", lambda array: array[:3]),
    "counts that are no JSON": changing("counts", lambda _: "{"),
    "counts that are a list": changing("counts", lambda _: "[1]"),
    "counts of no number": changing("counts", lambda _: '{"accepted": "x"}'),
    "counts below none": changing("counts", lambda _: '{"accepted": -1}'),
    "counts nested deep": changing("counts", lambda _: "[" * 5000),
    "ages of no number": changing("ages", lambda _: '{"x": 1}'),
    "a model of another fleet": changing("model", lambda array: array[:4]),
}


def with_pending(change: Callable[[State], None]) -> Callable[[State], None]:
    """A state in which an update waits."""

    def changed(state: State) -> None:
        tick = int(state["tick"])
        state["pending"] = np.array([[tick, 1, tick]])
        state["pending_values"] = np.ones((1, 2), dtype="<f4")
        state["pending_levels"] = np.zeros(1, dtype=np.uint8)
        change(state)

    return changed


STATES |= {
    "one that waits of nobody": with_pending(changing("pending", with_value((0, 1), 10**9))),
    "one that waits of less": with_pending(changing("pending", with_value((0, 1), -1))),
    "values of another length": with_pending(changing("pending_values", lambda a: a[:, :1])),
    "values of another type": with_pending(changing("pending_values", lambda a: a.astype(float))),
    "values that are no numbers": with_pending(changing("pending_values", with_value(0, np.nan))),
    "more values than updates": with_pending(changing("pending_values", lambda a: a.repeat(2, 0))),
    "more levels than updates": with_pending(changing("pending_levels", lambda a: a.repeat(2))),
}


def forge_state(fleet: Path, blob: object) -> None:
    ((tick,),) = ask(fleet, "SELECT tick FROM snapshot WHERE line = 60")
    values = blob, checksum(tick, 60, 1, blob)
    execute(fleet, ("UPDATE snapshot SET state = ?, checksum = ? WHERE line = 60", values))


def state_of(fleet: Path) -> State:
    ((blob,),) = ask(fleet, "SELECT state FROM snapshot WHERE line = 60")
    return unpacked(blob, "it", STATE, "a state")


@pytest.mark.parametrize(
    "change", some(STATES.values(), everyday=20), ids=some(STATES, everyday=20)
)
def test_a_snapshot_that_no_server_took_is_told(
    change: Callable[[State], Any], fleet: Path
) -> None:
    state = state_of(fleet)
    change(state)
    forge_state(fleet, packed(state))
    told(fleet)
    repaired(fleet)


@pytest.mark.parametrize("blob", [b"", b"PK", b"x" * 500, "a text", 5, packed({"x": np.zeros(2)})])
def test_a_snapshot_that_is_none_is_told(blob: object, fleet: Path) -> None:
    forge_state(fleet, blob)
    told(fleet)
    repaired(fleet)


def test_a_snapshot_with_an_update_that_waits_is_none_of_these(fleet: Path) -> None:
    state = state_of(fleet)
    with_pending(lambda _: None)(state)
    forge_state(fleet, packed(state))
    with opened(fleet) as store:
        assert not store.verify().agrees  # the journal tells nothing of this update
        assert store.recover().counts["accepted"] == 75


@pytest.mark.parametrize(
    ("column", "value"),
    [("line", 70), ("line", "x"), ("tick", 90), ("time", "x"), ("json", 5), ("json", "[" * 2000)],
)
def test_a_manifest_that_cannot_have_held_is_told(column: str, value: object, fleet: Path) -> None:
    execute(fleet, (f"UPDATE manifest SET {column} = ?", (value,)))  # noqa: S608
    ((*row,),) = ask(fleet, f"SELECT {MANIFEST} FROM manifest")  # noqa: S608
    execute(fleet, ("UPDATE manifest SET checksum = ?", (checksum(*row),)), seal())
    assert LAST_RESORT in refusal(fleet, Store.verify)
    assert main(["fleet", "repair", str(fleet)]) == 2


def test_an_earlier_manifest_that_is_none_can_be_done_without(fleet: Path) -> None:
    with opened(fleet) as store:
        begun = store.recover()
        begun.close(25)
        store.begin_epoch(begun.under(manifest(epoch=4)), "changed")
        live(store, store.recover(), range(25, 27))
    execute(fleet, ("UPDATE manifest SET json = '[]' WHERE generation = 1", ()))
    ((*row,),) = ask(fleet, f"SELECT {MANIFEST} FROM manifest WHERE generation = 1")  # noqa: S608
    changed = "UPDATE manifest SET checksum = ? WHERE generation = 1", (checksum(*row),)
    execute(fleet, changed, seal())
    assert REMEDY in refusal(fleet, Store.verify)
    for command in ("repair", "verify"):
        assert main(["fleet", command, str(fleet)]) == 0
    with opened(fleet) as store:
        assert store.recover().counts["accepted"] == 81


def seal() -> tuple[str, tuple[object, ...]]:
    return f"UPDATE seal SET total = ({TOTAL})", ()  # noqa: S608


def forge(fleet: Path, table: str, column: str, value: object) -> None:
    """Change a column of a table's last row, with a right checksum."""
    named = f"rowid = (SELECT max(rowid) FROM {table})"  # noqa: S608
    execute(fleet, (f"UPDATE {table} SET {column} = ? WHERE {named}", (value,)))  # noqa: S608
    rows = ask(fleet, f"SELECT rowid, {', '.join(COLUMNS[table])} FROM {table}")  # noqa: S608
    changed = f"UPDATE {table} SET checksum = ? WHERE rowid = ?"  # noqa: S608
    execute(fleet, *((changed, (checksum(*row), number)) for number, *row in rows), seal())


@pytest.mark.parametrize("index", [-1, 10**12])
def test_a_member_that_cannot_be_is_told(index: int, fleet: Path) -> None:
    forge(fleet, "device", "id", index)
    said = f"has a device {index}: {LAST_RESORT}"
    assert said in refusal(fleet)
    with opened(fleet, to_repair=True) as store, pytest.raises(StoreError, match=said):
        repair(store)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("device", "label", b"\xff"), ("device", "credential", b"\xff"),
        ("device", "quarantined", "x"), ("device", "removed", "x"), ("device", "removed", 0.5),
        ("spoken", "gateway", b"\xff"), ("revoked", "credential", None),
        ("revoked", "credential", b"\xff"), ("server", "credential", b"\xff"),
        ("expiring", "credential", b"\xff"), ("expiring", "until", "x"),
    ],
)  # fmt: skip
def test_a_row_of_other_types_is_mended(
    table: str, column: str, value: object, fleet: Path
) -> None:
    with opened(fleet) as store:
        store.roster.add_spoken(["the gateway"])
        store.credentials.serve_as("s")
        store.roster.reissue(1, "a")
        store.roster.reissue(1, "b")
        store.roster.reissue(1, "c", until=1e9)
    forge(fleet, table, column, value)
    assert REMEDY in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        found = repair(store)
    assert found.lost == 0
    assert found.devices == ((3,) if table in ("device", "spoken") else ())
    assert found.unknown == (table != "device")
    with opened(fleet) as store:
        assert [member.device for member in store.roster.members() if member.quarantined] == list(
            found.devices
        )


def test_a_fleet_is_never_larger_than_can_be_read(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{Roster.__module__}.MOST_DEVICES", 4)
    with opened(fleet) as store:
        store.roster.add("the fourth")
        with pytest.raises(StoreError, match="a fleet has at most 4 devices: make another"):
            store.roster.add("the fifth")
        assert len(store.roster.members()) == 4
