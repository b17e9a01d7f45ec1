import json

import pytest

from lab.benchmarks import own, speed
from lab.commands import main


def test_it_prints_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    timings = [
        speed.Timing("vectorised NumPy", 2000.0, ""),
        speed.Timing("fast, 1 thread", 80.0, ""),
        speed.Timing("inner loop in C, 1 thread", 40.0, ""),
    ]
    monkeypatch.setattr("lab.benchmarks.speed.side_by_side", lambda _: timings)
    beside = [own.SideBySide("learner", 200.0, 2.5, 1.5, 6.0, 0.5)]
    monkeypatch.setattr("lab.benchmarks.own.beside", lambda _: beside)
    sums = [
        own.SumsBeside("pao-fed-u1", 200, 80.0, 1.0),
        own.SumsBeside("fed-ridge", 40, 720.0, 9.0),
    ]
    monkeypatch.setattr("lab.benchmarks.own.sums_beside_models", lambda _: sums)
    sizes = [speed.Size(256, 200, 1, 80.0, 245.0)]
    monkeypatch.setattr("lab.benchmarks.speed.scaling", lambda _: iter(sizes))
    assert main(["engines", "--scaling"]) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert lines["fast,"][-3:] == ["80", "25", "2"]
    assert lines["learner"] == ["learner", "200", "2.5", "1.5", "6", "0.5"]
    assert lines["fed-ridge"] == ["fed-ridge", "40", "720", "9"]
    assert main(["engines", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["engines"][0]["nanoseconds"] == 2000.0
    assert printed["own"][0]["first_start"] == 6.0
    assert printed["sums"][1]["times"] == 9.0
    assert printed["scaling"] == []  # unless it is asked for
    assert main(["engines", "--scaling", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scaling"][0]["clients"] == 256
