"""A line below the first cell of a lab that says what to do if JupyterLab has no Course panel.

A kernel can't see the page that it's used from. So the line is always written, and the panel hides it.
"""

from __future__ import annotations

import os
import sys
from html import escape

SESSION = "JPY_SESSION_NAME"  # set by a Jupyter server in the kernels of its notebooks
OTHERS = ("VSCODE_", "COLAB_", "KAGGLE_")  # how names begin that other front ends set; none of them has a panel
WORDS = (
    "The Course panel isn't loaded on this page. In JupyterLab, end it and start it with python -m labkit.start; on "
    "your class's server, ask your instructor."
)


def show_panel_notice() -> None:
    """Display the line if this is the kernel of a Jupyter server."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    is_elsewhere = any(name.startswith(OTHERS) for name in os.environ)
    if shell is None or not hasattr(shell, "kernel") or SESSION not in os.environ or is_elsewhere:
        return
    from IPython.display import display

    display({"text/html": f'<p class="gradlab-missing">{escape(WORDS)}</p>', "text/plain": ""}, raw=True)
