"""Labels as a law: which samples have one, when, and on which devices; refusals are told."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paofed.cli.shared.worlds import labels_of
from paofed.errors import ScenarioError, TraceError
from paofed.world.labels import Labels, parted
from paofed.world.realize import realize
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario, settled_labels
from paofed.world.trace import TRACE, Trace
from tests.effort import effort
from tests.natures import small_scenario, small_trace
from tests.world.table.tables import fleet, hourly, table, with_gaps, write
from tests.world.test_realize_table import assert_same_list

EVENTS = ("x", "y", "has_data", "available", "delay", "lottery", "frequencies", "y_test")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    header = "device,time,y,a,b,coast"
    lines = [f"{line},{line[1] in '13'}" for line in with_gaps(hourly(5, 90), 0.3)]
    return write(tmp_path_factory.mktemp("table") / "t.csv", lines, header)


def over(path: Path, **labels: Any) -> Scenario:
    return fleet(table(path, group="coast"), labels=labels)


def refusal(path: Path | None, **labels: Any) -> str:
    usual = small_scenario() if path is None else fleet(table(path, group="coast"))
    with pytest.raises(ScenarioError) as caught:
        usual.replace(labels=labels)
    assert (caught.value.key or "").startswith("labels")
    return str(caught.value)


laws = st.fixed_dictionaries(
    {},
    optional={
        "share": st.floats(0.01, 1.0),
        "late": st.sampled_from([0, 1, 7, 500, "3h", "90min", "1d"]),
        "devices": st.sampled_from([0.01, 0.5, 1.0, 2, [0], ["d1", 4], {"group": "True"}]),
    },
)


@settings(
    max_examples=effort(everyday=10, thorough=60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(law=laws, run=st.integers(0, 3))
def test_a_list_says_what_the_trace_says(path: Path, law: dict[str, Any], run: int) -> None:
    scenario = over(path, **law)
    listed = realize_samples(scenario, 2, run, seed=7)
    assert (listed.due_if_late is None) == (listed.labels is None)
    assert listed.due.begin.size == listed.tick.size + 1
    assert_same_list(listed, realize(scenario, 2, run, seed=7).sparse())


@pytest.mark.parametrize("law", [{"share": 0.3}, {"late": 3}, {"devices": 0.25}])
def test_nothing_else_of_the_world_moves(law: dict[str, Any]) -> None:
    one, two = realize(small_scenario()), realize(small_scenario(labels=law))
    for name in EVENTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)
    assert one.labelled.size == one.label_delay.size == 0
    assert two.sparse().labels is not None


def test_without_the_law_nothing_is_said_of_it() -> None:
    scenario = small_scenario()
    assert scenario.labels is None
    assert settled_labels(scenario) is None
    assert "labels" not in scenario.model_dump()
    assert "labels" not in scenario.to_toml()


def test_share_late_and_devices_do_what_they_say() -> None:
    scenario = small_scenario(ticks=2000, labels={"share": 0.3, "late": 12, "devices": 0.5})
    trace = realize(scenario)
    holders = trace.labelled.any(axis=0)
    assert holders.sum() == 6
    share = trace.labels.given.sum() / trace.has_data[:, holders].sum()
    assert share == pytest.approx(0.3, abs=0.05)
    assert (trace.label_delay == 12).all()
    everybody = realize(small_scenario(ticks=2000, labels={"share": 0.3}))
    np.testing.assert_array_equal(everybody.labelled[:, holders], trace.labelled[:, holders])
    assert everybody.labelled.any(axis=0).all()


def test_a_larger_share_has_all_labels_of_a_smaller_one_and_runs_differ() -> None:
    few, many = (realize(small_scenario(labels={"share": s})).labelled for s in (0.2, 0.6))
    assert (many[few]).all()
    other = realize(small_scenario(labels={"share": 0.2}), run=1).labelled
    assert not np.array_equal(few, other)
    three = small_scenario(labels={"devices": 3})
    one, two = (realize(three, run=run).labelled.any(axis=0) for run in (0, 1))
    assert (one != two).any()


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        (["d1", "d3"], [1, 3]),
        ([4, "d0"], [0, 4]),
        (["2"], [2]),
        ({"group": "True"}, [1, 3]),
    ],
)
def test_devices_of_a_table_by_name_number_and_group(
    path: Path, devices: Any, expected: list[int]
) -> None:
    settled = settled_labels(over(path, devices=devices))
    assert settled is not None
    assert settled.who is not None
    assert sorted(settled.who) == expected
    assert not settled.everybody


def test_a_device_s_name_counts_before_its_number(tmp_path: Path) -> None:
    names = [line.replace("d0", "1").replace("d1", "0") for line in hourly(2, 60)]
    stream = table(write(tmp_path / "t.csv", names))
    settled = settled_labels(fleet(stream, labels={"devices": ["1"]}))
    assert settled is not None
    assert settled.who == (1,)


@pytest.mark.parametrize(("late", "ticks"), [("1h", 1), ("90min", 2), ("1d", 24), (5, 5)])
def test_a_length_is_in_ticks_rounded_up(path: Path, late: Any, ticks: int) -> None:
    settled = settled_labels(over(path, late=late))
    assert settled is not None
    assert settled.late == ticks
    named = settled_labels(small_scenario(tick="1h", labels={"late": late}))
    assert named is not None
    assert named.late == ticks


@pytest.mark.parametrize(
    ("law", "says"),
    [
        ({"share": 0}, "labels.share is 0: expected more than 0"),
        ({"share": 1.5}, "labels.share is 1.5: expected at most 1"),
        ({"late": -1}, "labels.late is -1: expected a number of ticks from 0 on, or a length"),
        ({"late": "soon"}, "labels.late is 'soon': expected a number of ticks"),
        ({"late": "1d"}, "labels.late is 1d: expected ticks, since nobody says how long a tick"),
        ({"devices": 0}, "labels.devices is 0: expected a share up to 1.0, a count"),
        ({"devices": []}, "labels.devices is []: expected a share up to 1.0, a count"),
        ({"devices": [3, 3]}, "a device is given twice"),
        ({"devices": {"grop": "a"}}, "a list of devices, or { group = NAME }"),
        ({"devices": 13}, "labels.devices is 13: expected at most 12, as many as there are"),
        ({"devices": [12]}, "labels.devices is 12: expected a client from 0 to 11"),
        ({"devices": ["north"]}, "labels.devices is north: expected numbers of clients, 0 to 11"),
        ({"devices": {"group": "a"}}, "since this fleet has no groups"),
        ({"shares": 0.1}, "unknown key 'shares': did you mean 'share'? (known: share, late, dev"),
    ],
)
def test_what_does_not_fit_is_told(law: dict[str, Any], says: str) -> None:
    assert says in refusal(None, **law)


@pytest.mark.parametrize(
    ("law", "says"),
    [
        ({"devices": ["d7"]}, "labels.devices: unknown device 'd7'"),
        ({"devices": ["d1", 1]}, "expected each device once"),
        ({"devices": {"group": "west"}}, "labels.devices.group: unknown group 'west' (known: "),
        ({"late": "99999999w"}, "expected fewer than 2^31 ticks"),
    ],
)
def test_so_is_what_does_not_fit_a_table(path: Path, law: dict[str, Any], says: str) -> None:
    assert says in refusal(path, **law)


def test_an_earlier_target_is_no_input_unless_its_label_is_there(path: Path) -> None:
    lagged = table(path, inputs=("a", "y:lag=4"))
    for law in ({"share": 0.5}, {"devices": 2}, {"late": 4}):
        with pytest.raises(ScenarioError, match="y:lag=4 is an input, and a device knows it only"):
            fleet(lagged).replace(labels=law)
    for law in ({"late": 3}, {"share": 1.0}, {}):
        assert fleet(lagged).replace(labels=law).labels is not None


@pytest.mark.parametrize(
    "devices", [0.5, 3, [0, "4"], {"group": "coast"}, None], ids=lambda found: str(type(found))
)
def test_a_law_survives_its_own_values(devices: Any) -> None:
    law = Labels.model_validate({"late": "1d", "devices": devices})
    assert Labels.model_validate(law.model_dump()) == law
    assert hash(law) == hash(Labels.model_validate(law.model_dump()))


def test_a_scenario_with_labels_survives_its_text(path: Path) -> None:
    for law in ({"devices": {"group": "True"}}, {"devices": ["d1", 3]}, {"share": 0.5}):
        scenario = over(path, **law)
        assert Scenario.parse(scenario.to_toml(), "fleet.toml") == scenario


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%", {"share": 0.1}),
        ("0.5,late=24,devices=25%", {"share": 0.5, "late": 24, "devices": 0.25}),
        ("share=1,late=90min", {"share": 1, "late": "90min"}),
        ("devices=3", {"devices": 3}),
        ("devices=3+", {"devices": ["3"]}),
        ("devices=north", {"devices": ["north"]}),
        ("devices=a+b,late=2", {"devices": ["a", "b"], "late": 2}),
        ("group=coast", {"devices": {"group": "coast"}}),
    ],
)
def test_one_word_says_all(text: str, expected: dict[str, Any]) -> None:
    assert parted(text) == labels_of(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("latte=3", "unknown option 'latte': did you mean 'late'?"),
        ("late=", "option 'late' has no value: write late=VALUE"),
        ("", "option 'share' has no value: write share=VALUE"),
        ("10%,share=0.2", "option 'share' is given twice"),
        ("devices=2,group=a", "option 'devices' is given twice"),
    ],
)
def test_a_wrong_word_is_told(text: str, says: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        labels_of(text)
    assert str(caught.value).startswith(f"--labels {text}: {says}")


def test_traces_keep_labels_only_where_some_are_rare_or_late(tmp_path: Path) -> None:
    trace = small_trace(1, labelled=0.5, latest=4)
    trace.save(tmp_path / "t.npz")
    back = Trace.load(tmp_path / "t.npz")
    np.testing.assert_array_equal(back.labelled, trace.labelled)
    np.testing.assert_array_equal(back.label_delay, trace.label_delay)
    for law, there in (
        ({"share": 1.0}, []),
        ({"late": 2}, ["label_delay"]),
        ({"share": 0.2}, ["labelled"]),
    ):
        realize(small_scenario(labels=law)).save(tmp_path / "u.npz")
        with np.load(tmp_path / "u.npz") as held:
            assert [name for name in ("labelled", "label_delay") if name in held] == there
        assert {"labelled", "label_delay"} < set(TRACE.known)


def test_a_label_before_its_sample_is_refused() -> None:
    trace = small_trace(1, labelled=0.5, latest=4)
    values = {name: getattr(trace, name) for name in TRACE.known}
    there = tuple(np.argwhere(trace.labels.given)[3])
    wrong = trace.label_delay.copy()
    wrong[there] = -1
    with pytest.raises(TraceError, match=r"label_delay\[\d+, \d+\] is negative"):
        Trace(**{**values, "label_delay": wrong})
    ignored = np.where(trace.labels.given, trace.label_delay, -1)
    assert Trace(**{**values, "label_delay": ignored}).ticks == trace.ticks
