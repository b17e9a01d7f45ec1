"""Requests over HTTP, changed by chance: each is answered, and the port goes on answering."""

import logging
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.fleet.tokens import make_token
from paofed.live.model.fleet_model import FleetModel
from paofed.live.server.lookout import Lookout
from paofed.live.server.web.site import shown
from tests.fuzz.mutation import VALUES, in_bytes, in_json, in_words
from tests.live.fleets import live, manifest
from tests.ports import free_port

_PATIENCE = 30.0  # seconds: longer than the port waits for the rest of a request
_TARGETS = (
    "/", "/health", "/status", "/metrics", "/model", "/events", "/predict", "/no", "http://[",
    "*", "//", "/?token=x", "/health?token=" + "x" * 5000, "/%00", "/\u00fc", "/../", "",
)  # fmt: skip
_FIELDS = (
    "Host: localhost", "Host: [", "Host: evil.example", "Host: localhost:99999999", "\0: \0",
    "Content-Length: 5", "Content-Length: -1", "Content-Length: 999999999999", " folded",
    "Content-Length: 5, 5", "Connection: close", "Transfer-Encoding: chunked", "no colon",
    "Expect: 100-continue", "Authorization: Bearer x", "Authorization:", "If-None-Match: *",
    "Authorization: Bearer \u00fc", "Last-Event-ID: " + "9" * 400, "Upgrade: websocket",
    "Cookie: paofed-g=x", 'Cookie: a="' + "\\" * 60_000, "Cookie: " + ";" * 30_000,
    "X: " + "y" * 65_000,
)  # fmt: skip
_READINGS = (
    b'{"a": 0.25, "b": 0.5}', b'[{"a": 0.25, "b": 0.5}, {"a": 1, "b": 2}]', b"[" * 975 + b"]" * 975,
    b"[" * 100_000, b'{"a":' * 980, b"9" * 6000, b"", b"null", b'{"a": 1e999, "b": "x"}',
)  # fmt: skip


@contextmanager
def port(folder: Path, *, tokens: bool) -> Iterator[tuple[int, str]]:
    """All that a fleet's server shows, without its loop; returns the port and a token."""
    number = free_port()
    settings = Settings(name="g", security="none", http=f"127.0.0.1:{number}")
    fleet = Fleet.create(folder, settings, manifest(tick_seconds=1e9, start=time.time()))
    token = make_token(fleet.folder, "all", ["see", "predict"]) if tokens else ""
    with fleet.store() as store:
        store.roster.add_all(["a", "b", "c"])
        coordinator = store.recover()
        live(store, coordinator, range(12), snapshots=4)
        now = time.time()
        sight = Lookout(fleet, store, coordinator, now).sight(coordinator, now)
        model = FleetModel.of(coordinator)
        with shown(fleet, sight.status, lambda: sight, lambda: model, lambda: None):
            yield number, token


def question(seed: int, token: str) -> bytes:
    """A request of a seed: nearly right, with strange parts, or with changed bytes."""
    chance = Random(seed)  # noqa: S311 (no secret)
    method = chance.choice(("GET",) * 6 + ("POST",) * 6 + ("HEAD", "PUT", "get", "", "\u00fc"))
    target = chance.choice(_TARGETS)
    content = chance.choice(_READINGS)
    if chance.random() < 0.5:
        content = chance.choice((in_json, in_words, in_bytes))(_READINGS[0], chance)
    fields = ["Host: localhost"] if chance.random() < 0.9 else []
    if token and chance.random() < 0.7:
        fields.append(f"Authorization: Bearer {token}")
    if method == "POST" and chance.random() < 0.9:
        target = "/predict"
        fields.append(f"Content-Length: {len(content)}")
    fields += chance.sample(_FIELDS, chance.choice((0, 0, 1, 1, 2, 5)))
    if chance.random() < 0.05:
        fields += [f"X-{n}: {chance.choice(VALUES)!r:.50}" for n in range(150)]
    version = chance.choice(("HTTP/1.1",) * 40 + ("HTTP/1.0", "HTTP/9.9", "HTTP/", ""))
    head = "\r\n".join([f"{method} {target} {version}", *fields, "", ""])
    whole = head.encode(errors="replace") + (content if method == "POST" else b"")
    return in_bytes(whole, chance) if chance.random() < 0.25 else whole


def asked(number: int, request: bytes) -> str:
    """What comes of a request: the code of its answer, or how the connection ends."""
    with socket.create_connection(("127.0.0.1", number), timeout=_PATIENCE) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)  # whoever waits for more is told that nothing comes
            answer = connection.recv(64)
        except TimeoutError:
            return "no answer"
        except OSError:  # a refusal may come, and the connection end, before all was sent
            return "reset"
    if not answer:
        return "closed"
    return answer[9:12].decode(errors="replace") if answer.startswith(b"HTTP/") else "bare"


class _Failures(logging.Handler):
    """Notes failures of the server at a request, which it logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def try_questions(seeds: range, folder: Path) -> tuple[Counter[str], dict[int, str]]:
    """Ask a port with and without tokens; returns counts of answers, and what did harm, by seed."""
    counts: Counter[str] = Counter()
    harmful: dict[int, str] = {}
    log, failures = logging.getLogger("paofed.server"), _Failures()
    log.addHandler(failures)
    try:
        for tokens in (False, True):
            with port(folder / f"{tokens}", tokens=tokens) as (number, token):
                for seed in (seed for seed in seeds if seed % 2 == tokens):
                    outcome = asked(number, question(seed, token))
                    counts[outcome] += 1
                    if outcome in ("no answer", "500") or failures.said:
                        harmful[seed] = ", ".join([outcome, *failures.said])
                        failures.said.clear()
                if asked(number, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n") != "200":
                    harmful[-1 - tokens] = "the port does not answer any more"
    finally:
        log.removeHandler(failures)
    return counts, harmful
