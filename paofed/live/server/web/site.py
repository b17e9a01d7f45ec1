"""All that a fleet's server shows over HTTP, for whoever may see it.

The page and predictions have routes of their own. Here are those of health and metrics:

/health    200 while the fleet is served as well as ever, 503 and why while it is not; and which
           devices somebody should look at
/metrics   for Prometheus
/status    everything, as JSON
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paofed.live.fleet.folder import Fleet
from paofed.live.model.fleet_model import FleetModel
from paofed.live.server.lookout import Sight
from paofed.live.server.prometheus import CONTENT_TYPE, prometheus
from paofed.live.server.status import Status
from paofed.live.server.validation import Validation
from paofed.live.server.web import predictions
from paofed.live.server.web.answers import JSON, Answer, Routes, as_json
from paofed.live.server.web.listener import Listener
from paofed.live.server.web.page import page
from paofed.live.server.web.page.feed import Feed
from paofed.live.server.web.rights import KeptTokens, guarded, names_of

Ask = Callable[[], Status]


@contextmanager
def shown(
    fleet: Fleet,
    ask: Ask,
    see: Callable[[], Sight],
    model: Callable[[], FleetModel],
    validation: Callable[[], Validation | None],
) -> Iterator[None]:
    """Answer over HTTP where the settings say, if anywhere, while the block lasts.

    `ask` returns the present status, `see` what the page shows, `model` the present model, and
    `validation` how the model fares on a file of samples, if there is one.
    """
    if not fleet.settings.http:
        yield
        return
    with Feed(see) as feed:
        routes = {
            **page.routes(feed),
            **of_health(ask),
            **predictions.routes(model, validation),
        }
        with Listener(*fleet.settings.http_place(), _allowed(fleet, routes, ask)):
            yield


def _allowed(fleet: Fleet, routes: Routes, ask: Ask) -> Routes:
    """Return the routes, behind tokens where the fleet has any."""
    return guarded(
        routes,
        KeptTokens(fleet.folder),
        cookie=f"paofed-{fleet.settings.name}",
        anybody=for_anybody(ask),
        names=names_of(fleet.settings),
    )


def of_health(ask: Ask) -> Routes:
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
