"""Tables of one's own on the command line: run, scenario and result over them."""

import gzip
import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from paofed.cli import main
from paofed.report.run.page_files import PAGE
from paofed.simulate import montecarlo
from paofed.simulate.engines import reference
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import USUAL
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from tests.drawing import without_drawing
from tests.natures import small_scenario
from tests.world.table.tables import fleet, hourly, table, write

COLUMNS = ["--device", "device", "--time", "time", "--target", "y", "--inputs", "a,b"]
SMALL = ["--features", "9", "--algorithm", "pao-fed-u1", "online-fedsgd"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tables") / "greenhouse.csv", hourly(3, 60))


def over(table: Path, *more: str) -> list[str]:
    return ["run", "--table", str(table), *COLUMNS, *more]


def same(first: Result, second: Result) -> None:
    one, two = TableResult.of(first), TableResult.of(second)
    for name in ("learners", "errors", "device_errors", "samples"):
        np.testing.assert_array_equal(
            getattr(one.progressive, name), getattr(two.progressive, name)
        )
    np.testing.assert_array_equal(one.mse, two.mse)
    assert (one.cold_start is None) == (two.cold_start is None)


# run --table


def test_a_table_and_nothing_else(csv: Path, capsys: Capture) -> None:
    assert main(over(csv, *SMALL)) == 0
    out, err = capsys.readouterr()
    for said in (
        "everyone is always there and no message is late: name a scenario for other laws",
        "greenhouse.csv: 3 devices, 54 ticks of 1h from 2024-05-01 06:00 to 2024-05-03 11:00",
        "greenhouse.csv: calibrated on 18 complete readings before that",
        ": the median distance between two inputs of the calibration period",
    ):
        assert said in err
    errors, baselines, unit, own_unit, note, newcomers, to_do, advice = out.split("\n\n")[1:]
    assert errors.split("\n")[0].split("  ")[0] == "algorithm"
    assert [line.split()[0] for line in errors.splitlines()[1:]] == ["pao-fed-u1", "online-fedsgd"]
    assert [line.partition("  ")[0] for line in baselines.splitlines()] == [
        "baseline", *USUAL,
    ]  # fmt: skip
    assert unit == "in the unit of y (* is the best of its column, here and above)"
    assert own_unit.split("\n")[0].split() == ["model", "RMSE", "MAE", "R2", "coverage", "width"]
    assert len(own_unit.splitlines()) == 1 + 2 * 2 + len(USUAL)
    assert note.startswith("devices that join late, 12 times each")
    header, *rows = newcomers.rstrip().splitlines()
    assert header.split("  ")[-1].strip() == "first day"
    assert len(rows) == 2 + 3 * 2
    assert "±" in rows[-1]
    assert to_do == "what to do"
    assert [line.split(":")[0] for line in advice.splitlines()[-2:]] == [
        "The settings", "The cost of taking part",
    ]  # fmt: skip


def test_what_befalls_contacts_over_a_table(csv: Path, tmp_path: Path, capsys: Capture) -> None:
    """Groups go by device, and need not divide them; the laws are shown, and the run meets them."""
    laws = small_scenario(
        delay={"kind": "geometric", "base": (0.5, 0.0)},
        loss={"up": (0.3, 0.1), "down": 0.2},
        outages={"mean_length": 4.0, "mean_between": 4.0, "share": (1.0, 0.5)},
        battery={"capacity": (2, 3), "fill": 0.3},
    )
    file = tmp_path / "laws.toml"
    file.write_text(laws.to_toml(), encoding="utf-8")
    assert main(["scenario", "show", str(file), *over(csv)[1:]]) == 0
    shown = Scenario.parse(capsys.readouterr().out, "shown")
    for law in ("availability", "delay", "loss", "outages", "battery"):
        assert getattr(shown, law) == getattr(laws, law)
    out = tmp_path / "r.npz"
    arguments = ["run", str(file), *over(csv)[1:], *SMALL, "--cold-starts", "1", "--every", "1"]
    assert main([*arguments, "--precision", "float64", "--out", str(out)]) == 0
    found = Result.load(out)
    world = Scenario.made(found.provenance["scenario"], "")
    trace = realize(world)
    assert trace.losses.up.any()
    assert trace.losses.down.any()
    for index, name in enumerate(found.algorithms):
        expected = reference.replay(trace, name, step_size=world.step_size, max_age=world.max_age)
        np.testing.assert_allclose(found.models[0, index], expected.server_model, atol=1e-9)


def test_laws_of_a_scenario_and_a_width_of_one_s_own(csv: Path, tmp_path: Path,
                                                     capsys: Capture) -> None:  # fmt: skip
    out = tmp_path / "r.npz"
    arguments = ["run", "setting-1", *over(csv)[1:], "--kernel-width", "2", "--step-size", "0.3"]
    assert main([*arguments, *SMALL, "--cold-starts", "0", "--out", str(out)]) == 0
    printed, err = capsys.readouterr()
    assert "everyone" not in err
    assert "median" not in err
    assert "join late" not in printed
    scenario = Result.load(out).provenance["scenario"]
    law = Scenario.load("setting-1")
    assert scenario["availability"] == json.loads(law.availability.model_dump_json())
    assert scenario["delay"] == law.delay.model_dump()
    assert (scenario["kernel_width"], scenario["step_size"], scenario["features"]) == (2, 0.3, 9)
    assert (scenario["name"], scenario["clients"], scenario["ticks"]) == ("greenhouse", 3, 54)


def test_a_time_in_several_columns_and_all_other_options(tmp_path: Path, capsys: Capture) -> None:
    lines = [
        f"s{k};2024;5;{1 + n // 24};{n % 24};{np.sin(n + k):.3f};{(n * 7 + k) % 5};{'NW'[n % 2]};-9"
        for n in range(60)
        for k in range(2)
    ]
    lines.append(lines[-1])
    path = write(tmp_path / "t.csv", lines, "who;year;month;day;hour;y;a;wind;bad")
    packed = tmp_path / "t.csv.gz"
    with path.open("rb") as plain, gzip.open(packed, "wb") as file:
        shutil.copyfileobj(plain, file)
    arguments = ["run", "--table", str(packed), "--device", "who", "--time", "year,month,day,hour"]
    arguments += ["--target", "y:raw", "--inputs", "a,wind:compass,hour:cyclic=24"]
    arguments += [
        "--separator",
        ";",
        "--duplicates",
        "last",
        "--calibration",
        "20h",
        "--tick",
        "1h",
    ]
    arguments += ["--score-from", "50%", "--missing", "NA,-9", *SMALL]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "t.csv.gz: 2 devices, 40 ticks of 1h from 2024-05-01 20:00" in err
    assert "errors count from 2024-05-02 06:00 on" in err
    assert out.startswith("t, 1 run (error on samples to come")


def test_a_table_that_is_too_short_for_cold_starts(tmp_path: Path, capsys: Capture) -> None:
    short = write(tmp_path / "short.csv", hourly(2, 20))
    assert main(over(short, *SMALL)) == 0
    out, err = capsys.readouterr()
    assert "no cold starts: the table is too short" in err
    assert "join late" not in out
    assert main(over(short, *SMALL, "--cold-starts", "2")) == 2
    assert "error: the table is too short" in capsys.readouterr().err


def test_newcomers_are_the_same_whichever_engine_runs_the_fleet(csv: Path, capsys: Capture) -> None:
    found = []
    for engine in ("fast", "reference"):
        assert main(over(csv, *SMALL, "--engine", engine, "--json")) == 0
        found.append(json.loads(capsys.readouterr().out)["newcomers"])
    assert found[0] == found[1] != []


def test_json_has_what_is_beside(csv: Path, tmp_path: Path, capsys: Capture) -> None:
    def refuse(word: str) -> NoReturn:
        raise AssertionError(word)

    out = tmp_path / "r.npz"
    assert main(over(csv, *SMALL, "--json", "--cold-starts", "1", "--out", str(out))) == 0
    text = capsys.readouterr().out
    printed = json.loads(text, parse_constant=refuse)  # no NaN
    assert list(printed["baselines"]) == list(USUAL)
    assert printed["baselines"]["alone"]["standard_error"] is None  # of one run
    assert isinstance(printed["algorithms"][0]["device_db"], float)
    assert len(printed["newcomers"]) == 3 * 2
    first = printed["newcomers"][0]
    assert (first["algorithm"], first["begins_with"], first["horizon_ticks"]) == (
        "pao-fed-u1", "whole", 24,
    )  # fmt: skip
    assert first["gain"]["low"] is None  # of one start
    assert main(["result", str(out), "--json"]) == 0
    assert capsys.readouterr().out == text
    assert main(["result", str(out)]) == 0
    _, found, late = capsys.readouterr().out.partition("devices that join late, 1 time each")
    assert found
    assert "±" not in late


def test_what_diverged_is_said_and_not_a_number(csv: Path, capsys: Capture) -> None:
    wild = ["--features", "9", "--algorithm", "pao-fed-u1:step_size=90"]
    assert main(over(csv, *wild, "--cold-starts", "2")) == 0
    out, err = capsys.readouterr()
    assert "its step size is too large" in err
    assert "nan" not in out
    assert out.count("  diverged") == 2 + 1 + 3  # both models, a device apart, newcomers
    assert "Whether taking part pays cannot be told: one of them diverged" in out
    assert main(over(csv, *wild, "--cold-starts", "2", "--json")) == 0
    assert "NaN" not in capsys.readouterr().out


def test_a_reading_that_never_changes_is_repeated_without_error(
    tmp_path: Path, capsys: Capture
) -> None:
    lines = [f"d0,2024-05-{1 + n // 24:02d} {n % 24:02d}:00,{min(n, 10)},{n % 7},{n % 5}"
             for n in range(80)]  # fmt: skip
    path = write(tmp_path / "still.csv", lines)
    assert main(over(path, *SMALL, "--calibration", "15h", "--score-from", "20h")) == 0
    out = capsys.readouterr().out
    assert "-inf" in next(line for line in out.splitlines() if line.startswith("last value"))
    assert "nan" not in out


def test_cold_starts_are_for_tables(capsys: Capture) -> None:
    assert main(["run", "setting-1", "--cold-starts", "3"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("paofed run: error: setting-1 has no table of readings")
    assert err.count("\n") == 1


def test_values_instead_of_a_preset_s(tmp_path: Path, capsys: Capture) -> None:
    arguments = ["--features", "17", "--kernel-width", "2.5", "--step-size", "0.1"]
    for preset in ("setting-2", "air-quality"):
        assert main(["scenario", "show", preset, *arguments]) == 0
        shown = Scenario.parse(capsys.readouterr().out, "shown")
        values = {"features": 17, "kernel_width": 2.5, "step_size": 0.1}
        assert shown == Scenario.model_validate({**Scenario.load(preset).model_dump(), **values})
    (tmp_path / "small.toml").write_text(small_scenario().to_toml())
    out = tmp_path / "r.npz"
    path = str(tmp_path / "small.toml")
    assert main(["run", path, *arguments, "--algorithm", "pao-fed-u1", "--out", str(out)]) == 0
    assert Result.load(out).models.shape[-1] == 17


# What is refused


def bad(path: Path, at: int, text: str) -> Path:
    """A table with one line of its own."""
    lines = hourly(2, 40)
    lines[at] = text
    return write(path / "bad.csv", lines)


def constant(path: Path) -> Path:
    cells = [line.split(",") for line in hourly(2, 40)]
    return write(path / "bad.csv", [",".join([*row[:3], "3", row[4]]) for row in cells])


def refused(*changes: str, table: Callable[[Path], Path] | None = None) -> tuple[Any, ...]:
    return list(changes), table


@pytest.mark.parametrize(
    ("changes", "table", "text"),
    [
        (*refused("--target", "z"), "unknown column 'z'"),
        (*refused("--tick", "soon"), "error: --tick is 'soon'"),
        (*refused("--tick", "2h"), "(--duplicates), or ticks of 1h (--tick)"),
        (*refused("--inputs", "a,a"), "error: --inputs is ['a', 'a']: 'a' is given twice"),
        (*refused("--inputs", "a,b:cyclic"), "error: --inputs is 'b:cyclic'"),
        (*refused("--time", "device"), "for others give --time-format"),
        (*refused("--features", "0"), "error: --features is 0"),
        (*refused("--cold-starts", "-1"), "--cold-starts is -1"),
        (*refused("--table", "nowhere.csv"), "nowhere.csv cannot be read"),
        (*refused(table=lambda p: bad(p, 50, "d0,2024-05-02 01:00,warm,2,3")), "y is 'warm'"),
        (*refused(table=constant), "is always 3 in the calibration period"),
    ],
)
def test_a_bad_table_is_one_line_and_leaves_nothing(
    changes: list[str],
    table: Callable[[Path], Path] | None,
    text: str,
    csv: Path,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    path = csv if table is None else table(tmp_path)
    place = tmp_path / "new"
    place.mkdir()
    outputs = ["--out", str(place / "r.npz"), "--csv", str(place / "c.csv"),
               "--figure", str(place / "f.png"), "--report", str(place / "page")]  # fmt: skip
    assert main([*over(path, "--step-size", "0.4"), *outputs, *changes]) == 2
    out, err = capsys.readouterr()
    # What was found in a sound table may be told before; the error is one line, and the last.
    *facts, error = err.splitlines()
    assert error.startswith("paofed run: error: ")
    assert text in error
    assert out == ""
    assert facts == [] or "--cold-starts" in error
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--target", "y"], "--target says something about a table: give --table too"),
        (["--table", "t.csv"], "--table needs --device, --time, --target, --inputs too"),
        (["--table", "t.csv", *COLUMNS[:4]], "--table needs --target, --inputs too"),
    ],
)
def test_half_a_table(arguments: list[str], text: str, capsys: Capture) -> None:
    for verb in (["run"], ["scenario", "show"]):
        assert main([*verb, "setting-1", *arguments]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith(f"paofed {verb[0]}: error: ")
        assert text in err


def test_a_wide_table_of_another_country(tmp_path: Path, capsys: Capture) -> None:
    """One column per device, decimal commas, local times: what is shown is what was asked for."""
    days = [f"{1 + n // 24:02d}.05.2024 {n % 24:02d}:00" for n in range(60)]
    lines = [f"{day};{n % 7},5;{n % 5},25" for n, day in enumerate(days)]
    path = write(tmp_path / "loads.csv", lines, "wann;nord;sued")
    asked = ["--table", str(path), "--wide", "load", "--time", "wann", "--target", "load",
             "--inputs", "load:lag=1,time:hour", "--time-format", "%d.%m.%Y %H:%M",
             "--zone", "Europe/Berlin", "--decimal", ",", "--calibration", "1d"]  # fmt: skip
    assert main(["scenario", "show", *asked]) == 0
    shown = tomllib.loads(capsys.readouterr().out)
    stream = {"wide": "load", "zone": "Europe/Berlin", "decimal": ","}
    assert {key: shown["stream"][key] for key in stream} == stream
    assert main(["scenario", "show", *asked, "--device", "nord"]) == 2
    assert "expected --device, the column that names the device, or --wide" in (
        capsys.readouterr().err
    )


def test_an_unknown_algorithm_is_said_before_the_table_is_read(csv: Path, capsys: Capture) -> None:
    assert main(over(csv, "--algorithm", "pao")) == 2
    err = capsys.readouterr().err
    assert err.startswith("paofed run: error: unknown algorithm 'pao'")
    assert err.count("\n") == 1


def test_what_was_found_names_options_or_keys_as_they_were_given(
    csv: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert main(over(csv, *SMALL, "--tick", "30min", "--cold-starts", "0")) == 0
    assert "; take ticks of 1h (--tick)\n" in capsys.readouterr().err
    (tmp_path / "mine.toml").write_text(fleet(table(csv, tick="30min")).to_toml())
    assert main(["scenario", "check", str(tmp_path / "mine.toml")]) == 0
    assert "; take ticks of 1h (`tick`)\n" in capsys.readouterr().err


def test_a_file_is_told_by_its_keys(csv: Path, tmp_path: Path, capsys: Capture) -> None:
    text = fleet(table(csv, tick="30min")).to_toml().replace("30min", "soon")
    (tmp_path / "mine.toml").write_text(text)
    assert main(["scenario", "check", str(tmp_path / "mine.toml"), "--features", "7"]) == 2
    assert ": tick is 'soon': expected a length" in capsys.readouterr().err


# scenario


def test_what_is_shown_can_be_run_and_is_the_same(
    csv: Path, tmp_path: Path, capsys: Capture
) -> None:
    laws = ["setting-1"]
    shape = [*over(csv)[1:], "--features", "9"]
    assert main(["scenario", "show", *laws, *shape]) == 0
    shown = tmp_path / "mine.toml"
    shown.write_text(capsys.readouterr().out)
    results = []
    for i, words in enumerate(([*laws, *shape], [str(shown)])):
        out = tmp_path / f"{i}.npz"
        asked = ["--algorithm", "pao-fed-u1", "--cold-starts", "0", "--out", str(out)]
        assert main(["run", *words, *asked]) == 0
        results.append(Result.load(out))
    same(*results)
    assert main(["scenario", "check", *laws, *shape]) == 0
    assert f"{csv} is valid: 3 clients, 54 ticks" in capsys.readouterr().out
    assert main(["scenario", "show", *laws, *shape, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stream"]["inputs"] == ["a", "b"]


def test_a_copy_has_its_table_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["scenario", "copy", "air-quality"]) == 0
    assert capsys.readouterr().out == "air-quality.toml\n"
    assert {path.name for path in tmp_path.iterdir()} == {"air-quality.toml", "air-quality.csv.gz"}
    assert 'file = "air-quality.csv.gz"' in Path("air-quality.toml").read_text()
    copied, original = (Scenario.load(name) for name in ("air-quality.toml", "air-quality"))
    np.testing.assert_array_equal(read(copied.table).x, read(original.table).x)
    assert main(["scenario", "copy", "air-quality"]) == 2
    assert "air-quality.toml is there already: copy into another" in capsys.readouterr().err
    Path("air-quality.toml").unlink()
    assert main(["scenario", "copy", "air-quality"]) == 2
    assert "air-quality.csv.gz is there already" in capsys.readouterr().err
    assert main(["scenario", "copy", "air-quality", "--to", "a/b"]) == 0
    assert Scenario.load("a/b/air-quality.toml").clients == 12
    assert main(["scenario", "copy", "air-quality", "--to", "a/b/air-quality.toml"]) == 2
    assert "cannot be made a directory" in capsys.readouterr().err


def test_a_copy_of_a_table_of_one_s_own(csv: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["scenario", "copy", *over(csv)[1:], "--to", str(tmp_path)]) == 0
    made = Path(capsys.readouterr().out.strip())
    assert made == tmp_path / "greenhouse.toml"
    assert (tmp_path / "greenhouse.csv").read_bytes() == csv.read_bytes()
    assert Scenario.load(made).table.file == str(tmp_path / "greenhouse.csv")


def recorded(folder: Path, delays: str = "late.csv", name: str = "a/b") -> Path:
    for path, value in ((folder / "there.csv", 1), (folder / delays, 2)):
        path.parent.mkdir(exist_ok=True)
        np.savetxt(path, np.full((150, 12), value), fmt="%d", delimiter=",")
    scenario = small_scenario(
        name=name,
        availability={"kind": "recorded", "file": str(folder / "there.csv")},
        delay={"kind": "recorded", "file": str(folder / delays)},
    )
    (folder / "mine.toml").write_text(scenario.to_toml())
    return folder / "mine.toml"


def test_a_copy_of_recorded_tables(tmp_path: Path, capsys: Capture) -> None:
    path = recorded(tmp_path)
    assert main(["scenario", "copy", str(path), "--to", str(tmp_path / "copy")]) == 0
    made = Path(capsys.readouterr().out.strip())
    assert made == tmp_path / "copy" / "a-b.toml"
    copied = Scenario.load(made)
    for law, name in ((copied.availability, "there.csv"), (copied.delay, "late.csv")):
        assert law.model_dump()["file"] == str(tmp_path / "copy" / name)
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_two_tables_of_one_name_are_not_mixed_up(tmp_path: Path, capsys: Capture) -> None:
    path = recorded(tmp_path, delays="other/there.csv")
    assert main(["scenario", "copy", str(path), "--to", str(tmp_path / "copy")]) == 2
    assert "two tables have the same name" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()


def test_only_a_copy_goes_somewhere(capsys: Capture) -> None:
    assert main(["scenario", "show", "setting-1", "--to", "x"]) == 2
    assert "but the action is show" in capsys.readouterr().err


# A page


def test_a_page_of_a_run_and_of_its_file(csv: Path, tmp_path: Path, capsys: Capture) -> None:
    out, pages = tmp_path / "r.npz", [tmp_path / "new" / "one", tmp_path / "two"]
    asked = ["--cold-starts", "1", "--out", str(out), "--report", str(pages[0])]
    with without_drawing():
        assert main(over(csv, *SMALL, *asked)) == 0
        assert f"open {pages[0] / 'report.html'}" in capsys.readouterr().err
        assert main(["result", str(out), "--report", str(pages[1])]) == 0
    one, two = ({path.name: path.read_bytes() for path in page.iterdir()} for page in pages)
    assert one == two
    assert set(one) <= set(PAGE)
    figure = tmp_path / "f.svg"
    assert main(["result", str(out), "--figure", str(figure)]) == 0
    assert "the models on the devices" in figure.read_text()


def test_a_page_overwrites_nothing_that_was_given(tmp_path: Path, capsys: Capture) -> None:
    table = write(tmp_path / "errors.csv", hourly(2, 20))
    before = table.read_bytes()
    assert main(over(table, "--report", str(tmp_path))) == 2
    assert "errors.csv would be overwritten by the page" in capsys.readouterr().err
    assert table.read_bytes() == before
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"# mine\n{small_scenario().to_toml()}")
    assert main(["run", str(scenario), "--report", str(tmp_path)]) == 2
    assert "scenario.toml would be overwritten by the page" in capsys.readouterr().err
    page = tmp_path / "page"
    assert (
        main(["run", str(scenario), "--report", str(page), "--csv", str(page / "curves.csv")]) == 2
    )
    assert "is given twice" in capsys.readouterr().err
    assert not page.exists()


def test_a_page_that_cannot_be_is_said_at_once(csv: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").touch()
    for place, text in (
        (tmp_path / "file" / "page", "cannot be made a directory"),
        (Path("/proc/page"), "/proc"),
    ):
        assert main(over(csv, *SMALL, "--report", str(place))) == 2
        err = capsys.readouterr().err
        assert text in err.splitlines()[-1]


def test_a_result_is_not_overwritten_by_what_it_shows(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "r.npz"
    path.write_bytes(b"mine")
    assert main(["result", str(path), "--csv", str(path)]) == 2
    assert "is given twice" in capsys.readouterr().err
    assert main(["result", str(path), "--report", str(tmp_path / "page")]) == 2
    assert not (tmp_path / "page").exists()
    assert path.read_bytes() == b"mine"


# Ctrl-C


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("with_baselines", "without the baselines and the cold starts"),
        ("with_cold_starts", "without the cold starts"),
    ],
)
def test_an_interrupt_keeps_what_was_finished(
    stage: str,
    text: str,
    csv: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    def interrupt(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(montecarlo, stage, interrupt)
    out = tmp_path / "kept.npz"
    assert main(over(csv, *SMALL, "--out", str(out))) == 130
    printed, err = capsys.readouterr()
    assert err.splitlines()[-1] == f"interrupted: kept what was finished, {text}"
    assert "pao-fed-u1" in printed
    assert "join late" not in printed
    assert ("batch linear" in printed) == (stage == "with_cold_starts")
    result = TableResult.load(out)
    assert result.cold_start is None
    assert bool(result.baselines) == (stage == "with_cold_starts")
    assert main(["result", str(out), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["newcomers"] == []
    assert bool(shown["baselines"]) == (stage == "with_cold_starts")


# What a scenario names is never written over


def test_the_files_of_a_scenario_are_not_written_over(tmp_path: Path, capsys: Capture) -> None:
    readings = write(tmp_path / "errors.csv", hourly(3, 60))
    mine = tmp_path / "mine.npz"  # no ending keeps a file from being a scenario
    mine.write_text(fleet(table(readings)).to_toml())
    before = readings.read_bytes(), mine.read_bytes()
    assert main(["run", str(mine), "--csv", str(readings)]) == 2
    assert "is given twice" in capsys.readouterr().err
    assert main(["run", str(mine), "--out", str(mine)]) == 2
    assert "is given twice" in capsys.readouterr().err
    assert main(["trace", str(mine), "--out", str(mine)]) == 2
    assert "is what the trace is made of" in capsys.readouterr().err
    assert main(["run", str(mine), "--report", str(tmp_path)]) == 2
    assert "errors.csv would be overwritten by the page" in capsys.readouterr().err
    assert (readings.read_bytes(), mine.read_bytes()) == before


@pytest.mark.parametrize("verb", ["run", "trace", "replay"])
def test_an_archive_s_name_is_refused_before_any_work(
    verb: str, tmp_path: Path, capsys: Capture
) -> None:
    """Nothing is read: there is no such scenario, and no such trace."""
    words = [verb, "nowhere", "--out", str(tmp_path / "x.txt")]
    words += ["--algorithm", "pao-fed-u1"] if verb == "replay" else []
    assert main(words) == 2
    said = f"{tmp_path / 'x.txt'} is no archive's name: expected one that ends in .npz\n"
    assert capsys.readouterr() == ("", f"paofed {verb}: error: {said}")


@pytest.mark.usefixtures("undrawn")
def test_a_page_keeps_nothing_of_the_one_before(csv: Path, tmp_path: Path) -> None:
    assert main(over(csv, *SMALL, "--report", str(tmp_path))) == 0
    assert (tmp_path / "newcomers.csv").exists()
    mine = tmp_path / "mine.csv"
    mine.touch()
    assert main(over(csv, "--cold-starts", "0", *SMALL, "--report", str(tmp_path))) == 0
    assert not list(tmp_path.glob("newcomers.*"))
    assert mine.exists()
