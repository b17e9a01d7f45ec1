"""What `paofed theory` prints, from Python."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paofed import theory
from paofed.algorithms import algorithm
from paofed.cli import main
from paofed.core.tariffs import tariff_of
from paofed.report.paper.foretelling import Foretold
from paofed.simulate.stopping import Report, ignored
from tests.natures import small_scenario


def flat(value: Any, name: str = "") -> dict[str, Any]:
    """All values of nested records by the way to them."""
    if not isinstance(value, dict | list):
        return {name: value}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    return {k: v for key, part in parts for k, v in flat(part, f"{name}.{key}").items()}


@pytest.mark.parametrize("second", [False, True])
def test_it_is_what_the_command_prints(
    second: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, file = small_scenario(features=12), str(tmp_path / "small.toml")
    Path(file).write_text(scenario.to_toml())
    methods = [algorithm("pao-fed-u1")]
    foresight, shown = theory.foresee(scenario, seed=3, world=1), list[str]()
    outlook = foresight.outlook(methods, every=50)
    found = Foretold(foresight, title=file, seed=3, world=1, outlook=outlook)
    if second:

        @contextmanager
        def progress(part: str) -> Iterator[Report]:
            shown.append(part)
            yield ignored

        found.add_second_moments(methods, progress, every=50)
        assert shown[:2] == ["pao-fed-u1: learning curve", "pao-fed-u1: largest stable step"]
    words = ["theory", file, "--seed", "3", "--world", "1", "--algorithm", "pao-fed-u1"]
    words += ["--tariff", "mqtt", *(["--second"] * second)]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    mine = json.loads(json.dumps(found.as_json(tariff_of("mqtt"))))
    # Runs of theory's own are added up in the order in which threads finish them.
    for name, value in flat(printed).items():
        close = pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
        assert flat(mine)[name] == close, name
    assert flat(mine).keys() == flat(printed).keys()
    assert main(words) == 0
    assert capsys.readouterr().out == f"{found.as_text(tariff_of('mqtt'))}\n"
