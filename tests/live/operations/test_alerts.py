"""Each alert: a course of events in which it calls, and some in which it does not."""

import json
from pathlib import Path
from typing import NamedTuple

from paofed.live.fleet.settings import Settings
from paofed.live.operations.monitoring import ALERTS, monitoring
from tests.live.operations.test_monitoring import RULES
from tests.live.prometheus import promtool

FLEET = 'fleet="g",instance="i",job="paofed"'


class Case(NamedTuple):
    """Values by series, one a minute (promtool's notation), and who calls after some minutes."""

    series: dict[str, str]
    minutes: int
    calls: tuple[str, ...] = ()


def one(name: str, values: str, minutes: int, *calls: str, labels: str = "") -> Case:
    """A case with one series."""
    return Case({series(name, labels): values}, minutes, calls)


def series(name: str, labels: str = "") -> str:
    return f"{name}{{{FLEET}{labels}}}"


def behind(seconds: int, *calls: str) -> Case:
    clock, tick = series("paofed_clock_behind_seconds"), series("paofed_tick_length_seconds")
    return Case({clock: f"{seconds}x10", tick: "60x10"}, 6, calls)


def silent(number: int, members: int, *calls: str) -> Case:
    attention = series("paofed_devices_attention", ',kind="silent"')
    standing = {word: series("paofed_devices", f',standing="{word}"') for word in _STANDINGS}
    return Case(
        {
            attention: f"{number}x10",
            standing["member"]: f"{members - 1}x10",
            standing["aside"]: "1x10",
            standing["removed"]: "1000x10",
        },
        6,
        calls,
    )


def refused(a_minute: str, contacts: int, *calls: str) -> Case:
    refusals = series("paofed_messages_refused_total", ',reason="epoch"')
    taken = series("paofed_contacts_total")
    return Case({refusals: a_minute, taken: f"0+{contacts}x60"}, 45, calls)


_STANDINGS = ("member", "aside", "removed")
_START = "paofed_server_start_timestamp_seconds"
_BROKER = "paofed_broker_refusals_total"
CASES = [
    one("up", "0x10", 6, "PaofedServerAway"),
    one("up", "0x3 1x6", 8),
    Case({'up{job="another",instance="i"}': "0x10"}, 9),
    one(_START, "1 2 3 4 5 5 5", 6, "PaofedServerRestarts"),
    one(_START, "1 2 3 4 4 4 4", 6),
    one("paofed_broker_connected", "0x10", 6, "PaofedBrokerAway"),
    one("paofed_broker_connected", "0x3 1x6", 8),
    one("paofed_journal_stuck", "1x5", 3, "PaofedJournalStuck"),
    one("paofed_journal_stuck", "0x5", 3),
    one("paofed_clock_jumps_total", "0 0 1 1 1", 4, "PaofedClockJumped"),
    one("paofed_clock_jumps_total", "3x10", 8),
    behind(90, "PaofedClockBehind"),
    behind(30),
    one("paofed_problems", "1x20", 11, "PaofedProblem"),
    one("paofed_problems", "1x5 0x20", 15),
    one("paofed_fleet_worse", "1x10", 6, "PaofedFleetWorse"),
    one("paofed_fleet_worse", "0x10", 6),
    one("paofed_validation_worse", "1x10", 6, "PaofedValidationWorse"),
    one("paofed_validation_worse", "1x3 0x10", 6),
    one("paofed_fleet_shifted", "0 1 0 0 0 0", 5, "PaofedFleetShifted"),
    one("paofed_fleet_shifted", "0x10", 6),
    one("paofed_fleet_quiet", "1x10", 6, "PaofedFleetQuiet"),
    one("paofed_fleet_quiet", "0x10", 6),
    *(
        one("paofed_devices_attention", "2x20", 16, "PaofedDeviceAttention", labels=f',kind="{k}"')
        for k in ("aside", "implausible", "worse", "refused", "silent")
    ),
    one("paofed_devices_attention", "0x20", 16, labels=',kind="aside"'),
    one("paofed_devices_attention", "1x10 0x20", 16, labels=',kind="aside"'),
    silent(6, 50, "PaofedManySilent"),
    silent(5, 50),
    silent(1, 2),
    refused("0+10x60", 100, "PaofedMessagesRefused"),
    refused("0+4x60", 100),
    refused("0x40 5x20", 0),
    one("paofed_messages_dropped_total", "0+1x30", 10, "PaofedMessagesDropped"),
    one("paofed_messages_dropped_total", "7x30", 10),
    one(_BROKER, "0+5x30", 20, "PaofedBrokerRefuses", labels=',reason="password"'),
    one(_BROKER, "0 1 2 2x30", 20, labels=',reason="password"'),
]


def as_promtool_reads(case: Case) -> dict[str, object]:
    expected = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in case.calls]
    return {
        "interval": "1m",
        "input_series": [{"series": s, "values": v} for s, v in case.series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{case.minutes}m",
                "exp_samples": expected,
            }
        ],
    }


def test_every_alert_calls_when_it_should_and_only_then(tmp_path: Path) -> None:
    (tmp_path / ALERTS).write_text(monitoring(Settings(name="g"))[ALERTS])
    tests = [as_promtool_reads(case) for case in CASES]
    text = json.dumps({"rule_files": [ALERTS], "evaluation_interval": "1m", "tests": tests})
    (tmp_path / "tests.yml").write_text(text)  # JSON is YAML
    assert "SUCCESS" in promtool("test", "rules", tmp_path / "tests.yml")


def test_every_alert_is_tried() -> None:
    assert {name for case in CASES for name in case.calls} == {name for name, _ in RULES}
