"""Cards on pages like those of other programs, light and dark: their words are readable, and match the page."""

import pytest
from accessibility import find_faults
from conftest import ARTIFACTS, PATIENCE
from playwright.sync_api import Browser

from labkit.difference import Difference
from labkit.outcome import Outcome
from labkit.verdict import Verdict, render_html

pytestmark = [pytest.mark.gate, pytest.mark.browser]

CARD = render_html(
    Verdict(
        "row_softmax",
        [
            Outcome("rows sum to one", passed=True, notes=["UserWarning: careful"]),
            Outcome(
                "finite",
                hint="What is exp(1000)?",
                seen="your result is nan",
                expected="0.5",
                call="row_softmax(x=tensor([1000., 0.]))",
                difference=Difference("shape (2, 2)", "shape (2, 2)", "", ("09", "90"), ("99", "90"), ("x.", "..")),
            ),
        ],
        2.0,
        1.0,
        later=("an empty row",),
        hidden_present=False,
    )
)
CODE_DARK = (
    "--vscode-editor-background:#1f1f1f;--vscode-editor-foreground:#ccc;--vscode-descriptionForeground:#9d9d9d;"
    "--vscode-testing-iconPassed:#73c991;--vscode-errorForeground:#f85149;--vscode-editorWidget-border:#454545"
)
CODE_LIGHT = (
    "--vscode-editor-background:#fff;--vscode-editor-foreground:#3b3b3b;--vscode-descriptionForeground:#3b3b3b;"
    "--vscode-testing-iconPassed:#388a34;--vscode-errorForeground:#f85149;--vscode-editorWidget-border:#c8c8c8"
)
JUPYTERLAB_DARK = (
    "--jp-layout-color1:#111;--jp-content-font-color1:#fff;--jp-content-font-color2:rgba(255,255,255,.7);"
    "--jp-border-color1:#616161;--jp-success-color1:#388e3c;--jp-error-color1:#f44336"
)
PAGES = {  # the page, and whether the card is dark on it, by the system's colors: light, dark
    "white": ("<html><body style='background:#fff;color:#222'>", (False, True)),  # such as nbconvert's
    "colab_light": ("<html theme=light><body style='background:#fff;color:#1f1f1f'>", (False, True)),
    "colab_dark": ("<html theme=dark><body style='background:#1e1e1e;color:#e3e3e3'>", (False, True)),
    "code_light": (f"<html style='{CODE_LIGHT}'><body class=vscode-light style='background:#fff'>", (False, False)),
    "code_dark": (
        f"<html style='{CODE_DARK}'><body class=vscode-dark style='background:#1f1f1f;color:#ccc'>",
        (True, True),
    ),
    "lab_dark": (
        f"<html style='{JUPYTERLAB_DARK}'><body data-jp-theme-light=false style='background:#111;color:#fff'>",
        (True, True),
    ),
}
LIGHTNESS = """card => {
  const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  context.fillStyle = getComputedStyle(card).backgroundColor;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data[0];
}"""


@pytest.mark.parametrize("system", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_card_is_readable_on_the_pages_of_other_programs(browser: Browser, name: str, system: str) -> None:
    start, is_dark = PAGES[name]
    context = browser.new_context(
        color_scheme="dark" if system == "dark" else "light", viewport={"width": 900, "height": 420}
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.set_content(f"<!doctype html>{start}{CARD}")
    page.locator("summary").first.click()
    page.screenshot(path=ARTIFACTS / f"card_{name}_{system}.png")
    lightness = page.locator(".gradlab-card").evaluate(LIGHTNESS)
    assert (lightness < 128) is is_dark[system == "dark"]
    assert find_faults(page, ".gradlab-card") == []
    context.close()
