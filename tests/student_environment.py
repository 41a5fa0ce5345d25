"""A student's environment: everything that this one has, except Gradlab."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path


def create_student_environment(folder: Path) -> str:
    """Create the environment, and return its Python. It finds this environment's packages, but not what's editable."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    names = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=names))
    (packages / "parent.pth").write_text(sysconfig.get_path("purelib"))
    return str(python)


def build_student_variables() -> dict[str, str]:
    """This process's environment variables, without the folders that it imports from. Nothing is downloaded."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return variables | {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_PROXY": "*", "no_proxy": "*"}


def install_wheel(python: str, wheel: Path) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, env=build_student_variables(), stdout=sys.stderr)
