"""`paofed fleet init --from` a run over a table: a live fleet that does what was run.

Its devices are fed with the readings of the table, through the transport within one process, on a
virtual clock; they predict what the reference engine predicts with a float32 wire, with the same
intervals.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms.setup import Setup
from paofed.cli import main
from paofed.core.columns.numbers import Number
from paofed.core.intervals import Interval
from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.network.in_process import Hub
from paofed.live.protocol.coordinator import Send
from paofed.live.protocol.manifest import Manifest
from paofed.simulate.engines import reference
from paofed.simulate.montecarlo import run
from paofed.simulate.results.places import Sums, summed
from paofed.simulate.results.progressive import learner_index
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.world.realize import half_width_of, world_key
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.trace import SparseTrace
from tests.cli import table_runs
from tests.cli.table_runs import LINEUP, SEED, Row, final, rows
from tests.live.fleets import manifest
from tests.live.own_method import CALM

HOUR = 3600.0
PLAIN = ("--clip", "none", "--bound", "none")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, TableResult]:
    return table_runs.made(tmp_path_factory.mktemp("run"))


class Site:
    """The fleet of a folder, its server and its devices in one process, on one clock."""

    def __init__(self, fleet: Fleet, labels: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("paofed.live.device.device.seconds", lambda: self.now)
        self.sent: list[tuple[int, bytes]] = []  # by devices, and not on its way yet
        self._fleet, self._files, self._hub = fleet, list(fleet.add(labels)), Hub()

    def serve(self, store: Store) -> None:
        manifest, topics = store.epochs.manifest(), self._fleet.topics

        def hear(topic: str, payload: bytes) -> None:
            sender = topics.sender(topic)
            assert sender is not None
            self.sent.append((sender, payload))

        def answer(send: Send) -> None:
            link.send(topics.down(send.device), send.payload)

        link = self._hub.connect(self._fleet.credential(), [topics.up("+")], hear)
        link.open()
        link.send(topics.manifest, manifest.to_json().encode(), retain=True)
        self.host = Host(store, answer)
        patience = manifest.max_age + 1  # nothing is repeated while it may still arrive
        self.devices = [Device(f, transport=self._hub, patience=patience) for f in self._files]
        self.hear()

    def hear(self) -> None:
        assert all(device.knows_fleet() for device in self.devices)


Told = tuple[float, tuple[float, float]]  # a prediction and its interval
Lived = tuple[dict[int, Told], np.ndarray]


def lived(site: Site, scenario: Scenario, trace: SparseTrace) -> Iterator[Lived]:
    """What each device tells of its sample, and the server's model after the tick.

    Devices get every row of the table, contact when the trace lets them, without waiting for an
    answer, and their messages are as late as the trace says.
    """
    readings = read(scenario.table)
    line, by_tick = readings.timeline, defaultdict[int, list[Row]](list)
    for row in rows(scenario.table.file):
        by_tick[round((row.time - line.origin) / line.tick)].append(row)
    on_their_way: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for n in range(min(by_tick), trace.ticks):
        site.now = line.origin + n * line.tick
        now = trace.at(max(n, 0))
        places = {k: i for i, k in enumerate(now.client.tolist())} if n >= 0 else {}
        predicted = {}
        for name, at, y, x in by_tick[n]:
            k = readings.devices.index(name)
            device = site.devices[k]
            if k not in places or y is None:  # of the calibration period, or not complete
                device.remember(x, y, at)
                continue
            predicted[k] = device.predict(x, at), device.interval(x, at)
            device.learn(x, y, at)
            if now.available[places[k]]:
                device.contact(0.0)
                on_their_way[n + int(now.delay[places[k]])] += site.sent
                site.sent.clear()
        for k, payload in on_their_way.pop(n, []):
            site.host.receive(k, payload)
        site.host.flush()
        site.hear()
        if n >= 0:
            site.host.advance(n + 1)
            yield predicted, site.host.coordinator.w


def init(file: Path, folder: Path, *words: str) -> Manifest:
    given = ["fleet", "init", str(folder), "--security", "none", "--from", str(file), *words]
    assert main(given) == 0
    with Fleet(folder).store() as store:
        coordinator = store.recover()
    assert coordinator.w.tobytes() == coordinator.manifest.begins_with.tobytes()
    return coordinator.manifest


@pytest.mark.parametrize("name", LINEUP[1:])
@pytest.mark.parametrize("guards", [PLAIN, ()])
def test_a_live_fleet_predicts_what_was_run(
    name: str,
    guards: tuple[str, ...],
    ran: tuple[Scenario, TableResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bit for bit the reference's with a float32 wire; near the run's, whose wire was float64."""
    scenario, result = ran
    result.save(tmp_path / "run.npz")
    readings, trace = read(scenario.table), realize_samples(scenario, 0, 0, seed=SEED)
    assert trace.newcomers_whole and trace.start.any() and readings.ranges  # noqa: PT018
    monkeypatch.setattr("time.time", lambda: readings.timeline.origin)  # the fleet begins at tick 0
    agreed = init(tmp_path / "run.npz", tmp_path / "fleet", "--algorithm", name, *guards)
    fleet, learner = Fleet(tmp_path / "fleet"), agreed.row.learner
    site = Site(fleet, list(readings.devices), monkeypatch)
    expected = reference.ticks(trace, agreed.row, wire=np.float32)
    models, squares = [trace.start] * trace.clients, np.zeros(trace.clients)
    intervals = [Interval(half_width_of(scenario, world_key(SEED, 0)))] * trace.clients
    with fleet.store() as store:
        site.serve(store)
        live = lived(site, scenario, trace)
        for (state, info), (predicted, w) in zip(expected, live, strict=True):
            now = trace.at(info.tick)
            assert list(predicted) == now.client.tolist()
            for k, x, y in zip(now.client.tolist(), now.x, now.y.tolist(), strict=True):
                seen = float(models[k] @ trace.fourier_map(x))
                half = intervals[k].half_width
                told, *ends = agreed.unit.measured(np.array([seen, seen - half, seen + half]))
                assert predicted[k] == (told, tuple(ends))
                intervals[k] = intervals[k].after(y - seen)
                squares[k] += (y - seen) ** 2
            assert w.tobytes() == state.server.tobytes(), f"tick {info.tick}"
            models = [learner.model(device) for device in state.devices]
        assert site.host.coordinator.counts["accepted"] > 30
    assert [device.coverage for device in site.devices] == [kept.coverage for kept in intervals]
    place = learner_index(result.progressive.learners, name, "device")
    if guards == PLAIN:
        np.testing.assert_allclose(
            squares, result.progressive.device_errors[0, place], rtol=1e-4, atol=0
        )
        covered = Sums(*result.lives.sums[0, place]).covered
        of_devices = summed(covered, result.lives.device, trace.clients)
        assert of_devices.tolist() == [kept.samples - kept.misses for kept in intervals]


