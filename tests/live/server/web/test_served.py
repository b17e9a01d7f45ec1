"""A server at work, asked over its HTTP port by applications and by whoever has its folder."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from paofed import predictor
from paofed.cli import main
from paofed.live.fleet.tokens import make_token
from paofed.live.server.status import asked
from tests.live.brokers import PATIENCE, until, work_until_confirmed
from tests.live.server.test_in_process import Site
from tests.ports import free_port

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
READING = {"a": 0.25, "b": 0.5}


class Asked(Site):
    """A fleet of one device and its server, in this process, with a port."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ("north",), f"127.0.0.1:{free_port()}")

    def ask(self, path: str, content: object = None, **fields: str) -> tuple[int, bytes]:
        body = None if content is None else json.dumps(content).encode()
        address = f"http://{self.fleet.settings.http}{path}"
        request = urllib.request.Request(address, body, fields)
        try:
            with OPENER.open(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def predicted(self) -> Any:
        code, content = self.ask("/predict", READING)
        return json.loads(content) if code == 200 else None


@pytest.fixture
def site(tmp_path: Path) -> Asked:
    return Asked(tmp_path / "fleet")


def test_an_application_predicts_by_what_devices_have_learned(site: Asked, tmp_path: Path) -> None:
    with site.served() as server, site.device(0) as device:
        assert site.ask("/predict", READING)[0] == site.ask("/model")[0] == 503
        work_until_confirmed(device, 1)
        until(lambda: site.predicted() and site.predicted()["interval"]["devices"] == 1)
        first = site.predicted()
        work_until_confirmed(device, device.confirmed + 2)
        until(lambda: site.predicted()["version"] != first["version"])
        server.settle()  # nothing changes any more
        found, model = site.predicted(), predictor(site.ask("/model")[1])
        assert found["tick"] > first["tick"]
        assert found["predictions"] == [model.predict(READING)._asdict()]
        assert found["version"] == model.version
        assert site.ask("/model", **{"If-None-Match": f'"{model.version}"'}) == (304, b"")
    out = tmp_path / "model.json"
    assert main(["fleet", "model", str(site.fleet.folder), "--out", str(out)]) == 0
    assert predictor(out).predict(READING) == model.predict(READING)


def test_with_tokens_only_their_holders_are_answered_and_the_folder_s_own_commands(
    site: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site.fleet.folder
    with site.served():
        assert site.ask("/status")[0] == 200
        token = make_token(folder, "billing", ["predict"])
        bearer = {"Authorization": f"Bearer {token}"}
        assert [site.ask(path)[0] for path in ("/status", "/model")] == [401, 401]
        assert [site.ask(path, **bearer)[0] for path in ("/status", "/model")] == [403, 503]
        alive = json.loads(site.ask("/health")[1])
        assert set(alive) == {"healthy", "tick"}
        assert asked(site.fleet.settings) is None
        status = asked(site.fleet.settings, folder=folder)
        assert status is not None
        assert status.service is not None
        assert main(["fleet", "status", str(folder)]) == 0
        assert "served for" in capsys.readouterr().out
        assert main(["fleet", "token", str(folder), "billing", "--revoke"]) == 0
        assert site.ask("/model", **bearer)[0] == 401
