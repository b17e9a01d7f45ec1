"""The page for Prometheus: the same numbers as the record, as Prometheus wants them."""

import re
from collections import Counter
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given

from paofed.live.device.device import Device
from paofed.live.protocol.devices import REASONS
from paofed.live.protocol.messages import VERSION
from paofed.live.server import broker_log
from paofed.live.server.concerns import KINDS
from paofed.live.server.prometheus import _AGES, prometheus
from paofed.live.server.status import STANDINGS, FleetError, ServiceStatus, Status
from paofed.live.server.validation import Validation
from tests.live.brokers import work, work_until_confirmed
from tests.live.fleets import server
from tests.live.prometheus import promtool
from tests.live.server.test_in_process import Site
from tests.live.server.test_status import SERVICE, statuses

_LABEL = r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"'
_SAMPLE = re.compile(rf"(paofed_[a-z_]+)\{{({_LABEL}(?:,{_LABEL})*)\}} (\S+)")
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Page(NamedTuple):
    """Types by name, values by name and labels beside the fleet's."""

    types: dict[str, str]
    samples: Samples

    def value(self, name: str, **labels: str) -> float:
        return self.samples[f"paofed_{name}", frozenset(labels.items())]

    def by(self, name: str, label: str) -> dict[str, float]:
        """The values of a metric by those of its one label."""
        found = [(dict(k), v) for (n, k), v in self.samples.items() if n == f"paofed_{name}"]
        return {labels[label]: value for labels, value in found}


def parsed(text: str, fleet: str) -> Page:
    """Read a page as strictly as Prometheus does; every sample is of the fleet."""
    types: dict[str, str] = {}
    samples: Samples = {}
    told = ""  # of what the last word of help was
    assert text.endswith("\n")
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            told, _, words = line.removeprefix("# HELP ").partition(" ")
            assert words
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert name not in types
            assert name == told
            types[name] = kind
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None, line
            name, value = found[1], float(found[found.re.groups])
            newest = list(types)[-1]
            parts = ("_bucket", "_sum", "_count") if types[newest] == "histogram" else ("",)
            assert name in [newest + part for part in parts], "samples stand under their type"
            labels = {k: _unescaped(v) for k, v in re.findall(_LABEL, found[2])}
            assert labels.pop("fleet") == fleet
            key = name, frozenset(labels.items())
            assert key not in samples
            samples[key] = value
    return Page(types, samples)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def page_of(status: Status) -> Page:
    return parsed(prometheus(status), status.fleet)


@given(statuses)
def test_prometheus_reads_what_the_record_says(status: Status) -> None:
    page = page_of(status)
    says_of_the_fleet(page, status)
    if status.service is None:
        assert not any("total" in name or "server" in name for name in page.types)
        return
    says_of_the_server(page, status.service)
    has_ages_as_a_histogram_in_seconds(page, status.service, status.tick_seconds)


def says_of_the_fleet(page: Page, status: Status) -> None:
    about = {
        "version": version("paofed"),
        "wire_version": str(VERSION),
        "algorithm": status.algorithm,
    }
    assert page.value("fleet_info", **about) == 1
    assert page.value("fleet_start_timestamp_seconds") == status.start
    assert page.value("tick") == status.tick
    assert page.value("tick_length_seconds") == status.tick_seconds
    standings = Counter(device.standing for device in status.devices)
    assert page.by("devices", "standing") == {s: standings[s] for s in STANDINGS}
    kinds = Counter(fault.kind for device in status.devices for fault in device.faults)
    assert page.by("devices_attention", "kind") == {kind: kinds[kind] for kind in KINDS}
    assert page.value("problems") == len(status.problems)
    assert page.value("fleet_quiet") == (status.quiet_since is not None)
    if status.heard_at is not None:
        assert page.value("last_update_timestamp_seconds") == status.heard_at
    if status.error is not None:
        assert page.value("fleet_error_ratio") == 10 ** (status.error.now / 10)
        assert page.value("fleet_error_usual_ratio") == 10 ** (status.error.usual / 10)
        assert page.value("fleet_worse") == (status.error.worse_since is not None)


