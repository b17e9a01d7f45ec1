"""A digest of what a value is: the same in every process, and another for any other value.

Algorithms and worlds may hold functions of anyone's own. The digest of such a function covers its
code, its defaults and closure, and everything that its names stand for, through all functions that
it reaches, so that none of them can change unseen. Parts of Python and of installed packages are
identified by name and version, and so are the rooms of paofed that whoever asks has accounted for
otherwise. What a function reads from files, from the network or from the clock cannot be seen.

Pickles would not do: they name code that can be imported instead of describing it, and the pickles
of sets and of classes from scripts differ from process to process.

Code that looks names up at run time, by `getattr` for one, may reach anything that its modules
hold. So all files count that such a module leads to: by what their texts import, and by words in
them that are names of modules. Nothing is imported to find these files.
"""

import ast
import dis
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import resolve_name
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from paofed.errors import InputError

# Names of functions that look other names up at run time: with any of them in the code, whole files
# count, the code's own and all that it leads to.
_LOOKS_UP = {
    "__dict__", "__getattr__", "__getattribute__", "__import__", "attrgetter", "eval", "exec",
    "getattr", "getattr_static", "getmembers", "globals", "import_module", "locals",
    "methodcaller", "modules", "reload", "run_module", "vars",
}  # fmt: skip
_NO_CONTENT = {
    "__annotations__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__slots__",
    "__static_attributes__", "__weakref__", "_abc_impl",
}  # fmt: skip  # of a class

Said = Iterator[str | bytes]


def digest(value: object, known: Sequence[str] = (), *, looks_up: bool = True) -> str:
    """Return a text that no other value has; `known` names modules of paofed that count by name.

    `looks_up` is False for code that will be compiled, and so looks up no name at run time. A value
    that cannot be told apart from others of its kind is an InputError.
    """
    found, telling = hashlib.sha256(), _Telling(_Modules(tuple(known)), looks_up=looks_up)
    for said in chain(telling.of(value), telling.looked_up()):
        text = said.encode("utf-8", "surrogatepass") if isinstance(said, str) else said
        found.update(len(text).to_bytes(8, "little") + text)
    return found.hexdigest()


def own_imports(file: Path) -> list[str]:
    """Return the modules that a file imports and that are neither Python's, paofed's nor installed.

    Nothing is imported to find them.
    """
    modules = _Modules(("paofed",))
    nodes = ast.walk(ast.parse(file.read_bytes()))
    imports = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    named = {name for node in imports for name in _names(node, "")}
    return sorted(name for name in named if modules.text_of(name) is not None)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield some code and the code of all functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


