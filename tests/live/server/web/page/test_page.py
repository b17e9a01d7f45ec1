"""The page as a file: small, alone, and deaf to what labels say."""

import base64
import hashlib
import json
import math
import re
import time
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.server.clock import at_present
from paofed.live.server.lookout import Lookout
from paofed.live.server.web.answers import Question
from paofed.live.server.web.page.feed import Feed
from paofed.live.server.web.page.page import page, routes
from paofed.live.server.web.page.view import FIELDS, View, view_of
from tests.live.server.web.page.scenes import lived, named
from tests.page_tree import parse

HOSTILE = ["</script><script>x()</script>", "<!--<script>", "@@policy@@", "\u2028\u202e"]


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    fleet = lived(tmp_path_factory.mktemp("page") / "fleet", [*HOSTILE, *named(2)], 30)
    with fleet.store() as store:
        coordinator = at_present(store)
        lookout = Lookout(fleet, store, coordinator, time.time())
        return view_of(lookout.sight(coordinator, time.time()))


def test_it_stands_alone_and_is_small(view: View) -> None:
    text = page(view)
    data = json.dumps([view.devices, view.plain, view.bins, view.hours])
    assert len(text.encode()) < 60_000 + len(data)
    assert len(page(view._replace(devices=[], bins=[], hours=[])).encode()) < 100_000
    assert not re.search(r"(src|href)=\"(?!data:)|url\(|@import|https?://", text)


def test_the_policy_lets_the_page_s_own_script_run_and_no_other(view: View) -> None:
    nodes = list(parse(page(view)).all())
    (policy,) = (n.attributes["content"] for n in nodes if "http-equiv" in n.attributes)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    scripts = [n for n in nodes if n.tag == "script" and "type" not in n.attributes]
    styles = [n for n in nodes if n.tag == "style"]
    assert len(scripts) == len(styles) == 1
    for kind, node in (("script", scripts[0]), ("style", styles[0])):
        digest = hashlib.sha256("".join(map(str, node.children)).encode()).digest()
        assert f"{kind}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_labels_come_back_as_they_are_and_end_nothing(view: View) -> None:
    text = page(view, "place")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert "<" not in data
    found = json.loads(data)
    assert [row[FIELDS.index("label")] for row in found["devices"]][:4] == HOSTILE
    assert found["since"] == "place"
    assert text.count("<script") == 2


def test_every_field_of_a_device_is_used_by_the_script(view: View) -> None:
    text = page(view)
    unused = [name for name in FIELDS if f"its.{name}" not in text and f"FIELD.{name}" not in text]
    assert unused == []
    unused = [name for name in view.plain if f"fleet.{name}" not in text]
    assert unused == []


def test_it_is_served_with_its_policy_and_not_kept(view: View, tmp_path: Path) -> None:
    fleet = lived(tmp_path / "fleet", named(2), 3)
    with fleet.store() as store:
        coordinator = at_present(store)
        sight = Lookout(fleet, store, coordinator, time.time()).sight(coordinator, time.time())
    feed = Feed(lambda: sight)
    answer = routes(feed)["GET", "/"](Question("", {}))
    fields = dict(answer.fields)
    assert (answer.code, answer.kind) == (200, "text/html; charset=utf-8")
    assert fields["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    assert fields["Cache-Control"] == "no-store"
    assert view.plain["fleet"].encode() in bytes(answer.content)  # type: ignore[arg-type]


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lived(tmp_path / "fleet", named(3), 20)
    (tmp_path / "v.csv").write_text("a,b,y\n0.1,0.2,10\n0.3,0.1,11\n")
    words = ["fleet", "page", str(tmp_path / "fleet"), "--out", str(tmp_path / "x.html")]
    assert main([*words, "--validation", str(tmp_path / "v.csv")]) == 0
    assert capsys.readouterr().out == f"wrote the page of tick 20 to {tmp_path / 'x.html'}\n"
    text = (tmp_path / "x.html").read_text()
    (data,) = re.findall(r'id="data">(.*?)</script>', text, re.S)
    error, target, decibels = json.loads(data)["validation"]
    assert (error > 0, target) == (True, "y")
    assert decibels == pytest.approx(20 * math.log10(error / 4))  # the target's scale
    assert main([*words[:-1], str(tmp_path / "nowhere" / "x.html")]) == 2
    assert main([*words, "--validation", str(tmp_path / "nothing.csv")]) == 2
