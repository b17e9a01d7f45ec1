"""No name that a person can choose becomes a part of a page's HTML: all of them stay text."""

import re
import time
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from lab.compare.page import build as build_comparison
from lab.interpretations.interpretations import DEFAULT, EVEN
from lab.interpretations.page import build as build_interpretations
from lab.interpretations.study import InterpretationStudy
from paofed import Trace, Worlds, algorithm, realize
from paofed.algorithms.setup import Setup
from paofed.core.tariffs import Tariff, tariff_of
from paofed.experiments.paper.claims import CLAIMS
from paofed.experiments.paper.study import Study
from paofed.experiments.plan.field import Candidate
from paofed.live.server.clock import at_present
from paofed.live.server.lookout import Lookout
from paofed.live.server.web.page.page import page as fleet_page
from paofed.live.server.web.page.view import view_of
from paofed.report.comparison.page import figures, in_short
from paofed.report.paper.page import Beyond
from paofed.report.paper.page import build as build_study
from paofed.report.plan import CAPTION, front
from paofed.report.plan import build as build_plan
from paofed.report.run.page import build as build_run
from paofed.report.run.page import gallery as gallery_of_run
from paofed.report.shared.figures import svg
from paofed.report.sweep.page import build as build_sweep
from paofed.report.sweep.page import gallery as gallery_of_sweep
from paofed.report.sweep.words import best_lines
from paofed.simulate.montecarlo import run
from paofed.simulate.results.estimates import Estimate
from tests.experiments.plan.plans import a_plan, small_fleet
from tests.experiments.sweep.made import swept_of
from tests.lab.compare.test_digest import FOUND
from tests.live.server.web.page.scenes import lived, named
from tests.natures import small_scenario
from tests.page_tree import parse
from tests.world.table.tables import fleet, hourly, table, write

BAD = "<script>alert(1)</script>\"'&"
OUTSIDE = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)
MINE = replace(algorithm("pao-fed-u1"), name=f"mine{BAD}")
PAYLOAD = tariff_of("payload")
DRAWN = {BAD: (BAD, "<svg></svg>")}


CLAIM = replace(CLAIMS[0], statement=BAD, where=BAD, unit=BAD, on_grid=False)


def require_text(page: str, *, times: int, scripts: int = 0) -> None:
    """The name is on the page so many times at least, and only as text."""
    tree = parse(page)
    assert len(list(tree.all("script"))) == scripts
    assert tree.text(but=()).count(BAD) >= times
    for node in tree.all():
        assert not {name for name in node.attributes if name.startswith("on") or "alert" in name}
    plain = OUTSIDE.sub("", page)
    assert "<script" not in plain
    assert re.findall(r"&(?!#?\w+;)", plain) == []


def drawings(gallery: Any) -> dict[str, tuple[str, str]]:
    return {name: (said, svg(drawn, name)) for name, (said, drawn) in gallery.items()}


def nature(world: int, run: int) -> Trace:
    return realize(small_scenario(), world, run)


def test_a_run_over_a_table(tmp_path: Path) -> None:
    """Devices, columns, groups, the file, the scenario, the method and the tariff."""
    groups = cycle([BAD, "south"])
    lines = [f'{line},"{_doubled(next(groups))}"' for line in hourly(2, 360)]
    lines = [line.replace("d0", f'"{_doubled(BAD)}"', 1) for line in lines]
    columns = [BAD, f"y{BAD}", f"a{BAD}", "b", f"g{BAD}"]
    quoted = [f'"{_doubled(name)}"' for name in columns]
    folder = tmp_path / "<script>'&"
    folder.mkdir()
    path = write(folder / "read\"ings'&<b>.csv", lines, ",".join([quoted[0], "time", *quoted[1:]]))
    stream = table(path, device=BAD, target=f"y{BAD}", inputs=[f"a{BAD}", "b"], group=f"g{BAD}")
    scenario = fleet(stream, name=BAD, linear=True)
    result = run(scenario, [MINE, "online-fedsgd"], runs=2, cold_starts=2, every=12)
    chosen = [{"sentence": f"chosen: {BAD}", "table": f"tried: {BAD}"}]
    result = replace(result, provenance={**result.provenance, "chosen": chosen})
    tariff = Tariff(name=BAD, words=BAD, up=3)
    page = build_run(result, drawings(gallery_of_run(result, tariff)), tariff, tmp_path / BAD)
    require_text(page, times=30)
    require_text(result._repr_html_(), times=2)


