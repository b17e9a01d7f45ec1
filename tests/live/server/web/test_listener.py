"""The port itself: which route a question takes, and what it may bring."""

import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPMessage
from typing import NamedTuple

import pytest

from paofed.live.server.web.answers import Answer, Question, Routes, in_words
from paofed.live.server.web.listener import Listener, _Handler

HOST = "127.0.0.1"


def echo(question: Question) -> Answer:
    return in_words(200, f"{question.query} {question.fields['X-Mine']} {question.content!r}")


def pieces(_: Question) -> Answer:
    def content() -> Iterator[bytes]:
        yield b"one "
        yield b"two"

    return Answer(200, "text/plain", content(), (("Cache-Control", "no-store"),))


def broken(_: Question) -> Answer:
    raise LookupError("nobody thought of this")


def breaking(_: Question) -> Answer:
    def content() -> Iterator[bytes]:
        yield b"one "
        raise LookupError("in the middle")

    return Answer(200, "text/plain", content())


ROUTES: Routes = {
    ("GET", "/broken"): broken,
    ("GET", "/breaking"): breaking,
    ("GET", "/echo"): echo,
    ("POST", "/echo"): echo,
    ("GET", "/pieces"): pieces,
    ("GET", "/same"): lambda _: Answer(304, "text/plain", b""),
}


class Heard(NamedTuple):
    status: int
    headers: HTTPMessage
    text: str


def ask(method: str, path: str, content: bytes | None = None, /, **fields: str) -> Heard:
    with Listener(HOST, 0, ROUTES) as listener:
        connection = HTTPConnection(HOST, listener.port, timeout=20)
        connection.request(method, path, content, fields)
        answer = connection.getresponse()
        heard = Heard(answer.status, answer.headers, answer.read().decode())
        connection.close()
    return heard


def test_a_route_is_given_all_of_the_question() -> None:
    answer = ask("POST", "/echo?a=1", b"content", **{"X-Mine": "mine"})
    assert (answer.status, answer.text) == (200, "a=1 mine b'content'\n")
    answer = ask("GET", "/echo", None, **{"X-Mine": "mine"})
    assert (answer.status, answer.text) == (200, " mine b''\n")


def test_an_answer_may_come_in_pieces_and_have_fields() -> None:
    answer = ask("GET", "/pieces")
    assert (answer.status, answer.text) == (200, "one two")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Length"] is None


@pytest.mark.parametrize("length", ["-1", "ten", "٣", ""])
def test_content_is_counted_or_not_read(length: str) -> None:
    answer = ask(
        "POST", "/echo", None, **{"Content-Length": length.encode("utf-8").decode("latin-1")}
    )
    assert answer.status == 411


@pytest.mark.parametrize("length", ["1048577", "9" * 5000])
def test_content_without_measure_is_not_read(length: str) -> None:
    answer = ask("POST", "/echo", None, **{"Content-Length": length})
    assert answer.status == 413
    assert "expected 1048576 at most" in answer.text


def test_a_route_takes_its_methods_alone() -> None:
    answer = ask("POST", "/pieces", b"x")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert ask("POST", "/nothing", b"x").status == 404


def answers(*said: bytes) -> list[bytes]:
    """What a connection gives for what is said on it, until the server ends it."""
    with (
        Listener(HOST, 0, ROUTES) as listener,
        socket.create_connection((HOST, listener.port), timeout=20) as connection,
    ):
        connection.sendall(b"".join(said))
        heard = b""
        while piece := connection.recv(65536):
            heard += piece
    return heard.split(b"HTTP/1.1 ")[1:]


GET = b"GET /echo HTTP/1.1\r\nX-Mine: mine\r\n"
LAST = GET + b"Connection: close\r\n\r\n"


def test_a_connection_takes_one_question_after_the_other() -> None:
    post = b"POST /echo HTTP/1.1\r\nx-mine: small\r\nContent-Length: 3\r\n\r\nabc"
    first, second, third = answers(GET + b"\r\n", post, LAST)
    assert first.endswith(b" mine b''\n")
    assert second.endswith(b" small b'abc'\n")
    assert third.endswith(b" mine b''\n")


