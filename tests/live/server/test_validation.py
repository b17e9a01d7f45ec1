"""The error of the server's model on a file of samples: when somebody is told."""

from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.errors import InputError
from paofed.live.fleet.settings import Settings
from paofed.live.model.fleet_model import FleetModel
from paofed.live.network.in_process import Hub
from paofed.live.server import validation
from paofed.live.server.metrics import prometheus
from paofed.live.server.validation import Judging, Validated, Validating
from tests.live.brokers import Server, until
from tests.live.fleets import manifest
from tests.live.server.web.page.scenes import lived, named

FOUND = Validated(2.0, 50, 0.7)


def found(error: float) -> Validated:
    return FOUND._replace(error=error)


def test_an_error_above_the_limit_is_a_problem_at_once() -> None:
    validating = Validating(manifest(), limit=3.0)
    assert validating.follow(found(2.9), 1.0).problem == ""
    assert validating.follow(found(3.1), 2.0).problem == (
        "the model is wrong by 3.1 y on the validation file, above the limit of 3"
    )
    assert validating.follow(found(2.9), 3.0).problem == ""


def test_an_error_far_above_what_is_usual_is_a_problem() -> None:
    validating = Validating(manifest())
    said = [validating.follow(found(2.0), float(k)).problem for k in range(100)]
    said += [validating.follow(found(12.0), 100.0 + k).problem for k in range(16)]
    assert set(said[:100]) == {""}
    assert said[-1].startswith("the model is wrong by 12 y on the validation file, usually by 2")


def test_learning_and_the_usual_ups_and_downs_are_none() -> None:
    """The error of a model that is well varies by a tenth: a false alarm is below one in 10^6."""
    random = np.random.default_rng(1)
    validating = Validating(manifest())
    for k in range(2000):
        error = (2 + 50 * np.exp(-k / 100)) * np.exp(random.normal(0, 0.1))
        assert validating.follow(found(float(error)), float(k)).problem == ""


def test_a_server_has_a_problem_while_its_model_is_wrong_on_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "_EVERY", 0.01)
    fleet = lived(tmp_path / "fleet", named(2), 3, tick_seconds=0.01)
    fleet.settings = Settings(name="greenhouse", security="none", http="", validation_limit=3.0)
    outcome: list[float | None] = [2.0]

    def judge(_: FleetModel) -> Validated:
        if outcome[0] is None:
            raise InputError("samples.csv cannot be read")
        return found(outcome[0])

    server = Server(fleet, transport=Hub(), judge=judge)
    server.thread.start()
    try:
        until(server.connected)
        for error, says in ((2.0, ""), (62.0, "wrong by 62 y"), (2.0, ""), (None, "be judged")):
            outcome[0] = error

            def is_told(error: float | None = error, says: str = says) -> bool:
                status = server.status()
                assert status.service is not None
                now = status.service.validation
                known = (None if now is None else now.error) == error
                told = any(says in problem for problem in status.problems) if says else True
                return known and told and bool(status.problems) == bool(says)

            until(is_told)
            page = prometheus(server.status())
            worse = 'paofed_validation_worse{fleet="greenhouse"} 1' in page
            assert worse == (error == 62.0)
        assert sum("wrong by 62 y" in line for line in server.said) == 1
        assert sum("cannot be judged" in line for line in server.said) == 1
    finally:
        server.stop()


MODEL = FleetModel(manifest(tick_seconds=0.001), 7, np.zeros(8))
JUDGED = Validated(0.4, 50, 0.7)


def test_it_judges_again_and_again_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_EVERY", 0.0)
    monkeypatch.setattr(validation, "_SHARE", 0)
    found: list[Validated] = []
    judge = lambda model: JUDGED._replace(error=float(model.tick))  # noqa: E731
    with Judging(judge, lambda: MODEL, found.append, pytest.fail):
        until(lambda: len(found) > 3)
    assert {one.error for one in found} == {7.0}


def test_a_busy_loop_is_asked_again_and_so_is_a_bad_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_EVERY", 0.0)
    monkeypatch.setattr(validation, "_SHARE", 0)
    answers: list[Exception] = [TimeoutError(), InputError("the file is gone")]
    told: list[str] = []
    found: list[Validated] = []

    def busy(_: FleetModel) -> Validated:
        if answers:
            raise answers.pop(0)
        return JUDGED

    with Judging(busy, lambda: MODEL, found.append, told.append):
        until(lambda: found)
    assert (told, answers) == (["the file is gone"], [])


def test_a_server_shows_what_was_judged(tmp_path: Path) -> None:
    fleet = lived(tmp_path / "fleet", named(2), 3)
    server = Server(fleet, transport=Hub(), judge=lambda _: JUDGED)
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