@pytest.fixture
def file(ran: tuple[Scenario, TableResult], tmp_path: Path) -> Path:
    ran[1].save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def test_what_it_agrees_on(ran: tuple[Scenario, TableResult], file: Path, tmp_path: Path) -> None:
    """By default the best of those that can be served, with the bounds of any new fleet."""
    scenario, result = ran
    best = min(LINEUP[1:], key=lambda name: final(result, name, "device"))
    agreed = init(file, tmp_path / "fleet")
    setup = Setup.of(best)
    row, options = setup.row, setup.values
    assert (agreed.algorithm, agreed.shared) == (row, options["shared"])
    assert (agreed.step_size, agreed.max_age) == (scenario.step_size, scenario.max_age)
    assert (agreed.clip, agreed.bound) == (6.0, 6.0)
    assert [number.name for number in agreed.inputs] == ["a", "wind"]
    assert agreed.target.name == "y"
    target = read(scenario.table).columns[-1]
    assert isinstance(target, Number)
    limits = [agreed.target.low, agreed.target.high]
    assert limits == target.measured(np.array([-10.0, 10.0])).tolist()
    assert agreed.tick_of(agreed.start) == 0
    assert (agreed.begins(0) + HOUR / 2) % HOUR == 0  # readings of full hours are well inside


