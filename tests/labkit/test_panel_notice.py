"""The line about a missing panel says what to do in the program that shows the notebook."""

import pytest
from jupyter_client.manager import start_new_kernel


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"JPY_SESSION_NAME": "x.ipynb"}, "start it with python -m labkit.start"),
        ({}, ""),
        ({"JPY_SESSION_NAME": "x.ipynb", "VSCODE_PID": "1"}, "This program has no Course panel"),
        ({"COLAB_RELEASE_TAG": "1"}, "This program has no Course panel"),
    ],
)
def test_a_kernel_without_the_panel_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    """Slow: starts a kernel."""
    for name in ("JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG"):
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
    assert words in "".join(shown)
    assert ("gradlab-missing" in "".join(shown)) == bool(words)
