"""From a run over a table to a device in C that takes the readings as people measured them."""

import csv
import gzip
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.cli import main
from paofed.device_c.kit import HEADER
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.coordinator import Send
from paofed.live.protocol.edge import Edge
from paofed.world.scenario import Scenario
from tests.cli import table_runs
from tests.cli.table_runs import Row, rows
from tests.device_c.building import run
from tests.device_c.seeing import Seeing
from tests.device_c.test_conversations import parted
from tests.device_c.test_mixed_fleet import built
from tests.effort import long
from tests.live.brokers import Site, until
from tests.test_docs import DOCUMENTS

HOUR = 3600.0
APART = 2.0**-14  # of the largest parameter: float32 beside 64 bits


class Answers:
    """The fleet's server, with its journal; remembers what it said last."""

    def __init__(self, store: Store) -> None:
        self.said: list[bytes] = []
        self._host = Host(store, self._answer)

    def _answer(self, send: Send) -> None:
        self.said.append(send.payload)

    def answers(self, payload: bytes) -> list[bytes]:
        self.said.clear()
        self._host.receive(0, payload)
        self._host.flush()
        return self.said

    def advance(self, tick: int) -> None:
        self._host.advance(tick)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """A fleet that does what was run, and the rows of one device."""
    folder = tmp_path_factory.mktemp("run")
    scenario, result = table_runs.made(folder)
    result.save(folder / "run.npz")
    words = ["fleet", "init", str(folder / "fleet"), "--from", str(folder / "run.npz")]
    assert main([*words, "--security", "none"]) == 0
    assert main(["fleet", "model", str(folder / "fleet"), "--out", str(folder / "model.npz")]) == 0
    firmware = str(folder / "firmware")
    assert main(["device", "c", str(folder / "model.npz"), "--out", firmware]) == 0
    return folder, [row for row in rows(scenario.table.file) if row.device == "d0"]


def complete(found: list[Row]) -> Iterator[tuple[list[Any], float | None, float]]:
    for row in found:
        yield row.x, row.y, row.time


def test_a_device_in_c_does_what_was_run(made: tuple[Path, list[Row]]) -> None:
    """It sees the bits that the device in Python sees, and the server confirms what it says."""
    folder, readings = made
    fleet, model = Fleet(folder / "fleet"), FleetModel.load(folder / "model.npz")
    agreed, confirmed, learned = model.manifest, 0, 0
    assert agreed.seen is not None
    list(fleet.add(["d0"]))
    c = Seeing(agreed, 0, fleet=(folder / "firmware" / HEADER).read_text(encoding="utf-8"))
    edge = Edge(agreed, 0)
    assert c.c.tell("Z") == "1"
    with fleet.store() as store:
        server = Answers(store)
        for number, (x, y, time) in enumerate(complete(readings)):
            if y is None or None in x:
                c.remember(x, y, time)
                edge.remember(x, y, time)
            else:
                right = edge._numbers(x, time).astype(np.float32)
                np.testing.assert_array_equal(c.sees(x, time), right)
                far = APART * max(abs(edge.predict(x, time)), 1.0)
                assert c.predict(x, time) == pytest.approx(
                    edge.predict(x, time), abs=far, nan_ok=True
                )
                known = edge.learn(x, y, time)
                assert c.learn(x, y, time) == known
                learned += known
            assert c.c.unknown_past() == edge.unknown_past
            at = HOUR * number
            said, right_said = c.c.contact(at), edge.contact(at)
            assert said is not None
            assert right_said is not None
            (frame, values, _), expected = parted(said, agreed), parted(right_said, agreed)
            assert frame == expected[0]
            assert np.abs(values - expected[1]).max(initial=0.0) <= APART
            for answer in server.answers(said):
                confirmed += len(c.c.receive(answer, at))
                edge.receive(answer, at)
            server.advance(number + 1)
    assert learned > 30
    assert confirmed > 30
    assert np.abs(c.c.state().w - edge.w).max() <= APART * max(np.abs(edge.w).max(), 1.0)


