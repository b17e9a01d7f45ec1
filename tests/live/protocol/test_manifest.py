"""What a fleet agrees on, and what cannot be followed."""

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.features import Ranges, draw_map
from paofed.core.random import key_of
from paofed.errors import InputError
from paofed.live.protocol.manifest import LONGEST_AGE, Manifest, short
from paofed.live.protocol.quantity import ManifestError, Quantity
from paofed.live.protocol.served import served_names
from tests.live.fleets import manifest


def as_json(**changes: Any) -> str:
    return json.dumps({**json.loads(manifest().to_json()), **changes})


def refusal(text: str | bytes) -> str:
    with pytest.raises(InputError) as refused:
        Manifest.from_json(text)
    says = str(refused.value)
    assert "\n" not in says
    return says


printable = st.characters(
    exclude_categories=("C", "Z"), include_characters=" ", exclude_characters=',"'
)
names = st.text(printable, min_size=1, max_size=5).filter(lambda text: text == text.strip())
measured = st.builds(Quantity, name=names, offset=st.floats(-1e6, 1e6), scale=st.floats(1e-6, 1e6))


def distinct(target: str) -> st.SearchStrategy[tuple[Quantity, ...]]:
    inputs = measured.filter(lambda quantity: quantity.name != target)
    some = st.lists(inputs, min_size=1, max_size=3, unique_by=lambda quantity: quantity.name)
    return some.map(tuple)


@given(
    st.builds(
        manifest,
        algorithm=st.sampled_from([name for name in served_names() if name != "online-fedsgd"]),
        features=st.integers(5, 12),
        shared=st.integers(1, 5),
        kernel_width=st.floats(1e-3, 1e3),
        seed=st.integers(0, 2**64 - 1),
        step_size=st.floats(1e-6, 10.0),
        max_age=st.integers(0, LONGEST_AGE),
        tick_seconds=st.floats(1e-3, 1e6),
        start=st.floats(1e-3, 1e10),
        epoch=st.integers(0, 255),
        inputs=distinct("the target"),
        target=st.builds(Quantity, name=st.just("the target"), offset=st.floats(-1e6, 1e6)),
    )
)
def test_it_comes_back_from_json_as_it_was(agreed: Manifest) -> None:
    text = agreed.to_json()
    assert Manifest.from_json(text) == agreed
    assert Manifest.from_json(text.encode()) == agreed


@pytest.mark.parametrize("name", served_names())
def test_every_served_row_is_one_exchange_per_contact(name: str) -> None:
    agreed = manifest(algorithm=name, shared=8 if name == "online-fedsgd" else 2)
    assert agreed.row.name == name
    assert (agreed.row.exchange, agreed.row.step_size, agreed.row.max_age) == ("live", 0.4, 4)
    assert agreed.up.shared == agreed.down.shared == agreed.shared


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pao-fed-c0", "it sends back the window it has just received, which takes two round"),
        ("pao-fed-u0", "it sends back the window it has just received, which takes two round"),
        ("pso-fed", "its server picks who takes part before any contact"),
        ("online-fed", "its server picks who takes part before any contact"),
        ("fed-ridge", "no live fleet keeps copies of sums yet"),
    ],
)
def test_rows_that_cannot_be_served_say_why(name: str, why: str) -> None:
    says = refusal(as_json(algorithm=name))
    assert says.startswith(f"{name} cannot be served: {why}")
    assert says.endswith(f"(served: {', '.join(served_names())})")


def test_the_map_is_the_one_that_every_engine_draws() -> None:
    agreed = manifest(seed=12345, kernel_width=0.7)
    ours, theirs = agreed.fourier_map, draw_map(key_of(12345), inputs=2, features=8, width=0.7)
    assert ours.frequencies.tobytes() == theirs.frequencies.tobytes()
    assert ours.phases.tobytes() == theirs.phases.tobytes()


def test_inputs_are_scaled_as_agreed() -> None:
    assert manifest().scaled(np.array([3.0, 4.5])).tolist() == [3.0, 2.0]
    many = manifest().scaled(np.array([[3.0, 4.5], [0.0, 0.5]]))
    assert many.tolist() == [[3.0, 2.0], [0.0, 0.0]]


def test_probes_are_z_of_minus_one_zero_and_one() -> None:
    agreed = manifest()
    x = np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]])
    assert json.loads(agreed.to_json())["probes"] == np.round(agreed.fourier_map(x), 6).tolist()


