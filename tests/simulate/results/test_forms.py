"""Results of both kinds in files: what there must be, what is nonsense, and which kind it is."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.errors import FileError, InputError
from paofed.simulate.results.forms import RESULT
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import ColdStart, LabelShares, Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.results.runs import Clean
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.results.world_result import WorldResult
from tests.simulate.results.test_result import COUNTS, DESCRIBED, TWO_RUNS, made

NO_TABLE = "no table: expected one over a table, whose columns devices measure"
UNTOLD = {key: value for key, value in DESCRIBED.items() if key != "learns_by"}
FALLING = np.broadcast_to(COUNTS[:, 3::-1], (2, 1, 7, 4))


def judged(samples: list[int]) -> Progressive:
    """Two devices, both models of one algorithm and a baseline, over two runs and four points."""
    return Progressive(
        learners=np.array([("a", "device"), ("a", "server"), ("last value", "baseline")]),
        devices=np.array(["north", "süd"]),
        errors=np.arange(24.0).reshape(2, 3, 4),
        samples=np.array(samples),
        device_errors=np.arange(12.0).reshape(2, 3, 2),
        device_samples=np.array([3, 7]),
    )


LIVED = Lives(
    learners=judged([1, 2, 3, 4]).learners,
    device=np.array([0, 1, 1]),
    stage=np.array([0, 0, 1]),
    samples=np.array([1, 1, 2]),
    group=np.array(["roof", "roof"]),
    target=np.array([[-1.0, 0.5, 0.5], [1.0, 2.0, 3.0]]),
    sums=np.arange(90.0).reshape(2, 3, 5, 3),
)
JOINED = ColdStart(
    algorithms=np.array(["a"]),
    devices=np.array([0, 1]),
    starts=np.array([0, 2]),
    horizons=np.array([1]),
    errors=np.arange(24.0).reshape(2, 1, 3, 2, 2, 1),
    alone=np.arange(8.0).reshape(2, 2, 2, 1),
    last_value=np.ones((2, 2, 1)),
    samples=np.full((2, 2, 1), 5),
)
OVER_A_TABLE = TableResult(
    provenance={
        **TWO_RUNS.provenance,
        "scenario": {
            **TWO_RUNS.provenance["scenario"],
            "stream": {"kind": "table", "file": "readings.csv", "target": "y"},
        },
        "table": {
            "sha256": "0" * 64,
            "facts": [],
            "inputs": [],
            "recipes": [],
            "columns": [],
            "ranges": [],
            "calendar": True,
            "begin": 0.0,
            "tick": 3600.0,
        },
        "baselines": ["last value"],
    },
    ticks=TWO_RUNS.ticks,
    mse=TWO_RUNS.mse,
    traffic=TWO_RUNS.traffic,
    models=TWO_RUNS.models,
    progressive=judged([1, 2, 3, 4]),
    lives=LIVED,
    cold_start=JOINED,
)


@pytest.mark.parametrize("cold", [JOINED, None])
def test_the_parts_of_a_table_there_and_back(tmp_path: Path, cold: ColdStart | None) -> None:
    replace(OVER_A_TABLE, cold_start=cold).save(tmp_path / "r.npz")
    back = TableResult.load(tmp_path / "r.npz")
    assert (back.cold_start is None) == (cold is None)
    pairs = [(back, OVER_A_TABLE), (back.progressive, OVER_A_TABLE.progressive)]
    pairs += [(back.lives, LIVED), (back.cold_start, cold)]
    for one, two in pairs:
        for name, expected in vars(two).items() if two is not None else ():
            if isinstance(expected, np.ndarray):
                assert getattr(one, name).dtype == expected.dtype
                np.testing.assert_array_equal(getattr(one, name), expected, name)


def test_a_file_becomes_a_result_of_its_kind(tmp_path: Path) -> None:
    worlds, table = tmp_path / "worlds.npz", tmp_path / "table.npz"
    TWO_RUNS.save(worlds)
    OVER_A_TABLE.save(table)
    assert type(Result.load(worlds)) is type(WorldResult.load(worlds)) is WorldResult
    assert type(Result.load(table)) is type(TableResult.load(table)) is TableResult
    with pytest.raises(FileError) as refused:
        TableResult.load(worlds)
    assert str(refused.value) == f"{worlds} is a run over s, which has {NO_TABLE}"
    with pytest.raises(FileError) as refused:
        WorldResult.load(table)
    assert str(refused.value) == f"{table} is a run over a table: expected one over worlds"


def test_a_result_over_a_table_is_asked_for() -> None:
    assert TableResult.of(OVER_A_TABLE) is OVER_A_TABLE
    for origin in ("this result", "r.npz"):
        with pytest.raises(FileError) as refused:
            TableResult.of(TWO_RUNS, origin)
        assert str(refused.value) == f"{origin} is a run over s, which has {NO_TABLE}"


def test_parts_become_a_result_of_their_kind() -> None:
    for one in (TWO_RUNS, OVER_A_TABLE):
        assert type(Result.merge([one, one])) is type(Result.concat([one])) is type(one)
    with pytest.raises(FileError, match=f"^this result is a run over s, which has {NO_TABLE}$"):
        TableResult.merge([TWO_RUNS])
    with pytest.raises(FileError, match=r"^this result is a run over a table: expected one over w"):
        WorldResult.concat([OVER_A_TABLE])
    for parts in ([TWO_RUNS, OVER_A_TABLE], [OVER_A_TABLE, TWO_RUNS]):
        with pytest.raises(InputError, match="results 1 and 2 are not parts of one result"):
            Result.merge(parts)


def saved(folder: Path, result: Result = OVER_A_TABLE) -> dict[str, Any]:
    """The arrays of a result's file, as another program would read them."""
    result.save(folder / "r.npz")
    with np.load(folder / "r.npz") as file:
        return dict(file)


