"""The page: it stands alone, a browser shows it, and every number on it is in a table."""

import ast
import html
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
import pytest

import paofed.experiments.paper.claims
import paofed.experiments.paper.stages
import paofed.report
import paofed.report.paper.figures
import paofed.report.paper.page
from paofed.experiments.paper.claims import CLAIMS
from paofed.experiments.paper.study import Cell, Study
from paofed.report.paper.page import REASONS, build
from paofed.simulate.results.result import Result
from tests.cli.test_reproduce import SETTINGS, read_csv, reproduce
from tests.drawing import as_svg_alone
from tests.effort import in_ci
from tests.page_tree import UNREAD, Node, parse
from tests.report.sound import assert_sound
from tests.system import needs

TEMPLATE = Path(str(paofed.report.__file__)).parent / "templates/paper.html.j2"
SEED = 12_345_678_901_234_567_890  # a long one, for the line to copy must not widen the page


class Made(NamedTuple):
    folder: Path
    page: Node
    tables: dict[str, list[dict[str, str]]]  # by name of the file; not the curves

    @property
    def about(self) -> dict[str, Any]:
        return dict(Result.load(self.folder / "setting-1.npz").provenance)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("page")
    with as_svg_alone():
        assert reproduce(folder, "--quick", "--runs", "2", "--seed", str(SEED)) == 0
    files = (path for path in folder.glob("*.csv") if not path.name.startswith("curves"))
    tables = {path.stem: read_csv(path) for path in files}
    return Made(folder, parse((folder / "report.html").read_text()), tables)


# It stands alone


def assert_stands_alone(page: Node) -> None:
    for node in page.all():
        assert node.tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        assert "http-equiv" not in node.attributes
        for name, value in node.attributes.items():
            if name.endswith(("href", "src", "srcset", "data", "poster", "action")):
                assert value.startswith(("#", "data:")), f"<{node.tag} {name}={value!r}>"
        styles = f"{node.attributes} {node.text(but=()) if node.tag == 'style' else ''}"
        assert "@import" not in styles
        for target in re.findall(r"url\(\s*[\"']?([^)]*)", styles):
            assert target.startswith(("#", "data:")), target


def test_the_figures_of_the_page_are_there_as_files(made: Made) -> None:
    page = (made.folder / "report.html").read_text()
    shown = [_labels(part.partition("</svg>")[0]) for part in page.split("<svg")[1:]]
    files = sorted(made.folder.glob("*.svg"))
    assert len(files) >= 6
    assert sorted(shown) == sorted(_labels(x.read_text().partition("<svg")[2]) for x in files)
    assert all(len(labels) > 5 for labels in shown)
    for path in files if in_ci() else ():
        pixels = matplotlib.image.imread(path.with_suffix(".png"))
        assert pixels.shape[0] > 300
        assert len(np.unique(pixels[..., 0])) > 10


def _labels(drawing: str) -> list[str]:
    """The words in a drawing, given from after its `<svg`; it must be well-formed."""
    tree = ElementTree.fromstring(f"<svg{drawing.partition('</svg>')[0]}</svg>")  # noqa: S314 (ours)
    return ["".join(x.itertext()).strip() for x in tree.iter("{http://www.w3.org/2000/svg}text")]


def references(page: Node) -> int:
    """How many things the drawings refer to, each of which must be there once."""
    nodes = list(page.all())
    ids = Counter(node.attributes["id"] for node in nodes if "id" in node.attributes)
    values = " ".join(value for node in nodes for value in node.attributes.values())
    linked = {node.attributes.get("xlink:href", node.attributes.get("href", "")) for node in nodes}
    targets = {*re.findall(r"url\(#([^)]+)\)", values), *(x[1:] for x in linked if x)}
    assert {target: ids[target] for target in targets if ids[target] != 1} == {}
    return len(targets)


def test_it_names_what_was_run(made: Made) -> None:
    conditions = " ".join(node.text() for node in made.page.all("p"))
    for setting in SETTINGS:
        assert re.search(rf"\b2 runs of {setting}\b", conditions)
    assert re.search(rf"\bseed {SEED}\b", conditions)
    text = made.page.text(but={"svg", "style"})
    versions = made.about["versions"]
    assert {"python", "paofed", "numpy", "numba"} <= set(versions)
    for package, version in versions.items():
        assert re.search(rf"{package}\W+{re.escape(version)}", text)
    for law in ("availability", "delay", "stream"):
        assert law in text


# Its numbers


