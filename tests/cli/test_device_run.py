"""`paofed device run`: what is refused, read and told, without a fleet that could be reached."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from paofed.cli import main
from paofed.live.device import over_lines
from paofed.live.device.device import Device
from paofed.live.device.over_lines import OverLines
from paofed.live.device.state import save_state, taken_up
from paofed.live.network import mqtt
from paofed.live.network.credential import Credential
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.level import IMPLAUSIBLE
from paofed.live.protocol.quantity import Quantity
from tests.live.fleets import manifest
from tests.live.protocol.test_seen import seeing

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that cannot be made is not waited for: it would end with a pause."""
    monkeypatch.setattr(mqtt, "_SOON", 0.01)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A device of a fleet that is nowhere."""
    path = tmp_path / "3.json"
    Credential(fleet="g", since=1.0, name="3", label="x", host="127.0.0.1", port=1).save(path)
    return path


def refusal(capsys: Capsys, *words: object) -> str:
    assert main(["device", "run", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("paofed device run: error: ").rstrip("\n")


def test_numbers_that_cannot_be_are_refused(file: Path, capsys: Capsys) -> None:
    seconds = ("-1", "-0.001", "nan", "inf", "-inf", "1e6")
    words = [f"{name}={v}" for name in ("--wait", "--save-every", "--join-within") for v in seconds]
    for word in (*words, "--every=0", "--every=-1"):
        says = refusal(capsys, file, word)
        assert says.startswith(f"{word.partition('=')[0]} is "), word
        assert says.endswith((": expected a whole number from 1 on", "seconds from 0 to 1,000,000"))
    for share in ("0", "-0.5", "1.01", "nan"):
        says = refusal(capsys, file, f"--contacts={share}")
        assert says.endswith(": expected a share above 0, at most 1")
    zeros = ("--wait=0", "--save-every=0", "--join-within=0", "--every=1")
    says = refusal(capsys, file, *zeros, "--state", file.with_name("state.npz"))
    assert says.startswith("the fleet was not reached: ")


@pytest.mark.parametrize(
    ("place", "says"), [("missing/state.npz", "is not a directory"), (".", "is a directory")]
)
def test_a_state_that_could_not_be_saved_is_told_at_once(
    place: str, says: str, file: Path, tmp_path: Path, capsys: Capsys
) -> None:
    assert says in refusal(capsys, file, "--state", tmp_path / place)


# What is read. The device has been in its fleet before, so it needs no network to begin.


class Alone:
    """A device that knows its fleet and reaches nobody."""

    def __init__(self, file: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file, self.state = file, file.with_name("state.npz")
        self.edge = Edge(manifest(), 3)
        self.edge.w[:] = 0.25
        self.edge.joined = True
        save_state(self.state, self.edge)
        self._capsys, self._monkeypatch = capsys, monkeypatch
        monkeypatch.setattr(over_lines, "_LINGER", 0.0)

    def run(self, text: str | Iterator[str], *options: str) -> tuple[int, list[str], str]:
        lines = io.StringIO(text) if isinstance(text, str) else text
        self._monkeypatch.setattr("sys.stdin", lines)
        words = [str(self.file), "--state", str(self.state), "--wait=0", *options]
        code = main(["device", "run", *words])
        out, err = self._capsys.readouterr()
        return code, out.splitlines(), err

    def predicts(self, *x: float) -> str:
        return f"{self.edge.predict(np.array(x)):.9g}"


@pytest.fixture
def alone(file: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> Alone:
    return Alone(file, capsys, monkeypatch)


@pytest.mark.parametrize("header", ["b,a,y\n", "\n#\n\n b, a, y\n"])
def test_a_line_before_the_header_swaps_no_columns(header: str, alone: Alone) -> None:
    code, out, err = alone.run(f"{header}0.5,0.25,\n")
    assert (code, out[-1]) == (0, alone.predicts(0.25, 0.5))
    assert alone.predicts(0.25, 0.5) != alone.predicts(0.5, 0.25)
    assert ("passed over: line" in err) == ("#" in header)


def test_numbers_whose_header_is_not_known_end_it(alone: Alone) -> None:
    code, out, err = alone.run("B,A,Y\n0.5,0.25,11\n0.5,0.25,11\n")
    assert (code, out) == (2, [""])
    assert err.splitlines()[-1] == (
        "paofed device run: error: line 2 is '0.5,0.25,11', and nobody knows which number is "
        "which: B, A, Y may be its header (expected a, b, y)"
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The contacts that were made, each with how long it might wait."""
    made: list[float] = []

    def contact(run: OverLines, wait: float) -> None:
        made.append(wait)
        run._told = True

    monkeypatch.setattr(OverLines, "_contact", contact)
    return made


