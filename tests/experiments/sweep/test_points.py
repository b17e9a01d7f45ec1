"""Combinations as scenarios and methods with options."""

import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.setup import Setup
from paofed.errors import InputError
from paofed.experiments.sweep.axes import Axis, axis_from_text, grid
from paofed.experiments.sweep.points import Layout, Point, laid_out
from paofed.world.scenario import Scenario
from tests.natures import small_scenario


def layout(*over: str, methods: tuple[str, ...] = ("pao-fed-u1",)) -> Layout:
    axes: dict[str, Axis] = dict(map(axis_from_text, over))
    return laid_out(small_scenario(), list(map(Setup.of, methods)), grid(axes))


def scenarios(found: Layout) -> list[Scenario]:
    each = {id(arm.setting): arm.setting for arm in found.arms}
    return [setting for setting in each.values() if isinstance(setting, Scenario)]


def test_options_are_the_methods_and_other_keys_the_scenario_s() -> None:
    found = layout("step_size=0.1,0.2", "features=12,24", "loss.up=0.0,0.1")
    assert len(found.points) == 8
    assert [(s.features, s.loss.up) for s in scenarios(found) if s.loss] == [
        (12, 0.0), (12, 0.1), (24, 0.0), (24, 0.1),
    ]  # fmt: skip
    for setting in scenarios(found):
        methods = [arm.method for arm in found.arms if arm.setting is setting]
        assert [method.step_size for method in methods] == [0.1, 0.2]
        assert setting.step_size == small_scenario().step_size
    assert found.conditions == ["loss.up"]  # features are chosen by whoever runs a fleet


def test_contacts_are_chosen_also_where_the_scenario_does_not_say_them() -> None:
    found = layout("contacts=0.25,1.0")
    assert [setting.contacts for setting in scenarios(found)] == [0.25, 1.0]
    assert found.conditions == []
    assert [one.tick for one in scenarios(layout("tick=1h,2h"))] == ["1h", "2h"]


def test_a_method_without_an_option_is_run_once_for_all_of_its_values() -> None:
    found = layout("shared=1,2", "step_size=0.1,0.2", methods=("online-fedsgd", "pao-fed-u1"))
    assert [str(point) for point in found.points if point.method == "online-fedsgd"] == [
        "online-fedsgd step_size=0.1",
        "online-fedsgd step_size=0.2",
    ]
    assert len(found.points) == 6


def test_records_of_one_s_own_and_words_with_options() -> None:
    record = algorithm("pao-fed-c1", shared=2)
    axes: dict[str, Axis] = dict([axis_from_text("max_age=0,5")])
    found = laid_out(small_scenario(), [record, Setup.of("pso-fed:subset=0.2")], grid(axes))
    ages = {arm.method.name: arm.method.max_age for arm in found.arms}
    assert ages == {
        "pao-fed-c1:shared=2,max_age=0": 0,
        "pao-fed-c1:shared=2,max_age=5": 5,
        "pso-fed:subset=0.2,max_age=0": 0,
        "pso-fed:subset=0.2,max_age=5": 5,
    }


def test_a_list_can_be_a_value() -> None:
    rows = [{"availability.probabilities": [0.1]}, {"availability.probabilities": [0.5, 0.2]}]
    found = laid_out(small_scenario(), [Setup("pao-fed-u1")], rows)
    laws = [one.availability.model_dump()["probabilities"] for one in scenarios(found)]
    assert laws == [(0.1,), (0.5, 0.2)]
    assert str(found.points[1]) == "pao-fed-u1 availability.probabilities=[0.5, 0.2]"


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ("sharde=1,2", "unknown key 'sharde': did you mean 'shared'"),
        ("delay.bas=0.1", "unknown key 'delay.bas': did you mean 'delay.base'"),
        ("loss.upp=0.1", "loss.upp=0.1: unknown key 'upp': did you mean 'up'"),
        ("loss.up=1.5", "loss.up=1.5: loss.up is 1.5: expected at most 1"),
        ("name=a,b", "unknown key 'name'"),
        ("faults=1", "unknown key 'faults'"),
        ("shared=99", "pao-fed-u1 shared=99: shared is 99, but the model has only 24 features"),
        ("step_size=-1", "pao-fed-u1 step_size=-1: step size is -1"),
        ("clip=0", "pao-fed-u1 clip=0: clip is 0"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_point(over: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        layout(over)
    assert str(caught.value).startswith(told)


def test_what_has_a_value_already_is_not_swept_over() -> None:
    with pytest.raises(InputError, match="pao-fed-u1:shared=2 has a shared of its own, and shared"):
        layout("shared=1,2", methods=("pao-fed-u1:shared=2",))


def test_a_point_is_named_by_its_values() -> None:
    assert str(Point("a", {"x": True, "y": "word", "z": 0.5})) == "a x=true y=word z=0.5"