_NUMBER = r"-?\d+(?:\.\d+)?"
# A number that hangs on a letter, "-", ":" or "=" belongs to a name: pao-fed-u1:shared=32.
_LOOSE = re.compile(rf"(?<![\w.:=-]){_NUMBER}(?![\w=]|\.\d)")
_INTERVAL = re.compile(rf"({_NUMBER}) \[({_NUMBER}), ({_NUMBER})\]")


def prose() -> list[str]:
    """What is written in the sources: sentences with a number in them that no run computes."""
    modules = (
        paofed.report.paper.page,
        paofed.experiments.paper.claims,
        paofed.report.paper.figures,
        paofed.experiments.paper.stages,
    )
    trees = [ast.parse(Path(str(module.__file__)).read_text()) for module in modules]
    literals = {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    literals |= {text for c in CLAIMS for text in (c.statement, c.where, c.unit)}
    literals |= set(REASONS.values())
    template = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", "<>", TEMPLATE.read_text(), flags=re.DOTALL)
    literals |= set(re.split(r"<(?!/?code)[^>]*>", template))
    texts = {plain(html.unescape(re.sub(r"<[^>]*>", "", text))) for text in literals}
    said = [text for text in texts if " " in text and re.search(r"\d", text)]
    return sorted(said, key=len, reverse=True)


def plain(text: str) -> str:
    """Spaces made one, minus signs made hyphens, thousands closed up."""
    text = " ".join(text.replace("−", "-").split())  # noqa: RUF001 (a minus sign)
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)


def shown(node: Node) -> str:
    """The text of an element without the sentences of the source."""
    text = plain(node.text())
    for said in PROSE:
        text = text.replace(said, " ")
    return text


PROSE = prose()


def is_shown_as(value: str, number: str) -> bool:
    """Whether a number on the page is the number of a table, rounded to what is shown."""
    digits = len(number.partition(".")[2])
    try:
        return f"{round(float(value), digits) + 0.0:.{digits}f}" == number
    except ValueError:
        return False


def told(row: dict[str, str]) -> dict[str, str]:
    """A row as the page tells it: a ratio of traffic as so many times, not in dB."""
    if not row.get("claim", "").startswith("tenfold"):
        return row
    return {k: str(10 ** (float(v) / 10)) if k in ("mean", "low", "high") else v
            for k, v in row.items()}  # fmt: skip


def in_order(numbers: Iterable[str], row: dict[str, str]) -> bool:
    """Whether all numbers are in the row, in the order of its columns."""
    values = iter(told(row).values())
    return all(any(is_shown_as(value, number) for value in values) for number in numbers)


WHERE = {claim.key: claim.where for claim in CLAIMS}


def named_by(row: dict[str, str]) -> set[str]:
    """What a line of the page must say to be about a row of a table."""
    if "claim" in row:
        return {WHERE[row["claim"]]}
    if "other" in row:
        return {row["setting"], row["paper"], row["other"].partition("=")[2]}
    if "bound" in row:
        return set()
    return {row.get("setting") or row["inputs"], row["algorithm"]}


def lines_of_tables(page: Node) -> Iterator[tuple[set[str], list[str], Node]]:
    """Every line of a table with numbers, save maps: what it says, its numbers, itself."""
    heading = ""
    for node in page.all("h3", "table", but=UNREAD):
        if node.tag == "h3":
            heading = node.text()
        elif not any(node.all("caption")):
            for line in node.all("tr"):
                cells = [cell.text() for cell in line.all("td")]
                numbers = _LOOSE.findall(" ".join(map(shown, line.all("td"))))
                if numbers:
                    yield {heading, *cells}, numbers, line


def test_every_line_of_a_table_is_a_row_of_a_file(made: Made) -> None:
    # The grid is drawn as maps, and a quick look tries one step size, which is no best.
    elsewhere = ("grid", "best-steps")
    rows = [row for name, table in made.tables.items() if name not in elsewhere for row in table]
    last = max(int(row["tick"]) for row in made.tables["theory"])
    rows = [row for row in rows if row.get("tick", str(last)) == str(last)]  # curves are drawn
    found = []
    for said, numbers, line in lines_of_tables(made.page):
        fitting = [row for row in rows if named_by(row) <= said and in_order(numbers, row)]
        assert fitting, line.text()
        found += fitting
        for row in fitting:
            assert row.get("verdict", "") in said | {""}
    missing = [row for row in rows if row not in found]
    assert missing == []


