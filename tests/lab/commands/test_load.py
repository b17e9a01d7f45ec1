"""A crowd of devices loads a broker and a server as it says; how fast, is no test's business."""

import json
import os
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from lab.benchmarks import crowd as crowds
from lab.benchmarks.crowd import LoadOutcome, until_answered
from lab.commands import load, main
from lab.commands.load import Load, Memory, measure
from paofed.errors import PaofedError
from tests.effort import long
from tests.system import needs


@long
def test_a_small_load_from_start_to_end() -> None:
    needs("mosquitto")
    said: list[str] = []
    # Long enough for a busy machine, which may stand still for a second.
    found = measure(said.append, devices=40, seconds=3.0, window=10, rate=100, soak=200)
    for contacts in (found.bare, found.flat_out, found.steady, found.after):
        assert contacts.answered > 20
        assert contacts.lost == 0
        assert 0 < contacts.percentile(50) <= contacts.percentile(99) < 5000
    assert found.steady.rate < 130
    assert found.ratio == found.flat_out.rate / found.bare.rate > 0
    assert 0 < found.reconnected < 60
    assert found.memory[0].contacts == 0
    assert found.memory[-1].contacts >= 200
    assert all(memory.server > 10 and memory.broker > 1 for memory in found.memory)
    assert any("the broker is killed" in line for line in said)


class Unanswered:
    """A crowd whose server died, until after some tries it is back."""

    def __init__(self, *answered: int) -> None:
        self.answered = list(answered)

    def load(self, **_: object) -> LoadOutcome:
        return LoadOutcome(self.answered.pop(0), 0.1, 0, np.zeros(0))


def test_a_server_that_is_back_after_a_while_is_waited_for() -> None:
    crowd: Any = Unanswered(0, 0, 3)
    until_answered(crowd, seconds=0.1)
    assert crowd.answered == []


def test_a_server_that_died_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "PATIENCE", 0.0)
    silent, broker = Unanswered(0), Mock(pid=os.getpid())
    crowd: Any = silent
    with pytest.raises(PaofedError, match="no device was answered for 0 s: the server or the"):
        until_answered(crowd, seconds=0.1)
    silent.answered = [5, 0]
    with pytest.raises(PaofedError, match="no device was answered"):
        list(load._soak(crowd, 200, 1.0, broker, os.getpid(), lambda _: None))


def test_the_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick = LoadOutcome(1000, 0.1, 0, np.full(1000, 0.002))
    slow = LoadOutcome(2500, 1.0, 3, np.linspace(0.01, 0.11, 2500))
    found = Load(5000, quick, slow, slow, 1.5, slow, [Memory(0, 50.0, 9.0), Memory(10, 51.5, 9.0)])
    asked: list[dict[str, object]] = []

    def measured(_: object, **options: object) -> Load:
        asked.append(options)
        return found

    monkeypatch.setattr(load, "measure", measured)
    words = ["load", "--devices", "7", "--seconds", "2", "--rate", "9", "--soak", "10"]
    assert main(words) == 0
    assert asked == [{"devices": 7, "seconds": 2.0, "rate": 9.0, "soak": 10}]
    out = capsys.readouterr().out
    assert "bare broker, flat out                  10,000         2" in out
    assert "the server answers 0.25 times as fast as an echo behind the bare broker" in out
    assert "all were connected and served again 1.5 s after the broker's return" in out
    assert out.splitlines()[-1].split() == ["10", "51.5", "9.0"]
    assert main(["load", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["loads"]["server, flat out"]["lost"] == 3
    assert numbers["loads"]["server, flat out"]["milliseconds"]["50"] == pytest.approx(60)


def test_nothing_to_measure(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--devices", "--seconds", "--rate"):
        assert main(["load", option, "0"]) == 2
        assert "above 0" in capsys.readouterr().err
