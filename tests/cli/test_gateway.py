"""`paofed gateway` and `paofed fleet gateway`."""

import json
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.gateway.examples import example
from tests.live.gateway.sites import GatewaySite, reading, turn_until

Capture = pytest.CaptureFixture[str]


def fleet(folder: Path) -> str:
    words = "--input a --target y --security none --http 127.0.0.1:1"
    assert main(["fleet", "init", str(folder / "f"), *words.split()]) == 0
    return str(folder / "f")


def test_a_gateway_is_added_and_gets_more_places(tmp_path: Path, capsys: Capture) -> None:
    folder = fleet(tmp_path)
    assert main(["fleet", "gateway", folder, "hall", "--places", "2"]) == 0
    assert main(["fleet", "gateway", folder, "hall", "--places", "1", "--json"]) == 0
    out = capsys.readouterr().out
    assert f"put {folder}/devices/0-hall.json on its gateway, which has 2 places more" in out
    file = json.loads(out.splitlines()[-1])["file"]
    assert json.loads(Path(file).read_text())["devices"] == [1, 2, 3]
    assert main(["fleet", "status", folder, "--json"]) == 0
    devices = json.loads(capsys.readouterr().out)["devices"]
    assert [device["label"] for device in devices] == ["hall/1", "hall/2", "hall/3"]


@pytest.mark.parametrize("places", ["0", "-3", "10001"])
def test_a_number_of_places_that_cannot_be(places: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["fleet", "gateway", fleet(tmp_path), "hall", "--places", places]) == 2
    assert f"--places is {places}: expected 1 to 10,000" in capsys.readouterr().err


def test_an_example_is_printed_and_what_is_missing_is_told(tmp_path: Path, capsys: Capture) -> None:
    assert main(["gateway", "--example", "tasmota"]) == 0
    assert capsys.readouterr().out == example("tasmota")
    assert main(["gateway"]) == 2
    assert "expected GATEWAY.toml, or --example" in capsys.readouterr().err
    assert main(["gateway", str(tmp_path / "none.toml")]) == 2
    assert "none.toml cannot be read: No such file" in capsys.readouterr().err
    (tmp_path / "gateway.toml").write_text(example("homie5"))
    assert main(["gateway", str(tmp_path / "gateway.toml")]) == 2
    assert "gateway.json cannot be read: No such file" in capsys.readouterr().err


def test_sources_are_listed(tmp_path: Path, capsys: Capture) -> None:
    site = GatewaySite(tmp_path, places=1)
    assert main(["gateway", str(site.toml), "--list"]) == 0
    assert capsys.readouterr().out == ("0 sources seen; 0 of 1 place taken\npassed over: nothing\n")
    with site.gateway() as gateway:
        for source in ("s10", "s9", "other"):
            site.publish(source, reading(0))
        turn_until(gateway, lambda: len(gateway.sources.known) == 3)
    assert main(["gateway", str(site.toml), "--list"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "3 sources seen; 1 of 1 place taken"
    assert [line.rsplit(" ", 3)[0] for line in lines[2:5]] == [
        "other not admitted 1 0 0",
        "s9 waits for a place 1 0 0",
        "s10 1 takes part 1 0 0",
    ]
    assert "1 from sources that do not take part; 1 from sources that wait for a place" in lines[-1]
    assert main(["gateway", str(site.toml), "--list", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["places"] == [1]
    assert said["sources"]["s10"]["standing"] == "takes part"
