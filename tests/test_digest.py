"""Values are told apart by what they are, in every process alike."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.algorithms.setup import resolve
from paofed.core.rules import Newest
from paofed.digest import digest
from paofed.errors import InputError
from paofed.simulate.spread.identity import content
from tests.methods import OWN

MINE = """
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

import beside
from paofed import algorithm
from paofed.core.parts import Learner

RATE = 0.5

class State(NamedTuple):
    w: np.ndarray
    seen: np.ndarray

@cache
def slower(age):
    return RATE * age

def learn(state, z, y, mu, tick):
    import later
    if tick in {"one", "two", "three"}:
        return state
    return State(state.w + mu * slower(1.0) * beside.step(z) * later.sign(y), state.seen)

def begin(features):
    return State(np.zeros(features), np.zeros(1))

mine = replace(algorithm("pao-fed-u1"), name="mine", learner=Learner(init=begin, learn=learn))
"""
FILES = {
    "mine.py": MINE,
    "beside.py": "def step(z):\n    return twice(z)\n\ndef twice(z):\n    return 2 * z\n",
    "later.py": "def sign(y):\n    return 1 if y > 0 else -1\n",
}
TELL = """
import sys
from paofed.algorithms.setup import resolve
from paofed.digest import digest
print(digest(resolve(sys.argv[1] + "/mine.py:mine").learner))
"""


def told_by_a_new_process(folder: Path, **changed: str) -> str:
    """The digest of the method of these files; other names for other texts in them."""
    folder.mkdir(exist_ok=True)
    for name, text in FILES.items():
        for old, new in changed.items():
            text = text.replace(old, new)
        (folder / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-c", TELL, str(folder)]
    made = subprocess.run(  # noqa: S603 (our own program)
        command, capture_output=True, text=True, check=True, env=environment
    )
    return made.stdout


def test_a_method_from_a_file_is_the_same_in_every_process_until_its_code_changes(
    tmp_path: Path,
) -> None:
    first = told_by_a_new_process(tmp_path)
    assert told_by_a_new_process(tmp_path) == first
    # A function that one calls calls another, in a module beside, or in one imported on the way.
    for old, new in (("2", "3"), ("y > 0", "y >= 0")):
        assert told_by_a_new_process(tmp_path, **{old: new}) != first


LOOKING = """
import importlib, operator, sys
from operator import attrgetter as got

import {0}helpers as helpers
import {0}lookups as lookups

NAME, LOOK = "{0}helpers", getattr

