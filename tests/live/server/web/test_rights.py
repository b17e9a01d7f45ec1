"""Who may ask what."""

import socket
import time
from pathlib import Path

import pytest

from paofed.errors import FileError
from paofed.live.fleet.settings import Settings
from paofed.live.fleet.tokens import FILE, make_token, revoke_token
from paofed.live.server.web.answers import Answer, Fields, Question, Routes, in_words
from paofed.live.server.web.rights import KeptTokens, guarded, names_of

PATHS = ("/health", "/status", "/metrics", "/", "/events", "/model", "/predict")
ROUTES: Routes = {("GET", path): (lambda _: in_words(200, "all")) for path in PATHS}
ANYBODY: Routes = {("GET", "/health"): lambda _: in_words(200, "a little")}


class Port:
    """Routes behind the tokens of a folder."""

    def __init__(self, folder: Path) -> None:
        settings = Settings(name="g", host="broker.example", http_names="fleet.example Proxy")
        self._routes = guarded(
            ROUTES,
            KeptTokens(folder),
            cookie="paofed-g",
            anybody=ANYBODY,
            names=names_of(settings),
        )

    def ask(self, path: str, query: str = "", **fields: str) -> Answer:
        return self._routes["GET", path](Question(query, Fields(fields.items())))

    def codes(self, **fields: str) -> dict[str, int]:
        return {path: self.ask(path, **fields).code for path in PATHS}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_without_tokens_everything_is_open(tmp_path: Path) -> None:
    port = Port(tmp_path)
    assert set(port.codes().values()) == {200}
    assert port.ask("/health").content == b"all\n"


def test_with_tokens_everything_takes_its_right_and_health_says_less(tmp_path: Path) -> None:
    port = Port(tmp_path)
    see, predict = (make_token(tmp_path, right, [right]) for right in ("see", "predict"))
    for fields in ({}, bearer("x"), bearer(""), {"Authorization": f"Basic {see}"}):
        assert port.codes(**fields) == {**dict.fromkeys(PATHS, 401), "/health": 200}
    predicts = {"/model": 200, "/predict": 200}
    assert port.codes(**bearer(predict)) == {
        **dict.fromkeys(PATHS, 403),
        **predicts,
        "/health": 200,
    }
    assert port.codes(**bearer(see)) == {
        **dict.fromkeys(PATHS, 200),
        **dict.fromkeys(predicts, 403),
    }
    assert port.ask("/health", **bearer(predict)).content == b"a little\n"
    assert port.ask("/health", **bearer(see)).content == b"all\n"


def test_a_refusal_says_what_to_do(tmp_path: Path) -> None:
    token = make_token(tmp_path, "one", ["see"])
    port = Port(tmp_path)
    refused = port.ask("/predict")
    assert refused.fields == (("WWW-Authenticate", "Bearer"),)
    assert isinstance(refused.content, bytes)
    assert b"this takes a token that may predict: send the field `Auth" in refused.content
    refused = port.ask("/predict", **bearer(token))
    assert refused.content == b"this token may not predict: ask for one that may\n"


def test_letters_and_spaces_around_a_token_do_not_matter(tmp_path: Path) -> None:
    token, port = make_token(tmp_path, "one", ["see"]), Port(tmp_path)
    assert port.ask("/status", authorization=f" bearer  {token} ").code == 200


def test_a_browser_gets_a_cookie_for_the_token_in_its_address(tmp_path: Path) -> None:
    token, port = make_token(tmp_path, "one", ["see"]), Port(tmp_path)
    answer = port.ask("/", f"a=1&token={token}")
    assert answer.code == 200
    (name, cookie) = answer.fields[-1]
    assert name == "Set-Cookie"
    assert cookie == f"paofed-g={token}; Path=/; HttpOnly; SameSite=Strict"
    again = port.ask("/events", Cookie=f"other=1; {cookie.partition(';')[0]}")
    assert (again.code, again.fields) == (200, ())
    assert port.ask("/events", Cookie="paofed-h=1").code == 401
    assert port.ask("/events", Cookie="paofed-g=1").code == 401
    assert port.ask("/events", Cookie="a\x00b=;;=").code == 401
    assert port.ask("/", "token=x").fields[0][0] == "WWW-Authenticate"


