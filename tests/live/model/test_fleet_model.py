"""The model as it is taken out of a server, and its files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paofed import predictor
from paofed.errors import FileError, InputError
from paofed.live.model.fleet_model import FileFormat, FleetModel
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.messages import Update, encode
from tests.live.fleets import f32, records, server
from tests.live.model.models import levels, plain_model, weights


def heard() -> Coordinator:
    """A server to which four devices have told their levels."""
    coordinator = server(devices=4)
    for device, level in enumerate((100, 110, 110, 255)):
        records(coordinator, device, encode(Update(3, 0, f32(1.0, -2.0), (), level)))
    coordinator.close(1)
    return coordinator


def test_levels_are_counted_of_those_that_tell_their_error() -> None:
    model = FleetModel.of(heard(), "greenhouse")
    assert (model.fleet, model.tick) == ("greenhouse", 1)
    np.testing.assert_array_equal(model.levels, levels(100, 110, 110))
    assert FleetModel.of(server()).predictor.interval is None


def test_whoever_is_quarantined_or_removed_does_not_count() -> None:
    coordinator = heard()
    coordinator.quarantine(0)
    coordinator.remove(1)
    np.testing.assert_array_equal(FleetModel.of(coordinator).levels, levels(110))


def test_it_stays_as_it_was_taken_out() -> None:
    coordinator = heard()
    model = FleetModel.of(coordinator)
    before = model.w.copy()
    records(coordinator, 0, encode(Update(3, 1, f32(3.0, 3.0), (), 90)))
    coordinator.close(2)
    assert not np.array_equal(coordinator.w, before)
    assert np.array_equal(model.w, before)
    assert not model.says_the_same(FleetModel.of(coordinator))


def test_a_tick_in_which_nobody_was_heard_changes_nothing_that_it_says() -> None:
    coordinator = heard()
    model = FleetModel.of(coordinator)
    coordinator.close(2)
    assert model.says_the_same(FleetModel.of(coordinator))


@pytest.mark.parametrize("kind", ["npz", "json"])
def test_a_file_of_either_kind_predicts_the_same(kind: FileFormat, tmp_path: Path) -> None:
    model, path = plain_model(), tmp_path / "model"
    model.save(path, kind)
    back = predictor(path)
    assert back.to_json() == model.predictor.to_json()
    assert predictor(str(path)).version == back.version
    content = f"\n{model.predictor.to_json()}\n".encode()  # as it was downloaded
    assert predictor(content).version == back.version


@pytest.mark.parametrize("wrong", [np.ones(3, dtype=int), -np.ones(256, dtype=int)])
def test_levels_that_are_none(wrong: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    FleetModel(plain_model().manifest, 7, weights(8), "g", wrong).save(path)
    with pytest.raises(FileError, match="is not a fleet's model: expected 256 levels"):
        predictor(path)


def test_what_is_no_model_is_told_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with pytest.raises(FileError, match=r"model.json cannot be read: No such file"):
        predictor(path)
    path.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(InputError, match=r"model.json is no fleet's model: it is no JSON object"):
        predictor(path)
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"model.json"):
        predictor(path)


def test_predicting_needs_numpy_alone(tmp_path: Path) -> None:
    plain_model().save(tmp_path / "model.json", "json")
    code = (
        "import sys\n"
        "allowed = {'numpy', 'paofed', '__main__', *sys.stdlib_module_names}\n"
        "before = set(sys.modules)\n"
        "import paofed\n"
        "paofed.predictor(sys.argv[1]).predict({'a': 0.5, 'b': 1.5})\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "found = {name for name in names - allowed if name[0] != '_'}\n"
        "heavy = {name for name in ('sqlite3', 'http', 'socket') if name in sys.modules}\n"
        "sys.exit(str(found | heavy) if found | heavy else 0)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "model.json")]
    subprocess.run(words, check=True)  # noqa: S603 (our own program)
