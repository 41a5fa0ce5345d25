"""Starts kernels so that nothing in a notebook's folder runs before its first cell does."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

LAUNCHER = "ipykernel_launcher"
OURS = Path(__file__).with_name("kernel_launcher.py")


def protect_kernels(specs: Any) -> None:
    """Have this manager of kernel specifications start Python kernels without the current folder on their path.

    `python -m ipykernel_launcher` imports from the notebook's folder: opening a notebook would run a file beside it, if
    IPython looks for its name. Python's option -P keeps the folder away for good, and students' cells import from it.

    Args:
        specs: The server's jupyter_client.kernelspec.KernelSpecManager.
    """
    read = specs.get_kernel_spec

    def get_kernel_spec(kernel_name: str) -> Any:
        spec = read(kernel_name)
        spec.argv = replace_launcher(spec.argv)
        return spec

    specs.get_kernel_spec = get_kernel_spec


def replace_launcher(command: list[str]) -> list[str]:
    """The command with our launcher, if it starts ipykernel's as a module; any other command as it is."""
    for place, (option, module) in enumerate(itertools.pairwise(command)):
        if (option, module) == ("-m", LAUNCHER):
            return [*command[:place], str(OURS), *command[place + 2 :]]
    return command
