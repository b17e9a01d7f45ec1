"""The page as one file: nothing of it comes from the network, and no word of a fleet is a script.

The names of devices are input like any other. They stand in the page as JSON in which no tag can
begin, and the browser is told to run the page's own script and no other.
"""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from paofed.live.server.web.answers import Answer, Question, Routes
from paofed.live.server.web.page.feed import Feed, whole
from paofed.live.server.web.page.view import View

_KIND = "text/html; charset=utf-8"


class _Sources(NamedTuple):
    html: str
    style: str
    script: str

    @property
    def policy(self) -> str:
        """What a browser may do with the page: use its own style and script, and ask its server."""
        return (
            f"default-src 'none'; script-src '{_hash(self.script)}'; "
            f"style-src '{_hash(self.style)}'; img-src data:; connect-src 'self'; "
            f"base-uri 'none'; form-action 'none'"
        )


def routes(feed: Feed) -> Routes:
    """Return the routes of the page and of its events."""
    return {("GET", "/"): lambda question: _shown(feed, question), ("GET", "/events"): feed.events}


def page(view: View, place: str = "") -> str:
    """Return the page with a view in it; `place` is the id after which events go on, if they do."""
    sources = _sources()
    data = json.dumps({**whole(view), "since": place}, separators=(",", ":"))
    parts = {
        "policy": sources.policy,
        "style": sources.style,
        "script": sources.script,
        "data": data.replace("<", "\\u003c"),
    }
    # Text, name, text, ...: the inserted texts are not searched for names.
    pieces = sources.html.split("@@")
    return "".join(parts[piece] if n % 2 else piece for n, piece in enumerate(pieces))


def _shown(feed: Feed, _: Question) -> Answer:
    place, view = feed.now()
    fields = (
        ("Content-Security-Policy", f"{_sources().policy}; frame-ancestors 'none'"),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    )
    return Answer(200, _KIND, page(view, place).encode(), fields)


@cache
def _sources() -> _Sources:
    here = files("paofed.live.server.web.page")
    scripts = sorted((here / "script").iterdir(), key=lambda file: file.name)
    text = "\n".join(file.read_text(encoding="utf-8") for file in scripts)
    return _Sources(
        (here / "page.html").read_text(encoding="utf-8"),
        (here / "page.css").read_text(encoding="utf-8"),
        f'"use strict";\n(() => {{\n{text}}})();\n',
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
