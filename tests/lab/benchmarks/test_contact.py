import json

import pytest

from lab.benchmarks import contact
from lab.benchmarks.contact import bytes_per_device, contact_cost
from lab.commands import main


def test_what_a_contact_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes are exact; times are only there (machines are noisy), so a small fleet will do."""
    monkeypatch.setattr(contact, "_DEVICES", 20)
    cost = contact_cost()
    assert (cost.bytes_up, cost.bytes_down) == (23, 23)
    assert min(cost.server_us, cost.device_us, cost.learn_us) > 0
    assert main(["contact"]) == 0
    assert "server, per contact" in capsys.readouterr().out
    assert main(["contact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes_up"] == 23


def test_a_device_takes_little_room_on_the_server() -> None:
    assert bytes_per_device(10_000, max_age=200) < 200
