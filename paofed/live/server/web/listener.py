"""The HTTP port of a running server: takes questions, finds their route, sends the answers."""

import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from paofed.errors import InputError
from paofed.live.server.web.answers import Answer, Fields, Question, Routes, in_words

_log = logging.getLogger("paofed.server")
_LARGEST = 2**20  # the most bytes of a question's content
_CONTENT = {"content-length", "transfer-encoding"}  # header fields of a question that has content
_ONCE = ("Content-Length", "Host")  # header fields that mean nothing if they are there twice
_LOOK = 0.1  # seconds between two checks whether the block is over


class Listener:
    """A web server that runs as long as its block."""

    def __init__(self, host: str, port: int, routes: Routes) -> None:
        failures = _Failures()
        handler = type("Handler", (_Handler,), {"routes": routes, "failures": failures})
        try:
            self._server = _Server((host, port), handler)
        except OSError as error:
            raise InputError(
                f"health cannot be shown at {host}:{port}: {error.strerror} "
                f"(set http in fleet.toml)"
            ) from None
        self._server.failures = failures
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK,), daemon=True
        )

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Failures:
    """Failures of this program at a question: each kind is logged once, and when it has doubled."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._lock = threading.Lock()

    def note(self) -> None:
        """Count the exception that is being handled."""
        error = sys.exception()
        place = traceback.extract_tb(error.__traceback__)[-1] if error else None
        kind = f"{error!r:.200} in {place.name}, line {place.lineno}" if place else repr(error)
        with self._lock:
            self._counts[f"{type(error)} {place}"] += 1
            times = self._counts[f"{type(error)} {place}"]
        if times.bit_count() == 1:
            _log.error("a question over HTTP failed, %d times until now: %s", times, kind)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # clients that may wait to be taken; the library's 5 are soon reset
    failures: _Failures

    def handle_error(self, *_: Any) -> None:
        """Note a failure in the middle of an answer; the connection is closed."""
        self.failures.note()


class _Handler(BaseHTTPRequestHandler):
    routes: Routes
    failures: _Failures
    timeout = 10  # seconds, so that nobody keeps a thread for ever
    protocol_version = "HTTP/1.1"  # who asks again need not connect again
    wbufsize = -1  # an answer leaves as a whole
    disable_nagle_algorithm = True  # and without delay
    # Whether a question's content was not read: the next question would come after it.
    unread = False

    def handle(self) -> None:
        """Read a question and answer it, unless whoever asks has gone."""
        with suppress(ConnectionError):
            super().handle()

    def finish(self) -> None:
        """Send the rest, unless whoever asked has gone."""
        with suppress(ConnectionError):
            super().finish()

    def do_GET(self) -> None:
        """Answer a question."""
        self._send(self._answer("GET"))

    def do_HEAD(self) -> None:
        """Answer as a GET would, without the content."""
        self._send(self._answer("GET"))

    def do_POST(self) -> None:
        """Answer a question that has content."""
        self._send(self._answer("POST"))

    def _answer(self, method: str) -> Answer:
        """Return an answer to every question, also to one at which this program fails."""
        self.unread = not _CONTENT.isdisjoint(name.lower() for name in self.headers)
        wrong = self._misunderstood()
        if wrong:
            self.unread = True
            return in_words(400, f"{wrong}: the question is not answered")
        try:
            return self._routed(method)
        except (TimeoutError, ConnectionError):  # whoever asks is slow, or has gone
            raise
        except Exception:  # noqa: BLE001 (it is counted and logged)
            self.failures.note()
            return in_words(500, "the server failed at this question: its log says where")

    def _misunderstood(self) -> str:
        """Say why a question could be understood in two ways; empty if it cannot.

        A proxy before this server may read the same bytes otherwise, and take for content what this
        server would take for the next question.
        """
        fields = self.headers
        folded = any("\n" in value or "\r" in value for value in fields.values())
        if fields.defects or fields.get_payload() or fields.get_unixfrom() or folded:
            return "a line of the header is not `Name: value`"
        for name in _ONCE:
            if len(fields.get_all(name, ())) > 1:
                return f"{name} is there twice"
        try:
            urlsplit(self.path)
        except ValueError:
            return "the address is none"
        return ""

    def _routed(self, method: str) -> Answer:
        address = urlsplit(self.path)
        methods = {m for m, path in self.routes if path == address.path}
        if not methods:
            paths = dict.fromkeys(path for _, path in self.routes)
            return in_words(404, f"there are {', '.join(paths)}")
        if method not in methods:
            allowed = ", ".join(sorted(methods))
            refused = in_words(405, f"{address.path} takes {allowed}, not {method}")
            return refused._replace(fields=(("Allow", allowed),))
        content = self._content() if method == "POST" else b""
        if isinstance(content, Answer):
            return content
        try:
            return self.routes[method, address.path](
                Question(address.query, Fields(self.headers.items()), content)
            )
        except TimeoutError:
            return in_words(503, "the server's loop does not answer")
        except InputError as error:
            return in_words(503, str(error))

    def _content(self) -> bytes | Answer:
        """Return the content of a question, or an answer that says why it is not read."""
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            return in_words(411, "the question has no Content-Length: expected its bytes, counted")
        if len(length) > 9 or int(length) > _LARGEST:
            return in_words(413, f"{length} bytes were sent: expected {_LARGEST} at most")
        content = self.rfile.read(int(length))
        self.unread = False
        return content

    def _send(self, answer: Answer) -> None:
        code, kind, content, fields = answer
        self.send_response(code)
        self.send_header("Content-Type", kind)
        if self.unread or not isinstance(content, bytes):
            # Closing the connection ends content without a length.
            self.send_header("Connection", "close")
        if isinstance(content, bytes) and code != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(content)))
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(content, bytes):
            self.wfile.write(content)
        else:
            self._stream(content)

    def _stream(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Log nothing: who looks how often is no news."""
