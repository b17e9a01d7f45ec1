import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import ScenarioError
from paofed.world.names import PRESETS
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.scenario_text import to_toml
from paofed.world.table.door import read
from tests.natures import small_scenario

# What the three presets of the paper share, with the values that it does not state (sigma and mu).
COMMON = {
    "ticks": 2000,
    "clients": 256,
    "features": 200,
    "kernel_width": 1.0,
    "step_size": 0.4,
    "test_samples": 500,
    "linear": False,
    "start": "zeros",
    "newcomers": "windows",
    "personal": False,
    "loss": None,
    "outages": None,
    "battery": None,
    "faults": (),
    "stream": {
        "kind": "synthetic",
        "samples": (500, 1000, 1500, 2000),
        "arrivals": "bernoulli",
        "memory": (0.2, 0.9),
        "centre": (-0.2, 0.2),
        "variance": (0.2, 1.2),
        "noise_variance": (0.005, 0.03),
        "drifts": (),
        "drift_ticks": 0,
    },
}
PAPER: dict[str, dict[str, Any]] = {
    "setting-1": {
        **COMMON,
        "name": "setting-1",
        "max_age": 10,
        "availability": {"kind": "bernoulli", "probabilities": (0.25, 0.1, 0.025, 0.005)},
        "delay": {"kind": "geometric", "base": 0.2},
    },
    "setting-2": {
        **COMMON,
        "name": "setting-2",
        "max_age": 60,
        "availability": {"kind": "bernoulli", "probabilities": (0.025, 0.01, 0.0025, 0.0005)},
        "delay": {"kind": "stepped", "base": 0.4, "step": 10},
    },
    "ideal": {
        **COMMON,
        "name": "ideal",
        "max_age": 10,
        "availability": {"kind": "bernoulli", "probabilities": (1.0,)},
        "delay": {"kind": "none"},
    },
}

SMALL = """\
# A fleet of four.
name = "small"
ticks = 8
clients = 4
features = 5
kernel_width = 1.0
step_size = 0.4
max_age = 3
test_samples = 6

[stream]
kind = "synthetic"
samples = [4, 8]
arrivals = "even"
memory = [0.2, 0.9]
centre = [-0.1, 0.1]
variance = [0.3, 1.2]
noise_variance = [0.01, 0.02]

[availability]  # who is there
kind = "bursts"
mean_on = [3.0, 2.0]
mean_off = [4.0]

[delay]
kind = "stepped"
base = 0.6
step = 2
"""


def complaint(text: str, folder: Path | None = None) -> tuple[str, str]:
    """The line of the file that a refusal points at ('' for none), and what it says: one line."""
    with pytest.raises(ScenarioError) as refusal:
        Scenario.parse(text, "fleet.toml", folder)
    place, _, says = str(refusal.value).partition(": ")
    assert "\n" not in says
    name, _, number = place.partition(":")
    assert name == "fleet.toml"
    return text.split("\n")[int(number) - 1] if number else "", says


def changed(old: str, new: str) -> str:
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


@pytest.mark.parametrize("name", PAPER)
def test_presets_hold_the_paper_s_numbers(name: str) -> None:
    assert Scenario.load(name).model_dump() == PAPER[name]


def test_every_preset_on_disk_is_known_by_name() -> None:
    assert set(PRESETS) == {*PAPER, "small", "air-quality"}
    folder = Path(__file__).parents[2] / "paofed" / "world" / "presets"
    assert {path.stem for path in folder.glob("*.toml")} == set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_written_and_read_is_itself(name: str) -> None:
    scenario = Scenario.load(name)
    assert Scenario.parse(scenario.to_toml(), "again") == scenario


def test_what_a_stream_leaves_out_is_the_paper_s() -> None:
    kept = [line for line in SMALL.split("\n") if "[stream]" in line or "samples" in line]
    bare = "\n".join([*SMALL.split("[stream]")[0].split("\n"), "[stream]", kept[-1]])
    tail = "\n[availability]" + SMALL.split("[availability]")[1]
    expected = {**PAPER["ideal"]["stream"], "samples": (4, 8)}
    assert Scenario.parse(bare + tail, "bare").stream.model_dump() == expected


