"""Applications that ask; how fast, is no test's business."""

import json
import threading
import time
from collections import Counter
from unittest.mock import Mock

import numpy as np
import pytest

from lab.benchmarks.crowd import LoadOutcome
from lab.commands import main, predict
from lab.commands.predict import Asked, ask
from paofed.live.server.web.answers import Answer, Question, as_json, in_words
from paofed.live.server.web.listener import Listener

HOST = "127.0.0.1"
OUTCOME = LoadOutcome(4, 2.0, 0, np.array([0.001, 0.002, 0.002, 0.003]))


def test_every_connection_asks_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "_WARM", 1)
    asked: list[int] = []
    threads: Counter[int] = Counter()

    def answer(question: Question) -> Answer:
        asked.append(len(json.loads(question.content)))
        threads[threading.get_ident()] += 1
        return as_json(200, {})

    def clock() -> float:
        """The time is over once each connection has asked several times."""
        return time.monotonic() + (1e6 if sum(n > 3 for n in threads.values()) > 1 else 0.0)

    monkeypatch.setattr(predict, "time", Mock(monotonic=clock))
    with Listener(HOST, 0, {("POST", "/predict"): answer}) as listener:
        found = ask(HOST, listener.port, 2, 3, 1e5)
    assert len(threads) == 2  # connections stay
    assert set(asked) == {3}
    assert found.answered == len(found.latencies) == len(asked) - 2
    assert (found.lost, found.percentile(50) > 0) == (0, True)


def test_a_refusal_is_counted_and_ends_its_connection() -> None:
    routes = {("POST", "/predict"): lambda _: in_words(503, "no model")}
    with Listener(HOST, 0, routes) as listener:
        found = ask(HOST, listener.port, 2, 1, 5.0)
    assert (found.answered, found.lost) == (0, 2)


def test_the_command_prints_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [Asked(0, 0, None, OUTCOME), Asked(8, 100, OUTCOME, OUTCOME)]
    monkeypatch.setattr(predict, "measure_asking", lambda *_, **__: rows)
    assert main(["predict"]) == 0
    _, alone, asked = capsys.readouterr().out.splitlines()
    assert alone.split() == ["0", "0", *["-"] * 4, "2", "2.0", "3.0", "0"]
    assert asked.split() == ["8", "100", *["2", "2.0", "3.0", "0"] * 2]
    assert main(["predict", "--json"]) == 0
    alone, asked = json.loads(capsys.readouterr().out)
    assert alone["questions"] is None
    assert asked["contacts"]["rate"] == 2.0
    assert main(["predict", "--rate", "0"]) == 2
