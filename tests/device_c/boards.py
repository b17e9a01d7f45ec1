"""Emulated boards: a Cortex-M3, which has no unit for floats, and a Cortex-M4 with one."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from paofed.device_c.agreed import AgreedInC
from paofed.device_c.kit import LIBRARY, write_kit
from tests.device_c.building import HERE, LARGEST, STRICT, run, sizes, unpacked
from tests.system import lacks, needs

_SMALL = ("-Os", "-ffunction-sections", "-fdata-sections")
_LEAN = ("-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections")


class Board(NamedTuple):
    """A processor and the machine that QEMU emulates it on."""

    name: str
    machine: str
    flags: tuple[str, ...]


M3 = Board("M3", "mps2-an385", ("-mcpu=cortex-m3", "-mthumb"))
M4F = Board(
    "M4F",
    "mps2-an386",
    ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
)
BOARDS = (M3, M4F)


@lru_cache
def compiler() -> str:
    """The cross compiler, which needs a C library beside it."""
    found = needs("gcc-arm-none-eabi", "arm-none-eabi-gcc")
    if not Path(run([found, "-print-file-name=nano.specs"]).strip()).is_absolute():
        lacks("needs the system package libnewlib-arm-none-eabi")
    return found


def emulated(board: Board, program: Path, *words: str, counting: bool = False) -> str:
    """Run a program on a board; returns what it printed."""
    arguments = "".join(f",arg={word}" for word in words)
    counted = ["-icount", "shift=0"] if counting else []
    start = [needs("qemu-system-arm"), "-M", board.machine, *counted, "-kernel", str(program)]
    alone = ["-display", "none", "-monitor", "none", "-serial", "none"]
    return run([*start, *alone, "-semihosting-config", f"enable=on,target=native{arguments}"])


def built_driver(board: Board, folder: Path, fleet: str = sizes(LARGEST)) -> Path:
    """Build driver.c for a board, with a C library that talks to the emulator."""
    files, program = unpacked(folder, fleet), folder / f"driver-{board.name}.elf"
    begin = run([compiler(), *board.flags, "-print-file-name=rdimon-crt0.o"]).strip()
    words = [compiler(), *STRICT, *board.flags, "-Os", "-Wno-pedantic", "-Dbegin_program=_start"]
    words += ["-nostartfiles", "--specs=rdimon.specs", f"-T{HERE / 'board.ld'}", f"-I{folder}"]
    words += [str(HERE / "driver.c"), str(HERE / "startup.c"), *files, begin]
    run([*words, "-o", str(program)])
    return program


class Taken(NamedTuple):
    """What a device takes on a board, in bytes; without a network."""

    flash: int
    memory: int  # without the stack
    stack: int
    instructions: dict[str, int]  # by what is done


def taken(board: Board, folder: Path, agreed: AgreedInC) -> Taken:
    """Build the example for a fleet and a board, measure its size, and let a board count."""
    write_kit(folder, agreed, "A fleet to be measured.")
    example = _built(board, folder, "example", [HERE / "hardware.c"], folder / "example.c")
    size = needs("binutils-arm-none-eabi", "arm-none-eabi-size")
    text, data, bss, *_ = map(int, run([size, str(example)]).splitlines()[1].split()[:3])
    counting = _built(board, folder, "measure", [], HERE / "measure.c")
    said = map(str.split, emulated(board, counting, counting=True).splitlines())
    numbers = {name: int(value) for name, value in said}
    return Taken(text + data, data + bss, numbers.pop("stack"), numbers)


def _built(board: Board, folder: Path, name: str, more: Sequence[Path], main: Path) -> Path:
    library = [folder / file for file in LIBRARY]
    program = folder / f"{name}-{board.name}.elf"
    files = [main, *more, *library, HERE / "startup.c"]
    words = [compiler(), "-std=gnu99", "-ffp-contract=off", *board.flags, *_SMALL, *_LEAN]
    words += [f"-T{HERE / 'board.ld'}", f"-I{folder}", *map(str, files)]
    run([*words, "-o", str(program)])
    return program