def test_probes_are_written_with_few_digits() -> None:
    text = manifest(features=200).to_json()
    probes = json.loads(text)["probes"]
    assert max(len(repr(value)) for row in probes for value in row) <= len("-0.123456")
    assert len(text) < 200 * 3 * len("-0.123456, ") + 1000
    assert Manifest.from_json(text) == manifest(features=200)


@pytest.mark.parametrize(
    "text",
    ["", "{", "features = 8", b"\xff\xfe", b"\x00", "[]", "null", "3", '"manifest"', "[" * 100_000],
    ids=lambda text: repr(text)[:12],
)
def test_what_is_no_json_object(text: str | bytes) -> None:
    assert re.match("the manifest is not (JSON: |a JSON object$)", refusal(text))


def test_an_unknown_key_is_told_with_the_nearest_one() -> None:
    says = refusal(as_json(kernel_with=1.0))
    assert says.startswith("unknown manifest key 'kernel_with': did you mean 'kernel_width'?")


@pytest.mark.parametrize(
    "key", [key for key in json.loads(as_json()) if key not in ("probes", "wire")]
)
def test_no_key_may_be_missing(key: str) -> None:
    values = json.loads(as_json())
    del values[key]
    assert refusal(json.dumps(values)) == f"the manifest has no {key!r}"


@pytest.mark.parametrize("key", ["features", "shared", "max_age", "seed", "epoch"])
@pytest.mark.parametrize("value", [2.0, "2", None, True, [2]])
def test_whole_numbers(key: str, value: object) -> None:
    says = refusal(as_json(**{key: value}))
    assert says == f"the manifest's {key} is {value!r}: expected a whole number"


@pytest.mark.parametrize("key", ["kernel_width", "tick_seconds", "start", "step_size"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "1", None, True, [1.0]])
def test_finite_numbers_above_0(key: str, value: object) -> None:
    says = refusal(as_json(**{key: value}))
    assert says == f"the manifest's {key} is {value!r}: expected a finite number above 0"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("kernel_width", 1e-320, "1e-06 to 1e+06"),
        ("kernel_width", 1e7, "1e-06 to 1e+06"),
        ("features", 0, "1 to 1,000,000"),
        ("features", -3, "1 to 1,000,000"),
        ("features", 1_000_001, "1 to 1,000,000"),
        ("features", 10**12, "1 to 1,000,000"),
        ("epoch", -1, "0 to 255"),
        ("epoch", 256, "0 to 255"),
        ("seed", -1, "0 to 2^64 - 1"),
        ("seed", 2**64, "0 to 2^64 - 1"),
        ("max_age", -1, "0 to 200"),
        ("max_age", 201, "0 to 200"),
        ("inputs", (), "at least one input"),
    ],
)
def test_ranges(key: str, value: object, expected: str) -> None:
    assert refusal(as_json(**{key: value})).endswith(f" {value!r}: expected {expected}")


@pytest.mark.parametrize(
    ("key", "value"), [("max_age", 0), ("max_age", 200), ("epoch", 255), ("tick_seconds", 0.001)]
)
def test_the_ends_of_the_ranges_are_in_them(key: str, value: float) -> None:
    assert getattr(Manifest.from_json(as_json(**{key: value})), key) == value


@pytest.mark.parametrize("value", [0.0009, 1e-300])
def test_a_tick_is_no_shorter_than_a_millisecond(value: float) -> None:
    says = refusal(as_json(tick_seconds=value))
    assert says == f"the manifest's tick_seconds is {value!r}: expected at least 0.001 seconds"


@pytest.mark.parametrize(
    "name",
    ["", " ", " a", "a ", "a,b", 'a"b', "two\nlines", "\t", "bell\a", "\u2028", None, 5, ["a"]],
)
@pytest.mark.parametrize("where", ["target", "inputs"])
def test_a_name_can_stand_in_the_header_of_a_table(where: str, name: object) -> None:
    scaling = {"name": name}
    says = refusal(as_json(**{where: [scaling] if where == "inputs" else scaling}))
    assert says == f"the manifest's name of a number is {name!r}: expected text without , or \""


@pytest.mark.parametrize(
    ("inputs", "target"), [(["a", "a"], "y"), (["a", "b", "a"], "y"), (["a", "y"], "y")]
)
def test_every_name_is_given_once(inputs: list[str], target: str) -> None:
    changes = {"inputs": [{"name": name} for name in inputs], "target": {"name": target}}
    says = refusal(as_json(**changes))
    assert says == f"the manifest's list of names is {[*inputs, target]!r}: expected each one once"


