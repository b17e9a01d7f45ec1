"""A gateway and its fleet in one process: what telemetry becomes, and what harms nothing."""

import json
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from paofed.algorithms import admitted
from paofed.errors import FileError, InputError, MissingMethodError
from paofed.live.device.device import Device, seconds
from paofed.live.fleet.changes import change_fleet
from paofed.live.gateway.gateway import Gateway, in_words
from paofed.live.gateway.settings import CalendarInput
from paofed.live.gateway.sources import FILE, MOST_OTHERS, Sources, TelemetrySource
from paofed.live.protocol.change import Changes
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.served import of_own
from tests.effort import effort
from tests.live.brokers import sample
from tests.live.gateway.sites import GatewaySite, reading, saying, turn_until
from tests.live.own_method import CALM


@pytest.fixture
def site(tmp_path: Path) -> GatewaySite:
    return GatewaySite(tmp_path)


def test_every_source_is_a_device_that_learns_and_is_confirmed(site: GatewaySite) -> None:
    with site.served() as server, site.gateway() as gateway:
        lives = gateway.lives.values()
        for number in range(8):
            for source in ("s1", "s2"):
                site.publish(source, reading(number))
            gateway.turn()
            # What is learned before a device has the fleet's model is no news.
            turn_until(gateway, lambda: all(life.device.edge.joined for life in lives))
        turn_until(gateway, lambda: all(life.device.confirmed for life in lives))
        assert [life.device.device for life in lives] == [1, 2]
        assert [life.source.samples for life in lives] == [8, 8]
        seen = {device.label: device.messages for device in server.status().devices}
        assert min(seen["hall/1"], seen["hall/2"]) >= 1
        assert (seen["hall/3"], "hall" in seen) == (0, False)
        models = [life.device.edge.w.copy() for life in lives]
    with site.fleet.store() as store:
        assert store.verify().agrees
    with site.gateway() as gateway:  # the server is away, and is not needed
        for life, model in zip(gateway.lives.values(), models, strict=True):
            assert (life.device.edge.w == model).all()
            assert life.device.edge.joined


def test_predictions_and_errors_are_published(site: GatewaySite) -> None:
    with site.served(), site.gateway() as gateway:
        begin(site, gateway)
        site.publish("s1", b'{"a": 0.1, "in": {"b": 0.2}}')
        turn_until(gateway, lambda: [told for _, told in site.told if "error" not in told])
        topic, told = site.told[-1]
        assert topic == "paofed/s1"
        assert told["prediction"] == gateway.lives["s1"].device.predict([0.1, 0.2])
        assert told["low"] < told["prediction"] < told["high"]
        site.publish("s1", b'{"y": 12.5}')
        turn_until(gateway, lambda: [told for _, told in site.told if told.get("target") == 12.5])
        assert site.told[-1][1]["error"] == pytest.approx(12.5 - told["prediction"])


def test_what_is_published_is_bounded_by_kind_and_source(site: GatewaySite) -> None:
    text = site.toml.read_text().replace("every = 1e-9", "every = 1000")
    site.toml.write_text(text)
    with site.served(), site.gateway() as gateway:
        turn_until(gateway, saying(site, "s1", lambda: site.told))
        for number in range(20):
            site.publish("s1", reading(number))
            site.publish("s1", b'{"a": 0.1, "in": {"b": 0.2}}')
            site.publish("s2", reading(number))
        turn_until(gateway, lambda: gateway.lives["s2"].source.samples == 20)
    kinds = sorted((topic, "error" in told) for topic, told in site.told)
    assert kinds == [("paofed/s1", False), ("paofed/s1", True), ("paofed/s2", True)]


