"""The table `[tls]` of hub.toml."""

from __future__ import annotations

from pathlib import Path

from autograder.model.strict_model import StrictModel


class TLSSettings(StrictModel):
    """The certificate with which the hub's own proxy serves https."""

    certificate: Path
    """A PEM file with the certificate, followed by its chain. Relative to the hub's folder."""
    key: Path
    """A PEM file that only root can read."""
