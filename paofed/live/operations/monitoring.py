"""What Prometheus and Grafana need to watch a fleet, as files.

prometheus.yml   where to ask, with the fleet's name and address to be filled in
alerts.yml       when to call somebody, for every fleet that is watched
dashboard.json   what to show of the fleets
"""

import json
from importlib.resources import files
from string import Template

from paofed.live.fleet.settings import Settings

ALERTS, DASHBOARD = "paofed.alerts.yml", "paofed.dashboard.json"
_AUTHORIZATION = "    authorization:  # Bearer\n      credentials_file: {}\n"
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (nothing is bound here)


def monitoring(settings: Settings, token_file: str = "") -> dict[str, str]:
    """Return the files by name; prometheus.yml, which is for this fleet alone, is named after it.

    `token_file` is where Prometheus finds its token, if the fleet asks for one.
    """
    scrape = Template(_shipped("prometheus.yml"))
    return {
        f"{settings.name}.prometheus.yml": scrape.substitute(
            fleet=settings.name,
            target=_target(settings),
            authorization=_AUTHORIZATION.format(json.dumps(token_file)) if token_file else "",
        ),
        ALERTS: _shipped("alerts.yml"),
        DASHBOARD: _shipped("dashboard.json"),
    }


def _target(settings: Settings) -> str:
    """Return the address at which Prometheus finds the server."""
    host, port = settings.http_place()
    if host in _EVERYWHERE:
        host = "localhost"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _shipped(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
