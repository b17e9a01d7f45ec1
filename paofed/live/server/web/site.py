"""All that a fleet's server shows over HTTP, for whoever may see it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paofed.live.fleet.folder import Fleet
from paofed.live.model.fleet_model import FleetModel
from paofed.live.server.lookout import Sight
from paofed.live.server.validation import Validation
from paofed.live.server.web import health, predictions
from paofed.live.server.web.answers import Routes
from paofed.live.server.web.listener import Listener
from paofed.live.server.web.page import page
from paofed.live.server.web.page.feed import Feed
from paofed.live.server.web.rights import KeptTokens, guarded, names_of


@contextmanager
def shown(
    fleet: Fleet,
    ask: health.Ask,
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
            **health.routes(ask),
            **predictions.routes(model, validation),
        }
        with Listener(*fleet.settings.http_place(), _allowed(fleet, routes, ask)):
            yield


def _allowed(fleet: Fleet, routes: Routes, ask: health.Ask) -> Routes:
    """Return the routes, behind tokens where the fleet has any."""
    return guarded(
        routes,
        KeptTokens(fleet.folder),
        cookie=f"paofed-{fleet.settings.name}",
        anybody=health.for_anybody(ask),
        names=names_of(fleet.settings),
    )