@pytest.mark.parametrize("third", ["0.5,nan,11", "0.5,0.25,11"])
def test_a_sensor_that_gives_no_numbers_is_told_to_the_fleet(third: str, alone: Alone) -> None:
    assert alone.run("0.5,0.25,11\n" + f"{third}\n" * 3)[0] == 0
    saved = taken_up(alone.state, 3, 1.0, 1)
    assert saved is not None
    assert (saved.recent.level == IMPLAUSIBLE) == ("nan" in third)


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_a_share_of_the_contacts_is_made(share: float, alone: Alone, asked: list[float]) -> None:
    """By chance, within five standard deviations: a false alarm in two million."""
    code, _, _ = alone.run("0.5,0.25,10.0\n" * 400, f"--contacts={share}")
    assert code == 0
    assert abs(len(asked) - 400 * share) <= 5 * (400 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize(("coin", "made"), [(0.3, 0), (0.2, 1)])
@pytest.mark.parametrize("every", [1, 2])
def test_the_last_contact_is_by_the_same_coin(
    every: int,
    coin: float,
    made: int,
    alone: Alone,
    asked: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a device with a process for each sample would make every contact.

    There is one coin: the end of the input throws no second one, nor does it spare the first one
    where it comes before the contact is due.
    """
    begun = OverLines.__init__

    def fixed(run: OverLines, *args: Any, **options: Any) -> None:
        begun(run, *args, **options)
        run._chance = iter([coin]).__next__  # type: ignore[assignment]

    monkeypatch.setattr(OverLines, "__init__", fixed)
    code, _, _ = alone.run("0.5,0.25,10.0\n", "--contacts=0.25", f"--every={every}")
    assert (code, len(asked)) == (0, made)


def test_every_sample_has_its_line_in_the_output(alone: Alone) -> None:
    text = "a,b,y\n0.1,0.2,\n\n0.1,zero,\n0.3,0.4,\n{}\n0.5\n0.5,0.6,\n"
    code, out, err = alone.run(text)
    assert err.count("a line has no target: it is only predicted") == 1
    assert "passed over: line 7 is '0.5': expected 2 or 3 finite numbers (a, b, y)" in err
    there = [alone.predicts(*x) for x in ((0.1, 0.2), (0.3, 0.4), (0.5, 0.6))]
    assert (code, out) == (0, [there[0], "", there[1], "", "", there[2]])
    assert "3 samples, 3 without a target, 0 implausible, 3 lines passed over" in err
    assert alone.run(text, "--quiet")[1] == []


def test_intervals_stand_beside_predictions(alone: Alone) -> None:
    code, out, err = alone.run("0.5,0.25,1e6\n0.5,0.25,\n", "--interval")
    first, second = ([float(number) for number in line.split(",")] for line in out)
    assert code == 0
    low, high = alone.edge.interval(np.array([0.5, 0.25]))
    assert first == pytest.approx([alone.edge.predict(np.array([0.5, 0.25])), low, high], rel=1e-8)
    assert second[2] - second[1] > first[2] - first[1]  # it was missed
    assert "intervals covered 0% until now" in err


@pytest.mark.parametrize(
    ("header", "old", "new"),
    [
        ("", '{"a": 0.1, "b": 0.2, "y": 11}', '{"a": 0.1, "b": 0.2, "wind": 4, "y": 11}'),
        ("", "0.1,0.2,11", "0.1,0.2,4,11"),
        ("wind,y,b,a\n", "4,11,0.2", "4,11,0.2,0.1"),
    ],
)
def test_a_fleet_that_is_given_another_input_while_it_runs(
    header: str, old: str, new: str, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines without it are passed over, lines with it are learned from."""
    wind = Quantity(name="wind", offset=4.0)
    changed = manifest(epoch=4, lineage=1, inputs=(*manifest().inputs, wind))
    before = f"{header}0.1,0.2,11\n" if not header else f"{header}4,11,0.2,0.1\n"

    def lines() -> Iterator[str]:
        yield from before.splitlines()
        devices[0]._adopt(changed.to_json().encode())
        yield from (old, new, old, new)

    class Known(Device):
        def __enter__(self) -> Self:
            devices.append(self)
            return self

    devices: list[Device] = []
    monkeypatch.setattr("paofed.live.device.device.Device", Known)
    code, out, err = alone.run(lines())
    assert (code, [bool(line) for line in out]) == (0, [True, False, True, False, True])
    assert "3 samples, 0 implausible, 2 lines passed over" in err


# What is told of the fleet


class Told:
    """A device whose contacts end one after another for the reasons given."""

    def __init__(self, *reasons: str) -> None:
        self._reasons = list(reasons)
        self._why = ""

    def contact(self, _: float) -> bool:
        self._why = self._reasons.pop(0)
        return not self._why

    def why_not(self) -> str:
        return self._why


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["", "", ""], []),
        (["x", "x", ""], ["not reached (x); it goes on learning", "reached again"]),
        (["x", "y", "y"], [f"not reached ({why}); it goes on learning" for why in "xy"]),
        (["", "x", "", ""], ["not reached (x); it goes on learning", "reached again"]),
    ],
)
def test_what_keeps_the_fleet_away_is_told_once(reasons: list[str], said: list[str]) -> None:
    device: Any = Told(*reasons)
    lines: list[str] = []
    run = OverLines(device, say=lines.append)
    for _ in reasons:
        run._contact(1.0)
    assert lines == [f"the fleet is {line}" for line in said]