def says_of_the_server(page: Page, service: ServiceStatus) -> None:
    assert page.value("server_start_timestamp_seconds") == service.started
    assert page.value("broker_connected") == service.connected
    assert page.value("journal_stuck") == service.stuck
    assert page.value("clock_behind_seconds") == service.clock_behind
    if service.snapshot_at is not None:
        assert page.value("snapshot_timestamp_seconds") == service.snapshot_at
    names = {
        "contacts": "contacts",
        "updates_accepted": "accepted",
        "updates_duplicate": "duplicates",
        "updates_left_out": "left out",
        "updates_implausible": "implausible",
        "hellos": "hellos",
    }
    for name, key in names.items():
        assert page.value(f"{name}_total") == service.counts.get(key, 0)
    assert page.value("messages_dropped_total") == service.dropped
    assert page.value("clock_jumps_total") == service.clock_jumps
    sides = {"received": service.bytes_received, "sent": service.bytes_sent}
    assert page.by("mqtt_bytes_total", "direction") == sides
    by_broker = page.by("broker_refusals_total", "reason")
    assert by_broker == dict.fromkeys(broker_log.REASONS, 0) | service.broker_refused
    refused = {k[9:]: n for k, n in service.counts.items() if k.startswith("refused: ")}
    every = {"unknown device", *REASONS} - {""} | set(refused)
    by_reason = page.by("messages_refused_total", "reason")
    assert by_reason == {reason: refused.get(reason, 0) for reason in every}


def has_ages_as_a_histogram_in_seconds(page: Page, service: ServiceStatus, seconds: float) -> None:
    count = sum(service.ages.values())
    assert page.value("update_age_seconds_count") == float(count)
    whole = sum(age * n for age, n in service.ages.items()) * seconds
    assert page.value("update_age_seconds_sum") == pytest.approx(whole)
    buckets = page.by("update_age_seconds_bucket", "le")
    assert buckets.pop("+Inf") == float(count)
    for limit, within in buckets.items():
        ticks = round(float(limit) / seconds)
        assert within == float(sum(n for age, n in service.ages.items() if age <= ticks))


def full(algorithm: str = "pao-fed-u1") -> Status:
    """A record from which no metric is missing."""
    error = FleetError(now=-20.0, usual=-21.5, worse_since=None, history=())
    found = Validation(error=1.0, target="y", decibels=None, samples=9, held=None)
    service = replace(SERVICE, snapshot_at=3.0, ages={0: 3, 7: 1, 200: 1}, validation=found)
    status = Status.of("g", server(2), [], service)
    return replace(status, algorithm=algorithm, error=error, heard_at=5.0)


@pytest.mark.parametrize("algorithm", ["pao-fed-u1", 'a"b\\c\nd\u2028e'])
def test_promtool_has_nothing_to_say_against_the_page(algorithm: str) -> None:
    assert promtool("check", "metrics", text=prometheus(full(algorithm))) == ""


def test_the_number_of_series_does_not_grow_with_the_fleet() -> None:
    few, many = (Status.of("g", server(size), [], SERVICE) for size in (1, 500))
    assert prometheus(few).count("\n") == prometheus(many).count("\n")


def test_counters_begin_with_the_server_and_the_record_goes_on(tmp_path: Path) -> None:
    site = Site(tmp_path / "fleet")

    def served(device: Device) -> tuple[Status, ServiceStatus]:
        with site.served() as running:
            assert work(device, 2) == 2
            work_until_confirmed(device, device.confirmed + 1)
            status = running.status()
        assert status.service is not None
        return status, status.service

    with site.device(0) as device:
        first, at_first = served(device)
        again, at_last = served(device)
    accepted = [status.counts["accepted"] for status in (first, again)]
    assert at_first.counts["accepted"] == accepted[0] == sum(at_first.ages.values())
    assert at_last.counts["accepted"] == accepted[1] - accepted[0] == sum(at_last.ages.values())
    assert at_last.started > at_first.started > first.start - 1
    assert at_first.connected
    assert page_of(again).value("updates_accepted_total") == at_last.counts["accepted"]
    assert again.heard_at is not None
    assert at_last.snapshot_at is not None
    now = again.start + again.tick * again.tick_seconds
    for then in (at_last.snapshot_at, again.heard_at):  # either may be the later one
        assert first.start <= then <= now + 1e-6


def test_an_update_whose_age_is_a_bucket_s_limit_is_in_that_bucket() -> None:
    """Prometheus's `le` is "less than or equal"."""
    status = full()
    assert status.service is not None
    at_limits = replace(status.service, ages=dict.fromkeys(_AGES, 1))
    buckets = page_of(replace(status, service=at_limits)).by("update_age_seconds_bucket", "le")
    assert [*buckets.values()] == [*range(1, len(_AGES) + 1), len(_AGES)]
