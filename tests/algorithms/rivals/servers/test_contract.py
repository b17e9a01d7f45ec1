"""All asynchronous servers keep the contract, but for what they waive, and run both ways."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.rivals.servers import SERVERS
from paofed.algorithms.setup import resolve
from paofed.checks import PROMISES, check_algorithm, check_one
from paofed.core.traffic import Traffic
from paofed.errors import AlgorithmError, ContractError
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.reference import replay
from tests.effort import long, some
from tests.natures import small_trace

OTHERS = ["fed-async:hinge=4", "ca2fl:bits=8"]  # rules that no row has without options
BOTH = [f"{name}{options}" for name in SERVERS for options in ("", ":shared=4")]


@long
@pytest.mark.parametrize("method", [*BOTH, *OTHERS])
def test_the_whole_contract_in_every_engine(method: str) -> None:
    """Compiled, too, which takes long."""
    assert engine_of("fast").refuses(resolve(method)) is None
    check_algorithm(method)


@pytest.mark.parametrize("name", some([*SERVERS, *OTHERS], everyday=3))
def test_the_promises_of_their_servers(name: str) -> None:
    """Nothing is compiled for them; a server does not know which coordinates will travel."""
    for promise in PROMISES["server"]:
        check_one(promise, name)


def test_the_promises_of_a_device_of_aso_fed() -> None:
    for promise in PROMISES["learner"]:
        check_one(promise, "aso-fed")


@pytest.mark.parametrize("name", SERVERS)
def test_nothing_is_waived_that_is_kept(name: str) -> None:
    """With small buffers, so that several fill in one tick."""
    small = f"{name}:buffer=3" if name in ("fed-buff", "ca2fl") else name
    method = resolve(small)
    for part in ("server", "learner"):
        record = getattr(method, part)
        unwaived: Any = {part: replace(record, waives=())}
        for promise in record.waives:
            with pytest.raises(ContractError, match=f"its {part} "):
                check_one(promise, replace(method, **unwaived))


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize(("shared", "like"), [(None, "online-fedsgd"), (2, "pao-fed-u1")])
def test_what_travels_is_what_a_row_of_the_paper_sends(
    name: str, shared: int | None, like: str
) -> None:
    """And something is learned from it."""
    row, paper = SERVERS[name](shared=shared), algorithm(like, shared=shared)
    assert (row.downlink, row.uplink) == (paper.downlink, paper.uplink)
    assert row.learns_while_away == paper.learns_while_away
    trace = small_trace(3)
    outcome = replay(trace, algorithm(row, step_size=0.1))
    np.testing.assert_array_equal(outcome.traffic, replay(trace, paper).traffic)
    assert np.isfinite(outcome.mse).all()
    assert outcome.server_model.any()


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("exchange", ["single", "live"])
def test_other_exchanges_and_a_model_to_begin_with(name: str, exchange: Any) -> None:
    trace = small_trace(5, start=True)
    row = algorithm(SERVERS[name](shared=3), exchange=exchange, step_size=0.1, max_age=4)
    assert np.isfinite(replay(trace, row).mse).all()


def test_a_cached_mean_of_few_bits() -> None:
    """A window of 3 values of 8 bits, with their scale: 7 bytes up, 12 down."""
    outcome = replay(small_trace(3), resolve("cached-mean:shared=3,bits=8,step_size=0.1"))
    sent = Traffic(*outcome.traffic[:, -1])
    assert sent.messages_up > 0
    assert (sent.payload_up, sent.payload_down) == (7 * sent.messages_up, 12 * sent.messages_down)


BAD = [
    ("fed-async:alpha=0", "alpha is 0: expected a number above 0"),
    ("fed-async:alpha=much", "alpha is 'much': expected a number from 0 to 1"),
    ("fed-async:decay=-1", "decay is -1: expected a number from 0 on"),
    ("fed-async:bufer=3", "unknown option 'bufer'"),
    ("fed-buff:buffer=0", "buffer is 0: expected a whole number from 1 on"),
    ("ace:rate=inf", "rate is inf: expected a number from 0 on"),
    ("fed-async:hinge=-1", "hinge is -1: expected a whole number from 0 on"),
    ("aced:recent=-1", "recent is -1: expected a whole number from 0 on"),
    ("ca2fl:bits=1", "bits is 1: expected a whole number from 2 to 16, or 32 for plain values"),
    ("temporally-weighted:base=0.5", "base is 0.5: expected a number from 1 on"),
    ("aso-fed:dynamic=1", "dynamic is 1: expected yes or no"),
    ("fed-at:tiers=0", "tiers is 0: expected a whole number from 1 on"),
    ("cached-mean:bits=8", "bits is 8: expected windows for it, give `shared` too"),
    ("cached-mean:clip=6", "cached-mean:clip=6 has a server rule of its own"),
]


@pytest.mark.parametrize(("word", "text"), BAD)
def test_bad_options_are_refused_in_one_line(word: str, text: str) -> None:
    with pytest.raises(AlgorithmError) as refused:
        resolve(word)
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)