def three_weeks(path: Path) -> list[dict[str, str]]:
    """Write the first three weeks of the package's ozone as a table; returns its rows."""
    with gzip.open(Scenario.load("air-quality").table.file, "rt") as table:
        kept = [
            row for row in csv.DictReader(table) if (int(row["month"]), int(row["day"])) < (5, 6)
        ]
    with gzip.open(path, "wt") as table:
        writer = csv.DictWriter(table, [*kept[0]])
        writer.writeheader()
        writer.writerows(kept)
    return kept


@long
def test_the_ozone_of_the_readme_is_in_c_what_it_is_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its command to a kit for microcontrollers, over fewer readings, with wind and hour."""
    monkeypatch.chdir(tmp_path)
    readings = three_weeks(tmp_path / "air-quality.csv.gz")
    readme = DOCUMENTS["README.md"].replace("\\\n", " ")
    said = re.search(
        r"^\$ paofed (run .* --target O3:log1p .*) --runs 4 --report ozone$", readme, re.M
    )
    assert said is not None
    command = re.sub(r"(--inputs \S+)", r"\1,wd:compass,hour:cyclic=24", said[1])
    shorter = ["--runs", "1", "--engine", "reference", "--cold-starts", "0", "--out", "run.npz"]
    assert main([*shlex.split(command), *shorter]) == 0
    assert main(["fleet", "init", "ozone", "--from", "run.npz"]) == 0
    assert main(["fleet", "model", "ozone", "--out", "model.npz"]) == 0
    assert main(["device", "c", "model.npz", "--out", "firmware"]) == 0
    agreed = FleetModel.load("model.npz").manifest
    names = [number.name for number in agreed.inputs]
    assert (agreed.features, names[-2:]) == (200, ["wd", "hour"])
    assert agreed.numbers == len(names) + 2  # a direction and an hour are two numbers each
    c = Seeing(agreed, fleet=Path("firmware", HEADER).read_text(encoding="utf-8"))
    edge, time, looked = Edge(agreed, 3), agreed.start, 0
    for row in readings[::25]:
        values = [row[name] for name in names]
        if all(values):
            x = [
                value if name == "wd" else float(value)
                for name, value in zip(names, values, strict=True)
            ]
            right = edge._numbers(x, time).astype(np.float32)
            np.testing.assert_array_equal(c.sees(x, time), right, str(row))
            looked += 1
    assert looked > 100


@long
def test_the_program_takes_words_and_times(made: tuple[Path, list[Row]], tmp_path: Path) -> None:
    """posix.c on a real broker; a device in Python that is given the same predicts the same."""
    folder, readings = made
    agreed = FleetModel.load(folder / "model.npz").manifest
    kept = {name: getattr(agreed, name) for name in ("inputs", "target", "seen", "features")}
    samples = [(x, y, at) for x, y, at in complete(readings) if y is not None and None not in x]
    lines = [f"{x[0]!r}, {x[1].lower()} ,{at!r},{y!r}" for x, y, at in samples]
    (tmp_path / "samples.csv").write_text("\n".join(["1,N", *lines, ""]), encoding="ascii")
    with Site(tmp_path / "fleet", security="none", tick_seconds=HOUR, **kept) as site:
        port = str(site.fleet.settings.port)
        words = [built(site, tmp_path), "-h", "localhost", "-p", port, "-t", "g/0"]
        words += ["-s", str(tmp_path / "state"), "-f", str(tmp_path / "samples.csv")]
        edge, said = Edge(site.manifest, 0), run(words)  # nobody answers
        predicted = [
            float(line) for line in said.splitlines() if line[:1].isdigit() or "nan" in line
        ]
        for (x, y, at), found in zip(samples, predicted, strict=True):
            assert found == pytest.approx(edge.predict(x, at), rel=1e-4, nan_ok=True)
            edge.learn(x, y, at)
        assert said.count("passed over: expected 4 numbers or texts") == 1
        with site.served() as server:
            until(lambda: "confirmed" in run(words))
            assert not [line for line in server.said if "refused" in line]
