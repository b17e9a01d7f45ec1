"""A fleet's settings: what is kept, and what is told of what people wrote."""

import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import InputError, shown
from paofed.live.fleet.settings import FILE, Security, Settings, SettingsError

OTHER: dict[str, Any] = {
    "name": "green-house_2",
    "host": "broker.example",
    "port": 1883,
    "security": "external",
    "users": "short",
    "prefix": "company/site7",
    "authority": "broker/authority.pem",
    "http": "0.0.0.0:80",
    "http_names": "fleet.example proxy",
    "snapshot_every": 7,
    "keep_days": 3,
    "budget": 2000,
    "validation": "samples/last year.csv",
    "validation_limit": 2.5,
}


def test_every_setting_comes_back(tmp_path: Path) -> None:
    assert {field.name for field in fields(Settings)} == set(OTHER)
    settings = Settings(**OTHER)
    settings.save(tmp_path)
    back = Settings.load(tmp_path)
    assert back == settings
    usual = Settings(name="x")
    for name, value in OTHER.items():
        assert getattr(back, name) == value != getattr(usual, name)


labels = st.from_regex(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,20}[A-Za-z0-9_])?", fullmatch=True)
hosts = st.lists(labels, min_size=1, max_size=4).map(".".join)
places = hosts | st.ip_addresses().map(str)


@given(
    st.from_regex(r"[A-Za-z0-9_-]{1,32}", fullmatch=True),
    places,
    st.integers(1, 65535),
    st.sampled_from(get_args(Security)),
    st.just("") | st.builds("{}:{}".format, places, st.integers(1, 65535)),
    st.integers(1, 2**32),
)
def test_whatever_is_accepted_comes_back(
    name: str, host: str, port: int, security: Security, http: str, snapshot_every: int
) -> None:
    settings = Settings(
        name=name, host=host, port=port, security=security, http=http, snapshot_every=snapshot_every
    )
    with tempfile.TemporaryDirectory() as folder:
        settings.save(Path(folder))
        assert Settings.load(Path(folder)) == settings


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_no_text_makes_a_file_that_reads_otherwise(name: str, host: str, http: str) -> None:
    try:
        settings = Settings(name=name, host=host, http=http + ":80", http_names=http)
    except SettingsError:
        return
    with tempfile.TemporaryDirectory() as folder:
        settings.save(Path(folder))
        assert Settings.load(Path(folder)) == settings


def test_what_is_not_said_is_as_usual(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('name = "x"\n')
    assert Settings.load(tmp_path) == Settings(name="x")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        *(({"name": name}, "1 to 32 letters") for name in ("", "a/b", "a b", "é", "x" * 33, "a\n")),
        *(
            ({"host": host}, "a host name or an address")
            for host in ("", "a b", 'a"b', "a/b", "x" * 254, "x" * 64, "a:8883", "::1::", "a\n")
        ),
        *(
            ({"host": host}, "a host name or an address")
            for host in (".", "a..b", ".a", "a.", "-a", "a-", "a.-b", "[::1]", "é", "a.b" * 90)
        ),
        *(
            ({"host": host}, "a host name or an address")
            for host in ('fe80::1%a"b', "fe80::1%a\nport = 1", "fe80::1%", "10.0.0.1%a", "a%b")
        ),
        *(({"port": port}, "1 to 65535") for port in (0, -1, 65536)),
        *(
            ({"security": word}, "certificate, password, external, none")
            for word in ("tls", "", "None")
        ),
        *(
            ({"http": place}, '"HOST:PORT", or "" for none')
            for place in ("localhost", ":80", "a:", "a:65536", "a:-1", "a:b", 'a"b:80', "a\\b:80")
        ),
        *(
            ({"http": place}, '"HOST:PORT", or "" for none')
            for place in ("a:0", "127.0.0.1:00000", "a:b:80", "-a:80", "http://a:80")
        ),
        *(
            ({"http_names": names}, "host names with a")
            for names in ("a,b", "a b/c", 'a"', " ", "a\nb")
        ),
        *(({"http": place}, '"HOST:PORT"') for place in ("a\n:80", "a:٣", "a:" + "9" * 5000)),
        *(({"snapshot_every": ticks}, "1 to 4,294,967,296 ticks") for ticks in (0, -5, 2**63)),
        *(({"keep_days": days}, "0 to 100,000 days") for days in (-1, 100_001, 10**400)),
        *(
            ({"prefix": prefix}, "at most 128 letters")
            for prefix in ("/a", "a/", "a//b", "a/+", "#", "a b", 'a"', "é", "x" * 129, "a\n")
        ),
        ({"authority": "ca.pem"}, '"" unless security is external'),
        ({"budget": -1}, "bytes a day, or 0 for no budget"),
    ],
)
def test_a_bad_value_is_told_with_what_was_expected(change: dict[str, Any], expected: str) -> None:
    ((name, value),) = change.items()
    with pytest.raises(SettingsError) as refused:
        replace(Settings(name="x"), **change)
    says = str(refused.value)
    assert says.startswith(f"the setting {name} is {shown(value)}: expected {expected}")
    assert "\n" not in says