def test_every_map_is_the_grid_of_its_claim(made: Made) -> None:
    keys = {where: key for key, where in WHERE.items()}
    cells = {
        (row["claim"], float(row["kernel_width"]), float(row["step_size"])): row
        for row in made.tables["grid"]
    }
    for table in made.page.all("table"):
        captions = [caption.text() for caption in table.all("caption")]
        if not captions:
            continue
        head, *lines = table.all("tr")
        steps = [float(x) for th in head.all("th") for x in _LOOSE.findall(th.text())]
        assert steps == sorted(set(steps))
        for line in lines:
            (width,) = (float(x) for th in line.all("th") for x in _LOOSE.findall(th.text()))
            for step, td in zip(steps, line.all("td"), strict=True):
                row = told(cells.pop((keys[captions[0].rpartition(" (")[0]], width, step)))
                (number,) = _LOOSE.findall(plain(td.text()))
                assert is_shown_as(row["mean"], number)
                assert td.attributes["class"] == row["verdict"].replace(" ", "-")
    assert cells == {}


def tallies(rows: Iterable[dict[str, str]]) -> set[str]:
    """How many rows there are, in all and of each verdict."""
    counts = Counter(row["verdict"] for row in rows)
    return {str(counts.total()), *map(str, counts.values())}


def test_every_comparison_is_told_once(made: Made) -> None:
    """In the table of verdicts, and not again in words; where it depends on the grid, as a map."""
    cells = Counter(cell.text() for cell in made.page.all("td", but=UNREAD))
    assert all(cells[WHERE[row["claim"]]] == 1 for row in made.tables["claims"])
    for node in made.page.all("p", "li", but=UNREAD):
        assert not _INTERVAL.search(plain(node.text()))


def test_traffic_is_told_in_times_and_never_in_db(made: Made) -> None:
    lines = [line.text() for line in made.page.all("tr", but=UNREAD)]
    of_traffic = [line for line in lines if line.startswith("traffic of ")]
    assert len(of_traffic) == 2
    for line in of_traffic:
        assert "times less" in line
        assert "dB" not in line


def test_it_has_what_all_pages_have_loads_nothing_and_says_what_pao_fed_is(made: Made) -> None:
    assert_sound(made.page, second="Verdicts")
    assert_stands_alone(made.page)
    assert references(made.page) > 20
    lead = next(p for p in made.page.all("p") if p.attributes.get("class") == "lead").text()
    assert lead.startswith("PAO-Fed, partial-sharing asynchronous online federated learning, is")
    assert "each in 2 runs" in lead
    verdicts = next(t for t in made.page.all("table") if t.attributes.get("class") == "verdicts")
    (heads, *_) = verdicts.all("tr")
    assert [th.text() for th in heads.all("th")] == ["comparison", "found [95 %]", "verdict"]


def test_a_quick_look_leaves_out_what_it_did_not_try(made: Made) -> None:
    """One step size has no best; how few runs a verdict has stands beside it."""
    headings = [node.text() for node in made.page.all("h2")]
    assert len({row["step_size"] for row in made.tables["grid"]}) == 1
    assert "Each algorithm at its own best step size" not in headings
    text = made.page.text()
    assert "claims are also judged at 2 kernel widths and 1 step size" in text
    assert text.count("Over the grid, with 2 runs in each cell") == text.count("Over the grid") > 5


def test_what_was_tried_is_shown(made: Made) -> None:
    """With several step sizes, each algorithm's best is there."""
    results = {
        name: Result.load(made.folder / f"{name}.npz") for name in ("setting-1", "setting-2")
    }
    study = Study(results, {Cell(1.0, step): results for step in (0.2, 0.4)})
    page = parse(build(study, {}, "paofed reproduce"))
    assert "Each algorithm at its own best step size" in [node.text() for node in page.all("h2")]
    assert "at 1 kernel width and 2 step sizes" in page.text()


def test_every_other_number_in_the_text_is_a_condition_or_a_count(made: Made) -> None:
    scenario = made.about["scenario"]
    names = ("clients", "ticks", "features", "step_size", "kernel_width")
    conditions = {str(scenario[name]) for name in names} | {str(SEED), "2"}
    tried = [{row[key] for row in made.tables["grid"]} for key in ("kernel_width", "step_size")]
    conditions |= {str(len(values)) for values in tried}
    of_all = tallies(made.tables["claims"])
    statement, seen = "", 0
    for node in made.page.all("h1", "h2", "h3", "p", "li", "figcaption", "caption", but=UNREAD):
        if node.tag in ("h2", "h3"):
            statement = node.text()
        keys = {claim.key for claim in CLAIMS if claim.statement == statement}
        own = [[row for row in made.tables[x] if row["claim"] in keys] for x in ("claims", "grid")]
        runs = {row["runs"] for table in own for row in table}
        allowed = set().union(runs, *map(tallies, own)) if keys else conditions | of_all
        numbers = _LOOSE.findall(_INTERVAL.sub(" ", shown(node)))
        assert set(numbers) <= allowed, node.text()
        seen += len(numbers)
    assert seen > 20


