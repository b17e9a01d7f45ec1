"""What a file of samples says of the server's model, and when somebody is told."""

from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.errors import InputError
from paofed.live.fleet.settings import Settings
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.validated import Validated, validated
from paofed.live.network.in_process import Hub
from paofed.live.protocol.messages import Update, encode
from paofed.live.server import validation
from paofed.live.server.prometheus import prometheus
from paofed.live.server.validation import Judging, Validating
from tests.live.brokers import served, until
from tests.live.fleets import f32, manifest, records, server
from tests.live.server.web.page.scenes import lived, named


def test_the_share_of_samples_inside_the_interval(tmp_path: Path) -> None:
    coordinator, path = server(), tmp_path / "measured.csv"
    for device in range(3):
        records(coordinator, device, encode(Update(3, 0, f32(1.0, -2.0), (), 112)))
    coordinator.close(1)
    model = FleetModel.of(coordinator)
    assert model.predictor.interval is not None
    half = 4.0 * model.predictor.interval.half_width  # the target's scale is 4
    predicted = float(model.predict(np.array([0.5, 1.5])))
    away = [0.0, 0.99 * half, -0.99 * half, 1.01 * half]
    path.write_text("\n".join(f"0.5,1.5,{predicted + size!r}" for size in away))
    found = validated(FleetModel.of(coordinator), path)
    assert (found.samples, found.held) == (4, 0.75)
    assert found.error == pytest.approx(np.sqrt(np.mean(np.square(away))))


def test_where_no_errors_were_reported_nothing_is_said_of_an_interval(tmp_path: Path) -> None:
    (tmp_path / "measured.csv").write_text("0.5,1.5,10.0\n")
    assert validated(FleetModel.of(server()), tmp_path / "measured.csv").held is None


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

    with served(fleet, transport=Hub(), judge=judge) as running:
        for error, says in ((2.0, ""), (62.0, "wrong by 62 y"), (2.0, ""), (None, "be judged")):
            outcome[0] = error

            def is_told(error: float | None = error, says: str = says) -> bool:
                status = running.status()
                assert status.service is not None
                now = status.service.validation
                known = (None if now is None else now.error) == error
                told = any(says in problem for problem in status.problems) if says else True
                return known and told and bool(status.problems) == bool(says)

            until(is_told)
            page = prometheus(running.status())
            worse = 'paofed_validation_worse{fleet="greenhouse"} 1' in page
            assert worse == (error == 62.0)
        assert sum("wrong by 62 y" in line for line in running.said) == 1
        assert sum("cannot be judged" in line for line in running.said) == 1


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
    with served(fleet, transport=Hub(), judge=lambda _: JUDGED) as running:
        until(lambda: running.service.see().validation is not None)
        sight = running.service.see()
        assert sight.validation is not None
        assert sight.validation.target == "y"
        assert sight.validation.decibels == pytest.approx(-20)  # a tenth of the target's scale
        assert sight.history.validation[-1] == pytest.approx(-20)


def test_a_file_that_cannot_be_used_is_told_before_anything_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lived(tmp_path / "fleet", named(2), 3)
    words = ["fleet", "serve", str(tmp_path / "fleet"), "--validation", str(tmp_path / "none.csv")]
    assert main(words) == 2
    assert "none.csv" in capsys.readouterr().err