@pytest.mark.parametrize(
    "scaling",
    [
        {"name": "t", "scale": 0.0},
        {"name": "t", "scale": -1.0},
        {"name": "t", "scale": float("inf")},
        {"name": "t", "scale": float("nan")},
        {"name": "t", "offset": float("nan")},
        {"name": "t", "offset": float("inf")},
    ],
)
@pytest.mark.parametrize("where", ["target", "inputs"])
def test_scaling_is_finite_and_positive(scaling: dict[str, object], where: str) -> None:
    says = refusal(as_json(**{where: [scaling] if where == "inputs" else scaling}))
    assert says.startswith("the manifest's scal")
    assert says.endswith(("expected a finite number", "expected a number above 0"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target", {"name": "t", "sclae": 1.0}),
        ("target", {}),
        ("target", None),
        ("target", "t"),
        ("inputs", None),
        ("inputs", 3),
        ("inputs", [3]),
        ("inputs", {"name": "t"}),
        ("inputs", ["t"]),
    ],
)
def test_scaling_that_cannot_be_read(key: str, value: object) -> None:
    says = refusal(as_json(**{key: value}))
    assert says.startswith("the manifest's scaling cannot be read: ")


@pytest.mark.parametrize(
    ("name", "shared", "text"),
    [
        ("pao-fed-u1", 9, "shared is 9, but the model has only 8 features"),
        ("pao-fed-u1", 0, "shared is 0"),
        ("pao-fed-u1", -1, "shared is -1"),
        ("online-fedsgd", 4, "the manifest's shared is 4: expected 8 for online-fedsgd"),
    ],
)
def test_what_is_shared_must_fit(name: str, shared: int, text: str) -> None:
    assert text in refusal(as_json(algorithm=name, shared=shared))


def test_an_unknown_algorithm_is_told_with_the_nearest_one() -> None:
    says = refusal(as_json(algorithm="pao-fed-u3"))
    assert says.startswith("unknown algorithm 'pao-fed-u3': did you mean 'pao-fed-u")


PROBES = json.loads(as_json())["probes"]


@pytest.mark.parametrize(
    "probes",
    [
        None,
        [],
        "abc",
        {"a": 1},
        [[1.0], [2.0, 3.0]],
        PROBES[:2],
        [row[:-1] for row in PROBES],
        [[value + 2e-5 for value in row] for row in PROBES],
        [*PROBES[:2], [*PROBES[2][:-1], float("nan")]],
    ],
)
def test_another_map_is_noticed(probes: object) -> None:
    says = refusal(as_json(probes=probes))
    assert says == "the Fourier map drawn here is not the manifest's: upgrade paofed"


def test_the_last_bits_of_a_cosine_may_differ() -> None:
    probes = [[value + 5e-6 for value in row] for row in PROBES]
    assert Manifest.from_json(as_json(probes=probes)) == manifest()


plain = st.one_of(
    st.none(), st.booleans(), st.integers(-300, 300), st.floats(), st.text(max_size=3)
)
keys = st.sampled_from(["name", "label"])
anything = st.one_of(plain, st.lists(plain, max_size=2), st.dictionaries(keys, plain))
# A name that is no text: see below. A width near 0 overflows, which is a warning and then refused.
others = sorted(set(json.loads(as_json())) - {"algorithm", "kernel_width"})


@given(st.sampled_from(others), anything)
def test_any_value_is_taken_or_refused_in_one_line(key: str, value: object) -> None:
    try:
        agreed = Manifest.from_json(as_json(**{key: value}))
    except InputError as error:
        refused = error
    else:
        assert Manifest.from_json(agreed.to_json()) == agreed
        return
    assert "\n" not in str(refused)


@pytest.mark.parametrize(
    "change",
    [
        {"target": {"name": "t", "offset": "x"}},
        {"target": {"name": "t", "scale": None}},
        {"target": {"name": 5}},
        {"step_size": 10**400},
        {"algorithm": ["pao-fed-u1"]},
        {"algorithm": 5},
        {"algorithm": None},
        {"probes": [[10**400]]},
    ],
    ids=lambda change: str(change)[:40],
)
def test_wrong_types_are_refused_as_everything_else(change: dict[str, object]) -> None:
    with pytest.raises(ManifestError):
        Manifest.from_json(as_json(**change))


LINEAR = ((-1.0, 0.5), (0.0, 3.0))
BEGINNING = {"linear", "personal", "start_model", "first_interval"}
START = (0.5, -0.25, 0.1, 0.0, 1.0, 2.0, -3.5, 1e6)


