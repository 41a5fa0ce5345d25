"""A student's server never loads torch, which would cost each student of a class 140 MB."""

import subprocess
import sys
from pathlib import Path

import labext

CODE = """
import importlib, pkgutil, sys
import labext, labkit.start
for module in pkgutil.iter_modules(labext.__path__):
    importlib.import_module(f"labext.{module.name}")
print(sorted({"torch", "numpy", "autograder"} & set(sys.modules)))
"""


def test_nothing_that_the_server_extension_imports_loads_torch_or_a_grader() -> None:
    folder = Path(labext.__file__).parent.parent
    result = subprocess.run([sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
