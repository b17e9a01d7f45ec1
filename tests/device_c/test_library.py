"""The sources: clean under two compilers and two analysers, with no heap, no double, no library."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import EXAMPLES, HEADER, LIBRARY, write_kit
from tests.device_c.boards import M3, compiler
from tests.device_c.building import (
    LARGEST,
    SMALL_SEEING,
    STRICT,
    WARNINGS,
    host_program,
    require_libmosquitto,
    run,
    sizes,
)
from tests.device_c.test_boards import fleet_of
from tests.device_c.test_columns_in_c import EVERYTHING, fleet
from tests.effort import effort, long, some
from tests.live.fleets import manifest
from tests.system import needs

# A usual fleet, and one that needs every part of the library.
_ALL = {"algorithm": "quantised", "learner": "two-speed", "linear": ((-1.0, 1.0), (0.0, 2.0))}
FLEETS = {
    "usual": agreed_in_c(fleet_of(20)),
    "with everything": agreed_in_c(manifest(**_ALL), drawn=True),
    "seeing": agreed_in_c(fleet(*EVERYTHING), drawn=True),
}
# What a processor without a unit for floats takes from its compiler, and three functions on memory.
_FROM_THE_COMPILER = r"__aeabi_(f\w+|[u]?i2f|cf\w+|[u]?[il]divmod|[u]?idiv|l\w+)|__popcountsi2"
_ANALYSED = ("--analyze", "--analyzer-output", "text", "-Xclang", "-analyzer-werror")  # no files
_ON_MEMORY = "memcpy|memset|memmove"
_OF_64_BITS = r"__aeabi_(c?d\w+|f2d|u?[il]2d)"  # for logarithms, angles and the time alone


@pytest.fixture(params=some(FLEETS, everyday=1))
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    write_kit(tmp_path, FLEETS[request.param], "A fleet of the tests.")
    return tmp_path


def files(kit: Path) -> list[str]:
    require_libmosquitto()
    return [str(kit / name) for name in (*LIBRARY, *EXAMPLES)]


@pytest.mark.parametrize("name", some(["gcc", "clang"], everyday=1))
def test_a_compiler_has_nothing_to_say(name: str, kit: Path) -> None:
    for optimised in some(["-Os", "-O0", "-O3"], everyday=1):
        for file in files(kit):
            run([needs(name), *STRICT, optimised, "-c", file, "-o", str(kit / "out.o")])


@long
def test_a_program_in_c_plus_plus_may_use_it(kit: Path) -> None:
    own = kit / "firmware.cpp"
    own.write_text('#include "paofed.h"\nbool f(paofed *p) { return paofed_contact(p); }\n')
    run([needs("clang"), "-x", "c++", "-fsyntax-only", *WARNINGS, "-Werror", str(own)])


@long
def test_analysers_have_nothing_to_say(kit: Path) -> None:
    run([needs("clang"), *_ANALYSED, "-std=c99", f"-I{kit}", *files(kit)])
    checks = ["--enable=warning,performance,portability", "--error-exitcode=1", "--std=c99"]
    run([needs("cppcheck"), *checks, "--inline-suppr", "--quiet", f"-I{kit}", *files(kit)])


@long
def test_analysers_and_compilers_find_what_is_wrong(tmp_path: Path) -> None:
    """Each of them is switched on."""
    wrong = tmp_path / "wrong.c"
    wrong.write_text("int f(int *p) { int a[2] = {0, 0}; if (!p) { *p = 1; } return a[2]; }\n")
    for words in (
        [needs("clang"), *_ANALYSED, str(wrong)],
        [needs("cppcheck"), "--error-exitcode=1", "--quiet", str(wrong)],
    ):
        with pytest.raises(AssertionError):
            run(words)
    wrong.write_text("float f(float x) { return x * 2.0; }\n")
    for name in ("gcc", "clang"):
        with pytest.raises(AssertionError, match=r"-Wdouble-promotion|-Wfloat-conversion"):
            run([needs(name), *STRICT, "-c", str(wrong), "-o", str(tmp_path / "out.o")])


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only"])
def test_other_rules_of_arithmetic_are_refused(flag: str, kit: Path) -> None:
    with pytest.raises(AssertionError, match="compile without them"):
        run([needs("gcc"), "-std=c99", flag, "-fsyntax-only", str(kit / "paofed_map.c")])


def test_nothing_is_asked_of_a_system(kit: Path) -> None:
    """No heap, no mathematics of a library, and no double, whose arithmetic would be functions.

    Double is there where the model sees transforms.
    Nor does it take names that do not begin with its own.
    """
    nm = needs("binutils-arm-none-eabi", "arm-none-eabi-nm")
    seen: set[str] = set()
    asked: set[str] = set()
    for name in LIBRARY:
        made = str(kit / "out.o")
        run([compiler(), *STRICT, *M3.flags, "-Os", "-c", str(kit / name), "-o", made])
        for line in run([nm, "--extern-only", made]).splitlines():
            *_, kind, symbol = line.split()
            (asked if kind == "U" else seen).add(symbol)
    transforms = "#define PAOFED_TRANSFORMS 1" in (kit / HEADER).read_text(encoding="utf-8")
    wide = f"|{_OF_64_BITS}" if transforms else ""
    allowed = re.compile(f"{_FROM_THE_COMPILER}|{_ON_MEMORY}{wide}")
    assert {symbol for symbol in asked - seen if not allowed.fullmatch(symbol)} == set()
    assert {symbol for symbol in seen if not symbol.startswith("paofed_")} == set()


@long
def test_no_function_calls_itself(kit: Path) -> None:
    """Nor by way of others: the stack has a bound."""
    calls: dict[str, set[str]] = {}
    for name in LIBRARY:
        made = kit / "out.o"
        words = [*STRICT, "-Os", "-fno-inline", "-fcallgraph-info", "-c", str(kit / name)]
        run([needs("gcc"), *words, "-o", str(made)])
        graph = made.with_suffix(".ci").read_text(encoding="utf-8")
        for caller, called in re.findall(r'edge: { sourcename: "(.*?)" targetname: "(.*?)"', graph):
            calls.setdefault(caller, set()).add(called)
    assert len(calls) > 20
    # An order in which every function stands behind those that it calls; there is none in a circle.
    assert len(list(TopologicalSorter(calls).static_order())) >= len(calls)


@pytest.mark.parametrize("seen", [LARGEST, SMALL_SEEING], ids=["scaled", "transforms"])
@pytest.mark.parametrize("seed", [1, 2], ids=["float32", "few bits"])
def test_no_bytes_from_outside_do_harm(seed: int, seen: dict[str, int]) -> None:
    """Decoders and storage under sanitizers; the numbers show that it came to everything."""
    times = effort(everyday=200_000, thorough=3_000_000)
    said = run([host_program("fuzz", fleet=sizes(seen)), str(times), str(seed)]).split()
    counts = dict(zip(said[::2], map(int, said[1::2]), strict=True))
    assert min(counts[name] for name in ("confirmed", "replies", "kept", "begun", "forged")) > 20
