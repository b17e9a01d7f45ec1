"""docs/gateway.md: followed word for word in one shell, and all keys are in it."""

from dataclasses import fields
from pathlib import Path

import pytest

from paofed.live.gateway.login import TelemetryLogin
from paofed.live.gateway.settings import KEYS, GatewaySettings, Publishing
from paofed.live.gateway.telemetry import PRESETS
from tests.effort import long
from tests.live.shell import follow
from tests.ports import free_port
from tests.test_docs import DOCUMENTS, rows, section

DOCUMENT = "docs/gateway.md"


@long
def test_the_first_five_minutes(tmp_path: Path) -> None:
    telemetry = str(free_port())

    def elsewhere(text: str) -> str:
        if text.startswith("paofed fleet init"):
            return f"{text} --port {free_port()} --http 127.0.0.1:{free_port()}"
        if text.startswith("paofed gateway --example"):
            return f"{text} && sed -i s/1883/{telemetry}/ hall.toml"
        if text.startswith("sleep 1"):  # until the broker listens, however busy the machine
            return f"until (: < /dev/tcp/localhost/{telemetry}) 2> /dev/null; do sleep 0.1; done\n"
        text = text.replace("sensors.py 150", "sensors.py 600")  # they are ended in the end
        return text.replace("1883", telemetry)

    follow(DOCUMENT, tmp_path, elsewhere)
    assert "stopped in good order" in (tmp_path / "server.log").read_text()
    log = (tmp_path / "gateway.log").read_text()
    assert log.count("takes part, as device") == 3


def tables() -> dict[str, list[str]]:
    return rows(section(DOCUMENTS[DOCUMENT], "## The settings"))


def test_every_setting_is_documented_with_its_default() -> None:
    own, told = [f.name for f in fields(TelemetryLogin)], [f.name for f in fields(Publishing)]
    keys = [
        f"[{key}]" if key in ("telemetry", "inputs", "target", "same", "publish") else key
        for key in KEYS
    ]
    lines = [
        line.split("`")[1]
        for line in section(DOCUMENTS[DOCUMENT], "## The settings").splitlines()
        if line.startswith("| `")
    ]
    assert lines == [*keys, "preset", "topic", "time", *own, *told]
    for name in ("window", "save_every", "most_per_second"):
        assert tables()[name][-1] == f"`{getattr(GatewaySettings, name):g}`"
    assert (tables()["host"][-1], tables()["port"][-1]) == ('`"localhost"`', "`1883`")


def test_every_preset_is_documented() -> None:
    found = rows(section(DOCUMENTS[DOCUMENT], "## Presets"))
    assert {name: cells[0].strip("`") for name, cells in found.items()} == PRESETS


@pytest.mark.parametrize("standing", ["takes part", "not admitted", "waits for a place"])
def test_every_standing_is_documented(standing: str) -> None:
    assert f"| {standing} |" in section(DOCUMENTS[DOCUMENT], "## Sources and places")
