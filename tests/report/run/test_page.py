"""The page of one run: it stands alone, its numbers are in files, and it can be run again."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from paofed import Trace, Worlds, realize
from paofed.cli import main
from paofed.core.tariffs import Tariff, tariff_of
from paofed.report.run import page as run_page
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import sentences, whether
from paofed.report.run.page import best, build, gallery, in_short, write
from paofed.report.run.page_files import PAGE
from paofed.report.run.words import command, front
from paofed.report.shared.pages import interval, significant
from paofed.report.shared.pages import number as written
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import ALONE, BASELINES, USUAL
from tests.cli.test_reproduce import read_csv
from tests.drawing import as_svg_alone
from tests.effort import long, some
from tests.natures import small_scenario
from tests.page_tree import Node, parse
from tests.report.paper.test_page import (
    SCREEN,
    WIDTHS,
    assert_stands_alone,
    is_shown_as,
    look,
    plain,
    references,
)
from tests.report.runs import ALGORITHMS, over_table
from tests.report.sound import assert_sound

ODD = '<b>&"x"'
NUMBER = re.compile(r"(?<![\w.:=-])-?\d+(?:\.\d+)?(?![\w=]|\.\d)")


class Made(NamedTuple):
    folder: Path
    page: Node
    tables: dict[str, list[dict[str, str]]]
    result: Result

    @property
    def over_table(self) -> TableResult:
        return TableResult.of(self.result)


def made_of(
    result: Result,
    folder: Path,
    *,
    drawn: Sequence[str] | None = None,
    tariff: Tariff | str = "payload",
) -> Made:
    """Write a page; with few of its figures, or none, it is quick."""
    folder.mkdir(exist_ok=True)
    with as_svg_alone(), pytest.MonkeyPatch.context() as patch:
        if drawn is not None:
            patch.setattr(run_page, "gallery", lambda *of: {k: gallery(*of)[k] for k in drawn})
        write(result, folder, tariff)
    tables = {path.stem: read_csv(path) for path in folder.glob("*.csv")}
    return Made(folder, parse((folder / "report.html").read_text()), tables, result)


@pytest.fixture(scope="module")
def of_table(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("table")
    names = ["d0", ODD, "d2"]
    result = over_table(folder, names=names, scenario={"name": ODD})
    return made_of(result, folder / "page", tariff="mqtt-anew")


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory) -> Made:
    scenario = small_scenario(name=ODD, stream={"drifts": (60, 145)})
    result = run(scenario, ["pao-fed-u1", "online-fedsgd:step_size=0.2"], runs=3)
    return made_of(result, tmp_path_factory.mktemp("drifting") / "page")


@pytest.fixture(scope="module")
def of_function(tmp_path_factory: pytest.TempPathFactory) -> Made:
    worlds = Worlds(ODD, nature, max_age=4, about={"rooms": ODD})
    result = run(worlds, ["pao-fed-u1", "online-fedsgd:step_size=0.2"], runs=2, seed=3)
    return made_of(result, tmp_path_factory.mktemp("function") / "page")


def nature(world: int, run: int) -> Trace:
    return realize(small_scenario(), world, run)


@pytest.fixture(params=["of_table", "drifting", "of_function"])
def made(request: pytest.FixtureRequest) -> Made:
    found: Made = request.getfixturevalue(request.param)
    return found


def section(page: Node, heading: str) -> list[Node]:
    """The elements between a heading and the next."""
    (body,) = page.all("body")
    nodes = [child for child in body.children if isinstance(child, Node)]
    begin = next(i for i, n in enumerate(nodes) if n.tag == "h2" and n.text() == heading)
    after = (i for i, n in enumerate(nodes) if n.tag == "h2" and i > begin)
    return nodes[begin + 1 : next(after, len(nodes))]


def cells_of(nodes: Iterable[Node]) -> list[list[str]]:
    """The lines of the tables among some elements, without their headers."""
    lines = [line for node in nodes for line in node.all("tr")]
    found = [[plain(cell.text()) for cell in line.all("td")] for line in lines]
    return [line for line in found if line]


def headings(page: Node) -> list[str]:
    return [node.text() for node in page.all("h2")]


# It stands alone


def test_a_page_has_what_all_pages_have_and_loads_nothing(made: Made) -> None:
    assert_sound(made.page)
    assert_stands_alone(made.page)
    assert references(made.page) > 5
    assert list(made.page.all("b")) == []  # a name is text
    assert {path.name for path in made.folder.iterdir()} <= set(PAGE)
    for path in made.folder.glob("*.png"):
        assert path.with_suffix(".svg").exists()


def test_a_device_of_any_name_is_on_the_page(of_table: Made) -> None:
    drawn = next(svg for svg in of_table.page.all("svg") if ODD in svg.text(but=()))
    assert f"{ODD}: 2 runs" in drawn.text(but=())
    assert {row["device"] for row in of_table.tables["by-device"]} == {"d0", ODD, "d2"}


def test_what_is_on_it(of_table: Made, drifting: Made) -> None:
    end = "To run it again"
    assert headings(of_table.page) == [
        "What to do", "In short", "Errors and traffic", "In the unit of y", "By group of devices",
        "Figures", "Newcomers", "On the device", end,
    ]  # fmt: skip
    first, *others = of_table.page.all("figure")
    assert len(others) == 4
    assert "stage" in first.text()  # the lives of devices
    assert headings(drifting.page) == [
        "What to do", "Errors and traffic", "Figures", "When the target changed", end,
    ]  # fmt: skip
    assert len(list(drifting.page.all("figure"))) == 2


# Its numbers


def fits(numbers: Iterable[str], row: dict[str, str]) -> bool:
    """Whether numbers are those of a row, in its order."""
    values = iter(row.values())
    return all(any(is_shown_as(value, number) for value in values) for number in numbers)


def test_every_error_and_all_traffic_are_in_a_file(of_table: Made) -> None:
    rows = {(row["learner"], row["model"]): row for row in of_table.tables["errors"]}
    lines = cells_of(section(of_table.page, "Errors and traffic"))
    assert len(lines) == len(ALGORITHMS) + len(USUAL)
    for name, *cells in lines:
        if name in USUAL:
            *numbers, meaning = cells
            assert meaning == BASELINES[name]
            assert fits([cell for cell in numbers if cell], rows.pop((name, "baseline")))
        else:
            device, server = (rows.pop((name, whose)) for whose in ("device", "server"))
            assert fits(cells[:2], device)
            assert fits(cells[2:], server)
            assert fits(cells[4:], device)
    assert rows == {}
    order = [float(line[1]) for line in lines[: len(ALGORITHMS)]]
    assert order == sorted(order)


def test_errors_in_the_unit_of_the_target_are_in_a_file(of_table: Made) -> None:
    rows = {(row["learner"], row["model"]): row for row in of_table.tables["errors"]}
    for name, whose, *cells in cells_of(section(of_table.page, "In the unit of y")):
        row = rows.pop((name, whose))
        shown = [f"{float(row[key]):.4g}" for key in ("rmse", "mae", "r2", "coverage", "width")]
        assert cells == shown
    assert rows == {}


def test_errors_by_group_are_in_a_file(of_table: Made) -> None:
    rows = [row for row in of_table.tables["by-group"] if row["model"] == "device"]
    lines = cells_of(section(of_table.page, "By group of devices"))
    assert lines
    for name, devices, *cells in lines:
        mine = [row for row in rows if (row["group"], row["devices"]) == (name, devices)]
        assert any(is_shown_as(row["db"], cells[1]) for row in mine)
    assert sum(int(line[1]) for line in lines) == len(of_table.over_table.lives.group)


def test_the_best_of_each_column_of_errors_is_marked(of_table: Made, drifting: Made) -> None:
    rows = of_table.tables["errors"]
    best = {key: min(float(row[key]) for row in rows) for key in ("rmse", "mae")}
    best["r2"] = max(float(row["r2"]) for row in rows)
    marked = [strong.text() for node in section(of_table.page, "In the unit of y")
              for strong in node.all("strong")]  # fmt: skip
    assert sorted(marked) == sorted(significant(value) for value in best.values())
    least = {
        whose: min(
            float(row["db"]) for row in rows if row["model"] == whose or row["learner"] in at
        )
        for whose, at in (("device", ALONE), ("server", set(USUAL) - set(ALONE)))
    }
    marked = [strong.text() for node in section(of_table.page, "Errors and traffic")
              for strong in node.all("strong")]  # fmt: skip
    assert sorted(marked) == sorted(map(written, least.values()))
    (only,) = (strong.text() for node in section(drifting.page, "Errors and traffic")
               for strong in node.all("strong"))  # fmt: skip
    assert only == written(min(float(row["db"]) for row in drifting.tables["errors"]))


def test_what_a_choice_costs_in_traffic_is_told_in_times(drifting: Made) -> None:
    """The least error comes first, then who has the least error for fewer bytes."""
    found = front(drifting.result, tariff_of("payload"))
    assert [one.name for one in found] == ["online-fedsgd:step_size=0.2", "pao-fed-u1"]
    best, cheap = found
    times = f"{best.bytes / cheap.bytes:.1f} times less"
    (told, *_) = section(drifting.page, "What to do")
    first, second = (node.text() for node in told.all("li"))
    assert "has the least error of 2 algorithms" in first
    assert times in second
    assert interval(cheap.behind) in second
    lead = next(n for n in drifting.page.all("p") if n.attributes.get("class") == "lead").text()
    assert lead.startswith(first)
    assert (times in lead) == (cheap.behind.mean <= 1)


def test_every_stage_of_a_life_is_in_a_file(of_table: Made) -> None:
    rows, lives = of_table.tables["lives"], of_table.over_table.lives
    assert len(rows) == len(lives.learners) * lives.stages
    for row in rows:
        b = int(row["from"]).bit_length() - 1
        assert int(row["to"]) == 2 * int(row["from"]) - 1
        assert int(row["samples"]) == lives.samples[lives.stage == b].sum()
        assert float(row["db"]) == lives.stage_db(row["learner"], row["model"])[b]  # type: ignore[arg-type]
        if row["learner"] == row["over"]:
            assert float(row["gain"]) == 0
        if row["learner"] in ALONE:  # the rival is the best of them
            assert float(row["gain"]) <= 0


def test_the_finals_of_a_synthetic_run_are_in_a_file(drifting: Made) -> None:
    lines = cells_of(section(drifting.page, "Errors and traffic"))
    rows = {row["learner"]: row for row in drifting.tables["errors"]}
    assert len(lines) == len(rows) == 2
    for name, *cells in lines:
        assert rows[name]["model"] == "server"
        assert rows[name]["runs"] == "3"
        assert fits(cells, rows[name])


def test_bytes_are_those_of_the_tariff(of_table: Made, drifting: Made) -> None:
    for made, told, name in (
        (of_table, "MQTT on TCP, connects for each contact", "mqtt-anew"),
        (drifting, "of payload alone", "payload"),
    ):
        assert told in made.page.text()
        for row in made.tables["errors"]:
            if row["model"] != "baseline":
                wire = made.result.run_wire(row["learner"], name)
                assert float(row["wire_up"]) == wire.up[:, -1].mean()
                assert float(row["wire_down"]) == wire.down[:, -1].mean()
                assert row["tariff"] == name
        last = made.tables["curves"][len(made.result.ticks) - 1]
        assert last["wire_up"] == made.tables["errors"][0]["wire_up"]


def test_a_tariff_of_one_s_own_is_in_the_command(drifting: Made) -> None:
    words = shlex.split(command(drifting.result, Tariff(name="mine", up=3, contact_down=0.5)))
    assert words[words.index("--tariff") + 1] == "up=3,contact_down=0.5"
    assert "--tariff" not in shlex.split(command(drifting.result))


def test_the_traffic_figure_of_a_table_is_in_a_file(of_table: Made) -> None:
    judged = of_table.over_table.progressive
    rows = [r for r in of_table.tables["over-time"] if r["learner"] == "pao-fed-u1"]
    server = [row for row in rows if row["model"] == "server"]
    wire = of_table.result.run_wire("pao-fed-u1", "mqtt-anew")
    assert [float(row["wire_down"]) for row in server] == wire.down.mean(axis=0).tolist()
    until = judged.until_db("pao-fed-u1", "server")
    assert [float(row["db_until"]) for row in server] == until.tolist()
    baselines = [r for r in of_table.tables["over-time"] if r["model"] == "baseline"]
    assert {row["wire_up"] for row in baselines} == {""}


def test_every_recovery_is_in_a_file(drifting: Made) -> None:
    rows = drifting.tables["recovery"]
    lines = cells_of(section(drifting.page, "When the target changed"))
    assert [line[1] for line in lines] == ["60", "145"] * 2
    for (name, *cells), row in zip(lines, rows, strict=True):
        assert row["algorithm"] == name
        assert fits([cell for cell in cells if cell != "not yet"], row)
        assert (cells[-1] == "not yet") == (row["ticks"] == "")


def test_every_newcomer_is_in_a_file(of_table: Made) -> None:
    rows = of_table.tables["newcomers"]
    lines = cells_of(section(of_table.page, "Newcomers"))
    assert len(lines) == 2 + 3 * len(ALGORITHMS)
    for name, way, *cells in lines:
        own = [row for row in rows if (row["algorithm"], row["begins_with"]) == (name, way)]
        assert [row["horizon_ticks"] for row in own] == ["24", "168"]
        for h, row in enumerate(own):
            assert fits(NUMBER.findall(f"{cells[h]} {cells[2 + h]}"), row)
            assert row["starts"] == "3"


def test_every_number_in_short_is_in_a_file(of_table: Made) -> None:
    tables = of_table.tables
    names = "errors", "gains", "lives", "newcomers", "advice"
    known = [value for name in names for row in tables[name] for value in row.values()]
    (short,) = section(of_table.page, "In short")
    sentences = [plain(node.text()) for node in short.all("li")]
    assert len(sentences) == 4
    for sentence in sentences:
        numbers = NUMBER.findall(sentence)
        assert len(numbers) >= 2
        for number in numbers:
            signs = number, f"-{number}"  # so much worse is so much less
            assert any(is_shown_as(value, sign) for value in known for sign in signs), sentence
        assert " db" not in sentence
        assert re.search(r"[^.]\.$", sentence)


def test_files_have_every_model_and_baseline(of_table: Made) -> None:
    gains, learners = of_table.tables["gains"], 2 * len(ALGORITHMS) + len(USUAL)
    assert len(gains) == len(ALGORITHMS) * 2 * len(USUAL)
    assert {row["runs"] for row in gains} == {"2"}
    assert len(of_table.tables["by-device"]) == 3 * learners
    assert len(of_table.tables["over-time"]) == len(of_table.result.ticks) * learners


def test_it_says_under_which_conditions(of_table: Made) -> None:
    said = section(of_table.page, "Errors and traffic")[0].text()
    for part in ("readings.csv: 3 devices, 350 ticks of 1h", "2 runs", "9 features", "size 0.4"):
        assert part in said
    (recipes, *_) = (pre for node in section(of_table.page, "On the device")
                     for pre in [node] if pre.tag == "pre")  # fmt: skip
    assert recipes.text(but=()).count(") /") == 3  # two inputs and the target


# What to do


def test_it_begins_with_the_advice(of_table: Made) -> None:
    advice = advise(of_table.over_table, "mqtt-anew")
    (told, *_) = section(of_table.page, "What to do")
    lead = next(n for n in of_table.page.all("p") if n.attributes.get("class") == "lead")
    assert lead.text().startswith(whether(advice))
    assert ("In the unit of y" in lead.text()) == advice.in_unit.disagrees
    assert [node.text() for node in told.all("li")] == list(sentences(advice))
    behind = of_table.tables["advice"]
    assert {row["about"] for row in behind} == {
        "taking part",
        "one place",
        "method",
        "own unit",
        "cost",
    }
    span = advice.spans[0]
    assert (behind[0]["over"], float(behind[0]["value"])) == (span.over.rival, span.gain.mean)


@pytest.mark.parametrize("rivals", [True, False])
def test_a_result_in_a_file_can_become_a_fleet_where_that_may_pay(
    of_table: Made, *, rivals: bool
) -> None:
    result = of_table.over_table if rivals else without_baselines(of_table.over_table)
    assert advise(result).verdict == ("worse" if rivals else "unknown")
    *_, shown = section(parse(build(result, {}, saved=Path("run.npz"))), "What to do")
    command = shown.text(but=()).startswith("paofed fleet init FOLDER --from run.npz --algorithm ")
    assert command == (not rivals)
    assert "fleet init" not in of_table.page.text(but=())


# Again


def test_a_result_from_a_file_is_the_same_page(made: Made, tmp_path: Path) -> None:
    made.result.save(tmp_path / "r.npz")
    pages = [
        made_of(result, tmp_path / name, drawn=()).folder
        for name, result in (("a", made.result), ("b", Result.load(tmp_path / "r.npz")))
    ]
    first, second = ({path.name: path.read_bytes() for path in page.iterdir()} for page in pages)
    assert first == second


@pytest.mark.parametrize("which", some(["drifting", "of_table"], everyday=1))
def test_the_command_on_the_page_gives_the_same_numbers(
    which: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: Made = request.getfixturevalue(which)
    shown = next(pre for pre in section(made.page, "To run it again") if pre.tag == "pre")
    program, *words = shlex.split(shown.text(but=()))
    assert program == "paofed"
    monkeypatch.chdir(made.folder)
    assert main([*words, "--report", str(tmp_path / "again")]) == 0
    capsys.readouterr()
    for path in made.folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


def test_what_runs_worlds_of_one_s_own_again(of_function: Made) -> None:
    made = of_function
    note, shown, *_ = section(made.page, "To run it again")
    assert "by nature, a function in Python" in note.text()
    known = {"Worlds": Worlds, "function": nature, "run": run}
    again = eval(shown.text(but=()), known)  # noqa: S307 (our own page)
    for name in ("ticks", "mse", "traffic", "models"):
        assert (getattr(again, name) == getattr(made.result, name)).all()
    assert "scenario.toml" not in {path.name for path in made.folder.iterdir()}
    title, *_ = section(made.page, "Errors and traffic")
    assert title.text() == f"{ODD}: 2 runs, step size 0.4 where none is named"
    (said,) = made.page.all("details")
    assert '"max_age": 4' in said.text(but=())


def test_the_command_says_what_is_not_usual() -> None:
    result = run(small_scenario(), ["pao-fed-u1"], engine="reference", same_world=True, seed=5)
    words = shlex.split(command(result))
    assert words[:7] == ["paofed", "run", "scenario.toml", "--runs", "1", "--seed", "5"]
    assert "--same-world" in words
    assert words[words.index("--engine") + 1] == "reference"
    assert "--cold-starts" not in words


# Other runs


@pytest.mark.usefixtures("undrawn")
def test_one_run_of_one_device(tmp_path: Path) -> None:
    result = over_table(tmp_path, names=["only"], hours=80, runs=1, cold_starts=1)
    made = made_of(result, tmp_path / "page")
    text = made.page.text()
    assert "1 run, a Fourier map for each" in text
    assert "in one run" in text
    assert "[" not in plain(next(made.page.all("ul")).text())  # no intervals
    assert {row["low"] for row in made.tables["gains"]} == {"nan"}
    lines = cells_of(section(made.page, "Newcomers"))
    assert all("[" not in cell for line in lines for cell in line)


def test_without_cold_starts(of_table: Made, tmp_path: Path) -> None:
    made = made_of(replace(of_table.over_table, cold_start=None), tmp_path / "page", drawn=())
    assert "Newcomers" not in headings(made.page)
    assert list(gallery(made.result)) == ["lives", "over-time", "traffic", "by-device"]
    (short, *_) = section(made.page, "In short")
    assert len(list(short.all("li"))) == 3
    assert "newcomers" not in made.tables
    assert "--cold-starts 0" in command(made.result)


def without_baselines(result: TableResult) -> TableResult:
    judged, own = result.progressive, 2 * len(ALGORITHMS)
    interrupted = replace(
        judged,
        learners=judged.learners[:own],
        errors=judged.errors[:, :own],
        device_errors=judged.device_errors[:, :own],
    )
    lives = replace(result.lives, learners=interrupted.learners, sums=result.lives.sums[:, :own])
    return replace(result, progressive=interrupted, lives=lives, cold_start=None)


def test_interrupted_before_the_baselines(of_table: Made, tmp_path: Path) -> None:
    made = made_of(without_baselines(of_table.over_table), tmp_path / "page", drawn=())
    assert len(cells_of(section(made.page, "Errors and traffic"))) == len(ALGORITHMS)
    assert "In short" not in headings(made.page)
    (told, *_) = section(made.page, "What to do")
    assert "no way of being alone was judged" in told.text()
    assert made.tables["gains"] == []
    assert {row["gain"] for row in made.tables["lives"]} == {"nan"}


def test_what_diverged_is_last_and_is_said(tmp_path: Path) -> None:
    result = over_table(tmp_path, methods=["online-fedsgd:step_size=90", "pao-fed-u1"])
    assert best(result, result.progressive) == ["pao-fed-u1"]
    made = made_of(result, tmp_path / "page", drawn=())
    lines = cells_of(section(made.page, "Errors and traffic"))
    assert [line[0] for line in lines[:2]] == ["pao-fed-u1", "online-fedsgd:step_size=90"]
    assert lines[1][1] == "diverged"
    assert "A newcomer that begins with the server's model (pao-fed-u1)" in made.page.text()


@pytest.mark.usefixtures("undrawn")
def test_all_that_diverged_cannot_be_compared(tmp_path: Path) -> None:
    result = over_table(tmp_path, methods=["pao-fed-u1"], scenario={"step_size": 90.0})
    advice = advise(result)
    assert "cannot be told: one of them diverged" in whether(advice)
    said = list(in_short(result, advice))
    assert "– dB (pao-fed-u1)" in said[0]  # noqa: RUF001 (no number)
    assert all("not to be compared: one of them diverged" in sentence for sentence in said[1:])
    assert len(said) == 3
    made_of(result, tmp_path / "page")


# In a browser


@long
def test_a_browser_shows_it_without_scrolling_sideways(of_table: Made, tmp_path: Path) -> None:
    scenario = {**of_table.result.provenance["scenario"], "name": "a-very-long-name" * 9}
    long = replace(of_table.result, provenance={**of_table.result.provenance, "scenario": scenario})
    made = made_of(long, tmp_path / "page")
    for width, seen in zip(WIDTHS, look(made.folder / "report.html", tmp_path), strict=True):
        assert seen["width"] == width
        assert seen["scrolls"] <= width
        assert len(seen["drawings"]) == 5
        assert all(300 < across <= width for across, _ in seen["drawings"])
        assert seen["loaded"] == []


@long
def test_a_browser_shows_the_first_words_and_picture_on_one_screen(
    of_table: Made, drifting: Made, tmp_path: Path
) -> None:
    made = made_of(
        replace(
            of_table.result,
            provenance={
                **of_table.result.provenance,
                "scenario": {**of_table.result.provenance["scenario"], "name": "table"},
            },
        ),
        tmp_path / "page",
    )
    for one in (made, drifting):
        _, desk = look(one.folder / "report.html", tmp_path)
        assert desk["cut"] == 0
        assert desk["first"] <= SCREEN
