import pytest

from paofed import Scenario, realize, run
from paofed.errors import InputError
from paofed.memory import require_memory
from paofed.theory.fleet import FleetInTheory
from tests.natures import small_scenario


def test_what_fits_is_let_through() -> None:
    require_memory(1e6, "this")


def test_what_does_not_fit_is_refused_before_it_is_begun() -> None:
    with pytest.raises(InputError, match=r"this needs 1,000,000 GB of memory, and this machine"):
        require_memory(1e15, "this")
    with pytest.raises(InputError, match=r"GB: cut it$"):
        require_memory(1e15, "this", "cut it")
    huge = small_scenario(clients=2_000_000_400, features=2000)
    with pytest.raises(InputError, match="2000000400 clients with 2000 features"):
        run(huge, "pao-fed-u1")
    with pytest.raises(InputError, match="a trace of"):
        realize(Scenario.load("setting-1").model_copy(update={"ticks": 2**31 - 1}))
    tested = small_scenario(test_samples=2**31 - 1)
    for work in (
        lambda: run(tested, "pao-fed-u1"),
        lambda: realize(tested),
        lambda: FleetInTheory.of(tested),
    ):
        with pytest.raises(InputError, match="a test set of 2,147,483,647 samples needs"):
            work()
