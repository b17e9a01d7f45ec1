"""`paofed predict`, alone and in a pipe."""

import io
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.live.model.fleet_model import FleetModel
from tests.live.fleets import manifest
from tests.live.protocol.test_seen import seeing

Capture = pytest.CaptureFixture[str]
MODEL = FleetModel(manifest(), 7, np.sin(np.arange(8.0)))


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.npz"
    MODEL.save(path)
    return str(path)


def expected(*rows: tuple[float, float]) -> str:
    return "".join(f"{float(MODEL.predict(np.array(row))):.9g}\n" for row in rows)


ROWS = ((0.5, 1.5), (-2.0, 1e-3))


@pytest.mark.parametrize("text", ["b,a\n1.5,0.5\n\n1e-3,-2\n", '{"a": 0.5, "b": 1.5}\n-2,1e-3\n'])
def test_one_prediction_per_line(
    text: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "x.csv").write_text(text)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    for place in ([], ["--input", str(tmp_path / "x.csv")]):
        assert main(["predict", model, *place]) == 0
        assert capsys.readouterr() == (expected(*ROWS), "")
    assert main(["predict", model]) == 0  # nothing in, nothing out
    assert capsys.readouterr() == ("", "")


class Pipe(io.StringIO):
    """What a reader has seen: only what was flushed."""

    seen = ""

    def flush(self) -> None:
        self.seen = self.getvalue()


def test_in_a_pipe_every_line_is_answered_before_the_next_is_read(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, seen = Pipe(), []

    def lines() -> Iterator[str]:
        for line in ("0.5,1.5\n", "-2,1e-3\n"):
            yield line
            seen.append(pipe.seen)

    monkeypatch.setattr("paofed.cli.predict.opened", lambda _: nullcontext(lines()))
    monkeypatch.setattr("sys.stdout", pipe)
    assert main(["predict", model]) == 0
    assert seen == [expected(ROWS[0]), expected(*ROWS)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"0.5,1.5,2.5\n", "error: line 1 is '0.5,1.5,2.5': expected 2 finite numbers (a, b)"),
        (b"b,c\n0.5,1.5\n", "error: the header has no column 'a': it has b, c"),
        (b"0.5,1.5\nx,y\n-2,1e-3\n", "error: line 2 is 'x,y'"),
        (b"0.5,\xff\n", "error: "),
        (b"0.5," + b"1" * 200_000 + b"\n", "error: line 1 is '0.5,1"),
        (None, " cannot be read: "),
    ],
    ids=["too many", "no such column", "behind another", "not UTF-8", "a long field", "none"],
)
def test_a_line_that_is_no_input(
    content: bytes | None, says: str, model: str, tmp_path: Path, capsys: Capture
) -> None:
    """What came before it is answered."""
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_bytes(content)
    assert main(["predict", model, "--input", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == (expected(ROWS[0]) if "line 2" in says else "", 1)
    assert err.startswith("paofed predict: error: ")
    assert says in err


def test_a_file_that_is_no_model(tmp_path: Path, capsys: Capture) -> None:
    np.savez(tmp_path / "x.npz", w=np.zeros(3))
    for name, says in (
        ("x.npz", "is not a fleet's model: it holds w"),
        ("y.npz", "does not exist"),
    ):
        assert main(["predict", str(tmp_path / name)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert says in err


def test_a_model_that_looks_back_is_given_the_lines_of_one_device(
    tmp_path: Path, capsys: Capture
) -> None:
    model, path = FleetModel(seeing(), 7, np.sin(np.arange(10.0))), tmp_path / "model.npz"
    model.save(path)
    lines = [f"{3600 * tick},N,{5 + tick},{tick}" for tick in range(4)]
    (tmp_path / "rows.csv").write_text("\n".join(["time,wind,y,a", *lines]))
    assert main(["predict", str(path), "--input", str(tmp_path / "rows.csv")]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["", ""]
    device = model.device()
    for tick in range(2):
        device.remember([float(tick), "N"], 5.0 + tick, 3600.0 * tick)
    assert out[2] == f"{device.predict([2.0, 'N'], 7200.0):.9g}"
