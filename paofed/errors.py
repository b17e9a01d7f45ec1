"""What can go wrong, as one small family.

    PaofedError
    ├── InputError          what was handed to us cannot be used: the command line exits with 2
    │   ├── AlgorithmError  an unknown algorithm, an option it does not take, a value out of range
    │   │   └── RuleError   a rule of somebody's own raised or returned something wrong
    │   ├── TraceError      a trace whose arrays are missing, misshapen or contradict each other
    │   ├── ScenarioError   a scenario that is not valid, told with the place in its file
    │   ├── FileError       a file that cannot be read, or a place that cannot be written to
    │   │   └── NewerFormatError  a file whose format only a newer paofed knows
    │   ├── MissingExtraError  something that needs a package outside the base install
    │   └── MissingMethodError  a fleet's method whose code was not given to this process
    ├── ExecutorError       an executor fails again and again at what it is given
    └── ContractError       an algorithm breaks the contract that `check_algorithm` holds it to
    PaofedWarning           no error: work goes on, but slower or otherwise than people may expect

Every text says what was got, what was expected and, where that is not obvious, what to do.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from operator import index
from typing import ClassVar, Self, SupportsIndex, cast


class PaofedError(Exception):
    """Anything that paofed raises on purpose."""


class InputError(PaofedError, ValueError):
    """What was handed to us cannot be used; `key` is the option or argument that is wrong.

    A text may begin with its key, perhaps after `whose`, and has other keys in backquotes, so that
    `told` can call them as those who read it do.
    """

    whose: ClassVar[str] = ""  # what may stand before a key, with a space at its end

    def __init__(self, text: str = "", *, key: str | None = None) -> None:
        super().__init__(text)
        self.key = key

    def told(self, names: Mapping[str, str]) -> str:
        """Return the text with other names of keys; it calls a key max_age "max age", too.

        >>> error = InputError("max age is 9: give `tick`", key="max_age")
        >>> error.told({"max_age": "--max-age", "tick": "--tick"})
        '--max-age is 9: give --tick'
        """
        text, key = str(self).removeprefix(self.whose), self.key or ""
        for begin in (key, (last := key.rpartition(".")[2]), last.replace("_", " ")):
            if key in names and text.startswith((f"{begin} ", f"{begin}: ")):
                return with_names(names[key] + text.removeprefix(begin), names)
        return with_names(str(self), names)


class AlgorithmError(InputError):
    """An unknown algorithm, an option it does not take, or a value out of range."""


class RuleError(AlgorithmError):
    """A rule of somebody's own raised or returned something wrong.

    `complaint` says what, as in "its server's apply returned int"; the text names the method first.
    """

    def __init__(self, method: str, complaint: str) -> None:
        super().__init__(f"{method}: {complaint}")
        self.method, self.complaint = method, complaint

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Let worker processes hand the error over; an exception is copied by its text alone."""
        return type(self), (self.method, self.complaint)


class TraceError(InputError):
    """A trace whose arrays are missing, misshapen or contradict each other."""


class ScenarioError(InputError):
    """A scenario that is not valid, told with the place in its file."""


class FileError(InputError):
    """A file that cannot be read, or a place that cannot be written to."""


class NewerFormatError(FileError):
    """A file whose format only a newer paofed knows."""


class MissingExtraError(InputError):
    """Something that needs a package outside the base install."""


class MissingMethodError(InputError):
    """A fleet's method whose code was not given to this process."""


class ExecutorError(PaofedError):
    """An executor fails again and again at what it is given."""


class ContractError(PaofedError, AssertionError):
    """An algorithm breaks the contract that `check_algorithm` holds it to."""


