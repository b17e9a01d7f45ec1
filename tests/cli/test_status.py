"""`paofed fleet status` as an operator meets it."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import locked
from paofed.live.model.fleet_model import FleetModel
from paofed.live.server.concerns import Trouble
from paofed.live.server.status import FleetError, Status
from paofed.live.server.web.listener import Listener
from paofed.live.server.web.site import of_health
from tests.cli.operators import NUMBERS, UNTOLD, Capsys, done, founded, refusal, said_by_status
from tests.live.fleets import records, update
from tests.live.server import states


def lived(folder: Path, ticks: int = 12) -> FleetModel:
    """Let the two devices be heard for some ticks."""
    with Fleet(folder).store() as store:
        coordinator = store.recover()
        epoch = coordinator.manifest.epoch
        for tick in range(ticks):
            for device in (0, 1):
                values = np.sin([device + 3.0 * tick, device - tick])
                store.write(records(coordinator, device, update(tick, *values, epoch=epoch)))
            coordinator.close(tick + 1)
        store.snapshot(coordinator)
        return FleetModel.of(coordinator)


def test_status_of_a_new_fleet(tmp_path: Path, capsys: Capsys) -> None:
    folder = founded(tmp_path / "greenhouse")
    capsys.readouterr()
    lines = done(capsys, "status", folder).splitlines()
    size = r"[0-9.]+ (B|kB|MB)"
    reach = r"back to tick 0 \([0-9]+ s ago\)"
    says = rf"disk         {size}, {reach}; 30 days take about {size}, at most {size}"
    assert re.fullmatch(says, lines.pop(4))
    assert lines == [
        "greenhouse: pao-fed-u1, tick 0; nobody serves it",
        "updates      0 accepted, 0 repeated, 0 reads, 0 hellos",
        "refused      nothing",
        "bounds       clip 6, aside yes, bound 6",
        "",
        "index  label  last seen  messages  error  standing",
        "    0  north  never             0",
        "    1  south  never             0",
    ]


def test_status_without_devices(tmp_path: Path, capsys: Capsys) -> None:
    done(capsys, "init", tmp_path / "x", *NUMBERS, "--http", "")
    assert "label" not in done(capsys, "status", tmp_path / "x")


def test_status_of_what_is_on_disk(folder: Path, capsys: Capsys) -> None:
    lived(folder)
    done(capsys, "quarantine", folder, "south", warns=UNTOLD)
    done(capsys, "add", folder, "east", "west")
    done(capsys, "remove", folder, "west", warns=UNTOLD)
    lines = said_by_status(capsys, folder)
    assert lines[0] == "greenhouse: pao-fed-u1, tick 12; nobody serves it"
    assert lines[1] == "updates      24 accepted, 0 repeated, 0 reads, 0 hellos"
    assert lines[2] == "how late     half within 0 ticks, 90 % within 0, 99 % within 0"
    assert lines[3] == "refused      nothing"
    assert [line.split() for line in lines[7:]] == [
        ["index", "label", "last", "seen", "messages", "error", "standing"],
        ["2", "east", "never", "0"],
        ["0", "north", "1", "min", "00", "s", "ago", "12"],
        ["1", "south", "1", "min", "00", "s", "ago", "12", "quarantined"],
    ]


def test_status_as_json(folder: Path, capsys: Capsys) -> None:
    lived(folder)
    answer = json.loads(done(capsys, "status", folder, "--json"))
    assert answer.pop("validation_error") is answer.pop("validation_held") is None
    disk = answer.pop("disk")
    assert 0 < disk["expected"] <= disk["most"]
    assert disk["back_to"] == 0
    status = Status.from_json(json.dumps(answer))
    assert (status.fleet, status.tick, status.service) == ("greenhouse", 12, None)
    assert [(d.label, d.last_seen, d.messages) for d in status.devices] == [
        ("north", 11, 12),
        ("south", 11, 12),
    ]


SAMPLES = [(0.5, 1.5, 11.0), (-2.0, 1e-3, 9.0), (0.0, 0.0, 10.5)]


@pytest.mark.parametrize("form", ["csv", "header", "json"])
def test_status_judges_the_model(form: str, folder: Path, tmp_path: Path, capsys: Capsys) -> None:
    model = lived(folder)
    path = tmp_path / "measured"
    lines = {
        "csv": [f"{a},{b},{y}" for a, b, y in SAMPLES],
        "header": ["y,x,a,b", *(f"{y},?,{a},{b}" for a, b, y in SAMPLES)],
        "json": [json.dumps({"a": a, "b": b, "y": y}) for a, b, y in SAMPLES],
    }[form]
    path.write_text("\n".join(lines))
    answer = json.loads(done(capsys, "status", folder, "--validation", path, "--json"))
    errors = [y - float(model.predict(np.array([a, b]))) for a, b, y in SAMPLES]
    expected = float(np.sqrt(np.mean(np.square(errors))))
    assert answer["validation_error"] == pytest.approx(expected, rel=1e-12)
    (line,) = [
        line
        for line in done(capsys, "status", folder, "--validation", path).splitlines()
        if line.startswith("error")
    ]
    decibels = 20 * np.log10(expected / 4.0)
    assert line == (
        f"error        {expected:.4g} y (root mean square), {decibels:.2f} dB of its scale squared"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", " holds no samples: expected lines of a, b, y"),
        (b"1,2\n", "line 1 is '1,2': expected 3 finite numbers (a, b, y)"),
        (b"1,2,\xff\n", " is not text: "),
        (None, " cannot be read: No such file"),
    ],
)
def test_samples_that_judge_nothing(
    content: bytes | None, says: str, unchanged: Path, tmp_path: Path, capsys: Capsys
) -> None:
    path = tmp_path / "measured.csv"
    if content is not None:
        path.write_bytes(content)
    assert says in refusal(capsys, "status", unchanged, "--validation", path)


def test_status_shows_the_longest_silent_first(folder: Path, capsys: Capsys) -> None:
    done(capsys, "add", folder, *(f"device-{k}" for k in range(2, 45)))
    with Fleet(folder).store() as store:
        coordinator = store.recover()
        epoch = coordinator.manifest.epoch
        for tick, device in enumerate((1, 0, 7)):
            coordinator.close(tick)
            store.write(records(coordinator, device, update(tick, epoch=epoch)))
        store.snapshot(coordinator)
    lines = said_by_status(capsys, folder)
    shown = [line.split()[0] for line in lines[8:]]
    assert shown == [*map(str, [*range(2, 7), *range(8, 43)]), "and"]
    assert lines[-1] == "and 5 more, heard later (--all shows them)"
    every = said_by_status(capsys, folder, "--all")
    assert [line.split()[0] for line in every[-3:]] == ["1", "0", "7"]
    assert "  2 min 00 s ago  " in every[-3]
    assert "  1 min 00 s ago  " in every[-2]
    assert "  in this tick  " in every[-1]
    assert len(every) == 8 + 45


@contextmanager
def served(folder: Path, **changes: Any) -> Iterator[None]:
    """Somebody answers where the fleet's settings say."""
    fleet = Fleet(folder)
    with fleet.store() as store:
        status = Status.of("greenhouse", store.recover(), store.roster.members())
    status = replace(status, **changes)
    with Listener("127.0.0.1", 0, of_health(lambda: status)) as monitor:
        replace(fleet.settings, http=f"127.0.0.1:{monitor.port}").save(folder)
        yield


