"""Kernels that run nothing from a notebook's folder before its first cell."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

LAUNCHER = "ipykernel_launcher"
OUR_LAUNCHER = Path(__file__).with_name("kernel_launcher.py")


def protect_kernels(specs: Any) -> None:
    """Make this manager of kernel specifications start Python kernels without the current folder on their path.

    `python -m ipykernel_launcher` imports from the notebook's folder: opening a notebook would run a file there whose
    name IPython imports. Python's option -P would exclude the folder for good, but students' cells import from it.

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
    """Replace ipykernel's launcher with ours in a command. Other commands stay unchanged."""
    for place, (option, module) in enumerate(itertools.pairwise(command)):
        if (option, module) == ("-m", LAUNCHER):
            return [*command[:place], str(OUR_LAUNCHER), *command[place + 2 :]]
    return command