def test_only_admitted_sources_with_a_place_take_part(site: GatewaySite) -> None:
    with site.gateway() as gateway:
        for source in ("s1", "other", "s2", "s3", "s4"):
            site.publish(source, reading(0))
        turn_until(gateway, lambda: "s4" in gateway.sources.known)
        assert list(gateway.lives) == ["s1", "s2", "s3"]
        sources = gateway.sources
        assert sources.standing("other") == "not admitted"
        assert sources.standing("s4") == "waits for a place"
    site.file = site.fleet.add_gateway("hall", 2)
    with site.gateway() as gateway:
        site.publish("s4", reading(0))
        turn_until(gateway, lambda: "s4" in gateway.lives)
        places = {name: source.device for name, source in gateway.sources.known.items()}
    assert places == {"s1": 1, "s2": 2, "s3": 3, "s4": 4, "other": None}
    site.fleet.remove("hall/1")  # a place that is taken away is given to nobody
    site.fleet.rotate("hall")
    with site.gateway() as gateway:
        site.publish("s1", reading(0))
        site.publish("s5", reading(0))
        turn_until(gateway, lambda: "s5" in gateway.lives)
        assert (gateway.sources.known["s5"].device, "s1" in gateway.lives) == (5, False)
        assert gateway.sources.standing("s1") == "its place was taken away"


def begin(site: GatewaySite, gateway: Gateway) -> None:
    """Let one source tell samples until it is heard, and nothing more."""
    turn_until(gateway, saying(site, "s1", lambda: site.told))
    turn_until(gateway, gateway._inbox.empty)
    site.told.clear()
    gateway.passed_over.clear()


BAD = {
    b"": "not JSON",
    b"on": "not JSON",
    b"\xff\xfe": "not JSON",
    b"[" * 50_000: "not JSON",
    b"9" * 5000: "not JSON",
    b"21.5": "without any of the values",
    b"[]": "without any of the values",
    b"{}": "without any of the values",
    b'{"a": {}}': "a is not a number",
    b'{"a": "21.5 C"}': "a is not a number",
    b'{"a": "21,5"}': "a is not a number",
    b'{"a": "nan"}': "a is not finite",
    b'{"a": "unavailable"}': "a is not a number",
    b'{"a": NaN}': "a is not finite",
    b'{"in": {"b": -Infinity}}': "b is not finite",
    b'{"y": 1e999}': "y is not finite",
    b'{"y": ' + b"9" * 400 + b"}": "y is not finite",
    b" " * 65_537: "longer than 64 KiB",
}


def test_bad_telemetry_harms_nothing_and_is_counted_in_words(tmp_path: Path) -> None:
    target = Quantity(name="y", offset=10.0, scale=4.0, low=0.0, high=50.0)
    site = GatewaySite(tmp_path, target=target)
    with site.served(), site.gateway() as gateway:
        begin(site, gateway)
        before, samples = gateway.lives["s1"].device.edge.w.copy(), gateway.lives["s1"].source
        count = samples.samples
        for payload in BAD:
            site.publish("s1", payload)
        turn_until(gateway, lambda: gateway.passed_over.total() == len(BAD))
        for reason in BAD.values():
            assert reason in in_words(gateway.passed_over)
        site.publish("s1", b'{"a": 0.1, "in": {"b": 0.2}, "y": 51}')
        turn_until(gateway, lambda: samples.implausible == 1)
        assert samples.samples == count
        (a, b), _ = sample(0)
        site.publish("s1", json.dumps({"a": a, "in": {"b": b}, "y": 1e9}).encode())
        turn_until(gateway, saying(site, "s1", lambda: samples.samples > count))
        assert gateway.lives["s1"].device.edge.w.shape == before.shape
        assert abs(gateway.lives["s1"].device.edge.w).max() < 1e6


