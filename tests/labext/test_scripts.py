"""Every script of the extension parses. One that doesn't would leave a plain JupyterLab, without a word."""

import shutil
import subprocess
from pathlib import Path

import pytest

import labext
from autograder.hub.programs import find_node

SCRIPTS = sorted(Path(str(labext.__file__)).parent.glob("share/**/js/*.js"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_parses(script: Path, tmp_path: Path) -> None:
    node = find_node()
    assert node is not None, "make setup installs Node"
    module = Path(shutil.copy(script, tmp_path / f"{script.stem}.mjs"))
    result = subprocess.run([str(node), "--check", str(module)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
