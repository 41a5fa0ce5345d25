"""Starts ipykernel as `python -m ipykernel_launcher` does, but nothing from the notebook's folder before a cell runs.

It is run as a program: Python then looks for modules beside it, which is undone at once.
"""

import sys
from typing import Any

if __name__ == "__main__":
    del sys.path[0]
    from ipykernel.kernelapp import IPKernelApp

    app = IPKernelApp.instance(ignore_cwd=True)
    app.initialize()
    shell: Any = app.shell
    completer = shell.Completer
    uses_jedi, completer.use_jedi = completer.use_jedi, False  # it looks for modules in the folder by itself

    def add_folder(info: Any) -> None:
        """Let cells import what is beside their notebook, as in every kernel."""
        shell.events.unregister("pre_run_cell", add_folder)
        completer.use_jedi = uses_jedi
        app.ignore_cwd = False
        app.init_path()

    shell.events.register("pre_run_cell", add_folder)  # not before a cell that an extension runs silently
    app.start()
