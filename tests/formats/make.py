"""One small file of each format: `python -m tests.formats.make` writes those that are not there.

What was released does not change: its file in tests/data/formats is never written again, and a
format whose number has risen gets a file of its own beside it. Until the first release there is
one file of each, as it is written today: delete it and make it anew when that changes. What a file
holds goes into `expected.json` (tests/formats/told.py).
"""

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import numpy as np

from paofed.experiments.sweep.forms import SWEPT
from paofed.live.device.state import STATE, save_state
from paofed.live.fleet.backup import back_up
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.fleet.tokens import FORMAT as TOKENS
from paofed.live.fleet.tokens import make_token
from paofed.live.gateway import sources
from paofed.live.gateway.examples import example
from paofed.live.journal.exports import MESSAGES, export_messages
from paofed.live.journal.schema import FORMAT as DATABASE
from paofed.live.model.fleet_model import MODEL
from paofed.live.model.predictor import FORMAT as JSON_MODEL
from paofed.live.protocol.edge import Edge
from paofed.simulate.montecarlo import run
from paofed.simulate.results.forms import RESULT
from paofed.world.trace import TRACE
from tests.experiments.sweep.made import bowl, swept_of
from tests.formats.told import GATEWAY, told
from tests.live.fleets import live, manifest, stored
from tests.live.model.models import plain_model, seeing, seeing_model
from tests.natures import small_scenario, small_trace
from tests.world.table.tables import fleet, hourly, table, write

FOLDER = Path(__file__).parents[1] / "data/formats"
EXPECTED = FOLDER / "expected.json"
METHODS = ["online-fedsgd", "pao-fed-u1:shared=3"]


def _trace(path: Path) -> None:
    trace = small_trace(
        1, ticks=8, clients=2, features=3, tests=2, lost=0.3,
        linear=True, start=True, newcomers=True, personal=True,
    )  # fmt: skip
    drift = {"drifts": np.array([5]), "y_test_drifted": np.array([[0.5, -0.25]])}
    replace(trace, **drift, drift_ticks=np.array([2])).save(path)


def _result(path: Path) -> None:
    """With everything that a result over worlds can hold."""
    scenario = small_scenario(
        ticks=20, clients=6, features=4, stream={"samples": (10, 20, 20)},
        faults=[{"kind": "liar", "push": 0.1, "clients": 2}],
    )  # fmt: skip
    run(scenario, METHODS, runs=2, engine="reference", workers=1).save(path)


def _table_result(path: Path) -> None:
    """With everything that a result over a table can hold but runs without faults."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        stream = table(write(Path("readings.csv"), hourly(2, 60)))
        scenario = fleet(
            stream, features=6, linear=True, personal=True, labels={"share": 0.5, "devices": 0.5}
        )
        run(
            scenario, METHODS, runs=2, engine="reference", workers=1, every=12, cold_starts=1,
            baselines=["last value", "start alone"], label_shares=[0.5, 1.0],
        ).save(path)  # fmt: skip


def _sweep(path: Path) -> None:
    swept_of(bowl, {"step_size": (0.2, 0.4), "shared": (1, 4)}, worlds=2).save(path)


def _messages(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, stored(Path(folder) / "fleet") as store:
        live(store, store.recover(), range(2))
        export_messages(store, path)


def _state(path: Path) -> None:
    edge = Edge(manifest(), 1)
    edge.learn([1.0, 2.0], 11.0)
    edge.contact(0.0)
    save_state(path, edge)


def _fleet(folder: Path) -> Fleet:
    settings = Settings(name="greenhouse", security="none", http="")
    fleet = Fleet.create(folder / "greenhouse", settings, manifest())
    list(fleet.add(["north", "south", "roof"]))
    with fleet.store() as store:
        live(store, store.recover(), range(6), snapshots=4)
    make_token(fleet.folder, "dashboard", ["see"])
    return fleet


def _backup(path: Path) -> None:
    """Packed: SQLite leaves much room in its files."""
    with tempfile.TemporaryDirectory() as folder:
        backup = Path(folder) / "backup.tar"
        back_up(_fleet(Path(folder)), backup)
        path.write_bytes(gzip.compress(backup.read_bytes(), mtime=0))


def _device_file(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = next(iter((_fleet(Path(folder)).folder / "devices").glob("0-*.json")))
        path.write_bytes(first.read_bytes())


def _sources(path: Path) -> None:
    known = {"kitchen": sources.TelemetrySource(device=1, first=2.5, last=9.0, messages=7)}
    with tempfile.TemporaryDirectory() as folder:
        kept = sources.Sources((1, 2), ("*",), known)
        sources.save(Path(folder), GATEWAY, kept, {"not JSON": 3})
        path.write_bytes((Path(folder) / sources.FILE).read_bytes())


def _scenario(path: Path) -> None:
    scenario = small_scenario(loss={"up": 0.1, "down": 0.2}, stream={"drifts": (50,)})
    path.write_text(scenario.to_toml(), encoding="utf-8")


def _sweep_file(path: Path) -> None:
    path.write_text(
        'scenario = "scenario.toml"\nalgorithms = ["pao-fed-u1", "online-fedsgd"]\n'
        "runs = 3\nseed = 5\nfresh = 2\n\n[over]\nstep_size = [0.1, 0.4]\nloss.up = [0.0, 0.3]\n",
        encoding="utf-8",
    )


def _gateway_file(path: Path) -> None:
    path.write_text(example("zigbee2mqtt"), encoding="utf-8")


def _manifest(path: Path) -> None:
    path.write_text(manifest().to_json() + "\n", encoding="utf-8")


def _seeing_manifest(path: Path) -> None:
    path.write_text(seeing().to_json() + "\n", encoding="utf-8")


# By the name of the file; a format that has a number has it in the name.
FILES: Mapping[str, Callable[[Path], object]] = {
    f"trace-{TRACE.format}.npz": _trace,
    f"result-{RESULT.format}.npz": _result,
    f"table-result-{RESULT.format}.npz": _table_result,
    f"sweep-{SWEPT.format}.npz": _sweep,
    f"model-{MODEL.format}.npz": plain_model().save,
    f"model-{JSON_MODEL}.json": lambda path: seeing_model().save(path, "json"),
    f"messages-{MESSAGES.format}.npz": _messages,
    f"state-{STATE.format}.npz": _state,
    f"fleet-{DATABASE}-tokens-{TOKENS}.tar.gz": _backup,
    f"sources-{sources.FORMAT}.json": _sources,
    "manifest-2.json": _manifest,
    "manifest-3.json": _seeing_manifest,
    "device.json": _device_file,
    "scenario.toml": _scenario,
    "sweep.toml": _sweep_file,
    "gateway.toml": _gateway_file,
}


def main() -> None:
    """Write the files that are not there, and what they hold."""
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for name, make in FILES.items():
        if not (FOLDER / name).exists():
            make(FOLDER / name)
            expected[name] = told(FOLDER / name)
    lines = (f"{json.dumps(name)}: {json.dumps(held)}" for name, held in expected.items())
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