AWKWARD = "a \t\"'\\#=[]{}.,é\u2028\U0001f41d"  # what may stand in a name, and confuse a writer


def floats(low: float, high: float, **options: Any) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, allow_infinity=False, **options)


def ranges(low: float, high: float, **options: Any) -> st.SearchStrategy[list[float]]:
    return st.lists(floats(low, high, **options), min_size=2, max_size=2).map(sorted)


def lists(values: st.SearchStrategy[Any], length: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=length, max_size=length)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any valid scenario without tables; its groups divide its fleet."""
    count, durations = st.integers(1, 5), floats(1, 1e9)
    data, on, off = draw(count), draw(count), draw(count)
    ticks = draw(st.integers(1, 500_000))
    availability: dict[str, Any] = draw(
        st.one_of(
            st.fixed_dictionaries(
                {"kind": st.just("bernoulli"), "probabilities": lists(floats(0, 1), on)}
            ),
            st.fixed_dictionaries(
                {
                    "kind": st.just("bursts"),
                    "mean_on": lists(durations, on),
                    "mean_off": lists(durations, off),
                }
            ),
        )
    )
    base, step = floats(0, 0.999), st.integers(1, 10**6)
    delay: dict[str, Any] = draw(
        st.one_of(
            st.just({"kind": "none"}),
            st.fixed_dictionaries({"kind": st.just("geometric"), "base": base}),
            st.fixed_dictionaries({"kind": st.just("stepped"), "base": base, "step": step}),
            st.fixed_dictionaries(
                {
                    "kind": st.just("listed"),
                    "chances": st.lists(floats(0, 1), min_size=1, max_size=4).map(
                        lambda chances: sorted(chances, reverse=True)
                    ),
                    "step": step,
                }
            ),
        )
    )
    stream = st.fixed_dictionaries(
        {"samples": lists(st.integers(1, ticks), data)},
        optional={
            "kind": st.just("synthetic"),
            "arrivals": st.sampled_from(["bernoulli", "even"]),
            "memory": ranges(0, 1, exclude_max=True),
            "centre": ranges(-1e6, 1e6),
            "variance": ranges(0, 1e12),
            "noise_variance": ranges(0, 1e12),
            "drifts": st.sets(st.integers(1, ticks - 1)).map(sorted) if ticks > 1 else st.just([]),
        },
    )
    return Scenario.model_validate(
        {
            "name": draw(st.text(AWKWARD, min_size=1)),
            "ticks": ticks,
            "clients": math.lcm(data, on, off) * draw(count),
            "features": draw(st.integers(1, 2**31 - 1)),
            "kernel_width": draw(floats(1e-6, 1e6)),
            "step_size": draw(floats(0, 1e300, exclude_min=True)),
            "max_age": draw(st.integers(0, 10**6)),
            "test_samples": draw(st.integers(1, 2**31 - 1)),
            "stream": draw(stream),
            "availability": availability,
            "delay": delay,
        }
    )


@given(scenarios())
def test_any_scenario_written_and_read_is_itself(scenario: Scenario) -> None:
    assert Scenario.parse(scenario.to_toml(), "again") == scenario


@pytest.mark.parametrize("name", ["two\nlines", "a bell \a", "\x7f"])
def test_any_name_that_a_file_can_hold_is_written_back(name: str) -> None:
    scenario = Scenario.load("ideal").model_copy(update={"name": name})
    assert Scenario.parse(scenario.to_toml(), "again") == scenario


def test_whole_numbers_stand_for_real_ones() -> None:
    scenario = Scenario.parse(changed("kernel_width = 1.0", "kernel_width = 1"), "small")
    assert scenario == Scenario.parse(SMALL, "small")


NO_DRIFTS = "noise_variance = [0.01, 0.02]"  # the last line of the stream
NOT_INTEGER, NOT_NUMBER = "expected a whole number", "expected a number"
NOT_FINITE = "expected a finite number"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("ticks = 8", 'ticks = "8"', f"ticks is '8': {NOT_INTEGER}"),
        ("ticks = 8", "ticks = true", f"ticks is True: {NOT_INTEGER}"),
        ("ticks = 8", "ticks = 8.0", f"ticks is 8.0: {NOT_INTEGER}"),
        ("ticks = 8", "ticks = [8]", f"ticks is [8]: {NOT_INTEGER}"),
        ("ticks = 8", "ticks = 0", "ticks is 0: expected at least 1"),
        ("ticks = 8", "ticks = 2_147_483_648",
         "ticks is 2147483648: expected less than 2147483648"),
        ('name = "small"', "name = 3", "name is 3: expected a text"),
        ("kernel_width = 1.0", "kernel_width = true", f"kernel_width is True: {NOT_NUMBER}"),
        ("kernel_width = 1.0", "kernel_width = 0", "kernel_width is 0: expected at least 1e-06"),
        ("kernel_width = 1.0", "kernel_width = inf", f"kernel_width is inf: {NOT_FINITE}"),
        ("step_size = 0.4", "step_size = 0.0", "step_size is 0.0: expected more than 0"),
        ("samples = [4, 8]", "samples = [4, true]", f"stream.samples.1 is True: {NOT_INTEGER}"),
        ("samples = [4, 8]", "samples = [\n  4,\n  0,\n]",
         "stream.samples.1 is 0: expected at least 1"),
        ("samples = [4, 8]", "samples = 8", "stream.samples is 8: expected a list"),
        ("samples = [4, 8]", "samples = []", "stream.samples is empty: "),
        ('arrivals = "even"', 'arrivals = "evenly"',
         "stream.arrivals is 'evenly': expected 'bernoulli' or 'even'"),
        ("memory = [0.2, 0.9]", "memory = [0.2, 1.0]",
         "stream.memory.1 is 1.0: expected less than 1"),
        ("memory = [0.2, 0.9]", "memory = [0.9, 0.2]",
         "stream.memory is [0.9, 0.2]: expected [low, high]"),
        ("memory = [0.2, 0.9]", "memory = [0.2]", "stream.memory.1 is missing"),
        ("memory = [0.2, 0.9]", "memory = [0.2, 0.5, 0.9]", "stream.memory is [0.2, 0.5, 0.9]: "),
        (NO_DRIFTS, f"{NO_DRIFTS}\ndrifts = [3, 3]",
         "stream.drifts is [3, 3]: expected ticks that rise"),
        (NO_DRIFTS, f"{NO_DRIFTS}\ndrifts = [3, 8]",
         "stream.drifts has a drift at tick 8: the last of 8 ticks is 7"),
        ("mean_off = [4.0]", "mean_off = [inf]", f"availability.mean_off.0 is inf: {NOT_FINITE}"),
        ("mean_off = [4.0]", "mean_off = []", "availability.mean_off is empty: "),
        ("base = 0.6", "base = 1.0", "delay.base is 1.0: expected at most 0.999"),
        ("base = 0.6", "base = [0.6, 1.0]", "delay.base.1 is 1.0: expected at most 0.999"),
        ("base = 0.6", "base = []", "delay.base is empty: expected at least one entry"),
        ("step = 2", "step = [2, 2.5]", f"delay.step.1 is 2.5: {NOT_INTEGER}"),
    ],
)  # fmt: skip
def test_a_bad_value_is_told_with_its_key_and_line(old: str, new: str, says: str) -> None:
    at, said = complaint(changed(f"\n{old}\n", f"\n{new}\n"))
    assert at == new.removeprefix(f"{NO_DRIFTS}\n").split("\n")[0]
    assert said.startswith(says)


def test_a_drift_is_over_when_the_next_begins() -> None:
    gradual = f"{NO_DRIFTS}\ndrifts = [1, 4]\ndrift_ticks = "
    assert Scenario.parse(changed(NO_DRIFTS, f"{gradual}3"), "small").synthetic.drift_ticks == 3
    at, said = complaint(changed(NO_DRIFTS, f"{gradual}4"))
    assert at == "drift_ticks = 4"
    assert said == (
        "stream.drift_ticks is 4, so the drift at tick 1 is not over when the next begins, "
        "at tick 4: expected at most 3"
    )


@pytest.mark.parametrize("probability", ["1.5", "nan"])
def test_an_impossible_probability(probability: str) -> None:
    law = f'kind = "bernoulli"\nprobabilities = [0.5, {probability}]'
    at, said = complaint(changed('kind = "bursts"\nmean_on = [3.0, 2.0]\nmean_off = [4.0]', law))
    assert at == f"probabilities = [0.5, {probability}]"
    assert said.startswith("availability.probabilities.1 is ")


@pytest.mark.parametrize(
    ("line", "at", "says"),
    [
        ("ticks = 8", "", "ticks is missing"),
        ("mean_off = [4.0]", "[availability]  # who is there", "availability.mean_off is missing"),
        ("base = 0.6", "[delay]", "delay.base is missing"),
        ('kind = "bursts"', "[availability]  # who is there", "availability.kind is missing"),
    ],
)
def test_a_missing_key_is_told_with_its_table(line: str, at: str, says: str) -> None:
    assert complaint(changed(f"\n{line}\n", "\n")) == (at, says)


def test_a_missing_table() -> None:
    assert complaint(SMALL.split("[delay]")[0]) == ("", "delay is missing")
    assert complaint("") == ("", "name is missing")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[delay]", "[delays]", "unknown key 'delays': did you mean 'delay'? (known: name, "),
        ("ticks = 8", "tics = 8", "unknown key 'tics': did you mean 'ticks'? (known: name, "),
        ("base = 0.6", "basis = 0.6", "unknown key 'basis': did you mean 'base'? (known: kind, "),
        ("ticks = 8", "ticks = 8\nseed = 1", "unknown key 'seed' (known: name, "),
        ('kind = "bursts"', 'kind = "bursts"\nmean_of = [4.0]',
         "unknown key 'mean_of': did you mean 'mean_off'? (known: kind, mean_on, mean_off)"),
        # Keys and tables that are named like a kind.
        ("ticks = 8", "ticks = 8\nnone = 8", "unknown key 'none' (known"),
        ("step = 2", "step = 2\ngeometric = 0.2", "unknown key 'geometric' (known"),
        ("[delay]", "[recorded]\nfile = 'presence.csv'\n[delay]", "unknown key 'recorded' (known"),
        ('kind = "bursts"', 'kind = "burst"',
         "unknown availability.kind 'burst': did you mean 'bursts'? (known: bernoulli, bursts, "),
        ('kind = "stepped"', "kind = 3", "unknown delay.kind '3' (known: geometric, "),
    ],
)  # fmt: skip
def test_an_unknown_word_is_told_before_what_is_missing_and_suggests_the_nearest(
    old: str, new: str, says: str
) -> None:
    at, said = complaint(changed(f"\n{old}", f"\n{new}"))
    assert at in new.split("\n")
    assert at != old
    assert said.startswith(says)


def test_a_law_that_is_no_table() -> None:
    head = SMALL.split("[delay]")[0]
    at, said = complaint(head.replace("ticks = 8", "ticks = 8\ndelay = 3"))
    assert at == "delay = 3"
    assert said.startswith("delay is 3: expected keys with values")


MISFITS = [
    ("clients = 4", "clients = 5", ("[stream]", "samples = "),
     "stream.samples has 2 groups, which do not divide 5 clients evenly"),
    ("mean_on = [3.0, 2.0]", "mean_on = [3.0, 2.0, 1.0]", ("[availability]", "mean_on = "),
     "availability has 3 groups, which do not divide 4 clients evenly"),
    ("base = 0.6", "base = [0.6, 0.5, 0.4]", ("[delay]", "base = "),
     "delay has 3 groups, which do not divide 4 clients evenly"),
    ("base = 0.6\nstep = 2", "base = [0.6, 0.5]\nstep = [1, 2, 3, 4]", ("[delay]",),
     "base has 2 groups, but step has 4: expected lists of one length, or one number for all"),
    ("ticks = 8", "ticks = 7", ("[stream]", "samples = "),
     "stream.samples asks for 8 samples in 7 ticks: a client sees at most one sample per tick"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "places", "says"), MISFITS)
def test_numbers_that_do_not_fit_together(
    old: str, new: str, places: tuple[str, ...], says: str
) -> None:
    at, said = complaint(changed(old, new))
    assert says in said
    assert at.startswith(places)


HAZARDS = """\

