"""Which code is somebody's own, and the files that it can lead to.

Code that looks names up at run time, by `getattr` for one, may reach anything that its modules
hold. So all files count that such a module leads to: by what their texts import, and by words in
them that are names of modules. Nothing is imported to find these files.
"""

import ast
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from pathlib import Path

from paofed.simulate.spread.identity import DECIDING

# The digest of the package's sources covers these.
_KNOWN = tuple(f"paofed.{room}" for room in DECIDING)
_STANDARD = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")


def is_known(module: str | None) -> bool:
    """Whether the name and version of a module say all that there is to say of its code."""
    top = (module or "").partition(".")[0]
    if top in ("paofed", "__main__"):
        return f"{module}.".startswith(tuple(f"{room}." for room in _KNOWN))
    file = _file(top)
    if file is None:
        return top in sys.stdlib_module_names
    installed = not set(_INSTALLED).isdisjoint(file.parts)
    return installed or any(file.is_relative_to(place) for place in _STANDARD)


def text_of(module: str) -> bytes | None:
    """Return the text of the file of somebody's own module, if there is one."""
    file = None if is_known(module) else _file(module)
    with suppress(OSError):
        return None if file is None else file.read_bytes()
    return None


def led_to(names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the modules of somebody's own that some names lead to, in order, each with its text."""
    found: dict[str, bytes | None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or not all(part.isidentifier() for part in name.split(".")):
            continue
        text = found[name] = text_of(name)
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
    # Every key has the version of paofed and the digest of the sources that decide numbers.
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
