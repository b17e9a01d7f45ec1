from dataclasses import replace

import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.spec import from_text, resolve
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError


def test_options_are_read_as_what_they_look_like() -> None:
    assert from_text("pao-fed-u1:shared=8").uplink == Windows(8, coordinated=False, ahead=1)
    for word, coordinated in (("true", True), ("false", False)):
        method = from_text(f"pso-fed:subset=2,coordinated={word}")
        assert method.downlink == Windows(4, coordinated=coordinated)
        assert method.subset == 2
    assert from_text("online-fed:subset=0.5,exchange=single").exchange == "single"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pao-fed-u1:shared=4,shared=8", "option 'shared' is given twice"),
        ("pao-fed-u1:", "unknown option ''"),
        ("pao-fed-u1:shared", "has no value: write shared=VALUE"),
        ("pao-fed-u1:max_age=99999999999999999999", "expected a whole number of ticks from 0 to"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(AlgorithmError, match=complaint):
        from_text(text)


def test_a_record_is_taken_as_it_is() -> None:
    own = replace(algorithm("pao-fed-u1"), name="own")
    assert resolve(own) is own
    assert resolve("pao-fed-u1:shared=8") == from_text("pao-fed-u1:shared=8")
