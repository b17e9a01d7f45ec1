"""The page as one file: nothing of it comes from the network, and no word of a fleet is a script.

The names of devices are input like any other. They stand in the page as JSON in which no tag can
begin, and the browser is told to run the page's own script and no other.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

from paofed.live.server.web.answers import Answer, Question, Routes
from paofed.live.server.web.page.feed import Feed
from paofed.live.server.web.page.view import View, whole

if TYPE_CHECKING:
    from jinja2 import Template

_KIND = "text/html; charset=utf-8"
_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


class _Frame(NamedTuple):
    """What is the same on every page: the template with its style and script."""

    template: "Template"
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
    frame = _frame()
    return frame.template.render(
        policy=frame.policy,
        style=frame.style,
        script=frame.script,
        view=view,
        data={**whole(view), "since": place},
    )


def _shown(feed: Feed, _: Question) -> Answer:
    place, view = feed.now()
    fields = (
        ("Content-Security-Policy", f"{_frame().policy}; frame-ancestors 'none'"),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    )
    return Answer(200, _KIND, page(view, place).encode(), fields)


@cache
def _frame() -> _Frame:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    room = "paofed.live.server.web.page"
    made = Environment(
        loader=PackageLoader(room),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    made.filters["clean"] = _clean
    scripts = sorted((files(room) / "script").iterdir(), key=lambda file: file.name)
    text = "\n".join(file.read_text(encoding="utf-8") for file in scripts)
    style = (files(room) / "templates/page.css").read_text(encoding="utf-8")
    return _Frame(
        made.get_template("page.html.j2"),
        Markup(style),  # noqa: S704 (our own)
        Markup(f'"use strict";\n(() => {{\n{text}}})();\n'),  # noqa: S704
    )


def _clean(text: str) -> str:
    """Show characters that cannot be seen, or turn the direction of others, as such."""
    return "".join("\ufffd" if category(one) in _UNSEEN else one for one in text)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
