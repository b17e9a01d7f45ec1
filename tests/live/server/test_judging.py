"""The error of the model on a file of samples, beside the loop."""

from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.network.in_process import Hub
from paofed.live.server import judging
from paofed.live.server.judging import Judging
from paofed.live.server.validation import Validated
from tests.live.brokers import Server, until
from tests.live.fleets import manifest
from tests.live.server.web.page.scenes import lived, named

MODEL = FleetModel(manifest(tick_seconds=0.001), 7, np.zeros(8))
FOUND = Validated(0.4, 50, 0.7)


def test_it_judges_again_and_again_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_EVERY", 0.0)
    monkeypatch.setattr(judging, "_SHARE", 0)
    found: list[Validated] = []
    judge = lambda model: FOUND._replace(error=float(model.tick))  # noqa: E731
    with Judging(judge, lambda: MODEL, found.append, pytest.fail):
        until(lambda: len(found) > 3)
    assert {one.error for one in found} == {7.0}


def test_a_busy_loop_is_asked_again_and_so_is_a_bad_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_EVERY", 0.0)
    monkeypatch.setattr(judging, "_SHARE", 0)
    answers: list[Exception] = [TimeoutError(), InputError("the file is gone")]
    told: list[str] = []
    found: list[Validated] = []

    def busy(_: FleetModel) -> Validated:
        if answers:
            raise answers.pop(0)
        return FOUND

    with Judging(busy, lambda: MODEL, found.append, told.append):
        until(lambda: found)
    assert (told, answers) == (["the file is gone"], [])


def test_a_server_shows_what_was_judged(tmp_path: Path) -> None:
    fleet = lived(tmp_path / "fleet", named(2), 3)
    server = Server(fleet, transport=Hub(), judge=lambda _: FOUND)
    server.thread.start()
    try:
        until(server.connected)
        until(lambda: server.service.see().validation is not None)
        sight = server.service.see()
        assert sight.validation is not None
        assert sight.validation.target == "y"
        assert sight.validation.decibels == pytest.approx(-20)  # a tenth of the target's scale
        assert sight.history.validation[-1] == pytest.approx(-20)
    finally:
        server.stop()


def test_a_file_that_cannot_be_used_is_told_before_anything_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lived(tmp_path / "fleet", named(2), 3)
    words = ["fleet", "serve", str(tmp_path / "fleet"), "--validation", str(tmp_path / "none.csv")]
    assert main(words) == 2
    assert "none.csv" in capsys.readouterr().err
