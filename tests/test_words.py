import re
from pathlib import Path

import pytest

import paofed
from paofed.words import counted, listed


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1200, "1,200 runs")]
)
def test_one_is_not_many(number: int, said: str) -> None:
    assert counted(number, "run") == said


def test_runs_are_counted_in_one_way() -> None:
    sources = list(Path(paofed.__file__).parent.rglob("*.py"))
    assert len(sources) > 100
    by_hand = re.compile(r"\} runs?\b|'s' if ")
    found = {path.name for path in sources if by_hand.search(path.read_text(encoding="utf-8"))}
    assert found == set()


@pytest.mark.parametrize(
    ("count", "said"), [(1, "0"), (6, "0, 1, 2, 3, 4, 5"), (7, "0, 1, 2, 3, 4 and 2 more")]
)
def test_many_names_are_some_and_a_number(count: int, said: str) -> None:
    assert listed([str(k) for k in range(count)]) == said
