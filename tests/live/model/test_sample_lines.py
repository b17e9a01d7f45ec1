import math
from collections.abc import Iterable

import pytest

from paofed.core.columns.categories import Compass
from paofed.core.columns.numbers import Number
from paofed.errors import InputError
from paofed.live.model.sample_lines import Row, SampleReader
from paofed.live.protocol.manifest import Manifest
from tests.live.fleets import manifest
from tests.live.protocol.test_seen import seeing

NOON = 1_711_886_400.0


def rows(agreed: Manifest, lines: Iterable[str], **how: bool) -> list[Row]:
    return list(SampleReader(agreed, **how).read(lines))


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("2024-03-31T12:00:00", NOON),
        ("2024-03-31 14:00+02:00", NOON),
        (f"{NOON}", NOON),
        ("", None),
    ],
)
def test_a_line_has_words_and_its_time(time: str, at: float | None) -> None:
    expected = [Row([1.5, "SW"], 7.0, at)]
    assert rows(seeing(), ["time,wind,y,a", f"{time}, SW ,7,1.5"]) == expected
    assert rows(seeing(), [f"1.5,SW,7,{time}"]) == expected
    said = f', "time": "{time}"' if time else ""
    assert rows(seeing(), [f'{{"a": 1.5, "wind": "SW", "y": 7{said}}}']) == expected


def test_the_target_may_be_missing_unless_it_is_needed() -> None:
    (row,) = rows(seeing(), ["1.5,SW"])
    assert math.isnan(row.y)
    with pytest.raises(InputError, match=r"expected 3 or 4 values \(a, wind, y, time\)"):
        rows(seeing(), ["1.5,SW"], needed=True)


def test_who_only_predicts_gives_the_target_where_the_model_looks_back_at_it() -> None:
    assert rows(seeing(), ["1.5,SW,7,0"], looked_back_at=True) == [Row([1.5, "SW"], 7.0, 0.0)]
    with pytest.raises(InputError, match=r"expected 2 finite numbers \(a, b\)"):
        rows(manifest(), ["1,2,3"], looked_back_at=True)
    now = seeing(Number("a"), Compass("wind"))
    with pytest.raises(InputError, match=r"expected 2 values \(a, wind\)"):
        rows(now, ["1,N,3"], looked_back_at=True)


@pytest.mark.parametrize("line", ["1.5,,7,0", "1.5,SW,7,noon", "west,SW,7,0"])
def test_what_cannot_be_read(line: str) -> None:
    with pytest.raises(InputError, match=r"line 1 is .*expected 2 or 4 values"):
        rows(seeing(), [line])


def test_a_fleet_that_is_changed_has_other_lines() -> None:
    found = SampleReader(manifest())
    assert found.parse("1,2,3") == Row([1.0, 2.0], 3.0, None)
    found.follow(seeing())
    assert found.parse("1,N,3,0") == Row([1.0, "N"], 3.0, 0.0)