SERVICE = replace(
    states.SERVICE,
    seconds=7500.0,
    problems=("the broker is away", "the clock is behind"),
    dropped=1234,
    clock_jumps=1,
    bytes_received=56_789,
    bytes_sent=123_456,
    broker_refused={"certificate": 2, "topic": 3},
)


def test_status_of_a_server_that_runs(folder: Path, capsys: Capsys) -> None:
    counts = {
        "accepted": 1500,
        "hellos": 1,
        "refused: flood": 1,
        "refused: length": 20,
        "repeats too old": 9,
    }
    ages = {0: 60, 1: 35, 4: 5}
    with served(folder, tick=4321, service=SERVICE, counts=counts, ages=ages):
        lines = done(capsys, "status", folder).splitlines()
        answer = json.loads(done(capsys, "status", folder, "--json"))
    assert lines[:9] == [
        "greenhouse: pao-fed-u1, tick 4,321; served for 2 h 05 min",
        "PROBLEM      the broker is away",
        "PROBLEM      the clock is behind",
        "updates      1,500 accepted, 0 repeated, 0 reads, 1 hello",
        "how late     half within 0 ticks, 90 % within 1, 99 % within 4",
        "refused      flood 1, length 20",
        "by broker    certificate 2, topic 3",
        "bytes        56,789 in, 123,456 out (MQTT messages, since the server started)",
        "dropped      1,234 messages, to be repeated by devices",
    ]
    assert (answer["tick"], answer["service"]["seconds"]) == (4321, 7500.0)


FAULTY = replace(
    states.DEVICE,
    device=1,
    label="south",
    standing="aside",
    last_seen=4320,
    messages=70,
    refused=3,
    error=1.5,
    usual_gap=2.0,
    faults=(Trouble("aside", 4000, "is set aside"), Trouble("worse", 4100, "predicts badly")),
)
SOUND = replace(FAULTY, device=0, label="north", standing="member", last_seen=3, faults=())