class _Telling:
    """Describes one value; an object that is met for the second time is told by its number."""

    def __init__(self, modules: "_Modules", *, looks_up: bool) -> None:
        self._modules, self._follows = modules, looks_up
        self._met: dict[object, int] = {}
        # Keeps objects alive, so that no other object gets their identity.
        self._kept: list[object] = []
        self._words: set[str] = set()  # words that may be names of modules
        self._looks_up = False

    def of(self, value: Any) -> Said:
        """Yield a description of a value that no other value has."""
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            self._words.update([value] if type(value) is str else ())
            yield from (type(value).__qualname__, repr(value))
        elif type(value) is np.ndarray and not value.dtype.hasobject:
            yield from ("array", repr(value.dtype), repr(value.shape), value.tobytes())
        elif type(value) in (set, frozenset):  # sets have no order
            alone = (digest(one, self._modules.known, looks_up=self._follows) for one in value)
            yield from (type(value).__qualname__, *sorted(alone))
        elif id(value) in self._met:
            yield from ("again", str(self._met[id(value)]))
        else:
            self._met[id(value)] = len(self._met)
            self._kept.append(value)
            yield from self._first(value)

    def looked_up(self) -> Said:
        """Describe the files that code can reach which looks names up at run time."""
        if self._looks_up and self._follows:
            for name, text in self._modules.led_to(self._words):
                yield from (name, text)

    def _title(self, value: Any) -> tuple[str, str, str]:
        """Return the name of somebody's code, and the version of the package that brings it.

        A function that is told by its code has no module in its title: a file may be another
        module in every process, and after every change elsewhere in the file.
        """
        is_module = isinstance(value, types.ModuleType)
        module = str(value.__name__ if is_module else getattr(value, "__module__", None))
        name = "" if is_module else str(getattr(value, "__qualname__", ""))
        self._words.add(module)
        self._looks_up |= name in _LOOKS_UP
        if self._modules.is_known(module):
            return module, name, _version(module.partition(".")[0])
        return "" if isinstance(value, types.FunctionType) else module, name, ""

    def _first(self, value: Any) -> Said:
        match value:
            case types.ModuleType():
                yield from self._module(value, ())
            case types.FunctionType():
                yield from self._function(value)
            case types.CodeType():
                yield from self._code(value)
            case type():
                yield from self._class(value)
            case dict() if type(value) is dict:
                yield from self._parts("dict", *(part for item in value.items() for part in item))
            case tuple() | list() if type(value) in (tuple, list):
                yield from self._parts(type(value).__qualname__, *value)
            case partial():
                yield from self._parts(partial, value.func, value.args, value.keywords)
            case classmethod() | staticmethod():
                yield from self._parts(type(value), value.__func__)
            case property():
                yield from self._parts(property, value.fget, value.fset, value.fdel)
            case _ if hasattr(value, "py_func"):  # a function compiled by numba
                options = repr(getattr(value, "targetoptions", ""))
                yield from self._parts("compiled", value.py_func, options)
            case _:
                yield from self._taken_apart(value)

    def _parts(self, *parts: object) -> Said:
        yield str(len(parts))
        for part in parts:
            yield from self.of(part)

    def _taken_apart(self, value: Any) -> Said:
        """Describe an object of any class by the parts with which pickle would copy it."""
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 (anybody's class)
            yield from ("pickled", _pickled(value))
            return
        if isinstance(parts, str):  # the parts are the name of something global
            title = self._title(value)
            yield from ("global", parts, *title, self._modules.text_of(title[0]) or b"")
            yield from self._parts(type(value), getattr(value, "__wrapped__", None))
            return
        maker, given, *state = parts
        listed = (list(one) if isinstance(one, Iterator) else one for one in state)
        yield from self._parts("object", type(value), maker, given, *listed)

    def _function(self, function: types.FunctionType) -> Said:
        closure = [_inside(cell) for cell in function.__closure__ or ()]
        yield from ("function", *self._title(function))
        yield from self._parts(function.__defaults__, function.__kwdefaults__)
        if self._modules.is_known(function.__module__):
            # A function may hold several functions of one name.
            yield str(function.__code__.co_firstlineno)
            yield from self._parts(*closure)
            return
        yield from self._code(function.__code__)
        codes = list(codes_in(function.__code__))
        names = sorted({name for code in codes for name in code.co_names})
        for name in names:
            if name in function.__globals__:
                yield name
                yield from self._named(function.__globals__[name], names)
        for value in closure:
            yield from self._named(value, names)
        for module in _imported(codes, function.__globals__.get("__package__")):
            yield from self._named(module, names)
        yield from self.of(vars(function))
        self._looks_up |= not _LOOKS_UP.isdisjoint(names)

    def _named(self, value: Any, names: Sequence[str]) -> Said:
        """Describe what a name in some code stands for.

        For a module, describe what the code may reach in it.
        """
        if isinstance(value, types.ModuleType):
            yield from self._module(value, names)
        else:
            yield from self.of(value)

    def _module(self, module: types.ModuleType, names: Sequence[str]) -> Said:
        yield from ("module", *self._title(module))
        here = id(module), tuple(names)
        if self._modules.is_known(module.__name__) or here in self._met:
            return
        self._met[here] = len(self._met)
        for name in ("__getattr__", *names):  # `__getattr__` may have names that the module has not
            if name in vars(module):
                yield name
                yield from self._named(vars(module)[name], names)

    def _code(self, code: types.CodeType) -> Said:
        numbers = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        words = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        yield from ("code", code.co_code, code.co_exceptiontable, repr(numbers), repr(words))
        yield from self._parts(*code.co_consts)

    def _class(self, kind: type) -> Said:
        yield from ("class", *self._title(kind))
        if not self._modules.is_known(kind.__module__):
            yield from self._parts(*kind.__bases__)
            for name, value in vars(kind).items():
                if name not in _NO_CONTENT:
                    yield name
                    yield from self.of(value)


@cache
def _version(top: str) -> str:
    """Return the version of an installed package; Python's own modules have Python's version."""
    if top == "paofed" or top in sys.stdlib_module_names:
        return ""
    with suppress(PackageNotFoundError):
        return version(top)
    return ",".join(version(name) for name in packages_distributions().get(top, ()))


def _imported(codes: Sequence[types.CodeType], package: str | None) -> Iterator[Any]:
    """Yield the modules that functions import as they run; only the name of a missing one."""
    for code in codes:
        # The two values pushed last: how many packages up, and which names are imported.
        before: list[Any] = [0, None]
        for instruction in dis.get_instructions(code):
            if instruction.opname == "IMPORT_NAME":
                level, taken = before
                name = "." * level + instruction.argval
                try:
                    module = import_module(resolve_name(name, package) if level else name)
                except Exception:  # noqa: BLE001 (anybody's module)
                    yield name
                    continue
                for part in taken or ():
                    with suppress(Exception):  # the name is no module
                        import_module(f"{module.__name__}.{part}")
                yield module
            before = [before[1], instruction.argval]


def _inside(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the cell of the closure is still empty
        return None


def _pickled(value: object) -> bytes:
    try:
        import cloudpickle  # comes with the simulator

        pickled: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise InputError(f"{value!r} cannot be told apart from others of its kind") from error
    return pickled


_STANDARD = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")


class _Modules:
    """Whose modules are whose: those known by name and version, and somebody's own."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known
        self._found: dict[str | None, bool] = {}

    def is_known(self, module: str | None) -> bool:
        """Whether the name and version of a module say all that there is to say of its code."""
        if module not in self._found:
            self._found[module] = self._asked(module)
        return self._found[module]

    def _asked(self, module: str | None) -> bool:
        top = (module or "").partition(".")[0]
        if top in ("paofed", "__main__"):
            return f"{module}.".startswith(tuple(f"{one}." for one in self.known))
        file = _file(top)
        if file is None:
            return top in sys.stdlib_module_names
        installed = not set(_INSTALLED).isdisjoint(file.parts)
        return installed or any(file.is_relative_to(place) for place in _STANDARD)

    def text_of(self, module: str) -> bytes | None:
        """Return the text of the file of somebody's own module, if there is one."""
        file = None if self.is_known(module) else _file(module)
        with suppress(OSError):
            return None if file is None else file.read_bytes()
        return None

    def led_to(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield somebody's own modules that some names lead to, in order, each with its text."""
        found: dict[str, bytes | None] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found or not all(part.isidentifier() for part in name.split(".")):
                continue
            text = found[name] = self.text_of(name)
            waiting.append(name.rpartition(".")[0])  # the package that contains the module
            waiting += [] if text is None else _named_in(text, name)
        for name, text in sorted(found.items()):
            if text is not None:
                yield name, text


def _named_in(text: bytes, module: str) -> Iterator[str]:
    """Yield what may be the name of a module in a text: what it imports, and all of its words."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # the text is no Python source, but compiled code, say
        return
    spec = _spec(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = module if is_package else module.rpartition(".")[0]
    named = [name for node in nodes for name in _names(node, package)]
    # Whoever asks has accounted for the version of paofed.
    yield from (name for name in named if name.partition(".")[0] != "paofed")


def _names(node: ast.AST, package: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            with suppress(ImportError):  # a relative import beyond the outermost package
                dots = f"{'.' * level}{module or ''}"
                base = resolve_name(dots, package) if level else dots
                yield base
                yield from (f"{base}.{alias.name}" for alias in names)
        case ast.Constant(value=str(word)):
            yield word


def _file(module: str) -> Path | None:
    """Return the file of a module's text, whether the module is imported or not."""
    place = getattr(sys.modules.get(module), "__file__", None)
    if place is None and module not in sys.modules:
        spec = _spec(module)
        place = spec.origin if spec is not None and spec.has_location else None
    return None if place is None else Path(place)


def _spec(module: str) -> ModuleSpec | None:
    """Return what Python would import under a name, without importing the packages around it."""
    if (loaded := sys.modules.get(module)) is not None:
        return getattr(loaded, "__spec__", None)
    package, _, _ = module.rpartition(".")
    places: list[str] | None = None  # the folders in which to look for packages
    if package:
        above = _spec(package)
        places = None if above is None else above.submodule_search_locations
        if places is None:
            return None
    with suppress(ImportError, ValueError, OSError):
        return PathFinder.find_spec(module, places)
    return None