def test_the_summary_counts_the_verdicts(made: Made) -> None:
    counts = Counter(row["verdict"] for row in made.tables["claims"])
    paragraph = next(node for node in made.page.all("p") if any(node.all("span")))
    found = re.findall(r"(\d+) (holds|does not hold|tie|inconclusive)", paragraph.text())
    assert {verdict: int(count) for count, verdict in found} == dict(counts)


# In a browser


BROWSER = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars", "--virtual-time-budget=5000",
    "--allow-file-access-from-files",  # so that the window below may look into its frames
)  # fmt: skip
WIDTHS, SCREEN = (390, 1280), 800
WINDOW = """<!doctype html><body>{frames}<script>
const look = frame => {{
  const page = frame.contentDocument, size = node => node.getBoundingClientRect();
  page.querySelectorAll("details").forEach(x => x.open = true);
  return {{
    width: frame.contentWindow.innerWidth,
    scrolls: page.documentElement.scrollWidth,
    title: page.title,
    words: page.body.innerText.length,
    drawings: [...page.querySelectorAll("figure svg")].map(x => [size(x).width, size(x).height]),
    cut: [...page.querySelectorAll(".scroll")].filter(x => x.scrollWidth > x.clientWidth).length,
    first: size(page.querySelector("figure svg") || page.body).bottom,
    loaded: frame.contentWindow.performance.getEntriesByType("resource").map(x => x.name),
  }};
}};
onload = () => document.body.dataset.seen = JSON.stringify(
  [...document.querySelectorAll("iframe")].map(look));
</script>"""


def look(page: Path, temporary: Path) -> list[dict[str, Any]]:
    """Open a page in frames of several widths, without a network; say what came of it."""
    browser = needs("chromium")
    frames = "".join(
        f"<iframe src='{page.as_uri()}' width={width} height=800 style='border: 0'></iframe>"
        for width in WIDTHS
    )
    window = temporary / "window.html"
    window.write_text(WINDOW.format(frames=frames))
    profile = f"--user-data-dir={temporary / 'profile'}"
    done = subprocess.run(  # noqa: S603 (our own window, in a browser found by its name)
        [browser, *BROWSER, profile, "--dump-dom", window.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    (body,) = parse(done.stdout).all("body")
    seen: list[dict[str, Any]] = json.loads(body.attributes["data-seen"])
    return seen


def test_a_browser_without_a_network_shows_it_on_a_phone_and_a_desk(
    made: Made, tmp_path: Path
) -> None:
    drawings = len(list(made.page.all("figure")))
    for width, seen in zip(WIDTHS, look(made.folder / "report.html", tmp_path), strict=True):
        assert seen["width"] == width
        assert seen["scrolls"] <= width  # never sideways
        assert "PAO-Fed" in seen["title"]
        assert seen["words"] > 3000
        assert len(seen["drawings"]) == drawings >= 6
        for across, down in seen["drawings"]:
            assert 300 < across <= width
            assert down > 0.3 * across
        assert seen["loaded"] == []
        if width == max(WIDTHS):
            assert seen["cut"] == 0  # no table is wider than the page
            assert seen["first"] <= SCREEN


def test_the_browser_would_notice(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    wide = "<div class='scroll' style='overflow: auto; width: 9px'><p style='width: 20px'>x</div>"
    bad.write_text(f"<img src='https://example.org/x.png'><div style='width: 500px'>x</div>{wide}")
    phone, desk = look(bad, tmp_path)
    assert phone["scrolls"] >= 500 > phone["width"]
    assert desk["scrolls"] == desk["width"]
    assert phone["loaded"] == ["https://example.org/x.png"]
    assert desk["cut"] == 1


def test_a_missing_package_skips_a_test_and_fails_it_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAOFED_CI", raising=False)
    reason = "^needs the system package no-such-package$"
    with pytest.raises(pytest.skip.Exception, match=reason):
        needs("no-such-package")
    monkeypatch.setenv("PAOFED_CI", "1")
    with pytest.raises(pytest.fail.Exception, match=reason):
        needs("no-such-package")
    assert Path(needs("sh")).is_file()
