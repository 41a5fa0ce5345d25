"""Checks of the certificate with which a hub's own proxy serves https, and of its key."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from autograder.hub.finding import Finding, format_command
from autograder.hub.settings import HUB_FILE, Hub
from autograder.hub.tls_settings import TLSSettings


def check_tls(hub: Hub) -> Iterator[Finding]:
    """Check the table [tls]."""
    is_https = hub.address.startswith("https:")
    if is_https and hub.tls is None:
        yield Finding(
            f"{hub.address} needs a certificate", f"add the table [tls] to {HUB_FILE}, with certificate and key"
        )
    if hub.tls is None:
        return
    if not is_https:
        yield Finding(
            f"{HUB_FILE} has a certificate, but {hub.address} isn't an https address, so the hub serves without TLS",
            f"write an address with https in {HUB_FILE}, or remove the table [tls]",
        )
    missing = [path for path in (hub.tls.certificate, hub.tls.key) if not path.is_file()]
    for path in missing:
        yield Finding(f"there is no {path}", f"correct the table [tls] in {HUB_FILE}")
    if hub.tls.key.is_file() and hub.tls.key.stat().st_mode & 0o077:
        yield Finding(f"others can read {hub.tls.key}", format_command("chmod", "600", hub.tls.key))
    if not missing:
        yield from _check_pair(hub.tls)


def _check_pair(tls: TLSSettings) -> Iterator[Finding]:
    """Check that the proxy can use the two files, and that browsers accept the certificate today."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key, password="")
    except (ssl.SSLError, OSError) as error:
        reason = "the key belongs to another certificate" if "MISMATCH" in str(error) else str(error)
        yield Finding(
            f"{tls.certificate} and {tls.key} can't be used together: {reason}",
            "request a certificate for this key, or name the right files as PEM in the table [tls] of " + HUB_FILE,
        )
        return
    expiry = _read_expiry(tls.certificate)
    if expiry < datetime.now(UTC):
        yield Finding(
            f"{tls.certificate} expired on {expiry:%Y-%m-%d}, so browsers warn of the hub",
            "renew it, and start the hub again",
            blocks=False,
        )


def _read_expiry(certificate: Path) -> datetime:
    """Return when the first certificate of this file expires: the hub's own, before its chain."""
    first, *_ = x509.load_pem_x509_certificates(certificate.read_bytes())
    return first.not_valid_after_utc
