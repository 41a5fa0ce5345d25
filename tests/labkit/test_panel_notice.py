"""The line about a missing panel is written in the kernels of Jupyter servers only."""

import pytest
from jupyter_client.manager import start_new_kernel


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "is_shown"),
    [({"JPY_SESSION_NAME": "x.ipynb"}, True), ({}, False), ({"JPY_SESSION_NAME": "x.ipynb", "VSCODE_PID": "1"}, False)],
)
def test_only_a_jupyter_servers_kernel_shows_the_line(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_shown: bool
) -> None:
    """Slow: starts a kernel."""
    for name in ("JPY_SESSION_NAME", "VSCODE_PID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    manager, client = start_new_kernel(startup_timeout=600)
    shown: list[str] = []
    try:
        client.execute_interactive("import labkit", output_hook=lambda message: shown.append(str(message["content"])))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert ("gradlab-missing" in "".join(shown)) == is_shown
