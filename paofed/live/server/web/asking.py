"""Asks a fleet's running server, for commands that look at a fleet from outside."""

import urllib.request
from http.client import HTTPException
from pathlib import Path

from paofed.live.fleet.settings import Settings
from paofed.live.fleet.tokens import Tokens
from paofed.live.server.status import Status

# Ignores the variable http_proxy.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def asked(
    settings: Settings, seconds: float = 10.0, *, folder: Path | None = None
) -> Status | None:
    """Return what the server says of its fleet, if one answers where the settings say.

    `folder` is the fleet's: where asking takes a token, the folder has one of its own.
    """
    if not settings.http:
        return None
    request = urllib.request.Request(f"http://{settings.http}/status")
    try:
        if folder is not None and (tokens := Tokens.load(folder)) is not None:
            request.add_header("Authorization", f"Bearer {tokens.own}")
        with _OPENER.open(request, timeout=seconds) as answer:
            return Status.from_json(answer.read())
    except (OSError, HTTPException):
        return None
    except (ValueError, KeyError, TypeError, AttributeError):  # another program answers there
        return None
