"""Health and metrics.

/health    200 while the fleet is served as well as ever, 503 and why while it is not; and which
           devices somebody should look at
/metrics   for Prometheus
/status    everything, as JSON
"""

from collections.abc import Callable

from paofed.live.server.metrics import CONTENT_TYPE, prometheus
from paofed.live.server.status import Status
from paofed.live.server.web.answers import JSON, Answer, Routes, as_json

Ask = Callable[[], Status]


def routes(ask: Ask) -> Routes:
    """Return the routes that show what `ask` returns."""
    return {
        ("GET", "/health"): lambda _: _health(ask()),
        ("GET", "/metrics"): lambda _: _metrics(ask()),
        ("GET", "/status"): lambda _: Answer(200, JSON, f"{ask().to_json()}\n".encode()),
    }


def for_anybody(ask: Ask) -> Routes:
    """Return routes for a supervisor without a token: no words, which may name devices."""
    return {("GET", "/health"): lambda _: _alive(ask())}


def _alive(status: Status) -> Answer:
    healthy = not status.problems
    return as_json(200 if healthy else 503, {"healthy": healthy, "tick": status.tick})


def _health(status: Status) -> Answer:
    problems = status.problems
    says = {"healthy": not problems, "problems": problems, "attention": status.attention}
    return as_json(503 if problems else 200, {**says, "tick": status.tick})


def _metrics(status: Status) -> Answer:
    return Answer(200, CONTENT_TYPE, prometheus(status).encode())