[loss]
up = [0.1, 0.2]
down = 0.3

[outages]
mean_length = 5.0
mean_between = 20.0
share = 0.5

[battery]
capacity = [3, 4]
fill = 0.2
start = 0
"""


def test_what_befalls_contacts_is_read_and_written() -> None:
    small = Scenario.parse(SMALL + HAZARDS, "small")
    assert small.loss is not None
    assert small.outages is not None
    assert small.battery is not None
    assert small.loss.up == (0.1, 0.2)
    assert small.outages.share == 0.5
    assert (small.battery.capacity, small.battery.start) == ((3, 4), 0)
    assert HAZARDS in small.to_toml()
    assert Scenario.parse(small.to_toml(), "again") == small
    assert "loss" not in Scenario.parse(SMALL, "small").to_toml()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("down = 0.3", "down = 1.3", "loss.down is 1.3: expected at most 1"),
        ("up = [0.1, 0.2]", "up = [0.1, -0.2]", "loss.up.1 is -0.2: expected at least 0"),
        ("mean_length = 5.0", "mean_length = 0.5", "outages.mean_length is 0.5: expected at "),
        ("share = 0.5", "fraction = 0.5",
         "unknown key 'fraction' (known: mean_length, mean_between, share)"),
        ("capacity = [3, 4]", "capacity = [3, 2.5]", f"battery.capacity.1 is 2.5: {NOT_INTEGER}"),
    ],
)  # fmt: skip
def test_a_bad_value_of_what_befalls_contacts(old: str, new: str, says: str) -> None:
    text = SMALL + HAZARDS
    assert text.count(old) == 1
    at, said = complaint(text.replace(old, new))
    assert at == new
    assert said.startswith(says)


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("mean_between = 20.0\n", "", "[outages]", "outages.mean_between is missing"),
        ("start = 0", "start = 4", "[battery]",
         "start is 4: expected no more than the capacity, 3"),
        ("start = 0", "start = [1, 1, 1, 1]", "[battery]",
         "capacity has 2 groups, but start has 4: expected lists of one length, or one number "),
        ("up = [0.1, 0.2]", "up = [0.1, 0.2, 0.1]", "[loss]",
         "loss has 3 groups, which do not divide 4 clients evenly"),
    ],
)  # fmt: skip
def test_what_befalls_contacts_must_fit_together(old: str, new: str, at: str, says: str) -> None:
    found, said = complaint((SMALL + HAZARDS).replace(old, new))
    assert said.startswith(says)
    assert found == at


FAULTS = """
[[faults]]
kind = "scaled"  # a wrong unit
by = 10.0
clients = 0.25