@pytest.mark.parametrize("file", ['a"b', "a\n", "a\\b", "é"])
def test_a_file_that_cannot_be_named_in_the_settings(file: str) -> None:
    with pytest.raises(SettingsError, match="expected a file"):
        Settings(name="x", security="external", authority=file)


@pytest.mark.parametrize("prefix", ["a", "company/site7", "x" * 128, "a.b/c-d/_"])
def test_prefixes_that_are_right(prefix: str) -> None:
    assert Settings(name="x", prefix=prefix).prefix == prefix


@pytest.mark.parametrize(
    "host",
    ["a", "a-b.example", "_mqtt.local", "10.0.0.1", "::1", "fe80::1%eth0", "x" * 63, "2001:db8::7"],
)
def test_hosts_that_are_right(host: str) -> None:
    assert Settings(name="x", host=host).host == host
    assert Settings(name="x", http=f"{host}:80").http_place() == (host, 80)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("port = 0", "the setting port is 0: expected 1 to 65535"),
        ('port = "8883"', "the setting port is '8883': expected a value of type int"),
        ("port = true", "the setting port is True: expected a value of type int"),
        ("host = 5", "the setting host is 5: expected a value of type str"),
        ('http = ["a"]', "the setting http is ['a']: expected a value of type str"),
        ("[host]", "the setting host is {}: expected a value of type str"),
        ("prot = 8883", "unknown setting 'prot': did you mean 'port'?"),
        ('HOST = "x"', "unknown setting 'HOST'"),
    ],
)
def test_a_bad_line_is_told(line: str, says: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(f'name = "x"\n{line}\n')
    with pytest.raises(SettingsError) as refused:
        Settings.load(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / FILE}: {says}")


def test_a_fleet_without_a_name(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("port = 8883\n")
    with pytest.raises(SettingsError) as refused:
        Settings.load(tmp_path)
    assert str(refused.value) == f"{tmp_path / FILE}: there is no name"


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('name = "x"\nname = "y"')
    with pytest.raises(SettingsError, match=r"fleet\.toml: not valid TOML: .* \(at "):
        Settings.load(tmp_path)


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_settings(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    with pytest.raises(SettingsError) as refused:
        Settings.load(folder)
    assert str(refused.value) == f"{folder} holds no fleet: there is no {FILE} in it"


@pytest.mark.parametrize(
    ("http", "place"),
    [("127.0.0.1:9883", ("127.0.0.1", 9883)), ("::1:1", ("::1", 1)), ("a:65535", ("a", 65535))],
)
def test_where_health_is_shown(http: str, place: tuple[str, int]) -> None:
    assert Settings(name="x", http=http).http_place() == place


def test_health_can_be_shown_nowhere() -> None:
    with pytest.raises(InputError, match=r"fleet\.toml shows health nowhere: set http"):
        Settings(name="x", http="").http_place()
