"""Starts ipykernel like `python -m ipykernel_launcher`, but imports nothing from the notebook's folder before a cell.

It runs as a script, so Python puts its folder on the path, which is undone at once.
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
    uses_jedi, completer.use_jedi = completer.use_jedi, False  # jedi looks for modules in the folder on its own

    def add_folder(info: Any) -> None:
        """Let cells import modules next to their notebook, as in any kernel."""
        shell.events.unregister("pre_run_cell", add_folder)
        completer.use_jedi = uses_jedi
        app.ignore_cwd = False
        app.init_path()

    shell.events.register("pre_run_cell", add_folder)  # not for a cell that an extension runs silently
    app.start()
