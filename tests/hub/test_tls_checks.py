"""What gradlab hub check says about certificates."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.hub import tls_checks
from autograder.hub.checks import check_hub
from autograder.hub.settings import read_settings
from tests.hub.hub_file import list_problems, replace_line
from tests.hub.hub_process import draw_port
from tests.hub.mistakes import make_certificate


@pytest.mark.usefixtures("equipped")
def test_a_certificate_that_the_proxy_or_browsers_refuse_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, certificate, key = folder / "hub.toml", folder / "tls.pem", folder / "tls.key"
    path.write_text(path.read_text() + '[tls]\ncertificate = "tls.pem"\nkey = "tls.key"\n')
    assert "isn't an https address, so the hub serves without TLS" in list_problems(folder)
    replace_line(folder, "address", f'"https://127.0.0.1:{draw_port()}"')
    assert f"there is no {certificate} FIX" in list_problems(folder)
    make_certificate(certificate, key)
    assert list_problems(folder) == ""
    monkeypatch.setattr(tls_checks, "_read_expiry", lambda path: datetime(2026, 1, 31, tzinfo=UTC))
    (found,) = check_hub(read_settings(path))
    assert f"{certificate} expired on 2026-01-31" in found.problem and not found.blocks
    make_certificate(folder / "other.pem", key)
    assert f"{certificate} and {key} can't be used together: the key belongs to another" in list_problems(folder)
    certificate.write_text("no certificate")
    assert f"{certificate} and {key} can't be used together: " in list_problems(folder)
