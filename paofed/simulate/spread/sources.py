"""Which code is somebody's own, and the files that it can lead to.

Code that looks names up as it goes, by `getattr` for one, may reach anything that its modules hold.
So all files count that such a module leads to: by what their texts import, and by words in them
that are names of modules. Nothing is imported to find them.
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

_KNOWN = tuple(f"paofed.{room}" for room in DECIDING)  # told by the digest of their sources
_STANDARD = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")


def is_known(module: str | None) -> bool:
    """Whether the name of a module and versions say all that there is to say of it."""
    top = (module or "").partition(".")[0]
    if top in ("paofed", "__main__"):
        return f"{module}.".startswith(tuple(f"{room}." for room in _KNOWN))
    file = _file(top)
    if file is None:
        return top in sys.stdlib_module_names
    installed = not set(_INSTALLED).isdisjoint(file.parts)
    return installed or any(file.is_relative_to(place) for place in _STANDARD)


def text_of(module: str) -> bytes | None:
    """The file that a module of somebody's own stands in, if there is one."""
    file = None if is_known(module) else _file(module)
    with suppress(OSError):
        return None if file is None else file.read_bytes()
    return None


def led_to(names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The modules of somebody's own that some names lead to, in order, each with its text."""
    found: dict[str, bytes | None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or not all(part.isidentifier() for part in name.split(".")):
            continue
        text = found[name] = text_of(name)
        waiting.append(name.rpartition(".")[0])  # the package that it is in
        waiting += [] if text is None else _named_in(text, name)
    for name, text in sorted(found.items()):
        if text is not None:
            yield name, text


def _named_in(text: bytes, module: str) -> Iterator[str]:
    """What may be the name of a module in a text: what it imports, and all of its words."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # it is compiled, say
        return
    spec = _spec(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = module if is_package else module.rpartition(".")[0]
    named = [name for node in nodes for name in _names(node, package)]
    # Every key has the version of paofed, and the sources of what decides numbers in it.
    yield from (name for name in named if name.partition(".")[0] != "paofed")


def _names(node: ast.AST, package: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            with suppress(ImportError):  # beyond the outermost package
                dots = f"{'.' * level}{module or ''}"
                base = resolve_name(dots, package) if level else dots
                yield base
                yield from (f"{base}.{alias.name}" for alias in names)
        case ast.Constant(value=str(word)):
            yield word


def _file(module: str) -> Path | None:
    """Where the text of a module is, imported or not."""
    place = getattr(sys.modules.get(module), "__file__", None)
    if place is None and module not in sys.modules:
        spec = _spec(module)
        place = spec.origin if spec is not None and spec.has_location else None
    return None if place is None else Path(place)


def _spec(module: str) -> ModuleSpec | None:
    """What Python would find under a name; packages on the way to it are not imported."""
    if (loaded := sys.modules.get(module)) is not None:
        return getattr(loaded, "__spec__", None)
    package, _, _ = module.rpartition(".")
    places: list[str] | None = None  # where packages are
    if package:
        above = _spec(package)
        places = None if above is None else above.submodule_search_locations
        if places is None:
            return None
    with suppress(ImportError, ValueError, OSError):
        return PathFinder.find_spec(module, places)
    return None
