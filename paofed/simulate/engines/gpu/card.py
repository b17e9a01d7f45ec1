"""The card: whether there is one, what it can hold, and how kernels are started on it."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from paofed.errors import InputError
from paofed.simulate.engines.gpu.lanes import APART, INSTALLED, SIMULATED

# Bytes of a block's memory that a kernel may have without asking the driver, which gives more to
# arrays whose size is only known at a launch, and never to those of a fixed size.
_WITHOUT_ASKING = 48 << 10
# Compute capability from which on the lanes of a warp can be told apart in shuffles and votes.
_OLDEST = (7, 0)


_says: ContextVar[Callable[[str], None] | None] = ContextVar("_says", default=None)


class Card(NamedTuple):
    """The properties of the card by which kernels are shaped."""

    name: str
    multiprocessors: int
    block_memory: int  # bytes that a block can have for itself


def missing() -> str | None:
    """Say why nothing can run on a card here, or return None."""
    if SIMULATED:
        return None
    if not INSTALLED or not cuda.is_available():
        return (
            "no CUDA card can be used here: expected an NVIDIA card, its driver and "
            "`pip install 'paofed[gpu]'`"
        )
    capability = tuple(cuda.get_current_device().compute_capability)
    if capability < _OLDEST:
        return f"the card has compute capability {capability}: expected {_OLDEST} or newer"
    return None


@cache
def the_card() -> Card:
    """Return the card of this process, or refuse in one line."""
    if (reason := missing()) is not None:
        raise InputError(f"the gpu engine: {reason}")
    if SIMULATED:
        return Card("simulator", 2, 48 << 10)
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    return Card(name, device.MULTIPROCESSOR_COUNT, _block_memory(device))


def _block_memory(device: Any) -> int:
    from cuda.bindings import driver  # a package that numba-cuda itself needs

    attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    error, size = driver.cuDeviceGetAttribute(attribute, device.id)
    return int(size) if int(error) == 0 else int(device.MAX_SHARED_MEMORY_PER_BLOCK)


def free_memory() -> int:
    """Return the bytes of memory that the card has left."""
    if SIMULATED:
        return 1 << 30
    return int(cuda.current_context().get_memory_info().free)


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros on the card."""
    array = cuda.device_array(shape, dtype)
    if SIMULATED:
        array[:] = 0
    elif array.size:
        cuda.cudadrv.driver.device_memset(array, 0, array.nbytes)
    return array


@contextmanager
def compilation_noted(say: Callable[[str], None]) -> Iterator[None]:
    """While inside, call `say` once if a kernel is launched that must be compiled first.

    Unlike the compiler for processors, the one for cards tells nobody when it begins.
    """
    before = _says.set(say)
    try:
        yield
    finally:
        _says.reset(before)


def _note_compilation(kernel: Any) -> None:
    say = _says.get()
    if say is not None and not getattr(kernel, "overloads", True):
        _says.set(None)
        say("compiling the kernels for this card: about ten seconds")


def require_room(what: str, memory: int, fixed: int) -> None:
    """Refuse in one line what needs more of a block's memory than the card has.

    `memory` and `fixed` are as in `launch`.
    """
    room = the_card().block_memory
    if fixed > _WITHOUT_ASKING or memory + fixed > room:
        raise InputError(
            f"{what} need {memory + fixed:,} bytes of a block's memory, of them {fixed:,} of a "
            f"fixed size: expected at most {room:,}, and {_WITHOUT_ASKING:,} of a fixed size; use "
            "the fast engine"
        )


def launch(
    kernel: Any, blocks: int, threads: int, *arguments: Any, memory: int = 0, fixed: int = 0
) -> None:
    """Start a kernel with `memory` bytes for each block, beside its arrays of a fixed size.

    These arrays have `fixed` bytes, or so few that they do not count.
    """
    _note_compilation(kernel)
    if memory + fixed > _WITHOUT_ASKING and not SIMULATED:
        _allow(kernel, arguments, memory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba warns of few blocks, but there may be no more
        kernel[blocks, threads, 0, memory](*arguments)


def _allow(kernel: Any, arguments: tuple[Any, ...], memory: int) -> None:
    """Ask the driver to let a kernel have more of a block's memory than usual."""
    from cuda.bindings import driver

    compiled = kernel.compile(tuple(map(kernel.typeof_pyval, arguments)))
    function = compiled._codelibrary.get_cufunc()
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    (error,) = driver.cuKernelSetAttribute(
        attribute, memory, driver.CUkernel(int(function.handle)), cuda.get_current_device().id
    )
    if int(error):
        raise InputError(f"the driver refuses {memory:,} bytes for a block: {error!r}")


def over(kernel: Any, items: int, *arguments: Any) -> None:
    """Start a kernel in which every thread does one of `items` items."""
    if items:
        launch(kernel, -(-items // APART), APART, *arguments)


def sent(array: Any, dtype: Any) -> Any:
    """Copy an array to the card."""
    return cuda.to_device(np.require(array, dtype, ["C"]))