def begun(**changes: object) -> str:
    """A manifest with linear terms and a model to begin with, with some values changed."""
    agreed = manifest(linear=LINEAR, start_model=START)
    return json.dumps({**json.loads(agreed.to_json()), **changes})


@pytest.mark.parametrize(
    "new",
    [
        {"linear": LINEAR},
        {"start_model": START},
        {"linear": LINEAR, "personal": True},
        {"first_interval": 0.3},
        {"linear": LINEAR, "start_model": START, "first_interval": 2},
    ],
)
def test_what_a_fleet_begins_with_comes_back_from_json(new: dict[str, Any]) -> None:
    agreed = manifest(**new)
    assert Manifest.from_json(agreed.to_json()) == agreed
    found = json.loads(agreed.to_json())
    assert found["wire"] == 3  # so that an earlier paofed says: upgrade paofed
    assert {key for key in BEGINNING if key in found} == set(new)


def test_a_manifest_without_is_written_as_before() -> None:
    found = json.loads(as_json())
    assert found["wire"] == 2
    assert not BEGINNING & set(found)


def test_linear_terms_are_those_of_the_map_that_every_engine_draws() -> None:
    agreed = manifest(linear=LINEAR)
    ranges = Ranges(np.array([-1.0, 0.0]), np.array([0.5, 3.0]))
    theirs = draw_map(key_of(1), inputs=2, features=8, width=1.0, ranges=ranges)
    x = np.random.default_rng(0).normal(size=(5, 2))
    assert agreed.fourier_map(x).tobytes() == theirs(x).tobytes()
    np.testing.assert_allclose(agreed.probes(), theirs(np.array([[-1.0], [0], [1]]) * [1, 1]))


def test_a_fleet_begins_with_numbers_as_they_travel() -> None:
    w = np.sin(np.arange(8.0))
    agreed = manifest(start_model=short(w))
    np.testing.assert_array_equal(agreed.begins_with, w.astype("<f4").astype(float))
    assert max(len(str(value)) for value in short(w)) < len(str(float(w.astype("<f4")[1])))
    np.testing.assert_array_equal(manifest().begins_with, np.zeros(8))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"linear": [[-1.0, 0.5]]},
            "the manifest's linear is ((-1.0, 0.5),): expected [low, high]",
        ),
        ({"linear": [[1.0, 0.5], [0.0, 1.0]]}, "the manifest's linear is ((1.0, 0.5), (0.0, 1.0))"),
        ({"linear": [[0.0], [0.0, 1.0]]}, "the manifest's linear is ((0.0,), (0.0, 1.0)): "),
        ({"linear": [0.0, 1.0]}, "the manifest's linear is (0.0, 1.0): expected [low, high]"),
        ({"linear": [[0.0, "a"], [0.0, 1.0]]}, "the manifest's linear is ((0.0, 'a'), (0.0"),
        ({"linear": 3}, "the manifest's linear is 3: expected a list"),
        ({"start_model": [1.0]}, "the manifest's start_model is (1.0,): expected 8 numbers of at"),
        ({"start_model": [2e6] * 8}, "the manifest's start_model is (2000000.0, 2"),
        ({"start_model": ["1"] * 8}, "the manifest's start_model is ('1', '1', '1'"),
        ({"start_model": "abc"}, "the manifest's start_model is 'abc': expected a list"),
        ({"personal": 1}, "the manifest's personal is 1: expected true with linear, or none"),
        ({"personal": False}, "the manifest's personal is False: expected true with linear"),
        ({"personal": True, "linear": None}, "the manifest's personal is True: expected true with"),
        ({"first_interval": 0.0}, "the manifest's first_interval is 0.0: expected a number above"),
        ({"first_interval": "wide"}, "the manifest's first_interval is 'wide': expected a number"),
        ({"features": 4, "shared": 2}, "the manifest's features is 4: expected at least 5, since"),
        ({"wire": 4}, "the fleet speaks wire version 4, this paofed 3: upgrade paofed"),
    ],
)
def test_what_a_fleet_cannot_begin_with(changes: dict[str, object], says: str) -> None:
    assert refusal(begun(**changes)).startswith(says)


def test_other_ranges_are_another_map() -> None:
    other = [[-1.0, 0.5], [0.0, 3.5]]
    assert "is not the manifest's" in refusal(begun(linear=other))
    agreed = manifest(linear=LINEAR)
    assert agreed.means_the_same(manifest(linear=LINEAR, start_model=START))
    assert not agreed.means_the_same(manifest(linear=((-1.0, 0.5), (0.0, 3.5))))
    assert not agreed.means_the_same(manifest())
