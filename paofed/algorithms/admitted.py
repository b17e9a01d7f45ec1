"""Methods of somebody else that this process may follow where only a name and a digest are told.

What a fleet agrees on and a device's state say which method they follow: its name, and the digest
of the file that holds it. None of these texts can have code run here. Whoever starts the process
names the method first, or the fleet's own folder has its file: a fleet's folder, and a backup of
one, may hold programs, which commands run that are pointed at it.
"""

from pathlib import Path
from typing import NamedTuple

from paofed.algorithms import outside
from paofed.errors import AlgorithmError, MissingMethodError
from paofed.files import file_digest

_SHOWN = 12  # digits of a digest that people are shown


class AdmittedMethod(NamedTuple):
    """A method that may be followed."""

    name: str  # in its file
    code: str  # the digest of its file
    place: str  # as `paofed.algorithms.made` takes it
    file: Path

    @property
    def kept_as(self) -> str:
        """The name of the file in a fleet's folder."""
        return f"{self.name}-{self.code[:_SHOWN]}.py"


# By name and digest: the places of that very file, of which any may be gone by now.
_ADMITTED: dict[tuple[str, str], list[AdmittedMethod]] = {}


def admit(word: str) -> AdmittedMethod:
    """Let this process follow the method of a word, as in `calm.py:calm`; its file is run.

    In place of a file, a word may name a module or an entry point of this machine. Everything that
    the method is made of must be in one file, beside Python, paofed and installed packages.
    """
    from paofed.digest import own_imports  # slow to import, and seldom needed

    place, _ = outside.split(word)
    name, file = outside.home_of(place)
    others = own_imports(file)
    if others:
        raise AlgorithmError(
            f"{word}: {file} imports {others[0]}, another file of its own: a fleet's method is in "
            f"one file, so put both into one"
        )
    return _admitted(AdmittedMethod(name, file_digest(file), place, file))


def admit_kept(folder: Path) -> None:
    """Let this process follow the methods whose files a fleet's folder keeps; none is run yet."""
    for file in sorted(folder.glob("*.py")):
        name = file.stem.rpartition("-")[0]
        method = AdmittedMethod(name, file_digest(file), f"{file}:{name}", file)
        if method.kept_as == file.name:  # the file is what it was when it was put there
            _admitted(method)


def admitted(name: str, code: str) -> AdmittedMethod:
    """Return the method of a name and a digest; refuse one that this process was not given."""
    for method in _ADMITTED.get((name, code), ()):
        if method.file.is_file() and file_digest(method.file) == code:
            return method
    here = [other[:_SHOWN] for known, other in _ADMITTED if known == name and other != code]
    other = f"other code ({', '.join(here)})" if here else "no such method"
    raise MissingMethodError(
        f"the fleet follows {name} with the code {code[:_SHOWN]}, and there is {other} here: give "
        f"--method FILE:{name} with the very file that its server has, or put that file back as "
        f"{name}-{code[:_SHOWN]}.py in methods of the fleet's folder"
    )


def admitted_as(place: str) -> AdmittedMethod | None:
    """Return the method that was admitted last from a place, if one was."""
    known = (method for places in reversed(_ADMITTED.values()) for method in places)
    return next((method for method in known if method.place == place), None)


def _admitted(method: AdmittedMethod) -> AdmittedMethod:
    key = method.name, method.code
    places = _ADMITTED[key] = _ADMITTED.pop(key, [])  # the last one, also if it is known
    if method not in places:
        places.insert(0, method)
    return method