@pytest.mark.parametrize(
    "said",
    [
        GET + b"Content-Length: 3\r\n\r\nabc",
        GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /nothing HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"POST /pieces HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"POST /echo HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        b"POST /echo HTTP/1.1\r\nContent-Length: 2000000\r\n\r\nabc",
        GET + b"Content-Length : 3\r\n\r\nabc",
        GET + b"Content-Length\t: 3\r\n\r\nabc",
    ],
)
def test_what_was_not_read_is_never_taken_for_a_question(said: bytes) -> None:
    (answer,) = answers(said, LAST)
    assert b"\r\nConnection: close\r\n" in answer


def test_content_without_a_length_ends_with_its_connection() -> None:
    (answer,) = answers(b"GET /pieces HTTP/1.1\r\n\r\n", LAST)
    assert answer.endswith(b"\r\n\r\none two")


def test_an_answer_that_nothing_has_changed_has_no_content_and_no_length() -> None:
    first, second = answers(b"GET /same HTTP/1.1\r\n\r\n", LAST)
    assert first.startswith(b"304 ")
    assert b"Content-Length" not in first
    assert second.startswith(b"200 ")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (b"Content-Length: 3\r\nContent-Length: 4\r\n", b"Content-Length is there twice"),
        (b"Content-Length: 3\r\ncontent-length: 3\r\n", b"Content-Length is there twice"),
        (b"Content-Length : 3\r\n", b"a line of the header is not `Name: value`"),
        (b"Content-Length: 3\r\n folded\r\n", b"a line of the header is not `Name: value`"),
        (b"Content-Length: 3\r\nFrom me\r\n", b"a line of the header is not `Name: value`"),
        (b"Content-Length: 3\r\n: x\r\n", b"a line of the header is not `Name: value`"),
        (b"Content-Length: 3\r\nHost: a\r\nHost: b\r\n", b"Host is there twice"),
    ],
)
def test_a_question_that_can_be_read_in_two_ways_is_refused(lines: bytes, says: bytes) -> None:
    (answer,) = answers(b"POST /echo HTTP/1.1\r\nX-Mine: mine\r\n", lines, b"\r\nabc", LAST)
    assert answer.startswith(b"400 ")
    assert b"\r\nConnection: close\r\n" in answer
    assert answer.endswith(says + b": the question is not answered\n")


@pytest.mark.parametrize("target", [b"http://[", b"http://[::1"])
def test_an_address_that_is_none_is_answered(
    target: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    (answer,) = answers(b"GET " + target + b" HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"400 ")
    assert (caplog.text, capfd.readouterr().err) == ("", "")


def test_a_failure_of_ours_is_answered_and_told_ever_more_seldom(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    *failed, well = answers(*[b"GET /broken HTTP/1.1\r\n\r\n"] * 9, LAST)
    assert well.startswith(b"200 ")
    assert [answer[:4] for answer in failed] == [b"500 "] * 9
    told = [record.getMessage() for record in caplog.records]
    assert [text.partition(" times")[0] for text in told] == [
        f"a question over HTTP failed, {times}" for times in (1, 2, 4, 8)
    ]
    assert "LookupError('nobody thought of this') in broken, line" in told[0]
    assert capfd.readouterr().err == ""


def test_a_failure_in_the_middle_of_an_answer_ends_it(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    (answer,) = answers(b"GET /breaking HTTP/1.1\r\n\r\n", LAST)
    assert answer.endswith(b"\r\n\r\none ")
    assert "LookupError('in the middle')" in caplog.text
    assert capfd.readouterr().err == ""


def test_a_client_that_stops_in_the_middle_is_no_failure(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Handler, "timeout", 0.05)
    assert answers(b"POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\na") == []
    assert caplog.text == ""


def test_sixty_clients_may_come_at_once() -> None:
    listener, clients = Listener(HOST, 0, ROUTES), list[socket.socket]()
    try:
        for _ in range(60):  # nobody is taken before the block begins
            clients.append(socket.create_connection((HOST, listener.port), timeout=5))
        with listener:
            for client in clients:
                client.sendall(LAST)
            assert [client.recv(12) for client in clients] == [b"HTTP/1.1 200"] * 60
    finally:
        for client in clients:
            client.close()