def plain(x): return helpers.f(x)
def by_getattr(x): return getattr(helpers, "f")(x)
def by_another_name(x): return LOOK(helpers, "f")(x)
def by_vars(x): return vars(helpers)["f"](x)
def by_dict(x): return helpers.__dict__["f"](x)
def by_caller(x): return operator.methodcaller("f", x)(helpers)
def by_getter(x): return got("f")(helpers)(x)
def by_import(x): return importlib.import_module("{0}helpers").f(x)
def by_import_of_a_constant(x): return importlib.import_module(NAME).f(x)
def by_modules(x): return sys.modules["{0}helpers"].f(x)
def by_another_module(x): return lookups.found(helpers, "f")(x)
def by_one_not_imported(x): return importlib.import_module("{0}package.late").f(x)
"""


def test_what_code_looks_up_in_other_modules_counts_with_all_that_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    begin = "looked_up_"  # so that no other module has such a name
    (tmp_path / f"{begin}lookups.py").write_text("def found(a, b): return getattr(a, b)\n")
    (tmp_path / f"{begin}helpers.py").write_text(f"def f(x):\n    from {begin}deeper import g\n")
    (tmp_path / f"{begin}package").mkdir()
    (tmp_path / f"{begin}package" / "late.py").write_text(f"import {begin}deeper\n")
    (tmp_path / f"{begin}deeper.py").write_text("def g(x): return x\n")
    (tmp_path / f"{begin}own.py").write_text(LOOKING.format(begin))
    own = vars(import_module(f"{begin}own"))
    functions = {name: one for name, one in own.items() if name.startswith(("by_", "plain"))}
    before = {name: digest(one) for name, one in functions.items()}
    assert before == {name: digest(one) for name, one in functions.items()}
    compiled = digest(own["by_getattr"], looks_up=False)
    (tmp_path / f"{begin}deeper.py").write_text("def g(x): return 2 * x\n")
    assert digest(own["by_getattr"], looks_up=False) == compiled
    same = {name for name, one in functions.items() if digest(one) == before[name]}
    assert same == {"plain"}  # which is told by what it calls, as that was imported
    assert f"{begin}package.late" not in sys.modules  # nothing is imported to be told


def test_a_module_that_finds_its_names_itself_is_told_by_how() -> None:
    def asking(constant: float) -> Callable[[], Any]:
        module = ModuleType("finding_names")
        vars(module)["__getattr__"] = rule(constant)
        return lambda: module.found

    assert digest(asking(1.0)) == digest(asking(1.0)) != digest(asking(2.0))


def rule(constant: float, given: Any = None) -> Callable[[float], float]:
    def weigh(age: float) -> float:
        return constant * age if given is None else age

    return weigh


class Pair(NamedTuple):
    one: int
    other: int


@dataclass
class Counted:
    count: int


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held


@cache
def remembered(age: int) -> int:
    return age + 1


VALUES: list[Any] = [
    1, 1.0, True, "1", b"1", None, (), [], {}, (1,), [1], {1: 2}, {2: 1}, {1}, frozenset({1}),
    (1, 2), Pair(1, 2), Pair(2, 1), Counted(1), Counted(2), Slotted(1), Slotted(2),
    np.zeros(2), np.zeros(3), np.zeros(2, dtype=np.float32), np.zeros((2, 1)), np.float64(1),
    rule(1.0), rule(2.0), rule(1.0, "x"), partial(rule(1.0), 1), partial(rule(1.0), 2),
    lambda age: age, lambda age: age + 1,
    lambda age, more=1: age + more, lambda age, more=2: age + more,
    lambda age, *, more=1: age + more, lambda age, *, more=2: age + more,
    len, max, str.upper, [].append, np.add, np.multiply, remembered, Pair, Counted, Lock,
    algorithm("pao-fed-u1"), algorithm("pao-fed-c1"), algorithm("pao-fed-u1", shared=8), OWN,
    resolve("fed-prox"), resolve("fed-buff"),
    replace(OWN, server=Newest(rule(1.0))), replace(OWN, server=Newest(rule(0.5))),
]  # fmt: skip


def test_values_that_differ_are_told_apart() -> None:
    told: dict[str, Any] = {}
    for value in VALUES:
        assert told.setdefault(digest(value), value) is value
        assert digest(value) == digest(value)


def test_what_is_made_again_is_the_same() -> None:
    def made() -> list[Any]:
        shared: Algorithm = algorithm("pao-fed-u2", shared=8)
        return [shared, {"b": rule(1.5, np.arange(3)), "a": {3, 1, 2}}, Slotted([Counted(3)])]

    assert digest(made()) == digest(made())


def test_a_value_may_hold_itself() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    other: list[Any] = [2]
    other.append(other)
    assert digest(ring) != digest(other)


def test_what_cannot_be_told_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot be told apart from others of its kind$"):
        digest(rule(1.0, Lock()))
    with pytest.raises(InputError, match=r"cannot be told apart .* run without one"):
        content(rule(1.0, Lock()))


def written(number: int, module: str) -> Callable[[], int]:
    space: dict[str, Any] = {"__name__": module}
    exec(f"def two(): return {number}", space)  # noqa: S102 (a text of this test)
    made: Callable[[], int] = space["two"]
    return made


def test_modules_of_the_package_count_by_name_where_they_are_known() -> None:
    two, three = (written(number, "paofed.core.numbers") for number in (2, 3))
    assert digest(two) != digest(three)
    assert digest(two, ["paofed.core"]) == digest(three, ["paofed.core"])


def test_a_function_told_by_its_code_is_the_same_in_any_module() -> None:
    """A file is another module after every change in it: its kernels on disk are found again."""
    assert digest(written(2, "mine_1")) == digest(written(2, "mine_2"))
