"""The measurement of a gateway measures a gateway."""

import json

import pytest

from lab.commands import main
from tests.effort import long
from tests.system import needs


@long
def test_a_few_sources_are_heard_and_learned_from(capsys: pytest.CaptureFixture[str]) -> None:
    needs("mosquitto")
    assert main(["gateway", "--sources", "3", "--seconds", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["published"] == found["heard"] == found["learned"] == 3 * 5
    assert found["passed_over"] == {}
    assert found["core"] > 0
    assert found["megabytes"] > 1


def test_numbers_that_cannot_be_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gateway", "--sources", "0"]) == 2
    assert "expected --sources of at least 1" in capsys.readouterr().err