[[faults]]
kind = "stuck"
clients = [0, 3]
start = 2
end = 6
what = 1

[[faults]]
kind = "liar"
push = 0.1
clients = 1
"""


def test_faults_are_read_and_written() -> None:
    scenario = Scenario.parse(SMALL + FAULTS, "fleet.toml")
    assert [fault.kind for fault in scenario.faults] == ["scaled", "stuck", "liar"]
    assert scenario.faults[1].clients == (0, 3)
    assert Scenario.parse(scenario.to_toml(), "again") == scenario
    assert Scenario.made(scenario.model_dump(), "") == scenario
    in_one_line = 'faults = [{kind = "liar", push = 0.1, clients = 1}]\n'
    assert Scenario.parse(in_one_line + SMALL, "fleet.toml").faults == scenario.faults[2:]


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("by = 10.0\n", "", "[[faults]]", "faults.0.by is missing"),
        ("by = 10.0", "bye = 10.0", "bye = 10.0", "unknown key 'bye': did you mean 'by'?"),
        (
            'kind = "liar"',
            'kind = "lier"',
            'kind = "lier"',
            "unknown faults.2.kind 'lier': did you mean 'liar'?",
        ),
        (
            "clients = 1\n",
            "clients = 1.5\n",
            "clients = 1.5",
            "faults.2.clients is 1.5: expected a share below 1, a count from 1 on, or a list of",
        ),
        ("clients = 1\n", "clients = []\n", "clients = []", "faults.2.clients is []: expected a"),
        ("[0, 3]", "[0, 0]", "clients = [0, 0]", "faults.1.clients is [0, 0]: a client is given"),
        ("[0, 3]", "[0, 4]", "clients = [0, 4]", "faults.1.clients is [0, 4], but there are 4 cli"),
        ("start = 2", "start = 8", "start = 8", "end is 6: expected a tick after the start, 8"),
        (
            "start = 2\nend = 6",
            "start = 8",
            "start = 8",
            "faults.1.start is 8: the last of 8 ticks is 7",
        ),
        ("what = 1", "what = 4", "what = 4", "faults.1.what is 4: expected target or an input (0"),
    ],
)
def test_a_bad_fault_is_told_with_its_key_and_line(old: str, new: str, at: str, says: str) -> None:
    assert FAULTS.count(old) == 1
    line, said = complaint(SMALL + FAULTS.replace(old, new))
    assert line.startswith(at) or (at == "start = 8" and line == "[[faults]]")
    assert said.startswith(says)


def test_a_mistake_in_a_fault_is_told_of_the_right_one() -> None:
    twice = SMALL + FAULTS + FAULTS.replace("push = 0.1", "push = true")
    with pytest.raises(ScenarioError) as refusal:
        Scenario.parse(twice, "fleet.toml")
    number = int(str(refusal.value).split(":")[1])
    assert twice.splitlines()[number - 1] == "push = true"


def test_what_just_fits() -> None:
    text = changed("mean_off = [4.0]", "mean_off = [4.0, 3.0, 2.0, 1.0]")
    assert Scenario.parse(text, "small").availability.model_dump()["mean_off"] == (4, 3, 2, 1)
    full = Scenario.parse(changed("samples = [4, 8]", "samples = [8, 8, 8, 8]"), "small")
    assert full.synthetic.samples == (8, 8, 8, 8)
    drifts = Scenario.parse(changed(NO_DRIFTS, f"{NO_DRIFTS}\ndrifts = [1, 7]"), "small")
    assert drifts.synthetic.drifts == (1, 7)


@pytest.mark.parametrize(
    ("base", "read"), [("0.6", 0.6), ("[0.6]", (0.6,)), ("[0.6, 0.5]", (0.6, 0.5))]
)
def test_a_number_by_group_is_written_as_it_was_given(base: str, read: Any) -> None:
    law = Scenario.parse(changed("base = 0.6", f"base = {base}"), "small")
    assert law.delay.model_dump() == {"kind": "stepped", "base": read, "step": 2}
    assert f"\nbase = {base}\n" in law.to_toml()
    assert Scenario.parse(law.to_toml(), "again") == law


@pytest.mark.parametrize(
    "delay",
    [
        'delay = { kind = "geometric", base = 2.0 }',
        'delay.base = 2.0\ndelay.kind = "geometric"',
    ],
    ids=["inline", "dotted"],
)
def test_the_line_is_found_however_the_table_is_written(delay: str) -> None:
    text = SMALL.split("[delay]")[0].replace("ticks = 8", f"ticks = 8\n{delay}")
    at, said = complaint(text)
    assert at == delay.split("\n")[0]
    assert said.startswith("delay.base is 2.0: ")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("ticks = 8", "ticks = ", 3),
        ("[delay]", "[delay", 25),
    ],
)
def test_what_is_not_toml_is_told_with_the_parser_s_line(old: str, new: str, line: int) -> None:
    _, said = complaint(changed(old, new))
    assert said.startswith("not valid TOML: ")
    assert f"(at line {line}, column " in said


def refusal_to_load(name: str | Path) -> str:
    with pytest.raises(ScenarioError) as refusal:
        Scenario.load(name)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_an_unknown_preset_suggests_the_nearest() -> None:
    says = refusal_to_load("setting1")
    assert says.startswith("unknown scenario 'setting1': did you mean 'setting-1'? (known: ")
    assert says.endswith(", and there is no file of that name")
    assert "did you mean" not in refusal_to_load("nowhere.toml")


def test_a_path_that_holds_no_text(tmp_path: Path) -> None:
    assert refusal_to_load(tmp_path) == f"{tmp_path} cannot be read: Is a directory"
    latin = tmp_path / "latin.toml"
    latin.write_bytes('name = "Zoë"'.encode("latin-1"))
    assert refusal_to_load(latin).startswith(f"{latin} cannot be read as text: ")
    assert refusal_to_load("\0").startswith(r"'\x00' cannot be read: ")


def test_a_mistake_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(changed("ticks = 8", "ticks = 0"), encoding="utf-8")
    assert refusal_to_load(path).startswith(f"{path}:3: ticks is 0: ")
    path.write_text(changed("ticks = 8", "ticks = "), encoding="utf-8")
    assert refusal_to_load(path).startswith(f"{path}: not valid TOML: ")


RECORDED = {
    "availability": (
        'kind = "bursts"\nmean_on = [3.0, 2.0]\nmean_off = [4.0]',
        'kind = "recorded"\nfile = "table.csv"',
    ),
    "delay": ('kind = "stepped"\nbase = 0.6\nstep = 2', 'kind = "recorded"\nfile = "table.csv"'),
}


@pytest.mark.parametrize("law", RECORDED)
def test_a_table_is_read_from_beside_the_scenario_wherever_one_stands(
    law: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "fleet.toml").write_text(changed(*RECORDED[law]), encoding="utf-8")
    table = np.arange(32).reshape(8, 4) % 2
    np.savetxt(home / "table.csv", table, delimiter=",", fmt="%d")
    monkeypatch.chdir(elsewhere)
    for path in (home / "fleet.toml", Path("..", "home", "fleet.toml")):
        read = getattr(Scenario.load(path), law)
        assert isinstance(read, Recorded)
        np.testing.assert_array_equal(read.table(8, 4), table)


def test_an_absolute_path_is_left_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.zeros((8, 4), dtype=np.int64))
    text = changed(*RECORDED["delay"]).replace("table.csv", str(tmp_path / "table.npy"))
    read = Scenario.parse(text, "fleet.toml", Path("elsewhere"))
    assert read.delay == Recorded(file=str(tmp_path / "table.npy"))
    assert Scenario.parse(read.to_toml(), "again") == read


@pytest.mark.parametrize("law", RECORDED)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "does not exist"),
        (
            "0,1,0,1,0\n" * 8,
            "has shape (8, 5): expected one row per tick and one column per client",
        ),
    ],
)
def test_a_bad_table_is_told_with_its_file_and_the_place_of_its_law(
    content: str | None, says: str, law: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    at, said = complaint(changed(*RECORDED[law]), tmp_path)
    assert at == 'file = "table.csv"'
    assert said.startswith(f"{law}.file: {path} {says}")


def test_presence_is_0_or_1_but_a_delay_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("0,1,0,2\n" * 8, encoding="utf-8")
    _, said = complaint(changed(*RECORDED["availability"]), tmp_path)
    assert said.endswith("table.csv holds 2: expected at most 1")
    read = Scenario.parse(changed(*RECORDED["delay"]), "fleet.toml", tmp_path).delay
    assert isinstance(read, Recorded)
    assert read.table(8, 4).tolist() == [[0, 1, 0, 2]] * 8


@pytest.mark.parametrize("law", RECORDED)
def test_a_table_s_name_has_no_nul(law: str, tmp_path: Path) -> None:
    text = changed(*RECORDED[law]).replace('"table.csv"', r'"\u0000"')
    assert complaint(text, tmp_path) == (
        r'file = "\u0000"',
        rf"{law}.file is '\x00': expected the name of a file, without NUL characters",
    )


def test_values_that_do_not_fit_are_told_with_their_origin() -> None:
    with pytest.raises(ScenarioError, match=r"^me: stream\.samples has 4 groups, which do not"):
        Scenario.made({**PAPER["setting-1"], "clients": 30}, "me")


@pytest.mark.parametrize("origin", ["me", ""])
def test_what_has_no_keys_at_all_is_told_without_one(origin: str) -> None:
    says = rf"^{origin and 'me: '}\[1\]: expected keys with values"
    with pytest.raises(ScenarioError, match=says):
        Scenario.made([1], origin)  # type: ignore[arg-type]  # what JSON may hold


def test_true_and_false_are_written_as_toml_has_them() -> None:
    law = {"kind": "law", "on": True, "off": False, "each": [True, 1]}
    text = to_toml({"name": "n", "yes": True, "stream": law})
    assert tomllib.loads(text) == {"name": "n", "yes": True, "stream": law}


NEW_KEYS = 'max_age = 3\ntick = "90min"\ncontacts = 0.25\n'


def test_how_long_a_tick_is_and_which_contacts_are_used() -> None:
    said = Scenario.parse(SMALL.replace("max_age = 3\n", NEW_KEYS), "s")
    assert (said.tick_seconds, said.contacts) == (5400.0, 0.25)
    assert Scenario.parse(said.to_toml(), "s") == said
    unsaid = Scenario.parse(SMALL, "s")
    assert (unsaid.tick_seconds, unsaid.contacts) == (None, None)
    assert unsaid.model_dump().keys() == said.model_dump().keys() - {"tick", "contacts"}
    assert unsaid.to_toml() == said.to_toml().replace('tick = "90min"\ncontacts = 0.25\n', "")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("tick", '"soon"', "tick is 'soon': expected a length such as 15min, 1h or 1d (ms, s, min"),
        ("contacts", "0.0", "contacts is 0.0: expected more than 0"),
        ("contacts", "1.5", "contacts is 1.5: expected at most 1"),
    ],
)
def test_no_such_tick_and_no_such_share(key: str, value: str, says: str) -> None:
    line, said = complaint(SMALL.replace("max_age = 3\n", f"max_age = 3\n{key} = {value}\n"))
    assert line == f"{key} = {value}"
    assert said.startswith(says)


# Other values, from Python


def test_other_values_are_checked_like_those_of_a_file() -> None:
    scenario = small_scenario()
    other = scenario.replace(name="other", clients=24, **{"loss.up": 0.5, "delay.base": 0.1})
    assert (other.name, other.clients, other.loss and other.loss.up) == ("other", 24, 0.5)
    assert other.delay == scenario.delay.model_copy(update={"base": 0.1})
    assert scenario == small_scenario()  # itself it stays as it is
    assert scenario.replace() == scenario


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"ticks": 20},
            r"^stream\.samples asks for 150 samples in 20 ticks: .* give fewer samples",
        ),
        ({"clients": 7}, r"^stream\.samples has 3 groups, which do not divide 7 clients evenly"),
        ({"ticks": 0}, "^ticks is 0: expected at least 1$"),
        ({"tikcs": 20}, r"^unknown key 'tikcs': did you mean 'ticks'\?"),
        ({"ticks.all": 3}, "^ticks.all is no key: ticks is 150, which has no keys$"),
        ({"delay": 3}, "^delay is 3: expected keys with values$"),
    ],
)
def test_other_values_that_cannot_be(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        small_scenario().replace(**changes)


def test_what_a_table_says_is_read_again_from_another_one() -> None:
    air = Scenario.load("air-quality")
    assert air.replace(step_size=0.1).ticks == air.ticks
    later = air.replace(**{"stream.calibration": "30d"})
    assert air.ticks - later.ticks == 10 * 24
    assert later.kernel_width == air.kernel_width == 3.0  # given in the file, and kept
    usual = Scenario.made({k: v for k, v in air.model_dump().items() if k != "kernel_width"}, "")
    again = usual.replace(**{"stream.calibration": "30d"})
    assert usual.kernel_width != again.kernel_width == read(again.table).kernel_width
    with pytest.raises(ScenarioError, match=r"^ticks is 20, but the table has 1368: leave it out$"):
        air.replace(ticks=20)
