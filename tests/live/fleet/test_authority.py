"""A fleet's certificate authority: what it certifies, takes back, and keeps."""

import ipaddress
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from paofed.errors import FileError
from paofed.live.fleet.authority import YEARS, Authority

AUTHORITY = Authority.create("greenhouse")
ROOT = x509.load_pem_x509_certificate(AUTHORITY.certificate.encode())
NOW = datetime.now(UTC)
YEAR = timedelta(days=365.25)
AN_HOUR = timedelta(hours=1)


def certificate(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def revocations(*numbers: str) -> x509.CertificateRevocationList:
    return x509.load_pem_x509_crl(AUTHORITY.revocations(numbers).encode())


def usage(issued: x509.Certificate) -> list[x509.ObjectIdentifier]:
    return list(issued.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def names(subject: x509.Name) -> list[object]:
    return [attribute.value for attribute in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]


@pytest.mark.parametrize("hosts", [(), ("localhost",)], ids=["client", "server"])
def test_what_it_issues_is_signed_by_it_and_by_no_other(hosts: tuple[str, ...]) -> None:
    issued = certificate(AUTHORITY.issue("7", years=1.0, hosts=hosts).certificate)
    issued.verify_directly_issued_by(ROOT)
    assert names(issued.subject) == ["7"]
    # Same name, another key.
    other = certificate(Authority.create("greenhouse").certificate)
    with pytest.raises(InvalidSignature):
        issued.verify_directly_issued_by(other)


def test_the_key_is_that_of_the_certificate() -> None:
    issued = AUTHORITY.issue("7", years=1.0)
    key = load_pem_private_key(issued.key.encode(), None)
    assert key.public_key() == certificate(issued.certificate).public_key()
    assert key.public_key() != ROOT.public_key()


def test_every_certificate_has_a_key_and_a_number_of_its_own() -> None:
    first, second = AUTHORITY.issue("7", years=1.0), AUTHORITY.issue("7", years=1.0)
    assert first.key != second.key
    assert first.number != second.number
    assert int(first.number, 16) == certificate(first.certificate).serial_number


def test_a_client_is_no_broker_and_a_broker_no_client() -> None:
    client = certificate(AUTHORITY.issue("7", years=1.0).certificate)
    broker = certificate(AUTHORITY.issue("broker", years=1.0, hosts=["localhost"]).certificate)
    assert usage(client) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert usage(broker) == [ExtendedKeyUsageOID.SERVER_AUTH]
    with pytest.raises(x509.ExtensionNotFound):
        client.extensions.get_extension_for_class(x509.SubjectAlternativeName)


def test_hosts_are_addresses_or_names() -> None:
    hosts = ["broker.example", "localhost", "127.0.0.1", "::1", "10.1.2.300"]
    issued = certificate(AUTHORITY.issue("broker", years=1.0, hosts=hosts).certificate)
    found = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert found.get_values_for_type(x509.DNSName) == ["broker.example", "localhost", "10.1.2.300"]
    assert found.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]


def test_the_authority_alone_may_certify() -> None:
    issued = certificate(AUTHORITY.issue("7", years=1.0).certificate)
    for pem, may in ((ROOT, True), (issued, False)):
        basic = pem.extensions.get_extension_for_class(x509.BasicConstraints)
        assert (basic.value.ca, basic.critical) == (may, True)
    rights = ROOT.extensions.get_extension_for_class(x509.KeyUsage).value
    assert rights.key_cert_sign
    assert rights.crl_sign
    assert not rights.digital_signature
    ROOT.verify_directly_issued_by(ROOT)
    assert names(ROOT.subject) == ["greenhouse (a paofed fleet)"]


@pytest.mark.parametrize("years", [0.5, 10.0])
def test_a_certificate_is_good_from_1970_for_its_years_from_now(years: float) -> None:
    issued = certificate(AUTHORITY.issue("7", years=years).certificate)
    assert (
        issued.not_valid_before_utc == ROOT.not_valid_before_utc == datetime(1970, 1, 1, tzinfo=UTC)
    )
    assert abs(issued.not_valid_after_utc - (NOW + years * YEAR)) < AN_HOUR
    assert abs(ROOT.not_valid_after_utc - (NOW + YEARS * YEAR)) < AN_HOUR
    assert YEARS > 10


def test_the_list_holds_what_was_taken_back_and_nothing_else() -> None:
    good, bad, worse = (AUTHORITY.issue(str(k), years=1.0) for k in range(3))
    listed = revocations(bad.number, worse.number)
    assert {revoked.serial_number for revoked in listed} == {
        certificate(issued.certificate).serial_number for issued in (bad, worse)
    }
    number = certificate(good.certificate).serial_number
    assert listed.get_revoked_certificate_by_serial_number(number) is None
    assert list(revocations()) == []


def test_the_list_is_signed_and_good_as_long_as_the_authority() -> None:
    listed = revocations("ab12")
    key = ROOT.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert listed.is_signature_valid(key)
    assert listed.issuer == ROOT.subject
    assert listed.next_update_utc == ROOT.not_valid_after_utc
    assert listed.last_update_utc < NOW - timedelta(hours=23)
    assert all(revoked.revocation_date_utc < NOW for revoked in listed)


def test_it_comes_back_from_its_file_which_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "authority.pem"
    AUTHORITY.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    back = Authority.load(path)
    assert back.certificate == AUTHORITY.certificate
    certificate(back.issue("7", years=1.0).certificate).verify_directly_issued_by(ROOT)


def key_text(
    key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey, word: str = ""
) -> str:
    lock = BestAvailableEncryption(word.encode()) if word else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "hello",
        AUTHORITY.certificate,
        AUTHORITY.issue("7", years=1.0).key,
        AUTHORITY.issue("7", years=1.0).key + AUTHORITY.certificate.replace("A", "B"),
        key_text(ec.generate_private_key(ec.SECP256R1()), "word") + AUTHORITY.certificate,
        key_text(ec.generate_private_key(ec.SECP256R1()))[:90] + AUTHORITY.certificate,
    ],
    ids=["empty", "text", "no key", "no certificate", "damaged", "encrypted", "cut"],
)
def test_a_file_that_is_no_authority(content: str, tmp_path: Path) -> None:
    path = tmp_path / "authority.pem"
    path.write_text(content)
    with pytest.raises(FileError) as refused:
        Authority.load(path)
    says = f"{path} is no certificate authority: restore it from a copy"
    assert str(refused.value) == says


@pytest.mark.parametrize(
    "key",
    [ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)],
    ids=["ed25519", "rsa"],
)
def test_a_key_of_another_kind(
    key: ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey, tmp_path: Path
) -> None:
    path = tmp_path / "authority.pem"
    path.write_text(key_text(key) + AUTHORITY.certificate)
    with pytest.raises(FileError, match="has a key of another kind than paofed makes"):
        Authority.load(path)