def refusal(folder: Path, arrays: dict[str, Any]) -> str:
    """What is said of a file with these arrays."""
    save_arrays(folder / "r.npz", arrays)
    with pytest.raises(FileError) as refused:
        Result.load(folder / "r.npz")
    before, _, told = str(refused.value).partition(" is not a result: ")
    assert before == str(folder / "r.npz")
    assert "\n" not in told
    return told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("progressive/devices", "progressive/learners is given without progressive/devices"),
        ("progressive/learners", "progressive/devices is given without progressive/learners"),
        ("mse", "arrays missing: mse"),
    ],
)
def test_a_result_that_lacks_an_array_is_none(tmp_path: Path, name: str, told: str) -> None:
    arrays = saved(tmp_path)
    del arrays[name]
    assert refusal(tmp_path, arrays) == told


def test_an_array_that_no_part_knows_is_refused(tmp_path: Path) -> None:
    arrays = {**saved(tmp_path), "progressive/erors": np.zeros(1)}
    assert "did you mean 'progressive/errors'?" in refusal(tmp_path, arrays)


def test_what_a_result_over_a_table_always_holds(tmp_path: Path) -> None:
    arrays = saved(tmp_path)
    for part, other in (("lives", "progressive"), ("progressive", "lives")):
        lacking = {name: array for name, array in arrays.items() if not name.startswith(part)}
        said = refusal(tmp_path, lacking)
        assert said.startswith(f"{other}/learners is given without {part}/learners, {part}/device")
    judged = tuple(f"{part}/" for part in ("progressive", "lives", "cold_start"))
    nothing = {name: array for name, array in arrays.items() if not name.startswith(judged)}
    said = "its scenario is over a table, but it holds no errors on the samples of one"
    assert refusal(tmp_path, nothing) == said


def test_newcomers_without_the_devices_they_are_among(tmp_path: Path) -> None:
    arrays = saved(tmp_path)
    joined = {name: array for name, array in arrays.items() if name.startswith("cold_start/")}
    arrays = {**saved(tmp_path, TWO_RUNS), **joined}
    assert refusal(tmp_path, arrays) == "cold_start is given without progressive"