def test_changes_hold_at_once(tmp_path: Path) -> None:
    port = Port(tmp_path)
    assert port.ask("/status").code == 200
    one = make_token(tmp_path, "one", ["see"])
    assert port.ask("/status").code == 401
    assert port.ask("/status", **bearer(one)).code == 200
    revoke_token(tmp_path, "one")
    assert port.ask("/status", **bearer(one)).code == 401
    (tmp_path / FILE).unlink()
    assert port.ask("/status").code == 200


def test_a_file_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    port = Port(tmp_path)
    assert port.ask("/status").code == 200
    (tmp_path / FILE).write_text("{}", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(FileError, match="cannot be understood"):
            port.ask("/status")


def test_a_file_that_is_written_over_in_its_place_is_read_again(tmp_path: Path) -> None:
    """As an editor does, or `cp`: the file stays the same, its content does not."""
    port, path = Port(tmp_path), tmp_path / FILE
    first = make_token(tmp_path, "one", ["see"])
    assert port.ask("/", **bearer(first)).code == 200
    kept = path.read_bytes()
    revoke_token(tmp_path, "one")
    second = make_token(tmp_path, "one", ["see"])
    other = path.read_bytes()
    assert len(other) == len(kept)
    assert port.ask("/", **bearer(second)).code == 200
    inode = path.stat().st_ino
    path.write_bytes(kept)
    assert path.stat().st_ino == inode
    assert [port.ask("/", **bearer(token)).code for token in (first, second)] == [200, 401]


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:9883", "10.1.2.3", "[::1]:9883"),
        *("broker.example", "fleet.example:443", "proxy", socket.gethostname(), "[fe80::1%25eth0]"),
    ],
)
def test_without_tokens_a_server_is_asked_by_its_own_names(host: str, tmp_path: Path) -> None:
    assert set(Port(tmp_path).codes(Host=host).values()) == {200}


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:9883", "", "[", "1.2.3", "a b"]
)
def test_without_tokens_no_other_name_is_answered(host: str, tmp_path: Path) -> None:
    """A page under another's name that leads here must not read what its visitor may see."""
    port = Port(tmp_path)
    assert set(port.codes(Host=host).values()) == {421}
    refused = port.ask("/status", Host=host).content
    assert isinstance(refused, bytes)
    assert refused.decode() == (
        f"the server was asked as {host!r}, which is not known to be its name: ask it by its "
        f"address, add the name to http_names in fleet.toml, or let questions take tokens "
        f"(`paofed fleet token`)\n"
    )
    token = make_token(tmp_path, "one", ["see"])
    assert port.ask("/status", Host=host, **bearer(token)).code == 200


def test_a_cookie_among_others(tmp_path: Path) -> None:
    token, port = make_token(tmp_path, "one", ["see"]), Port(tmp_path)
    for cookies, code in [
        (f"a=b; paofed-g={token}; c", 200),
        (f'a="; paofed-g={token}', 200),
        (f"paofed-g={token}x", 401),
        (f"xpaofed-g={token}", 401),
        ("paofed-g", 401),
        ("", 401),
    ]:
        assert port.ask("/status", Cookie=cookies).code == code


def test_a_cookie_takes_no_longer_the_longer_it_is(tmp_path: Path) -> None:
    """http.cookies took the square of the length: 27 s for 65,000 bytes of this."""
    make_token(tmp_path, "one", ["see"])
    port, times = Port(tmp_path), []
    for length in (2_000, 32_000):
        cookie = 'a="' + "\\" * length
        began = time.process_time()
        for _ in range(20):
            assert port.ask("/status", Cookie=cookie).code == 401
        times.append(time.process_time() - began)
    assert times[1] < 64 * times[0]  # the square of the length would be 256 times as long
