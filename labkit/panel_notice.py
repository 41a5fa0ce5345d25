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
    "The Course panel isn't loaded on this page. You can work without it: run the cells yourself, including each "
    "folded cell “Check”; labkit.progress() shows how far you are. To get the panel in JupyterLab, end it and start it "
    "with python -m labkit.start; on your class's server, ask your instructor."
)
ELSEWHERE = (
    "This program has no Course panel and no “Mark my work”. Run the cells yourself, including each folded cell "
    "“Check”. labkit.progress() shows how far you are, and how to have your work marked."
)


def show_panel_notice() -> None:
    """Display the line if this is a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    is_elsewhere = any(name.startswith(OTHERS) for name in os.environ)
    if shell is None or not hasattr(shell, "kernel") or not (is_elsewhere or SESSION in os.environ):
        return
    from IPython.display import display

    words = ELSEWHERE if is_elsewhere else WORDS
    display({"text/html": f'<p class="gradlab-missing">{escape(words)}</p>', "text/plain": ""}, raw=True)
