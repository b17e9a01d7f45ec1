"""Health and metrics over HTTP, on a real port of this machine."""

import json
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from http.client import HTTPConnection

import pytest

from paofed.errors import InputError
from paofed.live.fleet.settings import Settings
from paofed.live.server.concerns import Trouble
from paofed.live.server.prometheus import prometheus
from paofed.live.server.status import Status
from paofed.live.server.status import asked as status_of
from paofed.live.server.web.listener import Listener
from paofed.live.server.web.site import Ask, of_health
from tests.live.brokers import PATIENCE, until
from tests.live.fleets import records, server, update
from tests.live.server.states import DEVICE, SERVICE
from tests.ports import free_port

HOST = "127.0.0.1"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def shown(host: str, port: int, ask: Ask) -> Listener:
    return Listener(host, port, of_health(ask))


def status(*problems: str) -> Status:
    coordinator = server()
    records(coordinator, 0, update(0))
    coordinator.close(41)
    return Status.of("greenhouse", coordinator, [], replace(SERVICE, problems=problems))


def asked(monitor: Listener, page: str) -> tuple[int, str, str]:
    """Code, kind and text of a page."""
    try:
        with OPENER.open(f"http://{HOST}:{monitor.port}{page}", timeout=20) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_a_fleet_that_is_served_is_healthy() -> None:
    with shown(HOST, 0, status) as monitor:
        code, kind, text = asked(monitor, "/health")
    assert (code, kind) == (200, "application/json")
    assert json.loads(text) == {"healthy": True, "problems": [], "attention": [], "tick": 41}


def test_a_fleet_with_problems_is_not_and_says_why() -> None:
    with shown(HOST, 0, lambda: status("no broker", "the disk is full")) as monitor:
        code, kind, text = asked(monitor, "/health")
        assert asked(monitor, "/status")[0] == asked(monitor, "/metrics")[0] == 200
    assert (code, kind) == (503, "application/json")
    assert json.loads(text) == {
        "healthy": False,
        "problems": ["no broker", "the disk is full"],
        "attention": [],
        "tick": 41,
    }


def test_a_broken_device_is_named_and_the_fleet_is_healthy_without_it() -> None:
    fault = Trouble("aside", 12, "is set aside")
    device = replace(DEVICE, device=3, standing="aside", faults=(fault,))
    with shown(HOST, 0, lambda: replace(status(), devices=(device,))) as monitor:
        code, _, text = asked(monitor, "/health")
    assert code == 200
    says = json.loads(text)
    assert (says["healthy"], says["attention"]) == (True, ["north is set aside (since tick 12)"])


def test_the_pages_show_what_is_now() -> None:
    now = [status()]
    with shown(HOST, 0, lambda: now[0]) as monitor:
        for _ in range(2):
            code, kind, text = asked(monitor, "/status")
            assert (code, kind, Status.from_json(text)) == (200, "application/json", now[0])
            code, kind, text = asked(monitor, "/metrics")
            assert (code, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
            assert text == prometheus(now[0])
            now[0] = replace(now[0], tick=99)


PAGES = ("/health", "/metrics", "/status")


def test_there_is_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    def never() -> Status:
        raise AssertionError

    with shown(HOST, 0, never) as monitor:
        for page in ("/", "/healthy", "/health/", "/../etc/passwd", "/metrics%00"):
            code, kind, text = asked(monitor, page)
            assert (code, kind) == (404, "text/plain")
            assert text == "there are /health, /metrics, /status\n"
    assert capfd.readouterr() == ("", "")  # looking is no news


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (TimeoutError(), "the server's loop does not answer\n"),
        (
            InputError("fleet.sqlite is damaged: restore it"),
            "fleet.sqlite is damaged: restore it\n",
        ),
    ],
)
def test_a_loop_that_cannot_answer_says_why(error: Exception, says: str) -> None:
    def fails() -> Status:
        raise error

    with shown(HOST, 0, fails) as monitor:
        for page in (*PAGES, *PAGES):
            assert asked(monitor, page) == (503, "text/plain", says)


