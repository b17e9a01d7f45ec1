"""Methods that somebody else's code brings: from a file, from a module, from an installed package.

A word on the command line says where the method is: `mine.py:triggered`,
`package.module:triggered`, or the name of an entry point of the group `paofed.algorithms`, which an
installed package declares. In that place there must be an Algorithm, or a factory: a function with
keyword options that makes an Algorithm. To name code is to run it.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from hashlib import sha256
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from paofed.algorithms.base import Algorithm
from paofed.errors import AlgorithmError, PaofedError, in_one_line, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "paofed.algorithms"
_FILE = ".py"
_NAME = r"[^\W\d]\w*"
_PLACED = re.compile(rf"(.+?\{_FILE}|{_NAME}(?:\.{_NAME})*):({_NAME})(?::(.*))?")


def split(word: str) -> tuple[str, str | None]:
    """Split a word into the method and its options; the options are None if none are written.

    >>> split("pao-fed-u1:shared=32"), split("mine.py:triggered"), split("a.b:c:every=5")
    (('pao-fed-u1', 'shared=32'), ('mine.py:triggered', None), ('a.b:c', 'every=5'))
    """
    placed = _PLACED.fullmatch(word)
    if placed is not None:
        return f"{placed[1]}:{placed[2]}", placed[3]
    name, colon, options = word.partition(":")
    return name, options if colon else None


def file_of(word: str) -> Path | None:
    """Return the file that a word names, or None if the word names a module or an entry point."""
    placed = _PLACED.fullmatch(word)
    return Path(placed[1]) if placed is not None and placed[1].endswith(_FILE) else None


def factory_of(name: str) -> Callable[..., Algorithm] | None:
    """Return the factory of the algorithm of that name, or None if nobody brings one."""
    placed = _PLACED.fullmatch(name)
    if placed is not None:
        return _factory(name, _found(placed[1], placed[2]))
    if name.endswith(_FILE):
        raise AlgorithmError(f"{name} is a file: name the algorithm in it too, as in {name}:NAME")
    entries = [entry for entry in brought() if entry.name == name]
    if len(entries) > 1:
        places = " or ".join(entry.value for entry in entries)
        raise AlgorithmError(f"{name} is brought by {len(entries)} packages: write {places}")
    return factory_brought(entries[0]) if entries else None


def home_of(name: str) -> tuple[str, Path]:
    """Return the name that a method has in the file that holds it, and this file, which is run."""
    if factory_of(name) is None:
        raise AlgorithmError(
            f"{name} is no method of somebody's own: expected FILE.py:NAME, MODULE:NAME, or an "
            f"entry point of {GROUP}"
        )
    value = next((entry.value for entry in brought() if entry.name == name), name)
    placed = _PLACED.fullmatch(value)
    if placed is None:
        raise AlgorithmError(f"{name} is {value}: expected a name of a module")
    if placed[1].endswith(_FILE):
        return placed[2], Path(placed[1])
    return placed[2], Path(import_module(placed[1]).__file__ or "")


def brought() -> list["EntryPoint"]:
    """Return the entry points of installed packages; no package is imported yet."""
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    return sorted(entry_points(group=GROUP))


def package_of(entry: "EntryPoint") -> str:
    """Name the package that declares this entry point, with the package's version."""
    return "somebody" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def factory_brought(entry: "EntryPoint") -> Callable[..., Algorithm]:
    """Import what an entry point names, and return it as a factory."""
    where = f"{entry.name} of {package_of(entry)} ({entry.value})"
    with _told(where):
        found = entry.load()
    return _factory(where, found)


def _factory(where: str, found: Any) -> Callable[..., Algorithm]:
    """Return a record or a factory as a factory, and refuse everything else."""
    if isinstance(found, Algorithm):
        return lambda: found
    if not _makes(found):
        raise AlgorithmError(
            f"{where} is {type(found).__name__}: expected an Algorithm, or a function with keyword "
            f"options that makes one"
        )

    @wraps(found)
    def make(**options: object) -> Algorithm:
        with _told(where):
            made = found(**options)
        if not isinstance(made, Algorithm):
            raise AlgorithmError(f"{where} made {type(made).__name__}: expected an Algorithm")
        return made

    return make


def _makes(found: Any) -> bool:
    """Whether `found` can be called with keywords alone."""
    try:
        parameters = signature(found).parameters.values()
    except (TypeError, ValueError):  # `found` is no function, or does not say what it takes
        return False
    by_place = (p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return all(p.default is not p.empty for p in by_place)


def _found(place: str, name: str) -> Any:
    """Return what a file or module has under that name."""
    word = f"{place}:{name}"
    module = _of_file(word, Path(place)) if place.endswith(_FILE) else _imported(word, place)
    if hasattr(module, name):
        return getattr(module, name)
    known = [key for key, value in vars(module).items() if _is_method_of(module, key, value)]
    if not known:
        raise AlgorithmError(f"{word}: {place} has no {name!r}, nor any other algorithm")
    raise AlgorithmError(f"{word}: {unknown(f'name in {place}', name, known)}")


def _is_method_of(module: ModuleType, key: str, value: Any) -> bool:
    """Whether `value` is an algorithm for us: a record, or a public factory of the module's own."""
    own = getattr(value, "__module__", None) == module.__name__ and not key.startswith("_")
    return isinstance(value, Algorithm) or (own and _makes(value))


def _imported(word: str, place: str) -> ModuleType:
    with _told(f"{word}: importing {place}"):
        try:
            return import_module(place)
        except ModuleNotFoundError as error:
            # The missing module is another one, which `place` imports.
            if not f"{place}.".startswith(f"{error.name}."):
                raise
    file = f"{place.replace('.', '/')}{_FILE}"
    raise AlgorithmError(
        f"{word}: there is no module {place} to import: install its package, or name its file, "
        f"as in {file}:{word.rpartition(':')[2]}"
    )


def _of_file(word: str, path: Path) -> ModuleType:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise AlgorithmError(f"{word}: {path} cannot be read: {error.strerror}") from None
    with _told(f"{word}: running {path}"):
        return _executed(path.resolve(), source)


@cache
def _executed(path: Path, source: bytes) -> ModuleType:
    """Run a file as a module, once for each content: a digest of the content is in its name."""
    module = ModuleType(f"{path.stem}_{sha256(source).hexdigest()[:8]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    if str(path.parent) not in sys.path:
        # Modules beside the file can be imported, as from a script.
        sys.path.append(str(path.parent))
    try:
        exec(compile(source, path, "exec", dont_inherit=True), vars(module))  # noqa: S102 (asked for)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    with suppress(ModuleNotFoundError):  # without `paofed[sim]` there are no worker processes
        import cloudpickle

        # No other process could import the module by name.
        cloudpickle.register_pickle_by_value(module)
    return module


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Turn whatever somebody's code raises into one line that says where."""
    try:
        yield
    except PaofedError as error:
        raise AlgorithmError(f"{where}: {error}", key=getattr(error, "key", None)) from error
    except (Exception, SystemExit) as error:
        raise AlgorithmError(f"{where} raised {in_one_line(error)}") from error
