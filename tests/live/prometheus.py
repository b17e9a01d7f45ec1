"""A real Prometheus, and promtool, which comes with it."""

import json
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

from paofed.demo.processes import end, start
from tests.live.brokers import PATIENCE
from tests.ports import free_port
from tests.system import needs

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever http_proxy says


def promtool(*words: str | Path, text: str = "") -> str:
    """Run promtool, which must be content; returns all it says."""
    program = needs("prometheus", "promtool")
    done = subprocess.run(  # noqa: S603 (a program that we name ourselves)
        [program, *map(str, words)], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Prometheus:
    """A server that scrapes, on a port of its own, while the block lasts."""

    def __init__(self, configuration: Path, data: Path) -> None:
        self._program = needs("prometheus")
        self._words = [f"--config.file={configuration}", f"--storage.tsdb.path={data}"]

    def __enter__(self) -> Self:
        self._place = f"127.0.0.1:{free_port()}"
        listen = f"--web.listen-address={self._place}"
        self._process = start([self._program, *self._words, listen])
        return self

    def __exit__(self, *_: object) -> None:
        end(self._process)

    def is_ready(self) -> bool:
        """Whether it answers questions."""
        try:
            with _OPENER.open(f"http://{self._place}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def answer(self, expression: str) -> list[Any]:
        """What it answers to an expression; one that it cannot read is an error."""
        words = urllib.parse.urlencode({"query": expression})
        return list(self._asked(f"/api/v1/query?{words}")["result"])

    def rules(self) -> list[Any]:
        """The alert rules that it has read, with how each is doing."""
        return [rule for group in self._asked("/api/v1/rules")["groups"] for rule in group["rules"]]

    def _asked(self, page: str) -> Any:
        with _OPENER.open(f"http://{self._place}{page}", timeout=PATIENCE) as found:
            says = json.load(found)
        assert says["status"] == "success"
        return says["data"]
