"""Worlds of one's own: the record, and what a function can do wrong."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from paofed import Worlds
from paofed.errors import InputError, ScenarioError, TraceError
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from paofed.world.worlds import require_room, setting_of, trace_of
from tests.natures import small_scenario, small_trace


def nature(world: int, run: int) -> Trace:
    return small_trace(10 * world + run)


def test_what_is_known_after_the_first_trace() -> None:
    asked: list[tuple[int, int]] = []

    def heard(world: int, run: int) -> Trace:
        asked.append((world, run))
        return nature(world, run)

    worlds = Worlds("rooms", heard, step_size=0.2, max_age=3)
    setting, first = setting_of(worlds), nature(0, 0)
    assert asked == [(0, 0)]
    assert (setting.name, setting.step_size, setting.max_age) == ("rooms", 0.2, 3)
    sizes = setting.ticks, setting.clients, setting.features
    assert sizes == (first.ticks, first.clients, first.features)
    np.testing.assert_array_equal(trace_of(setting, 2, 1, seed=5).y, nature(2, 1).y)
    assert asked[-1] == (2, 1)


def test_there_are_no_readings() -> None:
    with pytest.raises(ScenarioError, match="nature has no table of readings: a function makes"):
        _ = setting_of(nature).table


def test_a_bare_function_has_its_own_name() -> None:
    assert setting_of(nature).name == "nature"
    assert setting_of(lambda _world, run: nature(0, run)).name.endswith("<lambda>")
    assert setting_of(partial(nature)).name == "partial"


def test_a_scenario_stays_what_it_is() -> None:
    scenario = small_scenario()
    assert setting_of(scenario) is scenario
    assert setting_of("setting-1") == Scenario.load("setting-1")
    with pytest.raises(ScenarioError, match="3 is no scenario"):
        setting_of(3)  # type: ignore[arg-type]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name of worlds is '': expected a word"),
    ({"trace": 4}, r"rooms: trace is 4: expected a function \(world, run\) -> Trace"),
    ({"step_size": 0}, "rooms: step_size is 0: expected a finite number above 0"),
    ({"step_size": True}, "rooms: step_size is True"),
    ({"max_age": -1}, "rooms: max_age is -1: expected a whole number from 0 on"),
    ({"max_age": 10**9}, "rooms: max_age is 1000000000: expected at most"),
    ({"about": {"law": nature}}, "rooms: about is .* expected names with finite numbers, words"),
    ({"about": 4}, "rooms: about is 4: expected names with"),
]


@pytest.mark.parametrize(("changes", "text"), BAD)
def test_a_record_that_cannot_be(changes: dict[str, Any], text: str) -> None:
    given = {"name": "rooms", "trace": nature, **changes}
    with pytest.raises(InputError, match=text):
        Worlds(given.pop("name"), given.pop("trace"), **given)


def broken(world: int, run: int) -> Trace:
    return replace(nature(world, run), y=np.zeros(3))


def unlucky(world: int, run: int) -> Trace:
    raise RuntimeError(f"no luck\nwith {world} and {run}")


WRONG: list[tuple[Callable[..., Any], str]] = [
    (lambda _world, _run: 4, "its function returned int: expected a Trace"),
    (lambda: nature(0, 0), "its function raised TypeError: "),
    (unlucky, "its function raised RuntimeError: no luck with 0 and 0"),
    (broken, "y has shape "),
]


@pytest.mark.parametrize(("function", "text"), WRONG)
def test_a_function_that_makes_no_trace(function: Any, text: str) -> None:
    with pytest.raises(TraceError) as refused:
        setting_of(Worlds("rooms", function))
    assert str(refused.value).startswith(f"rooms, world 0, run 0: {text}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"ticks": 25}, "ticks is 25, and in world 0, run 0 it is 24: expected the same in all"),
    ],
)
def test_traces_that_do_not_agree(other: dict[str, Any], text: str) -> None:
    def changing(world: int, run: int) -> Trace:
        return small_trace(world, **(other if (world, run) == (3, 1) else {}))

    setting = setting_of(changing)
    trace_of(setting, 2, 1, seed=0)
    with pytest.raises(TraceError, match=f"changing, world 3, run 1: {text}"):
        trace_of(setting, 3, 1, seed=0)


def test_drifts_agree_too() -> None:
    def changing(world: int, _run: int) -> Trace:
        trace = nature(0, 0)
        drifted = {"drifts": np.array([4 + world]), "y_test_drifted": trace.y_test[None]}
        return replace(trace, **drifted)

    setting = setting_of(changing)
    assert setting.model_dump()["stream"]["drifts"] == (4,)
    with pytest.raises(TraceError, match=r"run 0: drifts is \(5,\), and in world 0, .* is \(4,\)"):
        trace_of(setting, 1, 0, seed=0)


def test_more_traces_than_the_machine_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    setting, first = setting_of(nature), nature(0, 0)
    taken = first.x.nbytes + first.y.nbytes
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 2 * taken, "SC_PHYS_PAGES": 1}.get)
    require_room(setting, 1)
    with pytest.raises(InputError, match=r"nature, 2 traces at a time, needs .* fewer workers"):
        require_room(setting, 2)
    require_room(small_scenario(), 2)


def test_numbers_are_kept_as_they_were() -> None:
    about: dict[str, Any] = {"rooms": np.int64(4), "walls": np.array([0.5, 1.0]), "who": "me"}
    worlds = Worlds("rooms", nature, about=about)
    about["rooms"] = 5
    assert worlds.about == {"rooms": 4, "walls": [0.5, 1.0], "who": "me"}
    assert setting_of(worlds).model_dump()["about"] == worlds.about
    with pytest.raises(FrozenInstanceError):
        worlds.name = "other"  # type: ignore[misc]
