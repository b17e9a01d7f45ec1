"""Rules of one's own for numba: compiled with every function that they reach, and told apart.

A plain function that a rule calls is compiled too, so a rule may be written in several. The digest
of a rule covers the code of all functions reached, the constants that they see and the versions of
the compiler, so what was kept on disk for other code is never used.
"""

import builtins
import dis
import hashlib
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit
from numba.core.registry import CPUDispatcher

from paofed.core import parts, selection

# The twin of each of these is in `overloads`, beside this file.
HELPERS: tuple[Callable[..., Any], ...] = (
    parts.draws,
    parts.placed,
    parts.silence,
    selection.window,
)
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": True,  # an index of one's own that is wrong is an error, not a crash
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_TRUSTED = ("numpy", "math", "numba", "builtins")  # modules whose versions say what they are


class NotCompiledError(Exception):
    """A rule that numba cannot be given; the text says why."""


def compiled(rule: Any, module: str, known: dict[int, Any]) -> Any:
    """Return a rule for numba, with the plain functions that it reaches.

    They all belong to a module of this name, which must be there again when machine code is read
    from disk. Rules that are `known` by their identity are not compiled twice.
    """
    if isinstance(rule, CPUDispatcher) or rule in HELPERS:
        return rule
    if id(rule) in known:
        return known[id(rule)]
    if isinstance(rule, partial):
        return _bound(compiled(rule.func, module, known), rule)
    if not isinstance(rule, types.FunctionType):
        raise NotCompiledError(f"{rule!r} is no plain function")
    if rule.__kwdefaults__:
        raise NotCompiledError(f"{rule.__qualname__} has keyword-only arguments")
    seen = {**rule.__globals__, "__name__": module}
    known[id(rule)] = twin = njit(**_OPTIONS)(
        types.FunctionType(
            rule.__code__, seen, rule.__name__, rule.__defaults__, _cells(rule, module, known)
        )
    )
    for name, value in _globals(rule):
        if _is_plain(value):
            seen[name] = compiled(value, module, known)
    return twin


def _bound(function: Any, rule: partial[Any]) -> Any:
    """The same with its first arguments given."""
    if rule.keywords:
        raise NotCompiledError(f"{rule!r} gives keywords: give a function's first arguments")
    given = rule.args
    return njit(**_OPTIONS)(lambda *rest: function(*given, *rest))


def _is_plain(value: object) -> bool:
    return isinstance(value, types.FunctionType | partial) and value not in HELPERS


def _cells(
    rule: types.FunctionType, module: str, known: dict[int, Any]
) -> tuple[types.CellType, ...] | None:
    if rule.__closure__ is None:
        return None
    held = [cell.cell_contents for cell in rule.__closure__]
    return tuple(
        types.CellType(compiled(value, module, known) if _is_plain(value) else value)
        for value in held
    )


def _globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The global names that a function's code speaks of, with their values."""
    for code in _codes(function.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                name = instruction.argval
                if name in function.__globals__:
                    yield name, function.__globals__[name]
                elif not hasattr(builtins, name):
                    raise NotCompiledError(f"{function.__qualname__} speaks of an unknown {name}")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def digest(*rules: Any) -> str:
    """Return what tells rules apart: their code and everything that the code reaches."""
    found = hashlib.sha256()
    for said in (numba.__version__, llvmlite.__version__, np.__version__, *_said(rules, set())):
        found.update(repr(said).encode())
    return found.hexdigest()


def _said(value: Any, seen: set[int]) -> Iterator[object]:
    """Say a value so that another one is said otherwise."""
    if isinstance(value, CPUDispatcher):
        yield "compiled", value.targetoptions
        value = value.py_func
    if isinstance(value, types.FunctionType):
        if id(value) not in seen:
            seen.add(id(value))
            yield from _said_of_code(value, seen)
    elif isinstance(value, np.ndarray):
        yield value.dtype.str, value.shape, value.tobytes()
    elif isinstance(value, type):
        yield value.__module__, value.__qualname__, getattr(value, "_fields", ())
    elif isinstance(value, types.ModuleType):
        yield value.__name__
    elif isinstance(value, partial):
        yield from _said((value.func, value.args, value.keywords), seen)
    elif isinstance(value, tuple | list):
        yield type(value).__qualname__, len(value)
        for item in value:
            yield from _said(item, seen)
    else:
        yield type(value).__qualname__, repr(value)


def _said_of_code(function: types.FunctionType, seen: set[int]) -> Iterator[object]:
    for code in _codes(function.__code__):
        yield code.co_code, code.co_names, code.co_varnames
        for constant in code.co_consts:
            if not isinstance(constant, types.CodeType):
                yield type(constant).__name__, repr(constant)
        for name, value in _globals(function):
            yield name
            yield from _said(value, seen)
            if isinstance(value, types.ModuleType) and value.__name__ not in _TRUSTED:
                for attribute in code.co_names:
                    if hasattr(value, attribute):
                        yield from _said(getattr(value, attribute), seen)
    yield from _said(function.__defaults__, seen)
    yield from _said([cell.cell_contents for cell in function.__closure__ or ()], seen)
