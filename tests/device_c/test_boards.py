"""The device on emulated boards: the same bits as on this machine, and little flash and memory."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.core.columns.categories import Compass
from paofed.core.columns.numbers import Cyclic, Number
from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import header
from paofed.live.protocol.manifest import USUAL_BOUND, Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.seen import agreed_on
from tests.device_c.boards import BOARDS, M4F, Board, built_driver, emulated, taken
from tests.device_c.building import host_program
from tests.device_c.seeing import Seeing
from tests.device_c.test_columns import BEGAN, EVERYTHING, HOUR, fleet, some_sample
from tests.device_c.test_conversations import replay
from tests.effort import long, some
from tests.live.fleets import manifest

ROOT = Path(__file__).parents[2]
SEEDS = 10
SHOWN = ("learn", "predict", "contact", "reply", "save")

MOST_FLASH, MOST_MEMORY = 12_000, 4_000


def fleet_of(features: int) -> Manifest:
    """A usual fleet with four inputs, whose devices begin with a model."""
    inputs = tuple(Quantity(name=name, offset=1.0, scale=2.0).limited() for name in "abcd")
    start = tuple(map(float, np.sin(np.arange(features)).astype("<f4")))
    return manifest(
        features=features,
        shared=4,
        inputs=inputs,
        bound=USUAL_BOUND,
        max_age=10,
        tick_seconds=60.0,
        start_model=start,
    )


def ozone() -> Manifest:
    """Ozone from weather, gases, the wind's direction and the hour, with 200 parameters."""
    numbers = [Number(name, 10.0, 5.0) for name in ("TEMP", "PRES", "DEWP", "WSPM")]
    logarithms = [Number(name, 3.0, 1.0, logarithm=True) for name in ("NO2", "CO", "O3")]
    *columns, target = *numbers, *logarithms
    agreed = agreed_on([*columns, Compass("wd"), Cyclic("hour", 24.0), target])
    usual = fleet_of(200)
    return replace(usual, inputs=agreed.inputs, target=agreed.target, seen=agreed.seen)


@long
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_sees_the_bits_of_this_machine(board: Board, tmp_path: Path) -> None:
    """And so those of the device in Python: tests/device_c/test_columns.py."""
    agreed, random = fleet(*EVERYTHING), np.random.default_rng(3)
    here, time = Seeing(agreed), BEGAN
    for _ in range(60):
        x = some_sample(random)
        here.sees(x, time)
        here.predict(x, time)
        here.learn(x, float(np.exp(random.normal(2, 2))), time)
        time += HOUR * float(random.choice([0.5, 1.0, 1.0, 1000.7]))
    here.c.save()
    here.c.state()
    program = built_driver(board, tmp_path, header(agreed_in_c(agreed), ""))
    script = tmp_path / "script.txt"
    script.write_text("\n".join([*here.c.lines, ""]), encoding="utf-8")
    there = emulated(board, program, "driver", str(script)).splitlines()
    assert [line.strip() for line in there] == here.c.answers


@long
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_has_the_bits_of_this_machine(board: Board, tmp_path: Path) -> None:
    """Whole conversations, which on this machine agree with the twin and the Python edge."""
    program, script = built_driver(board, tmp_path), tmp_path / "script.txt"
    for seed in range(SEEDS):
        here = replay(seed, host_program("driver"))
        script.write_text("\n".join([*here.lines, ""]), encoding="ascii")
        there = [
            line.strip() for line in emulated(board, program, "driver", str(script)).splitlines()
        ]
        assert there == here.answers, f"seed {seed}"


@pytest.mark.parametrize("map_kind", some(["table", "drawn"], everyday=1))
def test_two_hundred_parameters_fit(map_kind: str, tmp_path: Path) -> None:
    found = taken(M4F, tmp_path, agreed_in_c(fleet_of(200), drawn=map_kind == "drawn"))
    assert found.flash <= MOST_FLASH
    assert found.memory + found.stack <= MOST_MEMORY
    assert found.stack > 0
    assert set(found.instructions) >= {"learn", "predict", "contact", "reply", "save"}
    assert all(count > 0 for count in found.instructions.values())


def test_a_fleet_over_a_table_fits(tmp_path: Path) -> None:
    """Logarithms, a direction and a cycle need flash, and no memory."""
    document = (ROOT / "docs/device-in-c.md").read_text(encoding="utf-8")
    found = taken(M4F, tmp_path, agreed_in_c(ozone()))
    assert found.memory + found.stack <= MOST_MEMORY
    told = re.search(r"parameters, ([.\d]+) kB and ([,\d]+) \+ (\d+) bytes", document)
    assert told
    shown = [1000 * float(told[1]), *(float(text.replace(",", "")) for text in told.groups()[1:])]
    assert shown == pytest.approx([found.flash, found.memory, found.stack], rel=0.1)


@long
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_the_table_of_the_document(board: Board, tmp_path: Path) -> None:
    """docs/device-in-c.md shows what was measured, within the difference of two compilers."""
    document = (ROOT / "docs/device-in-c.md").read_text(encoding="utf-8")
    for drawn in (False, True):
        found = taken(board, tmp_path / f"{drawn}", agreed_in_c(fleet_of(200), drawn=drawn))
        row = [board.name, 200, "drawn" if drawn else "table"]
        cells = [found.flash, found.memory, found.stack]
        cells += [found.instructions[name] for name in SHOWN]
        print(" | ".join(map(str, [*row, *(f"{cell:,}" for cell in cells)])))  # noqa: T201
        begins = re.escape(f"| {' | '.join(map(str, row))} |")
        shown = re.search(rf"^{begins}(.*)\|$", document, re.MULTILINE)
        assert shown, row
        told = [int(cell.replace(",", "")) for cell in shown[1].split("|")]
        assert told == pytest.approx(cells, rel=0.1), row
