"""Who may ask what: the one place where tokens are checked.

A token comes as `Authorization: Bearer TOKEN`; from a browser it comes as `?token=TOKEN`, which is
kept as a cookie, or as that cookie. A route that is not named here, also one that is added later,
takes the right to see.

While there are no tokens, whoever reaches the port may ask. A page from elsewhere could reach it
through the browser of somebody who may, if the page's own name leads to this machine (DNS
rebinding). So the name by which the server was asked, in the field `Host`, is looked at until then.
"""

import ipaddress
import socket
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from paofed.live.fleet.settings import Settings
from paofed.live.fleet.tokens import FILE, Right, Tokens
from paofed.live.server.web.answers import Answer, Question, Route, Routes, in_words

_SHOWN = 100  # characters of a name that an answer repeats
_PREDICT = ("/predict", "/model")
_HOW = "send the field `Authorization: Bearer TOKEN` (`paofed fleet token` makes one)"

Kept = Callable[[], Tokens | None]  # returns the tokens; None: everybody may ask


class _Sent(NamedTuple):
    token: str
    by_address: bool = False


class KeptTokens:
    """The tokens of a fleet's folder, read again when their file has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = ()
        self._tokens: Tokens | None = None

    def __call__(self) -> Tokens | None:
        """Return the present tokens; a file that cannot be read is an error every time."""
        with self._lock:
            seen = self._look()
            if seen != self._seen:
                self._tokens = Tokens.load(self._folder)
                self._seen = seen
            return self._tokens

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = (self._folder / FILE).stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


def names_of(settings: Settings) -> frozenset[str]:
    """Return the names by which a fleet's server may be asked while there are no tokens."""
    own = (settings.http_place()[0], settings.host, socket.gethostname(), "localhost")
    return frozenset(name.lower() for name in (*own, *settings.http_names.split()))


def guarded(
    routes: Routes, tokens: Kept, *, cookie: str, anybody: Routes, names: Collection[str] = ()
) -> Routes:
    """Return the same routes behind their rights; `anybody` answers those without a token.

    While there are no tokens, the server has to be asked by an address or by one of `names`.
    """
    return {
        (method, path): _Guard(
            route, _right(path), tokens, cookie, anybody.get((method, path)), names
        )
        for (method, path), route in routes.items()
    }


def _right(path: str) -> Right:
    return "predict" if path in _PREDICT else "see"


@dataclass(frozen=True)
class _Guard:
    """A route that only holders of a right may use."""

    route: Route
    right: Right
    tokens: Kept
    cookie: str
    otherwise: Route | None
    names: Collection[str]

    def __call__(self, question: Question) -> Answer:
        tokens = self.tokens()
        if tokens is None:
            host = question.fields.get("Host", "localhost")  # browsers always send one
            return self.route(question) if _is_of(host, self.names) else _elsewhere(host)
        sent = _sent(question, self.cookie)
        may = tokens.rights(sent.token) if sent is not None else frozenset()
        if self.right in may and sent is not None:
            answer = self.route(question)
            return self._remembered(answer, sent.token) if sent.by_address else answer
        return self.otherwise(question) if self.otherwise else _refused(self.right, known=bool(may))

    def _remembered(self, answer: Answer, token: str) -> Answer:
        kept = f"{self.cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
        return answer._replace(fields=(*answer.fields, ("Set-Cookie", kept)))


def _refused(right: Right, *, known: bool) -> Answer:
    if known:
        return in_words(403, f"this token may not {right}: ask for one that may")
    refused = in_words(401, f"this takes a token that may {right}: {_HOW}")
    return refused._replace(fields=(("WWW-Authenticate", "Bearer"),))


def _is_of(host: str, names: Collection[str]) -> bool:
    """Whether a field `Host` has an address, or one of these names; any port will do.

    Nobody can make an address lead elsewhere, as a name can.
    """
    try:
        name = (urlsplit(f"//{host.strip()}").hostname or "").removesuffix(".")
    except ValueError:
        return False
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name in names
    return True


def _elsewhere(host: str) -> Answer:
    return in_words(
        421,
        f"the server was asked as {host[:_SHOWN]!r}, which is not known to be its name: ask it by "
        f"its address, add the name to http_names in fleet.toml, or let questions take tokens "
        f"(`paofed fleet token`)",
    )


def _sent(question: Question, cookie: str) -> _Sent | None:
    """Return the token that somebody shows: the first of the three ways that is used."""
    kind, _, token = question.fields.get("Authorization", "").strip().partition(" ")
    if kind.lower() == "bearer":
        return _Sent(token.strip())
    if found := parse_qs(question.query).get("token"):
        return _Sent(found[0], by_address=True)
    # By hand, since http.cookies takes half a minute for a long field of backslashes.
    for part in question.fields.get("Cookie", "").split(";"):
        name, _, kept = part.strip().partition("=")
        if name == cookie:
            return _Sent(kept)
    return None
