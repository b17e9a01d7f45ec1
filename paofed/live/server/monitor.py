"""Health and metrics of a running server over a small HTTP port, on this machine by default.

/health    200 while the fleet is served as well as ever, 503 and why while it is not; and whom
           somebody should look at
/metrics   for Prometheus
/status    everything, as JSON
"""

import json
import threading
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from paofed.errors import InputError
from paofed.live.fleet.settings import Settings
from paofed.live.server.metrics import prometheus
from paofed.live.server.status import Status

Ask = Callable[[], Status]
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever http_proxy says


def asked(settings: Settings, seconds: float = 10.0) -> Status | None:
    """What a fleet's running server says, if anybody answers where the settings say."""
    if not settings.http:
        return None
    try:
        with _OPENER.open(f"http://{settings.http}/status", timeout=seconds) as answer:
            return Status.from_json(answer.read())
    except (OSError, HTTPException):
        return None
    except (ValueError, KeyError, TypeError, AttributeError):  # somebody else answers there
        return None


def monitored(settings: Settings, ask: Ask) -> AbstractContextManager[object]:
    """Show what `ask` answers, where the settings say, while the block lasts."""
    return Monitor(*settings.http_place(), ask) if settings.http else nullcontext()


class Monitor:
    """A web server with three pages."""

    def __init__(self, host: str, port: int, ask: Ask) -> None:
        handler = type("Handler", (_Handler,), {"ask": staticmethod(ask)})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            raise InputError(
                f"health cannot be shown at {host}:{port}: {error.strerror} "
                f"(set http in fleet.toml)"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    ask: Ask
    timeout = 10  # seconds: nobody keeps a thread for ever

    def handle(self) -> None:
        """Hear a question and answer it, unless whoever asks has gone."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer one of the pages."""
        pages = {"/health": self._health, "/metrics": self._metrics, "/status": self._status}
        page = pages.get(self.path.partition("?")[0])
        if page is None:
            self._answer(404, "text/plain", f"there are {', '.join(pages)}\n")
            return
        try:
            status = self.ask()
        except TimeoutError:
            self._answer(503, "text/plain", "the server's loop does not answer\n")
        except InputError as error:
            self._answer(503, "text/plain", f"{error}\n")
        else:
            page(status)

    def do_HEAD(self) -> None:
        """Answer as a GET would, without the page."""
        self.do_GET()

    def _health(self, status: Status) -> None:
        problems = status.problems
        says = {"healthy": not problems, "problems": problems, "attention": status.attention}
        text = json.dumps({**says, "tick": status.tick})
        self._answer(503 if problems else 200, "application/json", text + "\n")

    def _metrics(self, status: Status) -> None:
        self._answer(200, "text/plain; version=0.0.4", prometheus(status))

    def _status(self, status: Status) -> None:
        self._answer(200, "application/json", status.to_json() + "\n")

    def _answer(self, code: int, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing: who looks how often is no news."""
