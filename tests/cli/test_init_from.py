"""`paofed fleet init --from`: a new fleet that goes on from another's model."""

from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.quantity import Quantity
from tests.live.fleets import live, manifest, opened, stored

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A fleet with some history: three devices, 25 ticks, ranges, and an epoch of its own."""
    folder = tmp_path / "other"
    inputs = (manifest().inputs[0], Quantity(name="b", offset=0.5, scale=2.0, high=9.0))
    with stored(folder, inputs=inputs, from_tick=5, from_time=2.0, lineage=7) as store:
        live(store, store.recover(), range(25), snapshots=10)
    return folder


def begun(folder: Path) -> Coordinator:
    with Fleet(folder).store() as store:
        assert store.verify().agrees
        assert store.roster.members() == []
        return store.recover()


def init(capsys: Capsys, folder: Path, *words: object) -> Coordinator:
    code = main(["fleet", "init", str(folder), "--security", "none", *map(str, words)])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert out.startswith(f"made {folder}\n")
    return begun(folder)


def refusal(capsys: Capsys, folder: Path, *words: object) -> str:
    assert main(["fleet", "init", str(folder), *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert not folder.exists()
    return err.removeprefix("paofed fleet init: error: ").rstrip("\n")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_fleet_from_another(kind: str, other: Path, tmp_path: Path, capsys: Capsys) -> None:
    source, model = other, tmp_path / "model.npz"
    assert main(["fleet", "model", str(other), "--out", str(model)]) == 0
    capsys.readouterr()
    if kind == "file":
        source = model
    new = init(capsys, tmp_path / "new", "--from", source)
    assert new.w.tobytes() == FleetModel.load(model).w.tobytes()
    assert new.w.any()
    assert new.tick == 0
    was, agreed = FleetModel.load(model).manifest, new.manifest
    assert (agreed.start > was.start, agreed.from_tick, agreed.from_time) == (True, 0, None)
    assert agreed.lineage == 0
    same = [
        *("algorithm", "features", "shared", "kernel_width", "seed", "step_size", "max_age"),
        *("tick_seconds", "meaning", "aside"),
    ]
    assert [getattr(agreed, name) for name in same] == [getattr(was, name) for name in same]


def test_what_another_does_not_have_is_as_in_any_new_fleet(
    other: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """It may be older than bounds and ranges."""
    with opened(other) as store:
        was = store.epochs.manifest()
    assert (was.clip, was.bound, was.target.high) == (None, None, None)
    new = init(capsys, tmp_path / "new", "--from", other).manifest
    assert (new.clip, new.aside, new.bound) == (6.0, True, 6.0)
    assert (new.target, new.inputs) == (
        was.target.limited(),
        tuple(n.limited() for n in was.inputs),
    )
    words = ["--clip", "4", "--aside", "no", "--bound", "none", "--target", "y:10:4:0:20"]
    bounded = tmp_path / "bounded"
    init(capsys, bounded, "--from", other, *words)
    newer = init(capsys, tmp_path / "newer", "--from", bounded).manifest
    assert (newer.clip, newer.aside, newer.bound) == (4.0, False, 6.0)
    assert (newer.target.low, newer.target.high) == (0.0, 20.0)


def test_some_of_it_may_differ(other: Path, tmp_path: Path, capsys: Capsys) -> None:
    different = "--shared 4 --step-size 0.1 --tick 5 --max-age 3 --algorithm pao-fed-c1"
    repeated = "--features 8 --seed 1 --input a --target y:10:4:0:20 --input b:0.5:2:-1:1"
    words = f"{different} {repeated}".split()
    new = init(capsys, tmp_path / "new", "--from", other, *words)
    agreed = new.manifest
    assert (agreed.shared, agreed.step_size, agreed.tick_seconds) == (4, 0.1, 5.0)
    assert (agreed.max_age, agreed.algorithm) == (3, "pao-fed-c1")
    assert [(n.low, n.high) for n in agreed.inputs] == [(-10.0, 10.0), (-1.0, 1.0)]
    assert (agreed.target.low, agreed.target.high) == (0.0, 20.0)
    with opened(other) as store:
        old = store.recover()
    old.close(100)
    assert new.w.tobytes() == old.w.tobytes()


def test_with_one_more_input(other: Path, tmp_path: Path, capsys: Capsys) -> None:
    new = init(capsys, tmp_path / "new", "--from", other, "--input", "wind:3:2")
    assert [n.name for n in new.manifest.inputs] == ["a", "b", "wind"]
    assert (new.manifest.inputs[2].low, new.manifest.inputs[2].high) == (-17.0, 23.0)
    with opened(other) as store:
        old = store.recover()
    old.close(100)
    before, after = FleetModel.of(old), FleetModel.of(new)
    x = np.random.default_rng(0).normal(size=(50, 2))
    still = np.column_stack([x, np.full(50, 3.0)])
    assert np.allclose(after.predict(still), before.predict(x), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--features 9", "features cannot be changed from 8 to 9: the model has learned with"),
        ("--kernel-width 3", "--kernel-width cannot be changed from 1 to 3"),
        ("--seed 0", "seed cannot be changed from 1 to 0"),
        ("--input a:1:1", "a (offset 0 and scale 1) cannot become a (offset 1 and scale 1)"),
        ("--target y", "y (offset 10 and scale 4) cannot become y (offset 0 and scale 1)"),
        ("--target z:10:4", "cannot become z (offset 10 and scale 4)"),
        ("--shared 9", "9"),
    ],
)
def test_what_contradicts_the_model(
    words: str, says: str, other: Path, tmp_path: Path, capsys: Capsys
) -> None:
    assert says in refusal(capsys, tmp_path / "new", "--from", other, *words.split())


def test_something_else_than_a_fleet(tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "model.npz").write_text("no model")
    for source, says in (
        ("empty", "holds no fleet"),
        ("nothing", "nothing"),
        ("model.npz", "model.npz cannot be read"),
    ):
        assert says in refusal(capsys, tmp_path / "new", "--from", tmp_path / source)