def test_every_array_of_a_result_has_its_form() -> None:
    """Held against the records themselves: who adds an array says what it looks like."""
    parts = {"progressive": Progressive, "lives": Lives, "cold_start": ColdStart,
             "label_shares": LabelShares, "clean": Clean}  # fmt: skip
    names = {f"{part}/{field.name}" for part, kind in parts.items() for field in fields(kind)}
    own = {field.name for field in fields(TableResult)} - set(parts)
    assert set(RESULT.known) == names | own


@pytest.mark.parametrize(
    ("name", "array", "told"),
    [
        ("mse", np.ones(4), "mse has shape (4,): expected 3 dimensions, (R, A, P)"),
        ("mse", np.ones((3, 1, 4)), "traffic has 2 runs (R), but mse has 3"),
        ("traffic", np.full((2, 1, 7, 4), -1), "traffic holds -1: expected nothing below 0"),
        ("traffic", FALLING, "traffic falls: expected what was sent until each"),
        ("ticks", np.array([0, 1, 1, 3]), "ticks does not rise"),
        ("ticks", np.array([0, 1, 2, 9]), "its provenance tells of 4 ticks, but its arrays hold"),
        ("models", np.zeros((2, 1, 0)), "models has shape (2, 1, 0): no features (D = 0)"),
        ("provenance", np.array("{"), "its provenance is not JSON"),
        ("provenance", np.array("[" * 9999), "its provenance is not JSON"),
        ("provenance", np.array('{"scenario": "\\ud800"}'), "its provenance is not JSON"),
        ("provenance", np.array("{}"), "its provenance.scenario is missing or of another type"),
        ("provenance", np.array(["{}"]), "provenance has shape (1,): expected one value"),
        ("progressive/learners", np.array([["a", "b", "c"]] * 3), "expected (L, 2)"),
        ("progressive/learners", np.array([["a", "server"], ["a", "device"], ["alone", "x"]]),
         "its learners are not both models of each algorithm and then baselines"),
        ("progressive/learners", np.array([["a", "device"], ["a", "server"], ["b", "server"]]),
         "its learners are not both models of each algorithm and then baselines"),
        ("lives/learners", np.array([["a", "device"]] * 3), "its lives are of other learners"),
        ("lives/device", np.array([0, 1, 2]), "a life is of none of its devices"),
        ("lives/stage", np.array([0, 1, 64]), "a life has more than 64 stages"),
        ("lives/samples", np.array([0, 1, 1]), "a cell of its lives has no sample"),
        ("cold_start/devices", np.array([0, 2]), "a newcomer is none of its devices"),
        ("cold_start/horizons", np.array([0]), "a horizon has no tick"),
        ("cold_start/algorithms", np.array(["b"]), "algorithms that it does not have"),
    ],
)  # fmt: skip
def test_a_file_that_is_nonsense_inside(tmp_path: Path, name: str, array: Any, told: str) -> None:
    arrays = saved(tmp_path)
    assert told in refusal(tmp_path, {**arrays, name: array})


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["algorithms"], [], "tells of 0 algorithms, but its arrays hold 1"),
        (["algorithms"], [{**DESCRIBED, "step_size": -1}], "step size of pao-fed-u1 is -1: expect"),
        (
            ["algorithms"],
            [{**DESCRIBED, "name": 1}],
            "its provenance.algorithms[0].name is missing",
        ),
        (["algorithms"], [{"name": "a"}], "its provenance.algorithms[0].downlink is missing or of"),
        (
            ["algorithms"],
            [{**DESCRIBED, "learns_by": 1}],
            "algorithms[0].learns_by is missing or of",
        ),
        (
            ["algorithms"],
            [UNTOLD],
            "its provenance.algorithms[0].learns_by is missing or of another",
        ),
        (
            ["scenario", "start"],
            None,
            "its provenance.scenario.start is missing or of another type",
        ),
        (["table", "sha256"], None, "its provenance.table.sha256 is missing or of another type"),
        (["runs_finished"], [0], "tells of 1 finished runs, but its arrays hold 2"),
        (["first_run"], -1, "its first run is -1: expected a whole number from 0 on"),
        (["cpus"], {"a": [0], "b": [2]}, "its types of processors are not those of its runs"),
        (["seed"], None, "its provenance.seed is missing"),
        (["scenario", "features"], 4, "tells of 4 features, but its arrays hold 3"),
        (["scenario", "kernel_width"], 10**400, "its provenance.scenario.kernel_width is missing"),
        (["scenario", "stream", "drift_ticks"], -1, "its drifts take -1 ticks: expected a whole"),
        (["scenario", "faults"], [{"kind": "x"}], "its faults are none that a scenario may have"),
        (["scenario", "stream", "drifts"], [0], "its drifts are not ticks of its scenario"),
        (["scenario", "stream", "file"], None, "its provenance.scenario.stream.file is missing"),
        (["table"], None, "its provenance.table is missing"),
        (["baselines"], None, "its provenance.baselines is missing or of another type"),
    ],
)
def test_a_provenance_that_is_nonsense(
    tmp_path: Path, path: list[str], value: Any, told: str
) -> None:
    arrays = saved(tmp_path)
    about = inner = json.loads(str(arrays["provenance"]))
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    arrays["provenance"] = np.array(json.dumps(about))
    assert told in refusal(tmp_path, arrays)