def test_some_of_it_may_differ(
    ran: tuple[Scenario, TableResult], file: Path, tmp_path: Path
) -> None:
    """Among others, it may begin with what the run ended with; then the table is not needed."""
    words = ["--model", "final", "--algorithm", LINEUP[1], "--step-size", "0.1", "--shared", "4"]
    with hidden(ran[0].table.file):
        agreed = init(file, tmp_path / "fleet", *words, "--tick", "1800")
    assert (agreed.step_size, agreed.shared, agreed.tick_seconds) == (0.1, 4, 1800.0)
    final = ran[1].models[0, 1].astype(np.float32)
    assert agreed.begins_with.tobytes() == final.astype(np.float64).tobytes()
    mse = ran[1].run_finals(LINEUP[1], "device")[0]
    assert agreed.first_interval == pytest.approx(1.645 * np.sqrt(mse), rel=1e-3)


@contextmanager
def hidden(path: str, content: str | None = None) -> Iterator[None]:
    """A file that is not there, or holds something else."""
    place, away = Path(path), Path(f"{path}.away")
    place.rename(away)
    try:
        if content is not None:
            place.write_text(content)
        yield
    finally:
        away.replace(place)


def refusal(capsys: pytest.CaptureFixture[str], file: Path, *words: str) -> str:
    folder = file.parent / "new"
    assert main(["fleet", "init", str(folder), "--from", str(file), *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert not folder.exists()
    return err.removeprefix("paofed fleet init: error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--algorithm", "pao-fed-u1"], "unknown algorithm 'pao-fed-u1'"),
        (
            ["--algorithm", LINEUP[0]],
            "online-fed:subset=0.5 cannot be served: its server picks who",
        ),
        (["--seed", "7"], "seed cannot be changed"),
        (["--features", "20"], "features cannot be changed"),
        (["--input", "b"], "b cannot be added"),
    ],
)
def test_what_contradicts_the_run(
    words: list[str], says: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refusal(capsys, file, *words)


def test_the_table_must_be_the_one_of_the_run(
    ran: tuple[Scenario, TableResult], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = ran[0].table.file
    with hidden(table):
        said = refusal(capsys, file)
        assert f"{table} cannot be read: No such file" in said
        assert f"it is the table of {file}" in said
        assert "--model final" in said
    with hidden(table, Path(table).read_text() + "\n"):
        assert f"{table} is not the table that {file} was run over" in refusal(capsys, file)


def changed(result: Result, file: Path, **table: object) -> Result:
    """A result whose file says something else of its table."""
    about = {**result.provenance["table"], **table}
    kept = {key: value for key, value in about.items() if value is not None}
    other = replace(result, provenance={**result.provenance, "table": kept})
    other.save(file)
    return other


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"columns": None}, "its provenance.table.columns is missing or of another type"),
        ({"ranges": None}, "its provenance.table.ranges is missing or of another type"),
        ({"ranges": [[0, 1]]}, "expected ranges of 8 numbers"),
        ({"ranges": [["a", "b"]] * 8}, "expected ranges of 8 numbers"),
        ({"columns": [{"transform": "compass", "name": "wind"}]}, "its target is a compass"),
        ({"columns": [{"transform": "spline"}]}, "unknown transform 'spline'"),
        ({"calendar": False}, "are plain numbers: say how many seconds a tick has (--tick)"),
    ],
)
def test_a_result_that_says_too_little(
    table: dict[str, object],
    says: str,
    ran: tuple[Scenario, TableResult],
    file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changed(ran[1], file, **table)
    assert says in refusal(capsys, file)


def test_a_run_without_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = Scenario.load("setting-1").model_copy(update={"ticks": 3})
    once = run(tiny, ["pao-fed-u1"], engine="reference", workers=1)
    once.save(tmp_path / "run.npz")
    assert "which has no table" in refusal(capsys, tmp_path / "run.npz")


def test_algorithms_that_no_manifest_tells(
    ran: tuple[Scenario, TableResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["pao-fed-u1:staleness=0.5", "pso-fed:subset=0.5"]
    once = run(ran[0], names, engine="reference", baselines="none", workers=1)
    once.save(tmp_path / "run.npz")
    said = refusal(capsys, tmp_path / "run.npz")
    assert "pao-fed-u1:staleness=0.5 cannot be served: no manifest says staleness" in said
    assert "pso-fed:subset=0.5 cannot be served: its server picks who takes part" in said


def test_a_method_of_one_s_own_is_named_again(
    ran: tuple[Scenario, Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To make a fleet of a run is not to run the code that the run names."""
    (tmp_path / "calm.py").write_text(CALM)
    word = f"{tmp_path / 'calm.py'}:calm:shared=2,part=0.25,step_size=0.1"
    once = run(ran[0], [word], engine="reference", baselines="none", workers=1)
    once.save(tmp_path / "run.npz")
    assert "it is none of paofed's own methods" in refusal(capsys, tmp_path / "run.npz")
    agreed = init(tmp_path / "run.npz", tmp_path / "fleet", "--method", word)
    assert (agreed.method, agreed.shared, agreed.step_size) == ("calm:part=0.25", 2, 0.1)
    assert (agreed.clip, agreed.bound) == (None, None)
    assert agreed.code is not None


def test_a_method_that_has_changed_since_the_run_is_refused(
    ran: tuple[Scenario, Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, run_file = tmp_path / "calm.py", tmp_path / "run.npz"
    file.write_text(CALM)
    word = f"{file}:calm:shared=2"
    once = run(ran[0], [word], engine="reference", baselines="none", workers=1)
    once.save(run_file)
    file.write_text(CALM.replace("1e-3 + z @ z", "1e-2 + z @ z"))
    said = refusal(capsys, run_file, "--method", word)
    assert said == (
        f"{run_file}: {word} was run with another version of {file}: expected the very file that "
        f"was run; put it back, or run the method again as it is now"
    )
    file.write_text(CALM)
    assert init(run_file, tmp_path / "fleet", "--method", word).method == "calm"


def test_a_run_by_a_module_does_not_say_by_which_code(
    ran: tuple[Scenario, Result],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a_calm_module.py").write_text(CALM)
    monkeypatch.syspath_prepend(tmp_path)
    word, run_file = "a_calm_module:calm:shared=2", tmp_path / "run.npz"
    once = run(ran[0], [word], engine="reference", baselines="none", workers=1)
    once.save(run_file)
    capsys.readouterr()
    init(run_file, tmp_path / "fleet", "--method", word)
    assert f"the run does not say by which code of {word} it was made" in capsys.readouterr().out


def test_a_model_of_a_run_is_asked_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FleetModel(manifest(), 0, np.zeros(8)).save(tmp_path / "model.npz")
    assert "--model final is for --from a run" in refusal(
        capsys, tmp_path / "model.npz", "--model", "final"
    )


def test_what_is_taken_as_it_is_has_the_range_of_the_past(tmp_path: Path) -> None:
    """It has no spread to go by: 20 degrees are no broken sensor."""
    changes = {"inputs": ["a:raw"], "target": "y:raw"}
    scenario, result = table_runs.made(tmp_path, **changes)
    result.save(tmp_path / "run.npz")
    agreed = init(tmp_path / "run.npz", tmp_path / "fleet", "--algorithm", LINEUP[1])
    assert agreed.seen is None
    for number, values in ((agreed.inputs[0], 20.0), (agreed.target, 2.0)):
        assert number.is_plausible(values)
        assert not number.is_plausible(1000.0)
    assert agreed.begins_with.tobytes() == realize_samples(scenario, seed=SEED).start.tobytes()
