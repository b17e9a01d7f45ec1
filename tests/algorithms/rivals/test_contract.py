"""Every rival of these two rooms keeps the contract, in the compiled engine too."""

import re
from typing import Any

import pytest

from paofed.algorithms.rivals.channels import CHANNELS
from paofed.algorithms.rivals.devices import DEVICES
from paofed.algorithms.setup import resolve
from paofed.checks import CHECKS, check_one
from paofed.core.bounded import Bounded
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.errors import AlgorithmError
from paofed.simulate.engines import engine_of
from tests.effort import long, some

WORDS = [
    *CHANNELS,
    *DEVICES,
    "quantised:bits=4,down_bits=8",
    "quantised:bits=8,clip=6",
    "triggered:rule=stochastic",
    "fed-prox:shared=4",
    "server-momentum:shared=4",
]


# These promises run every engine, and compiling takes its time.
OF_ENGINES = ("traffic counted", "engines agree")


@pytest.mark.parametrize("word", some(WORDS, everyday=1))
def test_every_part_keeps_its_promises(word: str) -> None:
    for name in CHECKS:
        if name not in OF_ENGINES:
            check_one(name, word)


@long  # every day, methods of the tests' own are compiled in tests/simulate/engines/own
@pytest.mark.parametrize("word", WORDS)
def test_the_compiler_takes_it_and_engines_agree(word: str) -> None:
    assert engine_of("fast").refuses(resolve(word)) is None
    for name in OF_ENGINES:
        check_one(name, word)


# What each part may waive is written down here a second time, so that no waiver comes in unseen.
WAIVED: dict[str, dict[str, tuple[str, ...]]] = {
    "quantised": {"uplink": ("values survive",)},
    "ternary": {"uplink": ("values of the model",), "server": ("fixed point", "convex hull")},
    "triggered": {"uplink": ("never silent",)},
    "fed-prox": {"learner": ("a step helps",)},
    "server-momentum": {"server": ("fixed point", "convex hull")},
}


@pytest.mark.parametrize("name", [*CHANNELS, *DEVICES])
def test_a_method_waives_no_more_than_it_must(name: str) -> None:
    waived = {part: names for part, names in resolve(name).waives.items() if names}
    assert waived == WAIVED.get(name, {})


@pytest.mark.parametrize("name", [*CHANNELS, *DEVICES])
def test_numbers_are_the_first_arguments_of_a_rule(name: str) -> None:
    """One compiled form serves all values of an option."""
    method = resolve(name)
    for part in (method.uplink, method.downlink, method.learner, method.server):
        if isinstance(part, Channel | Learner | ServerRule):
            for rule in vars(part).values():
                assert not getattr(rule, "keywords", {})
                assert all(type(value) in (int, float) for value in getattr(rule, "args", ()))


@pytest.mark.parametrize("name", [n for n in CHANNELS if n != "ternary"])
def test_what_is_not_the_point_is_as_in_pao_fed_u1(name: str) -> None:
    """So the options of the paper's server and learner work on it."""
    method = resolve(f"{name}:clip=6,bound=6,staleness=0.5,divisor=coverage")
    assert isinstance(method.server, Bounded)
    assert method.learns_while_away
    plain = resolve(name)
    assert isinstance(plain.server, Newest)
    assert plain.learner == LMS
    assert plain.server.staleness(3) == 1.0


BAD: list[tuple[str, str]] = [
    ("masked:shared=0", "shared is 0: expected a whole number from 1 on"),
    ("quantised:bits=1", "bits is 1: expected a whole number from 2 to 16, or 32 for plain"),
    ("triggered:threshold=0", "threshold is 0: expected a number above 0"),
    ("triggered:threshold=true", "threshold is True"),
    ("triggered:heartbeat=-1", "heartbeat is -1: expected a whole number from 0 on"),
    ("triggered:rule=delto", "unknown rule 'delto': did you mean 'delta'"),
    ("wide-down:down=x", "down is 'x'"),
    ("fed-prox:pull=-1", "pull is -1: expected a number from 0 on"),
    ("decaying:half=0", "half is 0: expected a number above 0"),
    ("server-momentum:momentum=1", "momentum is 1: expected a number below 1"),
    ("server-momentum:momentum=no", "momentum is False"),
    ("masked:share=4", "unknown option 'share': did you mean 'shared'"),
]


@pytest.mark.parametrize(("word", "text"), BAD)
def test_bad_options_are_refused_in_one_line(word: str, text: str) -> None:
    with pytest.raises(AlgorithmError, match=re.escape(text)) as refused:
        resolve(word)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("given", [None, [4], "4"])
def test_what_is_no_number_is_refused_too(given: Any) -> None:
    with pytest.raises(AlgorithmError, match=r"shared is .*: expected a whole number"):
        CHANNELS["masked"](shared=given)
    with pytest.raises(AlgorithmError, match=r"half is .*: expected a number"):
        DEVICES["decaying"](half=given)
