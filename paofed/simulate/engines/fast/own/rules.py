"""Rules of one's own for numba: compiled with every function that they reach, and told apart.

A plain function that a rule calls is compiled too, so a rule may consist of several functions. The
digest of a rule covers the code of all functions reached, the constants that they use and the
versions of the compiler, so machine code on disk is never used for other code.
"""

import builtins
import dis
import sys
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
from paofed.digest import codes_in, digest
from paofed.errors import InputError

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
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class NotCompiledError(Exception):
    """Says why numba cannot compile a rule."""


def compiled(rule: Any, known: dict[str, Any]) -> Any:
    """Return a rule for numba, with the plain functions that it reaches.

    Functions that are `known` by their digest are not compiled again: methods share what they have
    in common. Each function is put in a module that no other one has, since machine code from disk
    brings its functions with it, by their names, and looks their modules up.
    """
    if isinstance(rule, CPUDispatcher) or rule in HELPERS:
        return rule
    if isinstance(rule, partial):
        return _bound(compiled(rule.func, known), rule)
    if not isinstance(rule, types.FunctionType):
        raise NotCompiledError(f"{rule!r} is no plain function")
    if rule.__kwdefaults__:
        raise NotCompiledError(f"{rule.__qualname__} has keyword-only arguments")
    key = told_apart(rule, _is_core(rule))
    if key in known:
        return known[key]
    module = types.ModuleType(f"paofed_rule_{key[:32]}")
    sys.modules[module.__name__] = module
    seen = {**rule.__globals__, "__name__": module.__name__}
    known[key] = twin = njit(boundscheck=not _is_core(rule), **_OPTIONS)(
        types.FunctionType(
            rule.__code__, seen, rule.__name__, rule.__defaults__, _cells(rule, known)
        )
    )
    for name, value in _globals(rule):
        if _is_plain(value):
            seen[name] = compiled(value, known)
    return twin


def _bound(function: Any, rule: partial[Any]) -> Any:
    """Return the function with the first arguments that `rule`, a partial, gives to it."""
    if rule.keywords:
        raise NotCompiledError(f"{rule!r} gives keywords: expected a function's first arguments")
    given = rule.args
    return njit(boundscheck=True, **_OPTIONS)(lambda *rest: function(*given, *rest))


def _is_core(rule: types.FunctionType) -> bool:
    """Whether a function is of paofed.core, whose loops are tested and run without bounds checks.

    A wrong index in any other rule is an error, not a crash; the question makes loops several times
    slower.
    """
    return rule.__module__.startswith("paofed.core.")


def _is_plain(value: object) -> bool:
    return isinstance(value, types.FunctionType | partial) and value not in HELPERS


def _cells(rule: types.FunctionType, known: dict[str, Any]) -> tuple[types.CellType, ...] | None:
    if rule.__closure__ is None:
        return None
    held = [cell.cell_contents for cell in rule.__closure__]
    return tuple(
        types.CellType(compiled(value, known) if _is_plain(value) else value) for value in held
    )


def _globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the global names that a function's code uses, with their values."""
    for code in codes_in(function.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                name = instruction.argval
                if name in function.__globals__:
                    yield name, function.__globals__[name]
                elif not hasattr(builtins, name):
                    raise NotCompiledError(f"{function.__qualname__} speaks of an unknown {name}")


def told_apart(*rules: Any) -> str:
    """Return a digest of rules: of their code, everything that it reaches, and the compiler."""
    try:
        compilers = numba.__version__, llvmlite.__version__, np.__version__
        return digest((compilers, rules), looks_up=False)
    except InputError as error:
        raise NotCompiledError(str(error)) from error