@pytest.mark.parametrize("problems", [(), ("no broker",)])
def test_head_is_get_without_the_page(problems: tuple[str, ...]) -> None:
    with shown(HOST, 0, lambda: status(*problems)) as monitor:
        for page in (*PAGES, "/nothing"):
            code, fields, text = heard(monitor, "GET", page)
            assert heard(monitor, "HEAD", page) == (code, fields, b"")
            assert int(fields["Content-Length"]) == len(text) > 0


def heard(monitor: Listener, method: str, page: str) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection(HOST, monitor.port, timeout=20)
    connection.request(method, page)
    answer = connection.getresponse()
    fields = {name: value for name, value in answer.getheaders() if name != "Date"}
    found = answer.status, fields, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    "said", [b"", b"GET /hea", b"GET /status HTTP/1.0\r\n\r\n", b"PUT /status HTTP/1.0\r\n\r\n"]
)
def test_somebody_who_hangs_up_is_no_news(said: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    gone = threading.Event()

    def when_gone() -> Status:
        assert gone.wait(PATIENCE)
        return status()

    with shown(HOST, 0, when_gone) as monitor:
        before = set(threading.enumerate())
        with socket.create_connection((HOST, monitor.port)) as caller:
            caller.sendall(said)
            until(lambda: set(threading.enumerate()) - before or said.startswith(b"PUT"))
            # Not a word more, as when a process is killed.
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.set()
        until(lambda: set(threading.enumerate()) <= before)
        assert asked(monitor, "/health")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_other_methods_are_refused() -> None:
    with shown(HOST, 0, status) as monitor:
        request = urllib.request.Request(f"http://{HOST}:{monitor.port}/health", data=b"x")
        with pytest.raises(urllib.error.HTTPError) as refused:
            OPENER.open(request, timeout=20)
        with refused.value as error:
            assert (error.code, error.headers["Allow"]) == (405, "GET")
            assert error.read() == b"/health takes GET, not POST\n"


def test_slow_readers_do_not_hold_up_others() -> None:
    with (
        shown(HOST, 0, status) as monitor,
        socket.create_connection((HOST, monitor.port)) as idle,
    ):
        idle.sendall(b"GET /hea")
        assert asked(monitor, "/health")[0] == 200


def test_it_leaves_no_thread_and_no_port() -> None:
    before, port = set(threading.enumerate()), free_port()
    with shown(HOST, port, status) as monitor:
        assert asked(monitor, "/health")[0] == 200
        assert set(threading.enumerate()) - before
    until(lambda: set(threading.enumerate()) <= before)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port), timeout=5)
    with shown(HOST, port, status) as again:
        assert again.port == port


def test_a_port_that_is_taken_is_told() -> None:
    with shown(HOST, 0, status) as monitor, pytest.raises(InputError) as refused:
        shown(HOST, monitor.port, status)
    assert str(refused.value) == (
        f"health cannot be shown at {HOST}:{monitor.port}: Address already in use "
        f"(set http in fleet.toml)"
    )


def shown_at(monitor: Listener) -> Settings:
    return Settings(name="x", http=f"{HOST}:{monitor.port}")


def test_a_server_that_runs_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with shown(HOST, 0, lambda: status("no broker")) as monitor:
        assert status_of(shown_at(monitor)) == status("no broker")
    assert status_of(shown_at(monitor)) is None


def test_a_server_that_shows_nothing_cannot_be_asked() -> None:
    assert status_of(Settings(name="x", http="")) is None


def test_a_server_that_cannot_answer() -> None:
    def damaged() -> Status:
        raise InputError("damaged")

    with shown(HOST, 0, damaged) as monitor:
        assert status_of(shown_at(monitor)) is None


def test_nobody_waits_longer_than_they_want() -> None:
    with socket.create_server((HOST, 0)) as silent:
        settings = Settings(name="x", http=f"{HOST}:{silent.getsockname()[1]}")
        begin = time.monotonic()
        assert status_of(settings, 0.3) is None
        assert 0.2 < time.monotonic() - begin < 5
