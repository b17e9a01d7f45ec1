"""Spread work is measured beside a plain run, and so is the client's memory."""

from pathlib import Path

from lab.commands.spread import spread_cost
from tests.effort import long
from tests.natures import small_scenario


@long
def test_everything_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(small_scenario().to_toml())
    said: list[str] = []
    found = spread_cost(str(path), ["pao-fed-u1"], 2, said.append)
    assert list(found.times_plain) == ["store", "second start", "executor", "executor and store"]
    assert found.plain_seconds > 0
    assert min(found.times_plain.values()) > 0
    assert list(found.client_megabytes) == [2, 8]
    assert said[-1] == "memory of the client"
