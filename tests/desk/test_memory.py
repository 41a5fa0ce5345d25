"""The servers in which teachers and assistants read answers don't load torch, which would cost each of them 140 MB."""

import subprocess
import sys

from tests.conftest import ROOT

CODE = "import sys, autograder.hub.desk_service; print(sorted({'torch'} & set(sys.modules)))"


def test_the_desk_starts_without_torch() -> None:
    result = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
