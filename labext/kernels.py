"""Starts kernels so that nothing in a notebook's folder runs before its first cell does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

LAUNCHER = "ipykernel_launcher"
SAFE_PATH = "-P"  # Python doesn't look for modules where it is started; IPython adds that folder once it is up


def protect_kernels(specs: Any) -> None:
    """Have this manager of kernel specifications start Python kernels without the current folder on their path.

    `python -m ipykernel_launcher` imports from the notebook's folder first: opening a notebook would run a file of that
    name beside it.

    Args:
        specs: The server's jupyter_client.kernelspec.KernelSpecManager.
    """
    read = specs.get_kernel_spec

    def get_kernel_spec(kernel_name: str) -> Any:
        spec = read(kernel_name)
        spec.argv = protected(spec.argv)
        return spec

    specs.get_kernel_spec = get_kernel_spec


def protected(command: list[str]) -> list[str]:
    """The command with the option, if it starts ipykernel by this interpreter; others may not know the option."""
    if LAUNCHER not in command or SAFE_PATH in command or not _is_this(command[0]):
        return command
    return [command[0], SAFE_PATH, *command[1:]]


def _is_this(program: str) -> bool:
    """Jupyter replaces the bare names by its own interpreter."""
    return program in ("python", "python3", sys.executable) or Path(program).resolve() == Path(sys.executable).resolve()
