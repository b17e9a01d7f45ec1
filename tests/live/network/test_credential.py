"""The file that goes onto a device: what it holds, whom it shows it to, what damage is told."""

import json
import ssl
import stat
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import FileError
from paofed.live.fleet.authority import Authority
from paofed.live.network.credential import SYSTEM, Credential
from paofed.live.network.topics import SERVER, Topics
from tests.live.in_memory import folder_in_memory

AUTHORITY = Authority.create("greenhouse")
ISSUED = AUTHORITY.issue("3", years=1.0)
PLAIN = Credential(
    fleet="greenhouse",
    since=1_700_000_000.0,
    name="3",
    label="north wall",
    host="broker",
    port=8883,
)
FULL = replace(
    PLAIN,
    authority=AUTHORITY.certificate,
    certificate=ISSUED.certificate,
    key=ISSUED.key,
    password="opensesame",  # noqa: S106
)


@pytest.mark.parametrize(
    "credential",
    [
        PLAIN,
        FULL,
        replace(PLAIN, name=SERVER, since=1_700_000_000),
        replace(PLAIN, name="greenhouse/3"),
        replace(PLAIN, name=f"greenhouse/{SERVER}"),
        replace(PLAIN, account="dev-1", prefix="company/site7", authority=SYSTEM),
    ],
)
def test_it_comes_back_as_it_was(credential: Credential, tmp_path: Path) -> None:
    (tmp_path / "3.json").touch(0o644)
    credential.save(tmp_path / "3.json")
    assert Credential.load(str(tmp_path / "3.json")) == credential
    assert stat.S_IMODE((tmp_path / "3.json").stat().st_mode) == 0o600  # for its owner alone
    if credential.account is None:  # what a device of an earlier paofed would not understand
        told = json.loads((tmp_path / "3.json").read_text())
        assert not {"account", "prefix", "devices"} & set(told)
    assert credential.topics == Topics(
        "greenhouse", full="/" in credential.name, prefix=credential.prefix or ""
    )
    assert credential.topics.user(credential.who) == credential.name
    assert credential.who == SERVER or credential.device == 3


words = st.text(min_size=1, max_size=20)


@given(words, st.floats(1.0, 1e12), words, words, st.integers(1, 65535), st.none() | words)
def test_any_text_comes_back(
    fleet: str, since: float, label: str, host: str, port: int, password: str | None
) -> None:
    credential = Credential(
        fleet=fleet, since=since, name="0", label=label, host=host, port=port, password=password
    )
    with folder_in_memory() as folder:
        credential.save(folder / "x.json")
        assert Credential.load(folder / "x.json") == credential


def test_its_secrets_are_never_shown() -> None:
    for text in (repr(FULL), str(FULL), f"{FULL}", str([FULL]), "%r" % (FULL,)):  # noqa: UP031
        assert "north wall" in text
        assert "opensesame" not in text
        assert "PRIVATE KEY" not in text
        assert ISSUED.key.splitlines()[1] not in text


def changed(**changes: Any) -> str:
    """The file with some entries changed; those that are `...` are gone."""
    values = {**asdict(FULL), **changes}
    return json.dumps({key: value for key, value in values.items() if value is not ...})


