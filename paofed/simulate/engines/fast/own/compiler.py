"""Compiles a method, or says why it cannot be compiled.

The kernel of a method (`source`) is compiled around the method's own rules (`rules`) and kept on
disk under a name that covers every function reached, so that a second start finds the kernel.
Where no folder is ours alone to write, the kernel is compiled in every process.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from paofed.algorithms import Algorithm
from paofed.core import parts, selection, starting
from paofed.core.bounded import Bounded
from paofed.core.parts import (
    LEFT_ALONE,
    Channel,
    ServerRule,
    keys_of,
    overwrite,
    told_sizes,
    weights,
)
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.errors import in_one_line
from paofed.files import is_ours_alone
from paofed.simulate.engines.fast import kernels as family_kernels
from paofed.simulate.engines.fast.own import kernels, overloads, rules
from paofed.simulate.engines.fast.own.method_run import (
    MethodRun,
    gathered,
    kind_of,
    nothing,
    takes_paper_step,
    tried,
)
from paofed.simulate.engines.fast.own.rules import NotCompiledError, compiled, told_apart
from paofed.simulate.engines.fast.own.writing import Shape, source

Kernel = Callable[..., int]

_LOCK = threading.Lock()
# The modules of which kernels are made, beside the rules.
_PACKAGE = family_kernels, kernels, overloads, rules, parts, selection, starting


def refusal(method: Algorithm) -> str | None:
    """Compile a method, or find it on disk; return None, or why numba cannot compile it."""
    try:
        kernel_of(method)
    except NotCompiledError as error:
        return f"it cannot be compiled: {error}"
    except Exception as error:  # noqa: BLE001 (one's own code: an `init` may want other sizes)
        return f"it cannot be compiled: {in_one_line(error)}"
    return None


_KERNELS: dict[str, Kernel] = {}
_REFUSED: dict[str, str] = {}
_RULES: dict[str, Any] = {}  # compiled functions by their digests


def kernel_of(method: Algorithm) -> Kernel:
    """Return the compiled kernel of a method; raises NotCompiledError."""
    own, given = gathered(method)
    text = source(_shape(method, given))
    package = [Path(module.__file__ or "").read_bytes() for module in _PACKAGE]
    kinds = repr(kind_of(tuple(given.values())))
    name = told_apart(*own.values(), tuple(own), text, kinds, *package)[:32]
    with _LOCK:
        if name in _REFUSED:
            raise NotCompiledError(_REFUSED[name])
        if name not in _KERNELS:
            try:
                _KERNELS[name] = _compile(method, own, text, name)
            except Exception as error:  # numba may raise anything for code that it does not know
                _REFUSED[name] = _reason(error)
                raise NotCompiledError(_REFUSED[name]) from error
        return _KERNELS[name]


def _compile(method: Algorithm, own: Mapping[str, Any], text: str, name: str) -> Kernel:
    module = ModuleType(f"paofed_method_{name}")
    # Numba looks the module up when it reads the kernel from disk.
    sys.modules[module.__name__] = module
    for key, rule in own.items():
        setattr(module, key, rule if isinstance(rule, type) else compiled(rule, _RULES))
    path = written(f"method_{name}.py", text)
    exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102 (the text is ours)
    kernel: Kernel = module.__dict__["advance"]
    features, clients = tried(method)
    # A run over no samples: numba sees the types, and compiles the kernel or finds it on disk.
    trial = MethodRun(kernel, method, clients, features, keys_of(0), 0.1, 0, judged=0)
    trial.advance(nothing(features))
    return kernel


def written(name: str, text: str) -> str:
    """Write the text of a kernel, beside which numba keeps the machine code; return its path.

    A file that exists already is not written again, since numba compares its time. Where the text
    cannot be written, nobody can make a file of the path, and numba keeps nothing.
    """
    for place in _places():
        path = place / "paofed" / "methods" / name
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_ours_alone(path.parent):
                continue
            if not path.exists():
                whole = path.with_suffix(f".{os.getpid()}")
                whole.write_text(text)
                whole.replace(path)
        except OSError:  # the home folder cannot be written to, say
            continue
        return str(path)
    return f"{os.devnull}/{name}"


def _places() -> Iterator[Path]:
    """Yield the folders for what a user's programs keep: the one that was named, the usual one."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(given)
    with suppress(RuntimeError):  # nobody knows where the home is
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _reason(error: Exception) -> str:
    """Return the first line of numba's error that says what the error is about."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(("Failed in", "During", "File", "-"))]
    where = [line for line in lines if line.startswith("File") and "method_" not in line]
    return " ".join([*(said[:1] or [type(error).__name__]), *(where[-1:])]).removesuffix(":")


def _shape(method: Algorithm, given: Mapping[str, tuple[Any, ...]]) -> Shape:
    features, clients = tried(method)
    learner, server = method.learner.init(features), method.server.init(features, clients)
    own = isinstance(method.server, Bounded | ServerRule)
    parts_of: dict[str, Any] = {"learner": method.learner, "server": method.server}
    parts_of |= {"up": method.uplink, "down": method.downlink}

    def memory(channel: Windows | Channel) -> int | None:
        size = told_sizes(method.learner, method.server, features)
        return len(channel.init(max(size))) if isinstance(channel, Channel) else None

    def coded(channel: Windows | Channel) -> tuple[str, ...] | None:
        return None if channel.encode is None else channel.waives

    return Shape(
        learner=len(learner),
        lms=takes_paper_step(method),
        learner_w=_place_of_w(learner) if method.learner.model is weights else None,
        merge_w=_place_of_w(learner) if method.learner.merge is overwrite else None,
        server=len(server) if own else None,
        server_w=_place_of_w(server) if _is_plain_model(method.server) else None,
        bounded=isinstance(method.server, Bounded),
        up=memory(method.uplink),
        up_coded=coded(method.uplink),
        down=memory(method.downlink),
        down_coded=coded(method.downlink),
        given=tuple((rule, len(numbers)) for rule, numbers in given.items()),
        in_place=tuple(name for name, part in parts_of.items() if LEFT_ALONE in part.waives),
    )


def _is_plain_model(server: Newest | Bounded | ServerRule) -> bool:
    """Whether the model is the field `w` of the server's state."""
    return server.model is weights if isinstance(server, ServerRule) else True


def _place_of_w(state: Any) -> int:
    if "w" not in getattr(state, "_fields", ()):
        raise NotCompiledError(f"{type(state).__name__} has no field w: give `model`")
    place: int = state._fields.index("w")
    return place
