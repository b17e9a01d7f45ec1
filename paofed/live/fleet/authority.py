"""A fleet's own certificate authority: it says who may speak to the fleet's broker."""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from paofed.errors import FileError
from paofed.files import read_text, write_secret

# The authority's own certificate; the list of revoked certificates must be valid as long.
YEARS = 20
_YEAR = timedelta(days=365.25)
# Certificates are valid from the first second that a clock can show. A device that has lost its
# time is in 1970, or at the date of its firmware, and must still reach the fleet.
_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
# The list of revoked certificates is read by the broker alone, whose clock may be slow.
_EARLY = timedelta(days=1)


class Issued(NamedTuple):
    """A certificate with its key, as PEM, and the serial number by which it is revoked."""

    certificate: str
    key: str
    number: str


class Authority:
    """The key that signs, and the certificate that everybody trusts."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self._certificate = certificate

    @classmethod
    def create(cls, fleet: str) -> Self:
        """Make a new authority for a fleet."""
        key = _new_key()
        name = _name(f"{fleet} (a paofed fleet)")
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            _builder(name, name, key.public_key(), YEARS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )
        return cls(key, builder.sign(key, hashes.SHA256()))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read an authority from its file."""
        content = read_text(path).encode()
        try:
            key = load_pem_private_key(content, None)
            certificate = x509.load_pem_x509_certificate(content)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise FileError(f"{path} is no certificate authority: restore it from a copy") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise FileError(f"{path} has a key of another kind than paofed makes")
        return cls(key, certificate)

    def save(self, path: Path) -> None:
        """Write key and certificate so that their owner alone may read them."""
        write_secret(path, _key_text(self._key) + self.certificate)

    @property
    def certificate(self) -> str:
        """The authority's certificate, which everybody may know, as PEM."""
        return self._certificate.public_bytes(Encoding.PEM).decode()

    def issue(self, name: str, *, years: float, hosts: Sequence[str] = ()) -> Issued:
        """Certify a name; a certificate with `hosts` is a broker's."""
        key = _new_key()
        usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            _builder(_name(name), self._certificate.subject, key.public_key(), years)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if hosts:
            names = x509.SubjectAlternativeName([_host(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        text = certificate.public_bytes(Encoding.PEM).decode()
        return Issued(text, _key_text(key), f"{certificate.serial_number:x}")

    def revocations(self, numbers: Iterable[str]) -> str:
        """Return the list of revoked certificates, as PEM.

        The list is valid as long as the authority: a broker refuses everybody when its list runs
        out.
        """
        now = datetime.now(UTC)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._certificate.subject)
            .last_update(now - _EARLY)
            .next_update(self._certificate.not_valid_after_utc)
        )
        for number in numbers:
            revoked = (
                x509.RevokedCertificateBuilder()
                .serial_number(int(number, 16))
                .revocation_date(now - _EARLY)
                .build()
            )
            builder = builder.add_revoked_certificate(revoked)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def is_number(text: str) -> bool:
    """Whether a text is the serial number of a certificate, as `Issued` has it."""
    return re.fullmatch("[0-9a-f]{1,40}", text) is not None and 0 < int(text, 16) < 2**159


def revoked_numbers(revocations: str) -> set[str]:
    """Return the serial numbers in a list that `Authority.revocations` made."""
    try:
        listed = x509.load_pem_x509_crl(revocations.encode())
    except ValueError:
        return set()  # the list is damaged, and about to be written anew
    return {f"{entry.serial_number:x}" for entry in listed}


def trusted_text(path: Path) -> str:
    """Return the certificates of somebody else's authority, as PEM, and nothing beside them."""
    content = read_text(path).encode()
    try:
        found = x509.load_pem_x509_certificates(content)
    except ValueError:
        raise FileError(f"{path} holds no certificate of an authority: expected PEM") from None
    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in found)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, years: float
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_ALWAYS)
        .not_valid_after(datetime.now(UTC) + years * _YEAR)
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