NEEDED = ("fleet", "since", "name", "label", "host", "port")
TEXTS = ("fleet", "name", "label", "host", "authority", "certificate", "key", "password")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("opensesame", "is not JSON"),
        (changed()[:-20], "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is no device's file"),
        ('"opensesame"', "is no device's file"),
        (changed(name="-1"), "names neither a device's index nor 'server'"),
        (changed(name="9" * 11), "names neither a device's index nor 'server'"),
        (changed(name="\u0663"), "names neither a device's index nor 'server'"),
        (changed(name="9" * 5000), "names neither a device's index nor 'server'"),
        (changed(name="Server"), "names neither a device's index nor 'server'"),
        (changed(name="house/3"), "names neither a device's index nor 'server'"),
        (changed(name="/3"), "names neither a device's index nor 'server'"),
        (changed(name="greenhouse/"), "names neither a device's index nor 'server'"),
        (changed(name="greenhouse/3/u"), "names neither a device's index nor 'server'"),
        *((changed(**{name: ...}), f"has no usable {name!r}") for name in NEEDED),
        *((changed(**{name: 5}), f"has no usable {name!r}") for name in TEXTS),
        *((changed(**{name: ""}), f"has no usable {name!r}") for name in TEXTS),
        (changed(host=None), "has no usable 'host'"),
        *(
            (changed(port=port), "has no usable 'port'")
            for port in ("8883", 8883.0, True, 0, -1, 65536)
        ),
        *((changed(since=since), "has no usable 'since'") for since in ("1", True, [1.0], "")),
    ],
)
def test_a_damaged_file_is_told_without_what_it_holds(
    content: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "3.json"
    path.write_text(content)
    with pytest.raises(FileError) as refused:
        Credential.load(path)
    text = str(refused.value)
    expected = "expected the file that `paofed fleet add` or `paofed fleet rotate` wrote"
    assert text == f"{path} {says}: {expected}"
    # JSON's own error holds the text: no traceback shows it.
    assert refused.value.__context__ is None or refused.value.__suppress_context__


def test_an_entry_that_is_unknown_is_told_without_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "3.json"
    path.write_text(changed(pasword="opensesame", password=None))  # noqa: S106
    with pytest.raises(FileError, match="unknown entry 'pasword': did you mean 'password'") as no:
        Credential.load(path)
    assert "opensesame" not in str(no.value)


@pytest.mark.parametrize(
    ("content", "says"), [(None, "No such file"), (b"\xff\xfe", "it is not text in UTF-8")]
)
def test_a_file_that_cannot_be_read(content: bytes | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "3.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError, match=f"cannot be read: {says}"):
        Credential.load(path)


def test_without_an_authority_there_is_no_encryption() -> None:
    assert PLAIN.tls() is None


@pytest.mark.parametrize("credential", [FULL, replace(FULL, certificate=None, key=None)])
def test_the_fleets_authority_alone_is_trusted_by_the_newest_tls(credential: Credential) -> None:
    context = credential.tls()
    assert context is not None
    assert context.minimum_version == ssl.TLSVersion.TLSv1_3
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    (trusted,) = context.get_ca_certs(binary_form=True)
    assert trusted == ssl.PEM_cert_to_DER_cert(AUTHORITY.certificate)


def shaken(client: ssl.SSLContext, server: ssl.SSLContext, host: str) -> Any:
    """Let both speak in memory; what the server knows of the client in the end."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=host)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return theirs.getpeercert()


def broker(tmp_path: Path, authority: Authority) -> ssl.SSLContext:
    issued = authority.issue("broker", years=1.0, hosts=["broker"])
    (tmp_path / "broker.pem").write_text(issued.key + issued.certificate)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=AUTHORITY.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(tmp_path / "broker.pem")
    return context


def test_a_device_and_its_broker_know_each_other(tmp_path: Path) -> None:
    context = FULL.tls()
    assert context is not None
    known = shaken(context, broker(tmp_path, AUTHORITY), "broker")
    assert known["subject"] == ((("commonName", "3"),),)


@pytest.mark.parametrize("wrong", ["another authority's", "another host's"])
def test_a_device_does_not_speak_to_a_stranger(wrong: str, tmp_path: Path) -> None:
    context = FULL.tls()
    assert context is not None
    other = wrong == "another authority's"
    place = broker(tmp_path, Authority.create("greenhouse") if other else AUTHORITY)
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(context, place, "broker" if other else "elsewhere")


@pytest.mark.parametrize(
    "changes",
    [
        {"authority": "hello"},
        {"authority": "é"},
        {"authority": AUTHORITY.certificate[:200]},
        {"certificate": "hello"},
        {"certificate": ISSUED.certificate.replace("\n", "")},
        {"key": "hello"},
        {"key": AUTHORITY.issue("3", years=1.0).key},
        {"key": "é", "certificate": "é"},
    ],
)
def test_a_damaged_certificate_is_told_without_what_it_holds(changes: dict[str, str]) -> None:
    with pytest.raises(FileError) as refused:
        Credential(**{**asdict(FULL), **changes}).tls()
    assert str(refused.value) == (
        "the certificate of 'north wall' cannot be used: `paofed fleet rotate` writes a new file"
    )


@pytest.mark.parametrize("key", [ISSUED.key, "hello"])
def test_the_key_does_not_stay_in_a_file(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[tuple[str, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def watched(self: ssl.SSLContext, certfile: str) -> None:
        seen.append((str(Path(certfile).parent), stat.S_IMODE(Path(certfile).stat().st_mode)))
        load(self, certfile)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    try:
        assert replace(FULL, key=key).tls() is not None
    except FileError:
        assert key == "hello"
    assert seen == [(str(tmp_path), 0o600)]
    assert list(tmp_path.iterdir()) == []


def test_another_s_broker_may_be_older_and_certified_by_others() -> None:
    own = FULL.tls()
    other = replace(PLAIN, authority=SYSTEM, account="dev-1", password="x").tls()  # noqa: S106
    assert own is not None
    assert other is not None
    assert own.minimum_version == ssl.TLSVersion.TLSv1_3
    assert other.minimum_version == ssl.TLSVersion.TLSv1_2
    assert (own.check_hostname, other.check_hostname) == (True, True)
    assert len(own.get_ca_certs()) == 1