def test_status_names_who_is_broken_and_shows_them_first(folder: Path, capsys: Capsys) -> None:
    devices = (SOUND, FAULTY, replace(SOUND, device=2, label="east", error=None))
    history = ((100, -3.0), (4200, -12.5), (4300, -12.4))
    error = FleetError(now=-9.04, usual=-12.3, worse_since=4310, history=history)
    service = replace(SERVICE, problems=(), dropped=0)
    with served(folder, tick=4321, devices=devices, error=error, service=service):
        text = done(capsys, "status", folder)
        answer = json.loads(done(capsys, "status", folder, "--json"))
    before, table = text.split("\n\n")
    said = "1.41 y now, usually 0.971 y, 2.83 y a day ago"
    worse = "the fleet predicts worse than it did: 1.41 y, usually 0.971 y (since tick 4,310)"
    assert before.splitlines()[1:5] == [
        f"PROBLEM      {worse}",
        "ATTENTION    south is set aside (since tick 4,000)",
        "ATTENTION    south predicts badly (since tick 4,100)",
        f"fleet error  {said} (-9.0 dB; as the median device says)",
    ]
    assert [line.split()[:2] for line in table.splitlines()[1:]] == [
        ["1", "south"],
        ["0", "north"],
        ["2", "east"],
    ]
    assert table.splitlines()[1].endswith("  70  4.75 y  aside, worse")
    assert answer["devices"][1]["faults"][0]["kind"] == "aside"
    assert answer["error"]["worse_since"] == 4310


@pytest.mark.parametrize(
    ("tick_seconds", "says"),
    [(60.0, "2.83 y a day ago"), (6.0, "2.83 y an hour ago"), (0.1, "2.83 y a minute ago")],
)
def test_what_the_fleet_s_error_was(
    tick_seconds: float, says: str, folder: Path, capsys: Capsys
) -> None:
    error = FleetError(now=-9.0, usual=-9.0, worse_since=None, history=((1000, -3.0), (4320, -9.0)))
    with served(folder, tick=4321, tick_seconds=tick_seconds, error=error):
        lines = done(capsys, "status", folder).splitlines()
    said = f"1.42 y now, usually 1.42 y, {says} (-9.0 dB; as the median device says)"
    assert lines[1] == f"fleet error  {said}"


@pytest.mark.parametrize(
    ("seconds", "span"),
    [
        (119.0, "1 min 59 s"),
        (7200.0, "2 h 00 min"),
        (86400.0 * 2, "2 d 00 h"),
    ],
)
def test_how_long_it_has_been_served(
    seconds: float, span: str, folder: Path, capsys: Capsys
) -> None:
    with served(folder, service=replace(SERVICE, seconds=seconds, problems=(), dropped=0)):
        text = done(capsys, "status", folder)
    assert text.splitlines()[0].endswith(f"; served for {span}")
    assert "PROBLEM" not in text
    assert "dropped" not in text


@pytest.mark.parametrize("changes", [{"fleet": "other"}, {"start": 5.0}])
def test_another_fleets_server_is_not_believed(
    changes: dict[str, Any], folder: Path, capsys: Capsys
) -> None:
    with served(folder, tick=4321, **changes):
        assert "tick 0; nobody serves it" in done(capsys, "status", folder)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.0 503 no\r\n\r\nlater\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        *(
            b"HTTP/1.0 200 OK\r\n\r\n" + text
            for text in (b"hello", b"{}", b"5", b'{"devices": [], "ages": []}')
        ),
        b'HTTP/1.0 200 OK\r\n\r\n{"devices": [], "ages": {}, "service": null, "more": 1}',
        b"HTTP/1.0 200 OK\r\n\r\n\xff",
    ],
)
def test_somebody_else_who_answers_there_is_not_believed(
    answer: bytes, folder: Path, capsys: Capsys
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def respond() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10)
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=respond)
        thread.start()
        http = f"127.0.0.1:{listener.getsockname()[1]}"
        replace(Settings.load(folder), http=http).save(folder)
        text = done(capsys, "status", folder)
        thread.join()
    assert "tick 0; nobody serves it" in text


def test_a_server_that_runs_and_does_not_answer(folder: Path, capsys: Capsys) -> None:
    lived(folder)
    with locked(folder):
        lines = said_by_status(capsys, folder)
        assert json.loads(done(capsys, "status", folder, "--json"))["service"] is None
    how = "its server does not answer; this is from disk"
    assert lines[0] == f"greenhouse: pao-fed-u1, tick 12; {how}"
    assert lines[1] == "updates      24 accepted, 0 repeated, 0 reads, 0 hellos"
    assert "tick 12; nobody serves it" in done(capsys, "status", folder)


def test_a_server_that_answers_needs_no_disk(folder: Path, capsys: Capsys) -> None:
    with locked(folder), served(folder, tick=4321, service=replace(SERVICE, seconds=3.0)):
        text = done(capsys, "status", folder)
    assert text.splitlines()[0] == "greenhouse: pao-fed-u1, tick 4,321; served for 3 s"


def test_status_after_a_power_cut_counts_what_is_in_the_journal(
    folder: Path, capsys: Capsys
) -> None:
    lived(folder)
    with Fleet(folder).store() as store:
        coordinator = store.recover()
        late = update(10, epoch=coordinator.manifest.epoch)
        coordinator.devices.forget(10, 10)  # as if that one had never come
        store.write(records(coordinator, 0, late))
    lines = said_by_status(capsys, folder)
    assert lines[1] == "updates      25 accepted, 0 repeated, 0 reads, 0 hellos"
    assert lines[2] == "how late     half within 0 ticks, 90 % within 0, 99 % within 2"
