"""Alert rules, dashboard and scrape configuration, by promtool and by a real Prometheus."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from paofed.cli import main
from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings, SettingsError
from paofed.live.fleet.tokens import make_token
from paofed.live.network.in_process import Hub
from paofed.live.operations.monitoring import ALERTS, DASHBOARD, monitoring
from paofed.live.server.prometheus import prometheus
from tests.effort import long
from tests.live.brokers import Server, now_manifest, until, work
from tests.live.prometheus import Prometheus, promtool
from tests.live.server.test_prometheus import full
from tests.ports import free_port
from tests.test_docs import DOCUMENTS, anchors

SETTINGS = Settings(name="greenhouse")
FILES = monitoring(SETTINGS)
DASH: dict[str, Any] = json.loads(FILES[DASHBOARD])
RULES = re.findall(r"- alert: (\w+)\n\s+expr: (.*)\n", FILES[ALERTS])


def expressions() -> list[str]:
    """Everything that the dashboard asks Prometheus, its variables filled in."""
    asked = [target["expr"] for panel in DASH["panels"] for target in panel["targets"]]
    asked += [mark["expr"] for mark in DASH["annotations"]["list"]]
    return [text.replace("$fleet", "g").replace("$__rate_interval", "1m") for text in asked]


def test_promtool_reads_the_configuration(tmp_path: Path) -> None:
    name = "greenhouse.prometheus.yml"
    for http, target in (
        ("127.0.0.1:9883", "127.0.0.1:9883"),
        ("0.0.0.0:99", "localhost:99"),
        ("fleet.example.org:80", "fleet.example.org:80"),
        ("::1:9883", "[::1]:9883"),
    ):
        files = monitoring(Settings(name="greenhouse", http=http))
        assert f'targets: ["{target}"]' in files[name]
    for file, text in files.items():  # the last one, with the oddest address
        (tmp_path / file).write_text(text)
    assert f"{len(RULES)} rules found" in promtool("check", "config", tmp_path / name)


def test_a_fleet_that_shows_nothing_cannot_be_watched() -> None:
    with pytest.raises(SettingsError, match="set http"):
        monitoring(Settings(name="g", http=""))


def test_every_metric_that_is_asked_for_is_on_the_page() -> None:
    page = prometheus(full())
    shown = set(re.findall(r"^(paofed_\w+)\{", page, re.MULTILINE))
    for text in (*expressions(), *(expression for _, expression in RULES)):
        assert set(re.findall(r"\bpaofed_\w+", text)) <= shown, text


def test_every_metric_of_the_page_says_what_it_means() -> None:
    told = dict(re.findall(r"^# HELP (\w+) (.*)$", prometheus(full()), re.MULTILINE))
    for name in re.findall(r"^# TYPE (\w+)", prometheus(full()), re.MULTILINE):
        assert len(told[name].split()) >= 3, name
    named = re.findall(r"`(paofed_\w+)`", DOCUMENTS["docs/watching-a-fleet.md"])
    assert set(named) <= set(told)


def test_every_alert_leads_to_a_heading() -> None:
    known = anchors(DOCUMENTS["docs/watching-a-fleet.md"])
    books = re.findall(r'runbook: "docs/watching-a-fleet.md#([\w-]+)"', FILES[ALERTS])
    assert books == [name.lower() for name, _ in RULES]
    assert set(books) <= known


def test_the_dashboard_is_ready_to_be_provisioned() -> None:
    assert DASH["id"] is None
    assert DASH["uid"]
    assert [v["name"] for v in DASH["templating"]["list"]] == ["datasource", "fleet"]
    panels = DASH["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Fleet.create(tmp_path / "f", Settings(name="greenhouse", security="none"), now_manifest())
    out = tmp_path / "deep" / "monitoring"
    words = ["fleet", "monitoring", str(tmp_path / "f"), "--out", str(out)]
    assert main([*words, "--target", "fleet.example.org:80"]) == 0
    assert {path.name for path in out.iterdir()} == set(FILES)
    assert '["fleet.example.org:80"]' in (out / "greenhouse.prometheus.yml").read_text()
    capsys.readouterr()
    assert main([*words, "--target", "nowhere"]) == 2
    assert capsys.readouterr().err.endswith("--target is 'nowhere': expected HOST:PORT\n")
    make_token(tmp_path / "f", "billing", ["predict"])
    assert main(words) == 2
    assert "--may see), keep it in a file for Prometheus" in capsys.readouterr().err
    assert main([*words, "--token-file", "/etc/a token"]) == 0
    assert '"/etc/a token"' in (out / "greenhouse.prometheus.yml").read_text()


@long
def test_a_real_prometheus_watches_a_live_fleet(tmp_path: Path) -> None:
    http = f"127.0.0.1:{free_port()}"
    settings = Settings(name="g", security="none", http=http, snapshot_every=10)
    fleet, hub = Fleet.create(tmp_path / "fleet", settings, now_manifest()), Hub()
    (north,) = fleet.add(["north"])
    token = tmp_path / "token"
    token.write_text(make_token(fleet.folder, "prometheus", ["see"]) + "\n")
    for name, text in monitoring(settings, str(token)).items():
        (tmp_path / name).write_text(text.replace("_interval: 15s", "_interval: 1s"))
    server = Server(fleet, transport=hub)
    server.thread.start()
    try:
        until(server.connected)
        with (
            Prometheus(tmp_path / "g.prometheus.yml", tmp_path / "data") as watching,
            Device(north, transport=hub) as device,
        ):
            until(watching.is_ready)
            until(lambda: watching.answer("paofed_broker_connected == 1"))
            until(lambda: work(device, 2) and watching.answer("paofed_contacts_total > 3"))
            until(lambda: watching.answer('rate(paofed_contacts_total{fleet="g"}[1m]) > 0'))

            def unanswered() -> list[str]:
                """But nothing was refused, nothing was started again, no version is new."""
                usual = [t for t in expressions() if not t.endswith("> 0") and " unless " not in t]
                return [text for text in usual if not watching.answer(text)]

            # Each needs one more scrape or two, and one more evaluation of the rules.
            until(lambda: work(device, 1) and not unanswered())
            until(lambda: all(rule["health"] == "ok" for rule in watching.rules()))
            (found,) = watching.answer('up{job="paofed",fleet="g"}')
            rules = {rule["name"]: rule for rule in watching.rules()}
    finally:
        server.stop()
    assert found["value"][1] == "1"
    assert set(rules) == {name for name, _ in RULES}
    assert {rule["health"] for rule in rules.values()} == {"ok"}
    assert {name for name, rule in rules.items() if rule["state"] != "inactive"} == set()