def test_two_algorithms_of_one_name(tmp_path: Path) -> None:
    arrays = saved(tmp_path, made([[[1.0] * 4] * 2]))
    about = json.loads(str(arrays["provenance"]))
    about["algorithms"][1] = about["algorithms"][0]
    arrays["provenance"] = np.array(json.dumps(about))
    assert "two algorithms of the same name" in refusal(tmp_path, arrays)


def test_errors_that_diverged_are_no_nonsense(tmp_path: Path) -> None:
    made([[[1.0, np.inf, np.nan, np.nan]]]).save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").diverged("a") == (1, 1)


def test_over_a_table_the_final_error_is_that_of_all_samples_that_count() -> None:
    server = [(2 + 3) / 10, (8 + 9) / 10]
    assert OVER_A_TABLE.run_finals("a") == pytest.approx(server)
    assert OVER_A_TABLE.final("a").db == pytest.approx(10 * np.log10(np.mean(server)))


def test_final_errors_by_model() -> None:
    """Only a table judges the models of devices; elsewhere their errors are not known."""
    found = OVER_A_TABLE.finals_by_model("a")
    np.testing.assert_array_equal(found[:, 0], OVER_A_TABLE.run_finals("a", "device"))
    np.testing.assert_array_equal(found[:, 1], OVER_A_TABLE.run_finals("a", "server"))
    found = TWO_RUNS.finals_by_model("a")
    assert np.isnan(found[:, 0]).all()
    np.testing.assert_array_equal(found[:, 1], TWO_RUNS.run_finals("a"))


def test_the_curves_to_draw_of_a_model() -> None:
    """On the test set after each point; over a table, on all samples until then."""
    np.testing.assert_array_equal(TWO_RUNS.run_curves_of("a", "server"), TWO_RUNS.run_curves("a"))
    with pytest.raises(InputError, match="whose is 'device': expected 'server'"):
        TWO_RUNS.run_curves_of("a", "device")
    found = OVER_A_TABLE.run_curves_of("last value", "baseline")
    errors = np.array([[8, 17, 27, 38], [20, 41, 63, 86]])
    np.testing.assert_allclose(found, errors / [1, 3, 6, 10])


def test_no_samples_are_no_divergence() -> None:
    gap = replace(OVER_A_TABLE, mse=np.array([[[1.0, np.nan, 1.0, np.nan]]]))
    assert replace(gap, progressive=judged([1, 0, 1, 0])).diverged("a") == (0, None)
    assert replace(gap, progressive=judged([1, 0, 1, 2])).diverged("a") == (1, 3)
    assert made(gap.mse.tolist()).diverged("a") == (1, 1)
