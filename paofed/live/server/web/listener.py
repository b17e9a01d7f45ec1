"""The HTTP port of a running server: takes questions, finds their route, sends the answers."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from paofed.errors import InputError
from paofed.live.server.web.answers import Answer, Fields, Question, Routes, in_words

_LARGEST = 2**20  # the most bytes of a question's content
_CONTENT = {"content-length", "transfer-encoding"}  # header fields of a question that has content
_LOOK = 0.1  # seconds between two checks whether the block is over


class Listener:
    """A web server that runs as long as its block."""

    def __init__(self, host: str, port: int, routes: Routes) -> None:
        handler = type("Handler", (_Handler,), {"routes": routes})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            raise InputError(
                f"health cannot be shown at {host}:{port}: {error.strerror} "
                f"(set http in fleet.toml)"
            ) from None
        self._server.daemon_threads = True
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


class _Handler(BaseHTTPRequestHandler):
    routes: Routes
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
        address = urlsplit(self.path)
        self.unread = not _CONTENT.isdisjoint(name.lower() for name in self.headers)
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
