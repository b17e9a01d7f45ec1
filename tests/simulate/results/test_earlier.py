"""Results of before messages were counted: written here as they were written then."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.cli import main
from paofed.core.tariffs import TARIFFS
from paofed.errors import FileError
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from tests.natures import small_scenario

WIDTHS = {"online-fedsgd": None, "pao-fed-u1:shared=3": 3, "pso-fed:subset=0.5": 4}
NAMES = list(WIDTHS)


@pytest.fixture(scope="module")
def result() -> Result:
    return run(small_scenario(), NAMES, runs=2, seed=4)


def described(name: str, own: str | None) -> dict[str, object]:
    """An algorithm as provenance told of it."""
    windows = {"kind": "Windows", "width": WIDTHS.get(name, 4), "coordinated": True, "ahead": 0}
    return {
        "name": name,
        "downlink": windows,
        "uplink": "__main__.mask" if name == own else windows,
    }


def written(result: Result, path: Path, *, own: str | None = None) -> dict[str, Any]:
    """The file that the version before would have written; of its own schedule, if asked for."""
    result.save(path)
    with np.load(path) as file:
        arrays: dict[str, Any] = dict(file)
    up, down, *_ = np.moveaxis(arrays.pop("traffic"), 2, 0)
    about = json.loads(str(arrays["provenance"]))
    about["algorithms"] = [described(name, own) for name in result.algorithms]
    arrays |= {"sent": up + down, "sent_up": up[..., -1], "sent_down": down[..., -1]}
    arrays["provenance"] = np.array(json.dumps(about))
    save_arrays(path, arrays)
    return arrays


def test_of_windows_everything_is_known(result: Result, tmp_path: Path) -> None:
    written(result, tmp_path / "old.npz")
    back = Result.load(tmp_path / "old.npz")
    np.testing.assert_array_equal(back.traffic, result.traffic)
    assert back.traffic.dtype == result.traffic.dtype
    assert back.summary("mqtt-tls-anew") == result.summary("mqtt-tls-anew")


def test_of_one_s_own_schedule_messages_are_unknown(result: Result, tmp_path: Path) -> None:
    written(result, tmp_path / "old.npz", own=NAMES[1])
    back = Result.load(tmp_path / "old.npz")
    np.testing.assert_array_equal(back.run_sent(NAMES[1]), result.run_sent(NAMES[1]))
    assert back.sent(NAMES[1]) == result.sent(NAMES[1])
    now = back.run_traffic(NAMES[1])
    for unknown in (now.messages_up, now.messages_down, now.contacts):
        assert np.isnan(unknown).all()
    np.testing.assert_array_equal(back.run_wire(NAMES[1]).both, 4 * result.run_sent(NAMES[1]))
    assert np.isnan(back.run_wire(NAMES[1], "mqtt").both).all()
    for name in (NAMES[0], NAMES[2]):
        assert (
            back.run_wire(name, "mqtt").both.tolist() == result.run_wire(name, "mqtt").both.tolist()
        )


def test_what_is_unknown_is_shown_as_such(
    result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.npz"
    written(result, old, own=NAMES[1])
    words = ["result", str(old), "--tariff", "coap"]
    assert main([*words, "--report", str(tmp_path / "page"), "--csv", str(tmp_path / "c.csv")]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(NAMES[1]))
    assert line.split()[-4:] == ["-"] * 4
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tariff"]["up"] == TARIFFS["coap"].up
    assert found["algorithms"][1]["wire_up"] is found["algorithms"][1]["messages_up"] is None
    assert found["algorithms"][0]["wire_up"] > 0


def test_it_is_saved_again_as_it_was_understood(result: Result, tmp_path: Path) -> None:
    written(result, tmp_path / "old.npz", own=NAMES[0])
    back = Result.load(tmp_path / "old.npz")
    back.save(tmp_path / "new.npz")
    np.testing.assert_array_equal(Result.load(tmp_path / "new.npz").traffic, back.traffic)


@pytest.mark.parametrize("width", [5, 0, "3", None])
def test_windows_that_do_not_fit_what_was_sent_are_not_believed(
    result: Result, tmp_path: Path, width: object
) -> None:
    arrays = written(result, tmp_path / "old.npz")
    about = json.loads(str(arrays["provenance"]))
    about["algorithms"][1]["uplink"]["width"] = width
    save_arrays(tmp_path / "old.npz", {**arrays, "provenance": np.array(json.dumps(about))})
    now = Result.load(tmp_path / "old.npz").run_traffic(NAMES[1])
    assert np.isnan(now.messages_up).all()


def test_an_idle_fleet_sent_nothing(tmp_path: Path) -> None:
    idle = small_scenario(availability={"kind": "bernoulli", "probabilities": (0.0,)})
    result = run(idle, ["pao-fed-u1"])
    for own in (None, "pao-fed-u1"):
        written(result, tmp_path / "old.npz", own=own)
        assert Result.load(tmp_path / "old.npz").sent("pao-fed-u1") == (0.0, 0.0)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("sent", lambda a: a[..., ::-1], "sent falls: expected what was sent until each point"),
        ("sent_up", lambda a: a + 1, "sent does not end with what was sent up and down"),
        ("sent_down", lambda a: -a, "sent_down holds"),
        ("sent_up", None, "sent is given without sent_up"),
    ],
)
def test_nonsense_is_refused(
    result: Result, tmp_path: Path, name: str, change: Any, told: str
) -> None:
    arrays = written(result, tmp_path / "old.npz")
    given = arrays.pop(name)
    if change is not None:
        arrays[name] = change(given)
    save_arrays(tmp_path / "old.npz", arrays)
    with pytest.raises(FileError, match=told):
        Result.load(tmp_path / "old.npz")
