"""The option --labels: the same law on every verb that takes it, and one line where it is wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.cli import main
from paofed.errors import InputError
from paofed.experiments.arena import calibration_of
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from tests.world.table.tables import fleet, hourly, table, write

Capture = pytest.CaptureFixture[str]
SMALL = ["--features", "9", "--algorithm", "pao-fed-u1"]
COLUMNS = ["--device", "device", "--time", "time", "--target", "y", "--inputs", "a,b"]


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("labels") / "houses.csv", hourly(3, 60))


def printed(capsys: Capture, *words: str) -> Any:
    assert main(list(words)) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Capture, *words: str) -> str:
    assert main(list(words)) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()[-1:]
    return line


def test_devices_without_labels_have_an_error_of_their_own(csv: Path, capsys: Capture) -> None:
    over = ["run", "--table", str(csv), *COLUMNS, *SMALL, "--json", "--cold-starts", "0"]
    found = printed(capsys, *over, "--labels", "50%,late=2h,devices=d1")
    lines = [*found["algorithms"], *found["baselines"].values()]
    assert all(isinstance(line["device_db_without_labels"], float) for line in lines)
    assert (
        found["baselines"]["alone"]["db"] != found["baselines"]["alone"]["device_db_without_labels"]
    )
    everybody = printed(capsys, *over, "--labels", "50%,late=2h")
    assert "without_labels" not in json.dumps(everybody)


def test_the_column_stands_in_the_tables(csv: Path, capsys: Capture) -> None:
    over = ["run", "--table", str(csv), *COLUMNS, *SMALL, "--cold-starts", "0"]
    assert main([*over, "--labels", "devices=d1+d2"]) == 0
    _, errors, baselines, *_ = capsys.readouterr().out.split("\n\n")
    for part in (errors, baselines):
        assert "without labels (dB)" in part.splitlines()[0]


def test_what_is_typed_is_what_a_file_says(tmp_path: Path, capsys: Capture) -> None:
    assert main(["scenario", "show", "small", "--labels", "10%,late=24,devices=25%"]) == 0
    text = capsys.readouterr().out
    assert text.endswith("\n[labels]\nshare = 0.1\nlate = 24\ndevices = 0.25\n")
    (tmp_path / "small.toml").write_text(text)
    typed = printed(capsys, "run", "small", *SMALL, "--labels", "10%,late=24,devices=25%", "--json")
    assert typed == printed(capsys, "run", str(tmp_path / "small.toml"), *SMALL, "--json")
    usual = printed(capsys, "run", "small", *SMALL, "--json")
    assert usual["algorithms"][0]["db"] < typed["algorithms"][0]["db"]


def test_a_trace_has_the_labels(tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path / "t.npz")
    assert main(["trace", "small", "--labels", "30%,late=3", "--out", out]) == 0
    with np.load(out) as held:
        assert (held["label_delay"] == 3).all()
        assert 0.2 < held["labelled"][held["has_data"]].mean() < 0.4
    line = refused(capsys, "trace", "small", "--labels", "devices=99", "--out", out)
    assert line.endswith(
        "--labels devices=99: devices is 99: expected at most 16, as many as there are"
    )


def test_a_sweep_varies_the_law(tmp_path: Path, capsys: Capture) -> None:
    found = printed(
        capsys, "sweep", "small", "--labels", "late=2", "--algorithm", "pao-fed-u1",
        "--over", "labels.share=0.1,1", "--runs", "2", "--out", str(tmp_path / "s"), "--json",
    )  # fmt: skip
    assert "labels.share" in json.dumps(found)
    (tmp_path / "s.toml").write_text(
        'scenario = "small"\nalgorithms = ["pao-fed-u1"]\n[over]\n"labels.share" = [0.1, 1.0]\n'
    )
    line = refused(capsys, "sweep", str(tmp_path / "s.toml"), "--labels", "late=2")
    assert line.endswith("says what is swept: leave out --labels")


def test_shares_of_labels_are_numbers_or_percentages(csv: Path, capsys: Capture) -> None:
    over = ["run", "--table", str(csv), *COLUMNS, *SMALL, "--cold-starts", "0", "--label-shares"]
    found = printed(capsys, *over, "1%,0.5", "--json")
    assert [row["share"] for row in found["label_shares"]] == [0.01, 0.5]
    with pytest.raises(SystemExit):
        main([*over, "1%,x"])
    assert capsys.readouterr().err.endswith("'1%,x' is no list of shares, as in 1%,10%,100%\n")
    assert "expected shares of the samples, above 0 and up to 1" in refused(capsys, *over, "150%")
    line = refused(capsys, "run", "small", "--label-shares", "10%", "--algorithm", "pao-fed-u1")
    assert line.endswith(
        "--label-shares is [0.1], but shares are for runs over a table: ask for none"
    )


@pytest.mark.parametrize(
    ("law", "says"),
    [
        ("3", "--labels 3: share is 3: expected at most 1"),
        ("latte=3", "--labels latte=3: unknown option 'latte': did you mean 'late'?"),
        (
            "late=1d",
            "late is 1d: expected ticks, since nobody says how long a tick is: give --tick",
        ),
        ("group=a", "--labels group=a: devices.group is a: expected another choice"),
    ],
)
def test_a_wrong_law_is_one_line(capsys: Capture, law: str, says: str) -> None:
    for verb in ("run", "plan"):
        assert says in refused(capsys, verb, "small", "--labels", law, "--algorithm", "pao-fed-u1")


def test_a_length_is_late_where_ticks_have_one(tmp_path: Path, csv: Path, capsys: Capture) -> None:
    """Only verbs with an option --tick name it, and plain numbers never become lengths."""
    law, out = ["--labels", "late=1d"], ["--out", str(tmp_path / "t.npz")]
    varied = ["sweep", "small", "--algorithm", "pao-fed-u1", "--over", "step_size=0.2,0.4"]
    for words in (["trace", "small"], varied):
        line = refused(capsys, *words, *law, *out)
        assert line.endswith("how long a tick is: give the scenario's `tick`")
    numbers = [f"d{k},{n},{n % 7},{k},{n % 5}" for n in range(60) for k in range(3)]
    plain = write(tmp_path / "numbers.csv", numbers)
    over = [*COLUMNS, *SMALL, "--cold-starts", "0", *law]
    line = refused(capsys, "run", "--table", str(plain), "--time-format", "number", *over)
    assert line.endswith("expected ticks, since the times of the table are plain numbers")
    assert main(["run", "--table", str(csv), *over]) == 0
    said = capsys.readouterr()
    assert "The labels: on every sample, a day late." in said.out
    assert "everyone is always there and no message is late" in said.err


def test_a_wrong_law_of_a_file_is_told_with_its_place(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "small.toml"
    path.write_text(Scenario.load("small").to_toml() + "\n[labels]\nshare = 2.0\n")
    line = refused(capsys, "run", str(path), "--features", "9", "--algorithm", "pao-fed-u1")
    assert line.endswith("labels.share is 2.0: expected at most 1")
    assert f"{path}:" in line


def test_a_race_over_the_calibration_period_has_the_labels_of_those_that_are_there(
    tmp_path: Path,
) -> None:
    """Device d2 begins to measure after that period."""
    lines = [line for i, line in enumerate(hourly(3, 90)) if i % 3 < 2 or i > 150]
    stream = table(write(tmp_path / "t.csv", lines), calibration="40h")
    for devices, expected in (
        ([0, "d2"], ("d0",)),
        ({"devices": 3}, 2),
        ({"devices": 0.5}, 0.5),
        (None, None),
    ):
        given = devices if isinstance(devices, dict) else {"devices": devices}
        early = calibration_of(fleet(stream, labels=given))
        assert read(early.table).devices == ("d0", "d1")
        assert early.labels is not None
        assert early.labels.devices == expected
    assert calibration_of(fleet(stream)).labels is None
    with pytest.raises(InputError, match="no device that has labels has readings in the cal"):
        calibration_of(fleet(stream, labels={"devices": ["d2"]}))
