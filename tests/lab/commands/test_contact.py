import json

import pytest

from lab.commands import contact, main


def test_what_a_contact_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes are exact; times are only there (machines are noisy), so a small fleet will do."""
    monkeypatch.setattr(contact, "_DEVICES", 20)
    assert main(["contact"]) == 0
    assert "server, per contact" in capsys.readouterr().out
    assert main(["contact", "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    assert (cost["bytes_up"], cost["bytes_down"]) == (23, 23)
    assert min(cost["server_us"], cost["device_us"], cost["learn_us"]) > 0
    assert contact.bytes_per_device(10_000, max_age=200) < 200
