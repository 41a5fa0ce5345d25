"""The colors of a card, inside its own style attributes: many programs show cards, and none but JupyterLab knows them.

Inside JupyterLab, the course's tokens decide, or else JupyterLab's own colors. In VS Code, its theme does, and anywhere
else the system, whatever the page around the card looks like. That's why a card has a paper of its own. A style sheet
inside the card would decide better in Colab, but some programs remove its tags and show its text.
"""

from __future__ import annotations

ROLES = {  # JupyterLab's variable, VS Code's, and the colors on light and dark paper
    "paper": ("--jp-layout-color1", "--vscode-editor-background", "#fff", "#15191e"),
    "ink": ("--jp-content-font-color1", "--vscode-editor-foreground", "#1d2733", "#dde3ea"),
    "faint": ("--jp-content-font-color2", "--vscode-descriptionForeground", "#55616d", "#a3b0bd"),
    "line": ("--jp-border-color1", "--vscode-editorWidget-border", "#c3cad1", "#454f5a"),
    "pass": ("--jp-success-color1", "--vscode-testing-iconPassed", "#1a7f37", "#57c97a"),
    "fail": ("--jp-error-color1", "--vscode-errorForeground", "#b42318", "#ff8a7a"),
}
SHARE = 75  # percent of a color in its mixture with ink: VS Code's green is too light for words


def _choose_color(role: str) -> str:
    """Return the CSS value of a color."""
    jupyterlab, code, light, dark = ROLES[role]
    color = f"var({code}, light-dark({light}, {dark}))"
    if role in ("pass", "fail"):
        _, ink, light_ink, dark_ink = ROLES["ink"]
        color = f"color-mix(in srgb, {color} {SHARE}%, var({ink}, light-dark({light_ink}, {dark_ink})))"
    return f"var(--gl-{role}, var({jupyterlab}, {color}))"


FAINT = _choose_color("faint")
COLORS = {"pass": _choose_color("pass"), "fail": _choose_color("fail"), "so far": FAINT, "later": FAINT, "to do": FAINT}
SYSTEM = "color-scheme:light dark"  # of the box around the card, so that a style sheet for cards can choose another
# Of a call or a value. Without a color and a background of its own, a program's style for code would choose them.
VALUE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em;color:inherit;background:none;padding:0"
CARD = (
    f"border:1px solid {_choose_color('line')};border-radius:12px;padding:.75rem 1rem;max-width:60em;"
    f"background:{_choose_color('paper')};color:{_choose_color('ink')}"
)
