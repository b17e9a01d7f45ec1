"""`paofed fleet clock`: a server's clock that was ahead for a moment stops no fleet for days."""

import json
import time
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import locked
from tests.effort import long
from tests.live.brokers import PATIENCE, TICK, next_tick, until, work_until_confirmed
from tests.live.server.test_in_process import Site

DAYS = 2.5 * 86400.0 + 1800.0


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "fleet", max_age=4, tick_seconds=TICK)


def again(device: Device) -> bool:
    """Contact in the next tick."""
    next_tick(device)
    return device.contact(1.0)


def clock(capsys: pytest.CaptureFixture[str], site: Site, *words: str) -> str:
    assert main(["fleet", "clock", str(site.fleet.folder), *words]) == 0
    return capsys.readouterr().out


@long
def test_a_server_whose_clock_was_ahead_for_a_moment(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ahead = [0.0]
    with site.device(0, state=tmp_path / "state.npz") as device:
        with site.served(wall=lambda: time.time() + ahead[0]) as server:
            work_until_confirmed(device, 2)
            ahead[0] = DAYS
            until(lambda: server.status().tick > DAYS)
            until(lambda: again(device))  # it finds out, and has the tick of two days ahead
            ahead[0] = 0.0
            until(
                lambda: any("the clock is 217" in problem for problem in server.status().problems)
            )
        assert "begins in 2 d 12 h: no tick closes until then" in clock(capsys, site)
        assert main(["fleet", "status", str(site.fleet.folder)]) == 0
        assert f"`paofed fleet clock {site.fleet.folder} --reset`" in capsys.readouterr().out
        with site.fleet.store() as store:
            before = store.recover()
        assert "begins now" in clock(capsys, site, "--reset")
        with site.fleet.store() as store:
            after = store.recover()
            assert after.w.tobytes() == before.w.tobytes()
            assert after.tick > before.tick  # tick numbers never go back
            assert abs(after.manifest.begins(after.tick) - time.time()) < PATIENCE
            assert after.manifest.lineage == before.manifest.lineage
        with site.served() as server:
            confirmed = device.confirmed
            # It is served again, tick by tick, once it has asked for the time.
            until(lambda: again(device) and device.confirmed >= confirmed + 3)
            assert server.status().problems == ()
            assert server.status().tick > after.tick
    with site.fleet.store() as store:
        assert store.verify().agrees
        assert store.recover().counts["accepted"] >= device.confirmed
        lines = {(line.device, line.sent, line.arrived) for line in store.lines.read()}
        assert len(lines) == store.lines.count()
        assert [epoch.why for epoch in store.epochs.all()][1:] == ["ticks go on with the clock"]
    assert "ticks go with this machine's clock" in clock(capsys, site)


def test_ticks_that_are_two_days_ahead(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    with site.fleet.store() as store:
        before = store.recover()
        before.close(before.manifest.tick_at(time.time() + DAYS))
        store.snapshot(before)
    assert "begins in 2 d 12 h: no tick closes until then" in clock(capsys, site)
    assert main(["fleet", "status", str(site.fleet.folder)]) == 0
    assert f"`paofed fleet clock {site.fleet.folder} --reset`" in capsys.readouterr().out
    assert "begins now; start the server again" in clock(capsys, site, "--reset")
    with site.fleet.store() as store:
        after = store.recover()
        assert after.tick > before.tick  # tick numbers never go back
        assert abs(after.manifest.begins(after.tick) - time.time()) < PATIENCE
        assert after.manifest.lineage == before.manifest.lineage  # devices keep their models
        assert [epoch.why for epoch in store.epochs.all()] == ["made", "ticks go on with the clock"]
        assert abs(store.epochs.time_of(after.tick) - time.time()) < PATIENCE
    assert "ticks go with this machine's clock" in clock(capsys, site)
    assert main(["fleet", "status", str(site.fleet.folder)]) == 0
    assert "--reset" not in capsys.readouterr().out


def test_as_json_and_only_while_no_server_runs(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    said = json.loads(clock(capsys, site, "--json"))
    assert (said["ahead"], said["reset"]) == (0.0, False)
    with locked(site.fleet.folder):
        assert main(["fleet", "clock", str(site.fleet.folder), "--reset"]) == 2
    with Fleet(site.fleet.folder).store() as store:
        assert len(store.epochs.all()) == 1