class PaofedWarning(UserWarning):
    """Work goes on, but slower or otherwise than people may expect; commands say it on stderr."""


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names of the keys that it has in backquotes.

    >>> with_names("give `tick`, see `this`", {"tick": "--tick"})
    'give --tick, see `this`'
    """
    for key, name in names.items():
        text = text.replace(f"`{key}`", name)
    return text


@contextmanager
def about(key: str) -> Iterator[None]:
    """Let errors within this block be about `key`."""
    try:
        yield
    except InputError as error:
        error.key = key
        raise


def require_format(what: str, noted: object, newest: int) -> None:
    """Refuse a file whose format is not among those that are known here, 1 to `newest`.

    >>> require_format("run.npz is a result", 3, 2)
    Traceback (most recent call last):
    paofed.errors.NewerFormatError: run.npz is a result of format 3, this paofed knows 2: ...
    """
    if isinstance(noted, int) and noted < 1:
        raise FileError(f"{what} of format {shown(noted)}: expected one from 1 to {newest}")
    if type(noted) is not int or noted > newest:
        raise NewerFormatError(
            f"{what} of format {shown(noted)}, this paofed knows {newest}: upgrade paofed"
        )


_LONGEST_QUOTE, _LONGEST_LIST = 200, 4000  # characters that an error shows


def cut(text: str, most: int = _LONGEST_QUOTE) -> str:
    """Return a text, or the beginning of a long one: what an error quotes may be a whole file.

    >>> cut("north"), cut("north-west", 5)
    ('north', 'north... (10 characters)')
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def shown(value: object) -> str:
    """Write a value for an error, as `repr` does, cut where it is long."""
    return cut(repr(value))


def unknown(kind: str, got: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, and suggest the nearest known one.

    >>> unknown("algorithm", "pao-fed-u3", ["pao-fed-u1", "online-fed"])
    "unknown algorithm 'pao-fed-u3': did you mean 'pao-fed-u1'? (known: pao-fed-u1, online-fed)"
    """
    names = list(known)
    near = nearest(got, names)
    hint = f": did you mean {near!r}?" if near else ""
    return f"unknown {kind} {shown(got)}{hint} (known: {cut(', '.join(names), _LONGEST_LIST)})"


def nearest(got: str, known: Iterable[str]) -> str | None:
    """Return the name that was probably meant, or None: a wrong guess is worse than none.

    A name that was cut short is taken first; one that begins otherwise has to be more alike.

    >>> nearest("rnu", ["run", "trace"]), nearest("--step", ["--store", "--step-size"])
    ('run', '--step-size')
    >>> nearest("train", ["readings", "trace"])
    """
    if len(got) > _LONGEST_QUOTE:  # comparing long texts would take minutes
        return None
    names = [name for name in known if len(name) <= _LONGEST_QUOTE]
    longer = [name for name in names if len(got) > 2 and name.startswith(got)]
    alike = [name for name in names if name[:1] == got[:1]]
    found = (
        longer or get_close_matches(got, names, 1, 0.75) or get_close_matches(got, alike, 1, 0.65)
    )
    return found[0] if found else None


def in_one_line(error: BaseException) -> str:
    """Say an error of somebody else's code in one line; its own text may have several lines."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def whole(what: str, value: object, least: int | None = None) -> int:
    """Take a whole number, Python's or NumPy's, and refuse everything else.

    >>> whole("runs", 4, least=1)
    4
    """
    try:
        number = None if isinstance(value, bool) else index(cast(SupportsIndex, value))
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        begin = "" if least is None else f" from {least} on"
        raise InputError(f"{what} is {value!r}: expected a whole number{begin}", key=what)
    return number


# The extras that have a package; all other packages belong to the extra `sim`.
_EXTRAS = {
    "paho": ("device", "fleet"),
    "cryptography": ("fleet",),
    "jinja2": ("sim", "fleet"),
    "markupsafe": ("sim", "fleet"),
    "polars": ("table",),
    "pandas": ("pandas",),
    "xarray": ("xarray",),
    "sklearn": ("boost", "sklearn"),
    "river": ("river",),
    "distributed": ("cluster",),
    "cuda": ("gpu",),
}


@contextmanager
def needs_extra(what: str, extras: str = "") -> Iterator[None]:
    """Explain in one sentence that a package outside the base install is missing.

    `extras` are all that `what` needs, as in "sim,fleet": where one of them has the package, all of
    them are named, so that nobody has to install them one after the other.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "paofed").partition(".")[0]
        if package == "paofed":
            raise
        if package in sys.stdlib_module_names:
            raise MissingExtraError(
                f"{what} needs {package}, which this Python does not have: "
                f"paofed needs Linux or macOS"
            ) from error
        having = _EXTRAS.get(package, ("sim",))
        named = extras if set(having) & set(extras.split(",")) else having[0]
        raise MissingExtraError(
            f"{what} needs {error.name}, which is not installed: pip install 'paofed[{named}]'"
        ) from error