def test_a_device_that_looks_back_answers_what_it_can(alone: Alone) -> None:
    """Of words, with the time of each line; what was learned and what not is summed up."""
    edge = Edge(seeing(), 3)
    edge.joined = True
    save_state(alone.state, edge)
    winds, targets = ("N", "SW", "up", "N", "N", "N", "E", "E"), ("5", "6", "7", "8", "", *"456")
    lines = [*zip(range(8), "12312312", winds, targets, strict=True)]
    text = "".join(f"{3600 * tick},{a},{wind},{y}\n" for tick, a, wind, y in lines)
    code, out, err = alone.run(f"time,a,wind,y\n{text}")
    assert code == 0
    # It looks back at a of one tick and at y of two ticks before.
    known = [bool(line) for line in out]
    assert known == [False, False, False, False, False, True, False, True]
    assert "'up', which is no direction" in err
    said = "7 samples, 1 without a target, 0 implausible, 4 without the past that they need, 1 line"
    assert f"{said} passed over" in err
    expected = Edge(seeing(), 3)
    for tick, a, wind, y in lines:
        if wind != "up":
            at = 3600.0 * tick
            shown = expected.predict([float(a), wind], at)
            assert out[tick] == ("" if np.isnan(shown) else f"{shown:.9g}")
            if y:
                expected.learn([float(a), wind], float(y), at)
            else:
                expected.remember([float(a), wind], None, at)