def _doubled(name: str) -> str:
    return name.replace('"', '""')


def test_a_run_with_faults_and_drifts() -> None:
    faults = [{"kind": "liar", "push": 0.1, "clients": 3}]
    scenario = small_scenario(name=BAD, stream={"drifts": (60,)}, faults=faults)
    result = run(scenario, [MINE, "online-fedsgd"], runs=2)
    page = build_run(result, drawings(gallery_of_run(result)))
    require_text(page, times=10)
    require_text(result._repr_html_(), times=2)


def test_a_run_over_worlds_of_one_s_own() -> None:
    worlds = Worlds(BAD, nature, max_age=4, about={BAD: BAD})
    result = run(worlds, [MINE], runs=2, seed=3)
    require_text(build_run(result, drawings(gallery_of_run(result))), times=5)


def test_a_sweep() -> None:
    """The scenario, the file, methods, and the values of keys that are words; whole, and a part."""
    axes = {"step_size": (0.1, 0.4), "learner": (BAD, "lms")}
    swept = swept_of(
        lambda point: float(point.values["step_size"]), axes, methods=[MINE.name, "pao-fed-c2"]
    )
    scenario = {**swept.provenance["scenario"], "name": BAD}
    swept = replace(swept, provenance={**swept.provenance, "scenario": scenario})
    finished = swept.finished.copy()
    finished[-1] = False
    drawn = drawings(gallery_of_sweep(swept, PAYLOAD))
    for one in (swept, replace(swept, finished=finished)):
        require_text(build_sweep(one, drawn, best_lines(one, PAYLOAD)), times=10)


def test_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario, and the file of a method."""
    monkeypatch.chdir(tmp_path)
    file = Path(f"{BAD}.py")
    file.parent.mkdir()
    file.write_text("from paofed import algorithm\nmine = algorithm('pao-fed-u1')\n")
    plan = a_plan(
        small_fleet(name=BAD),
        Candidate(Setup.of(f"{file}:mine"), 0.5),
        Candidate(Setup("pao-fed-c2"), 0.5),
    )
    page = build_plan(plan, (CAPTION, svg(front(plan), "plan")), f"paofed plan {BAD}")
    require_text(page, times=6)


def test_the_reproduction_and_the_comparison() -> None:
    """Settings and entrants of one's own, and where the command was given."""
    found = [
        one._replace(setting=BAD, entrant=BAD if one.entrant == "ace" else one.entrant, word=BAD)
        for one in FOUND
    ]
    drawn = drawings(figures(found))
    require_text(build_comparison(found, drawn, BAD, BAD), times=15)
    result = run(small_scenario(), [MINE], runs=2)
    beyond = Beyond(in_short(found, drawn), BAD, BAD)
    coming = Study({BAD: result}, {}, coming=(BAD,))
    for interrupted in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Study, "verdicts", lambda _: [(CLAIM, Estimate(1.0, 0.5, 1.5, 2))])
            patch.setattr("paofed.report.paper.page.REASONS", {BAD: BAD})
            page = build_study(coming, DRAWN, BAD, beyond, interrupted=interrupted)
        require_text(page, times=15)


def test_the_interpretations() -> None:
    found = run(small_scenario(), [MINE], runs=2)
    keys = replace(DEFAULT, key=BAD, words=BAD), replace(EVEN, key=f"even{BAD}")
    study = InterpretationStudy({key: {BAD: found} for key in keys})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InterpretationStudy, "groups", lambda _: [])
        patch.setattr(InterpretationStudy, "steps", lambda _: [(BAD, BAD, BAD, 0.1, -3.0)])
        page = build_interpretations(study, DRAWN, BAD)
    require_text(page, times=8)


def test_a_fleet(tmp_path: Path) -> None:
    """Labels of devices, and what its columns are called."""
    made = lived(tmp_path / "fleet", [BAD, *named(3)], 30)
    with made.store() as store:
        coordinator = at_present(store)
        view = view_of(
            Lookout(made, store, coordinator, time.time()).sight(coordinator, time.time())
        )
    words = view.plain["verdict"]._replace(words=BAD, lines=(BAD,))
    view = view._replace(plain={**view.plain, "fleet": BAD, "target": BAD, "verdict": words})
    page = fleet_page(view, BAD)
    require_text(page, times=3, scripts=2)  # its own, and the view as JSON
    (data,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert not {"<", ">", "&", "'"} & set(data)