def test_hostile_names_floods_and_thousands_of_sources_are_bounded(site: GatewaySite) -> None:
    text = site.toml.read_text().replace("most_per_second = 1000", "most_per_second = 10")
    site.toml.write_text(text)
    with site.served(), site.gateway() as gateway:
        hostile = ["", "../../etc", "s\x1b[2J", "s\n", "s" * 65, " s", "$SYS", "s\u202e"]
        for name in hostile:
            site.publish(name, reading(0))
        for number in range(2 * MOST_OTHERS):
            site.publish(f"x{number}", reading(0))
        turn_until(gateway, lambda: gateway.sources.known.get(f"x{MOST_OTHERS - 1}"))
        for _ in range(12_000):
            site.publish("s1", b"flood")
        turn_until(gateway, lambda: gateway._inbox.empty())
        assert len(gateway.sources.known) <= MOST_OTHERS + 3
        words = in_words(gateway.passed_over)
        assert "7 from a source whose name is no name" in words  # one of them is no source's topic
        assert f"{MOST_OTHERS:,} from more sources than are remembered" in words
        assert "more in a second than a source may send" in words
        assert "dropped, since too many came at once" in words
        turn_until(gateway, saying(site, "s2", lambda: "s2" in gateway.lives))
    assert {path.name for path in (site.folder / "state").iterdir()} <= {
        *("lock", FILE, "1.npz", "2.npz", "3.npz"),
    }


def test_names_that_differ_from_the_fleet_s_are_told_and_nothing_is_learned(
    site: GatewaySite,
) -> None:
    with site.served(), site.gateway() as gateway:
        begin(site, gateway)
    assert change_fleet(site.fleet, Changes(inputs=(Quantity(name="wind"),))) is not None
    with site.served(), site.gateway() as gateway:
        turn_until(gateway, saying(site, "s1", lambda: "wind" in "".join(site.said)))
        count = gateway.lives["s1"].source.samples
        site.publish("s1", reading(0))
        turn_until(gateway, lambda: gateway._inbox.empty())
        assert gateway.lives["s1"].source.samples == count
        assert "while its names differ" in in_words(gateway.passed_over)


def test_what_belongs_to_another_gateway_or_to_none_is_refused(site: GatewaySite) -> None:
    with site.gateway() as gateway:
        site.publish("s1", reading(0))
        turn_until(gateway, lambda: gateway.lives)
        with pytest.raises(InputError, match="another gateway is at work"), site.gateway():
            pass
    text, other = site.toml.read_text(), site.fleet.add_gateway("barn", 1)
    site.toml.write_text(text.replace(str(site.file), str(other)))
    with pytest.raises(FileError, match="is another gateway's"), site.gateway():
        pass
    (device,) = site.fleet.add(["north"])
    site.toml.write_text(text.replace(str(site.file), str(device)))
    with pytest.raises(InputError, match="no gateway's file: expected the one"), site.gateway():
        pass


