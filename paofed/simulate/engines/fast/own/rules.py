"""Rules of one's own for numba: compiled with every function that they reach, and told apart.

A plain function that a rule calls is compiled too, so a rule may consist of several functions. The
digest of a rule covers the code of all functions reached, the constants that they use and the
versions of the compiler, so machine code on disk is never used for other code.
"""

import builtins
import dis
import hashlib
import types
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit
from numba.core.registry import CPUDispatcher

from paofed.core import parts, selection

# Each of these functions has a form for numba in `overloads`, beside this file.
HELPERS: tuple[Callable[..., Any], ...] = (
    parts.draws,
    parts.placed,
    parts.silence,
    selection.window,
)
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": True,  # a wrong index in somebody's own rule is an error, not a crash
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_TRUSTED = ("numpy", "math", "numba", "builtins")  # modules whose version identifies their code


class NotCompiledError(Exception):
    """Says why numba cannot compile a rule."""


def compiled(rule: Any, module: str, known: dict[int, Any]) -> Any:
    """Return a rule for numba, with the plain functions that it reaches.

    All these functions are put in a module of the name `module`, which must exist again when
    machine code is read from disk. Rules that are `known` by their identity are not compiled twice.
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
    """Return the function with the first arguments that `rule`, a partial, gives to it."""
    if rule.keywords:
        raise NotCompiledError(f"{rule!r} gives keywords: expected a function's first arguments")
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
    """Yield the global names that a function's code uses, with their values."""
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
    """Return a digest of rules: of their code, and of everything that the code reaches."""
    found = hashlib.sha256()
    for said in (numba.__version__, llvmlite.__version__, np.__version__, *_said(rules, {})):
        found.update(repr(said).encode())
    return found.hexdigest()


Seen = dict[int, int]  # functions by identity, numbered in the order in which they were met


def _said(value: Any, seen: Seen) -> Iterator[object]:
    """Yield a description of a value that no other value has."""
    if isinstance(value, CPUDispatcher):
        yield "compiled", repr(value.targetoptions)
        value = value.py_func
    if _is_known(value):
        yield value.__module__, value.__qualname__
    elif isinstance(value, types.FunctionType):
        yield from _said_once(value, seen)
    elif isinstance(value, partial):
        yield from _said((value.func, value.args, sorted(value.keywords.items())), seen)
    elif isinstance(value, np.ndarray):
        yield value.dtype.str, value.shape, value.tobytes()
    elif isinstance(value, type):
        yield value.__module__, value.__qualname__, getattr(value, "_fields", ())
        if issubclass(value, Enum):
            yield [(member.name, repr(member.value)) for member in value]
    elif isinstance(value, tuple | list):
        yield from _said(type(value), seen)
        yield len(value)
        for item in value:
            yield from _said(item, seen)
    elif not isinstance(value, str | bytes) and " at 0x" in repr(value):
        raise NotCompiledError(f"{value!r} cannot be told apart from others of its kind")
    else:
        yield type(value).__qualname__, repr(value)


def _is_known(value: Any) -> bool:
    """Whether the name identifies a function: one of ours with a compiled form, or a package's."""
    if isinstance(value, type) or not callable(value) or not hasattr(value, "__qualname__"):
        return False
    return value in HELPERS or (value.__module__ or "").partition(".")[0] in _TRUSTED


def _said_once(function: types.FunctionType, seen: Seen) -> Iterator[object]:
    """Describe a function that was met before by its number: calls may go round in circles."""
    if id(function) in seen:
        yield "again", seen[id(function)]
        return
    seen[id(function)] = len(seen)
    names: list[str] = []
    for code in _codes(function.__code__):
        yield code.co_code, code.co_names, code.co_varnames
        names += code.co_names
        for constant in code.co_consts:
            if not isinstance(constant, types.CodeType):
                yield type(constant).__name__, repr(constant)
    for name, value in _globals(function):
        yield name
        yield from _said_of_name(value, names, seen)
    yield from _said(function.__defaults__, seen)
    for cell in function.__closure__ or ():
        yield from _said_of_name(cell.cell_contents, names, seen)


def _said_of_name(value: Any, names: list[str], seen: Seen) -> Iterator[object]:
    """Describe what a name stands for; for a module, all that the code may reach by these names."""
    if not isinstance(value, types.ModuleType):
        yield from _said(value, seen)
        return
    yield value.__name__
    if value.__name__.partition(".")[0] not in _TRUSTED:
        for attribute in names:
            if hasattr(value, attribute):
                yield attribute
                yield from _said_of_name(getattr(value, attribute), names, seen)
