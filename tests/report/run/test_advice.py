"""Advice on results made by hand, of which the verdict is known."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paofed.algorithms.setup import resolve
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import as_json, fleet_command, numbers, sentences, whether
from paofed.report.run.page import on_device
from paofed.report.shared.pages import page
from paofed.simulate.results.table_result import TableResult
from tests.report.run.by_hand import DAYS, DEVICES, FEATURES, result

NOTHING = [0.0] * 4
LATE = "from then on"
RIVAL = "learning alone, the best way of being alone"


def lines(made: TableResult, tariff: str = "payload") -> list[str]:
    return list(sentences(advise(made, tariff)))


# Whether taking part pays


@pytest.mark.parametrize(
    ("joined", "verdict", "told"),
    [
        ([-2.0] * 4, "pays",
         f"Taking part pays: 2.00 dB (2.00 to 2.00) better than {RIVAL}, over all readings."),
        ([0.0, -2.0, -2.0, -2.0], "pays", "Taking part pays: 1.41 dB (1.41 to 1.41) better"),
        ([-3.0, -3.0, 0.0, 0.0], "pays at first",
         (f"Taking part pays up to reading 3 of a device: 3.00 dB (3.00 to 3.00) better than "
          f"{RIVAL}; {LATE} it is a tie with learning alone (within 0.1 dB: 0.00 dB (0.00 to "
          f"0.00)).")),
        ([-3.0, -3.0, 1.0, 1.0], "pays at first", f"; {LATE} it is 1.00 dB (1.00 to 1.00) worse"),
        ([2.0, -3.0, -3.0, 2.0], "pays at first", "up to reading 7 of a device: 0.64 dB (0.64"),
        ([0.5] * 4, "worse",
         f"Taking part does not pay: it is 0.50 dB (0.50 to 0.50) worse than {RIVAL}."),
        ([-0.05] * 4, "changes nothing",
         (f"Taking part does not pay: it changes nothing (within 0.1 dB: 0.05 dB (0.05 to 0.05), "
          f"against {RIVAL}).")),
        # Who gains later what was lost before has gained nothing.
        ([2.0, 2.0, -3.0, -3.0], "worse", "it is 0.18 dB (0.18 to 0.18) worse"),
        ([1.0, -1.2, 0.0, 0.0], "changes nothing", "it changes nothing"),
        ([-3.0, 9.0, 9.0, -3.0], "worse", "does not pay: it is"),
    ],
)  # fmt: skip
def test_the_verdict_and_its_sentence(joined: list[float], verdict: str, told: str) -> None:
    found = advise(result({"u1": joined}, {"alone": NOTHING}))
    assert found.verdict == verdict
    assert told in whether(found)
    assert next(iter(sentences(found))) == whether(found)


def test_where_the_intervals_do_not_tell_it_says_so() -> None:
    found = advise(result({"u1": [-0.3] * 4}, {"alone": NOTHING}, doubt=0.5))
    (span,) = found.spans
    assert span.gain.low < 0 < span.gain.high
    assert found.verdict == "unknown"
    assert "cannot be told: the interval of the gain has 0 inside, 0.30 dB (" in whether(found)
    later = advise(result({"u1": [-9.0, -9.0, 0.3, 0.3]}, {"alone": NOTHING}, doubt=0.3))
    assert later.verdict == "pays at first"
    assert (
        f"{LATE} it has no sure gain over learning alone (the interval of the gain has 0"
        in whether(later)
    )


def test_one_device_has_no_interval() -> None:
    found = advise(result({"u1": [-3.0] * 4}, {"alone": NOTHING}, devices=1))
    assert found.verdict == "unknown"
    assert "one device has no interval, and this one gains 3.00 dB," in whether(found)


def test_without_a_way_of_being_alone_nothing_can_be_told() -> None:
    found = advise(result({"u1": [-3.0] * 4}, {"central": NOTHING}))
    assert found.verdict == "unknown"
    assert "--baselines last-value,alone,rls,start,start-alone" in whether(found)


def test_a_way_of_being_alone_is_the_best_of_those_readings() -> None:
    """The start is best at first, a linear filter later: each is the rival where it is best."""
    beside = {"alone": [5.0] * 4, "start alone": [0.0, 0.0, 4.0, 4.0], "rls": [9.0, 9.0, -6, -6]}
    found = advise(result({"u1": [-3.0, -3.0, -1.0, -1.0]}, beside))
    early, late = found.spans
    assert (early.over.rival, late.over.rival) == ("start alone", "rls")
    assert early.gain.mean == pytest.approx(3.0)
    assert late.gain.mean == pytest.approx(-5.0)
    # Held against learning alone from zeros, taking part would pay throughout.
    alone = advise(result({"u1": [-3.0, -3.0, -1.0, -1.0]}, {"alone": beside["alone"]}))
    assert alone.verdict == "pays"


# In the target's own unit


def test_the_unit_of_the_target_agrees_where_it_does() -> None:
    made = result({"u1": [-2.0] * 4}, {"alone": NOTHING})
    assert lines(made)[1] == (
        "In the unit of y, u1 has the least error on devices, too: RMSE 0.7946 (R2 0.937); alone "
        "has 1 (0.900)."
    )
    assert "otherwise" not in " ".join(lines(made))
    assert as_json(advise(made))["own_unit"] == {"target": "y", "best": "u1", "disagrees": False}


def test_where_the_unit_of_the_target_disagrees_it_says_so() -> None:
    """Of the logarithm, u1 is best by 2 dB; in the unit, whoever repeats the last value is."""
    beside = {"alone": NOTHING, "last value": [1.0] * 4, "central": [-9.0] * 4}
    made = result({"u1": [-2.0] * 4}, beside, own={"last value": 0.25})
    found = advise(made)
    assert found.verdict == "pays"
    assert (found.in_unit.best, found.in_unit.disagrees) == ("last value", True)
    assert found.in_unit.gain.mean == pytest.approx(3.02, abs=0.01)
    assert lines(made)[1].startswith("In the unit of y, last value has the least error on devi")
    assert "; u1 has 0.7946" in lines(made)[1]
    assert lines(made)[2].startswith("dB say otherwise: they are of log1p(y)")
    behind = {(row.learner, row.over): row for row in numbers(found) if row.about == "own unit"}
    assert behind["last value", "u1"].value == found.in_unit.gain.mean
    assert behind["u1", "RMSE"].value == pytest.approx(0.7946, abs=1e-4)
    assert behind["u1", "RMSE"].unit == "y"
    assert as_json(found)["own_unit"]["disagrees"]


def test_one_that_diverged_has_no_error_in_the_unit() -> None:
    made = result({"wild": [math.nan] * 4}, {"alone": NOTHING})
    assert lines(made)[1].endswith("RMSE 1 (R2 0.900); wild has diverged.")


def test_the_words_are_plain_ascii() -> None:
    """A terminal of any encoding can show them."""
    for joined in ([-2.0] * 4, [0.5] * 4, [-3.0, -3.0, 1.0, 1.0]):
        made = result({"u1": joined, "c1": NOTHING}, {"alone": NOTHING, "central": [-1.0] * 4},
                      own={"alone": 0.1})  # fmt: skip
        assert all(line.isascii() for line in lines(made))


def test_only_who_may_gain_is_offered_a_fleet() -> None:
    for joined in ([0.5] * 4, [-0.05] * 4):
        found = advise(result({"u1": joined}, {"alone": NOTHING}))
        assert "does not pay" in whether(found)
        assert fleet_command(found, Path("run.npz")) == ""
    one = advise(result({"u1": [-2.0] * 4}, {}))
    assert fleet_command(one, None) == ""
    assert fleet_command(one, Path("my run.npz")) == "paofed fleet init FOLDER --from 'my run.npz'"
    two = advise(result({"c1": [0.0] * 4, "u1": [-2.0] * 4}, {}))
    assert fleet_command(two, Path("r.npz")).endswith("--from r.npz --algorithm u1")


def about(name: str) -> TableResult:
    """A result of one method that says of it what a run says."""
    made = result({name: [-2.0] * 4}, {"alone": NOTHING})
    told = {**made.provenance, "algorithms": [{**resolve(name).describe(), "name": name}]}
    return replace(made, provenance=told)


def test_a_method_that_no_fleet_can_follow_is_offered_none() -> None:
    for name, served in (("fed-async", True), ("fed-ridge", False), ("top-k", False)):
        found = advise(about(name))
        assert found.served == served == bool(fleet_command(found, Path("run.npz")))
        told = f"No live fleet can follow {name} yet."
        assert any(told in line for line in sentences(found)) != served


# All readings at one place


@pytest.mark.parametrize(
    ("central", "told"),
    [
        (-2.8, "A batch {} would be 0.80 dB (0.80 to 0.80) better than taking part."),
        (-2.0, "a batch {} is a tie with taking part (within 0.1 dB: 0.00 dB (0.00 to 0.00))."),
        (-1.0, "nothing is better: a batch {} is 1.00 dB (1.00 to 1.00) worse than taking part."),
    ],
)  # fmt: skip
def test_whether_one_place_is_better(central: float, told: str) -> None:
    beside = {"alone": NOTHING, "central": [3.0] * 4, "batch fourier": [central] * 4}
    made = result({"u1": [-2.0] * 4}, beside)
    assert told.format("fit at one place (batch fourier)") in lines(made)[2]
    assert [gain.name for gain in advise(made).at_one_place] == ["batch fourier", "central"]


def test_who_gains_nothing_is_held_to_being_alone() -> None:
    """Being alone is advised, at 0 dB; taking part, at 2 dB, does not matter any more."""
    made = result({"u1": [2.0] * 4}, {"alone": NOTHING, "boost": [-1.0] * 4})
    assert advise(made).advised == "alone"
    assert "Gradient boosting at one place (boost) would be 1.00 dB" in lines(made)[2]
    assert lines(made)[2].endswith("better than that.")


# Which method


def test_ties_go_to_less_traffic() -> None:
    both = {"u1": [-2.0] * 4, "u1:shared=16": [-2.05] * 4}
    sent = {"u1": 100, "u1:shared=16": 400}
    found = advise(result(both, {"alone": NOTHING}, messages=sent))
    assert found.method == "u1"
    assert "Of 2 methods, take u1: u1:shared=16 is a tie with it" in [*sentences(found)][2]
    dear = advise(result(both, {"alone": NOTHING}, messages={"u1": 900, "u1:shared=16": 400}))
    assert dear.method == "u1:shared=16"


def test_a_method_that_is_better_may_send_more() -> None:
    both = {"u1": [-2.0] * 4, "u1:shared=16": [-2.5] * 4}
    made = result(both, {"alone": NOTHING}, messages={"u1": 1, "u1:shared=16": 900})
    assert advise(made).method == "u1:shared=16"
    assert lines(made)[2] == (
        "Of 2 methods, u1:shared=16 has the least error on devices, 0.50 dB (0.50 to 0.50) better "
        "than the next, u1."
    )


def test_a_method_that_diverged_is_not_the_best() -> None:
    made = result({"wild": [math.nan] * 4, "u1": [-2.0] * 4}, {"alone": NOTHING})
    assert advise(made).method == "u1"
    assert lines(made)[2].endswith("has the least error on devices; the next, wild, diverged.")


def test_methods_that_cannot_be_told_apart() -> None:
    made = result({"u1": [-2.0] * 4, "c1": [-2.3] * 4}, {"alone": NOTHING}, doubt=0.0)
    gain = advise(made).others[0].gain
    assert gain.verdict == "holds"
    unsure = advise(made).others[0]._replace(gain=gain._replace(low=-0.2, high=0.8))
    object.__setattr__(found := advise(made), "others", (unsure,))
    assert "whether it is better than u1 cannot be told" in [*sentences(found)][2]


# Settings and cost


def described(name: str = "pao-fed-u1", **values: Any) -> dict[str, Any]:
    """What a run says of an algorithm, under the name of the method in `result`."""
    return {**resolve(name).describe(), "name": "u1", **values}


@pytest.mark.parametrize(
    ("algorithm", "chosen", "told"),
    [
        (described(), [], "4 of 20 numbers in a message, step size 0.4 (the scenario's)"),
        (described(step_size=0.2), [], "step size 0.2 (as given with its name)"),
        (described(step_size=0.2), [{"winner": "u1", "options": {"step_size": [0.2, 0.4]}}],
         "step size 0.2 (chosen by a race)"),
        (described(step_size=0.2), [{"winner": "u1", "options": {"step_size": [0.2, 0.4]},
                                     "reason": "too little"}],
         "step size 0.2 (as usual, since nothing could be chosen), learner"),
        (described(step_size=0.2), [{"winner": "u1", "options": {"learner": ["lms", "rls"]}}],
         "(as given with its name), learner lms (chosen by a race), "),
        (described(step_size=0.2), [{"winner": "u1", "options": {"shared": [4, 8]}}],
         "numbers in a message (chosen by a race), "),
        (described(step_size=0.2), [{"winner": "u1", "options": {"shared": [4, 8]}}],
         "step size 0.2 (as given with its name)"),
        (described("online-fedsgd"), [], "20 of 20 numbers"),
        (described("top-k"), [], "u1, messages of its own, step"),
    ],
)  # fmt: skip
def test_the_settings_in_words(
    algorithm: dict[str, Any], chosen: list[dict[str, Any]], told: str
) -> None:
    made = result({"u1": [-2.0] * 4}, {"alone": NOTHING})
    about = {**made.provenance, "algorithms": [algorithm], "chosen": chosen}
    object.__setattr__(made, "provenance", about)
    assert told in lines(made)[-2]


def test_the_start_and_the_learner_in_words() -> None:
    usual = lines(result({"u1": [-2.0] * 4}, {"alone": NOTHING}))[-2]
    assert "start from the fit of the calibration period, with linear terms, newcomers" in usual
    assert usual.endswith("begin with the whole model.")
    made = result({"u1": [0.0] * 4}, {}, start="zeros", linear=False, newcomers="windows")
    for learner in ("lms", "two-speed", "rls"):
        kept = described(f"pao-fed-u1:learner={learner}")
        about = {**made.provenance, "algorithms": [kept]}
        object.__setattr__(made, "provenance", about)
        told = lines(made)[-2]
        assert f"learner {learner}, start from zeros, without linear terms, newcomers" in told
        assert told.endswith("begin with windows.")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("pao-fed-u1", "with linear terms of its own,"),
        ("fed-ridge", "with linear terms, newcomers"),
    ],
)
def test_only_of_a_model_can_linear_terms_stay_with_the_device(name: str, told: str) -> None:
    made = result({"u1": [-2.0] * 4}, {"alone": NOTHING}, personal=True)
    about = {**made.provenance, "algorithms": [described(name)]}
    object.__setattr__(made, "provenance", about)
    assert told in lines(made)[-2]


def test_a_newcomer_is_sent_what_its_server_tells() -> None:
    """A number, how many coefficients there are, and those of a prediction and of all features."""
    assert advise(about("pao-fed-u1")).cost.download == 4 * FEATURES
    assert advise(about("fed-ridge")).cost.download == 4 * (3 + FEATURES)
    assert advise(about("fed-ridge:most=6")).cost.download == 4 * (3 + 6)


def test_the_cost_is_by_device_and_day() -> None:
    """100 messages each way of 16 bytes, over 12 devices and 10 days; 68 and 120 by MQTT."""
    made = result({"u1": [-2.0] * 4}, {"alone": NOTHING})
    for tariff, up, down in (("payload", 16, 16), ("mqtt", 136, 84)):
        cost = advise(made, tariff).cost
        assert cost.up == pytest.approx(100 * up / DEVICES / DAYS)
        assert cost.down == pytest.approx(100 * down / DEVICES / DAYS)
        assert cost.contact == pytest.approx(up + down)
        assert cost.reading == pytest.approx(100 * (up + down) / DEVICES / 4)
        assert cost.busy == pytest.approx(24 * cost.reading)
        assert cost.download == 4 * FEATURES + (down - 16)
    assert lines(made, "mqtt")[-1] == (
        "The cost of taking part: 183 B per device and day on the wire by tariff mqtt, 113 B up "
        "and 70 B down, mean over the time of the table; 220 B per contact, 458 B per reading "
        "(11.0 kB on a day with one at every tick); among them one download of the whole model, "
        "148 B."
    )
    plain = result({"u1": [-2.0] * 4}, {}, newcomers="windows", table={"calendar": False})
    assert "per device and tick of payload alone (--tariff)" in lines(plain)[-1]
    assert "and, not counted here, one download" in lines(plain)[-1]
    seldom = result({"u1": [-2.0] * 4}, {}, messages={"u1": 1})
    assert "cost of taking part: less than 1 B per device and day" in lines(seldom)[-1]
    assert advise(plain).cost.up == pytest.approx(100 * 16 / DEVICES / (24 * DAYS))


# In files, JSON and on the page


def test_the_numbers_behind_it() -> None:
    beside = {"alone": NOTHING, "central": [-5.0] * 4}
    made = result({"u1": [-3.0, -3.0, 0.0, 0.0], "c1": NOTHING}, beside)
    found = advise(made)
    rows = list(numbers(found))
    gains = ["taking part", "taking part", "one place", "method"]
    own = ["own unit"] * 7  # who is the best, and RMSE and R2 of three learners on devices
    assert [row.about for row in rows] == [*gains, *own, *["cost"] * 6]
    assert [(row.first, row.last) for row in rows[:2]] == [(1, 3), (4, 15)]
    assert rows[0][5:] == pytest.approx((DEVICES, 3.0, 3.0, 3.0, "dB"))
    assert rows[-1].value == found.cost.download
    told = as_json(found)
    assert told["sentences"] == list(sentences(found))
    assert told["numbers"] == [row._asdict() for row in rows]
    assert (told["verdict"], told["method"], told["advised"]) == ("pays at first", "u1", "u1")


def test_what_a_device_must_know() -> None:
    table = {"recipes": ["(a - 1) / 2", "b"], "inputs": ["a"], "ranges": [[-1.5, 2.25], [0, 1]]}
    text = must_know(result({"u1": NOTHING}, {}, table=table))
    assert "The last 2 of its 20 features are linear terms" in text
    assert "<pre>a: low = -1.5, high = 2.25</pre>" in text
    assert "It begins with the fit of the calibration period: 20 numbers" in text
    plain = result({"u1": NOTHING}, {}, table=table, linear=False, start="zeros")
    assert "linear" not in must_know(plain)
    assert "begins with" not in must_know(plain)


def must_know(result: TableResult) -> str:
    return page("on_device.html.j2", **on_device(result))