def test_no_source_takes_part_before_its_place_is_on_disk(
    site: GatewaySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with site.gateway() as gateway:
        monkeypatch.setattr("paofed.live.gateway.gateway.save", full)
        site.publish("s1", reading(0))
        turn_until(gateway, lambda: gateway.passed_over)
        assert not gateway.lives
        monkeypatch.undo()
        site.publish("s1", reading(0))
        turn_until(gateway, lambda: gateway.lives)
    saved = json.loads((site.folder / "state" / FILE).read_text())
    assert saved["sources"]["s1"]["device"] == 1


def more(device: Device, confirmed: int) -> bool:
    return device.confirmed > confirmed


def test_either_broker_may_be_away_for_a_while(site: GatewaySite) -> None:
    chance = random.Random(1)  # noqa: S311 (no secret)
    with site.served(), site.gateway() as gateway:
        begin(site, gateway)
        device = gateway.lives["s1"].device
        for number in range(effort(everyday=4, thorough=6)):
            hub, name = chance.choice([(site.hub, "g/0"), (site.plant, "gateway")])
            hub.cut(name)
            site.publish("s1", reading(number))
            gateway.turn(0.05)
            hub.mend(name)
            confirmed = device.confirmed
            turn_until(gateway, saying(site, "s1", partial(more, device, confirmed)))
    with site.fleet.store() as store:
        assert store.verify().agrees


def test_a_late_target_is_learned_with_the_inputs_of_its_time(site: GatewaySite) -> None:
    """The target of each reading comes after the next reading, and both say their time."""
    site.toml.write_text(site.toml.read_text().replace("[inputs]", 'time = "at"\n[inputs]'))
    with site.served(), site.gateway() as gateway:
        turn_until(gateway, lambda: gateway._shared.link.up.is_set())
        start = time.time() - 50.0
        for n in range(40):
            site.publish("s1", json.dumps({"a": n, "in": {"b": 0.0}, "at": start + n}).encode())
            late = {"y": 10.0 + n - 1, "at": start + n - 1}
            site.publish("s1", json.dumps(late).encode())
            turn_until(gateway, gateway._inbox.empty)
        learned = [told for _, told in site.told if "target" in told]
        assert len(learned) > 30
        for told in learned:
            assert told["target"] - 10.0 == pytest.approx(told["time"] - start, abs=1e-3)


def test_a_source_without_targets_takes_the_fleet_s_model_and_goes_on_taking_it(
    site: GatewaySite,
) -> None:
    with site.served(), site.gateway() as gateway:
        teach = saying(site, "s1", lambda: "s2" in gateway.lives)
        inputs = b'{"a": 0.1, "in": {"b": 0.2}}'

        def model() -> bytes:
            site.publish("s2", inputs)
            return gateway.lives["s2"].device.edge.w.tobytes() if teach() else b""

        turn_until(gateway, lambda: model() and gateway.lives["s2"].device.edge.joined)
        first = model()
        turn_until(gateway, lambda: model() != first)
        assert gateway.lives["s2"].source.samples == 0
        assert any(topic == "paofed/s2" and "error" not in told for topic, told in site.told)


def test_a_source_has_no_place_before_it_told_all_inputs_and_is_named(site: GatewaySite) -> None:
    with site.gateway() as gateway:
        for _ in range(20):
            site.publish("s-null", b'{"a": null, "in": {"b": 1.0}, "y": 2.0}')
            site.publish("s-text", b'{"a": "unavailable", "in": {"b": 1.0}, "y": 2.0}')
        for number in range(3):
            site.publish(f"s{number}", reading(number))
        turn_until(gateway, lambda: len(gateway.lives) == 3)
        assert gateway.sources.standing("s-null") == "has not told all inputs"
        gateway._tell()
        named = [line for line in site.said if "nothing comes of" in line]
        (line,) = named
        assert line.endswith(": s-null (a never came), s-text (a is not a number)")
    saved = json.loads((site.folder / "state" / FILE).read_text())["sources"]
    assert (saved["s-null"]["device"], saved["s-null"]["why"]) == (None, "a never came")
    assert saved["s0"]["why"] == ""


def test_inputs_of_all_sources_of_the_calendar_and_of_several_names(tmp_path: Path) -> None:
    """The weather is one for all; a sensor and a plug of one room have different names."""
    hour = Quantity(name="hour", offset=12.0, scale=6.0)
    site = GatewaySite(tmp_path, inputs=(Quantity(name="a"), Quantity(name="out"), hour))
    text = site.toml.read_text().replace(
        'b = "in.b"',
        """\
out = { topic = "weather", path = "t" }
hour = { calendar = "hour" }
[same]
s-kitchen = ["sensor-1", "plug-7"]""",
    )
    site.toml.write_text(text)
    begun = seconds()
    with site.served(), site.gateway(wall=lambda: 43_200.0 + seconds() - begun) as gateway:
        site.link.send("weather", b'{"t": 3.5}')

        def told() -> list[Any]:
            site.publish("sensor-1", b'{"a": 1.5}')
            site.publish("plug-7", b'{"y": 12.0}')
            return [said for topic, said in site.told if topic == "paofed/s-kitchen"]

        turn_until(gateway, told)
        life = gateway.lives["s-kitchen"]
        turn_until(gateway, lambda: told() and life.source.samples > 3)  # the weather is used again
        turn_until(gateway, gateway._inbox.empty)
        site.told.clear()
        site.publish("sensor-1", b'{"a": 1.25}')
        turn_until(gateway, lambda: site.told)
        told_last = site.told[0][1]
        hour_then = CalendarInput("hour").at(told_last["time"])
        assert hour_then == pytest.approx(12.0, abs=0.02)
        assert told_last["prediction"] == life.device.predict([1.25, 3.5, hour_then])
        assert list(gateway.sources.known) == ["s-kitchen"]


def test_a_reading_from_the_future_is_passed_over(site: GatewaySite) -> None:
    site.toml.write_text(site.toml.read_text().replace("[inputs]", 'time = "at"\n[inputs]'))
    with site.gateway(wall=lambda: 1e9, steady=lambda: 77.0) as gateway:  # no time passes
        (a, b), y = sample(0)
        for ahead in (60.0, 60.1):
            told = {"a": a, "in": {"b": b}, "y": y, "at": 1e9 + ahead}
            site.publish("s1", json.dumps(told).encode())
        turn_until(gateway, lambda: gateway.passed_over["with a time to come"])
        turn_until(gateway, gateway._inbox.empty)
        assert gateway.passed_over["with a time to come"] == 1
        assert gateway.sources.known["s1"].device == 1


def test_places_that_are_taken_are_not_given_again() -> None:
    known = {"a": TelemetrySource(device=2), "b": TelemetrySource(device=7)}
    sources = Sources((1, 2, 3), ("*",), known)
    for name in ("c", "d", "e"):
        sources.see(name, 0.0)
    assert [sources.give_place(name) for name in ("c", "d", "e")] == [True, True, False]
    assert [sources.known[name].device for name in "abcde"] == [2, 7, 1, 3, None]


def test_names_that_tell_nothing_are_forgotten_in_favour_of_new_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while there are places left, and everybody is admitted."""
    monkeypatch.setattr("paofed.live.gateway.sources.MOST_OTHERS", 50)
    sources = Sources((1, 2), ("*",))
    for number in range(150):
        sources.see(f"x{number}", float(number))
    assert len(sources.known) == 50
    assert sources.see("real", 1e9)[0] is not None
    assert sources.give_place("real")
    assert not sources.give_place("x0")
    assert len(sources.known) == 50


def test_what_is_heard_of_sources_that_were_forgotten_is_forgotten(
    site: GatewaySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paofed.live.gateway.sources.MOST_OTHERS", 10)
    with site.gateway() as gateway:
        for number in range(50):
            site.publish(f"s{number}", b'{"a": 1.0}')
        turn_until(gateway, lambda: "s49" in gateway.sources.known)
        assert len(gateway._hearings) <= 11
        gateway._tell()  # also of those that are forgotten, and still heard of


def test_a_gateway_without_the_fleet_s_method_ends_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "calm.py").write_text(CALM)
    site = GatewaySite(tmp_path, **of_own(f"{tmp_path / 'calm.py'}:calm"))
    with site.served(), site.gateway() as gateway:
        lives = gateway.lives.values()
        turn_until(
            gateway, saying(site, "s1", lambda: any(life.device.confirmed for life in lives))
        )
    monkeypatch.setattr(admitted, "_ADMITTED", {})
    with pytest.raises(MissingMethodError, match="give --method FILE:calm"), site.gateway():
        pytest.fail("it knows from its devices' states what it would have to follow")


def test_a_new_source_waits_while_the_fleet_s_method_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has begun with the method goes on; the gateway says what to give to the newcomer."""
    (tmp_path / "calm.py").write_text(CALM)
    site = GatewaySite(tmp_path, **of_own(f"{tmp_path / 'calm.py'}:calm"))
    with site.served(), site.gateway() as gateway:
        lives = gateway.lives
        turn_until(
            gateway, saying(site, "s1", lambda: "s1" in lives and lives["s1"].source.samples)
        )
        monkeypatch.setattr(admitted, "_ADMITTED", {})
        turn_until(gateway, saying(site, "s2", lambda: "s2" in lives and in_vain(gateway)))
        assert any("give --method FILE:calm with the very file" in said for said in site.said)
        before = lives["s1"].source.samples
        turn_until(gateway, saying(site, "s1", lambda: lives["s1"].source.samples > before))
        assert lives["s2"].source.samples == 0


def in_vain(gateway: Gateway) -> int:
    return gateway.passed_over["before the fleet was known, or while its names differ"]
