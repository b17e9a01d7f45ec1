"""Who is who: sources that were seen, and the fleet's device that each of them is, for ever.

A source takes part if a pattern admits it and it has a place, which is one of the fleet's devices
for which the gateway speaks. Places are given in the order in which sources have told all inputs
for the first time, and never change hands: the past of a device is that of one source. The places
are on disk before the first sample.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

from paofed.errors import FileError, require_format
from paofed.files import read_text, write_text
from paofed.live.network.credential import Credential

FILE = "sources.json"
FORMAT = 1
LONGEST_NAME = 64
UNTOLD = "has not told all inputs"  # how a source stands that gave nothing to predict from
MOST_OTHERS = 1000  # how many sources without a place are remembered
_NEVER = 1e12  # seconds since 1970: a time beyond it is a mistake
_DAMAGED = "is no list of a gateway's sources: restore it from a copy, or begin in another folder"


@dataclass
class TelemetrySource:
    """One source, as it was seen."""

    device: int | None = None  # its place: the index of its device
    first: float = 0.0  # when it was first seen, in seconds since 1970
    last: float = 0.0
    messages: int = 0
    samples: int = 0  # samples that were learned from
    implausible: int = 0  # samples outside the plausible ranges
    waits: bool = False  # whether it has told all inputs and found no place left
    why: str = ""  # why nothing comes of its messages, where nothing has until now


class Sources:
    """All sources of a gateway."""

    def __init__(
        self,
        places: Iterable[int],
        admit: Iterable[str],
        known: Mapping[str, TelemetrySource] | None = None,
    ) -> None:
        self.known = dict(known or {})
        self._admit = tuple(admit)
        self._places = tuple(places)
        taken = {source.device for source in self.known.values()}
        self._free = [place for place in self._places if place not in taken]
        self._taking_part = {n for n in self.known if self.standing(n) == "takes part"}
        self._others = sum(source.device is None for source in self.known.values())

    def see(self, name: str, now: float) -> tuple[TelemetrySource | None, str]:
        """Note a message of a source; return the source if it may take part, and else why not."""
        source = self.known.get(name)
        if source is None:
            if not is_name(name):
                return None, "from a source whose name is no name"
            if self._others >= MOST_OTHERS:
                if not (self._free and self.admits(name)):
                    return None, "from more sources than are remembered"
                self._forget_one()
            source = self.known[name] = TelemetrySource(first=now)
            self._others += 1
        source.last = now
        source.messages += 1
        away = source.device is not None and name not in self._taking_part
        if away or not self.admits(name):
            return None, "from sources that do not take part"
        return source, ""

    def _forget_one(self) -> None:
        """Forget the source without a place that was not heard for longest."""
        others = (name for name, source in self.known.items() if source.device is None)
        name = min(others, key=lambda name: self.known[name].last)
        del self.known[name]
        self._others -= 1

    def give_place(self, name: str) -> bool:
        """Give a place to a source that has told all inputs; return whether it has one."""
        if name in self._taking_part:
            return True
        if name not in self.known:  # it was forgotten since it told its inputs
            return False
        source = self.known[name]
        source.waits = not self._free
        if source.waits:
            return False
        source.device = self._free.pop(0)
        self._others -= 1
        self._taking_part.add(name)
        return True

    def admits(self, name: str) -> bool:
        """Whether a pattern lets this source take part."""
        return any(fnmatchcase(name, pattern) for pattern in self._admit)

    def standing(self, name: str) -> str:
        """Say how a source stands, for people."""
        source = self.known[name]
        if not self.admits(name):
            return "not admitted"
        if source.device is None:
            return "waits for a place" if source.waits else UNTOLD
        return "takes part" if source.device in self._places else "its place was taken away"


def is_name(text: str) -> bool:
    """Whether a source may have this name, which is shown to people and is part of topics."""
    right = 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()
    return right and not set(text) & set("/+#") and not text.startswith("$")


def save(
    folder: Path, credential: Credential, sources: Sources, passed_over: Mapping[str, int]
) -> None:
    """Write what is known of sources, and how often messages were passed over, by reason."""
    content = {
        "format": FORMAT,
        "fleet": credential.fleet,
        "since": credential.since,
        "gateway": credential.who,
        "sources": {name: asdict(source) for name, source in sources.known.items()},
        "passed_over": dict(passed_over),
    }
    write_text(folder / FILE, json.dumps(content, indent=1) + "\n")


def load(folder: Path, credential: Credential) -> tuple[dict[str, TelemetrySource], dict[str, int]]:
    """Read what `save` wrote; refuse a list of another fleet, or of another of its gateways."""
    path = folder / FILE
    if not path.exists():
        return {}, {}
    try:
        content: Any = json.loads(read_text(path))
        require_format(f"{path} has sources", content["format"], FORMAT)
        sources = {name: TelemetrySource(**values) for name, values in content["sources"].items()}
        passed_over: dict[str, int] = dict(content["passed_over"])
        _require_right(sources, passed_over)
        whose = content["fleet"], content["since"], content["gateway"]
    except FileError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise FileError(f"{path} {_DAMAGED}") from None
    if whose != (credential.fleet, credential.since, credential.who):
        raise FileError(f"{path} is another gateway's: choose another folder for `state`")
    return sources, passed_over


def _require_right(sources: Mapping[str, TelemetrySource], passed_over: Mapping[str, int]) -> None:
    """Raise ValueError for values that `save` cannot have written."""
    known = sources.values()
    places = [source.device for source in known if source.device is not None]
    counts = [(source.messages, source.samples, source.implausible) for source in known]
    whole = [*places, *chain.from_iterable(counts), *passed_over.values()]
    times = [time for source in known for time in (source.first, source.last)]
    right = (
        all(map(is_name, sources))
        and all(type(number) is int and 0 <= number < 2**63 for number in whole)
        and all(type(time) in (int, float) and abs(time) < _NEVER for time in times)
        and all((type(one.waits), type(one.why)) == (bool, str) for one in known)
        and len(set(places)) == len(places)
    )
    if not right:
        raise ValueError
