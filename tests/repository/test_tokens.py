"""Style sheets take their colors from labext's tokens, and every token that is named exists and is needed."""

import re
from pathlib import Path

from autograder.reports.page_templates import STYLES

ROOT = Path(__file__).parents[2]
TOKENS = Path(str(STYLES)) / "tokens.css"
SHEETS = [path for package in ("autograder", "labext") for path in (ROOT / package).rglob("*.css") if path != TOKENS]
COLOR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|oklch)\(")
SHADOWS = {"#0003", "#fff3", "#0004"}  # of boxes that hide something, and of the desk's panel
PICTURE = "background: #fff;"  # below a student's picture, which may have no background of its own
OWN = re.compile(r"^\s*(--gl-[\w-]+):", re.MULTILINE)


def test_every_token_is_defined_once_and_used() -> None:
    text = TOKENS.read_text()
    defined = set(OWN.findall(text))
    sources = [path for package in ("autograder", "labext", "labkit") for path in (ROOT / package).rglob("*.*")]
    texts = {path: path.read_text() for path in sources if path.suffix in (".css", ".js", ".py", ".j2")}
    used = {name for each in texts.values() for name in re.findall(r"var\((--gl-[\w-]+)", each)}
    local = {name for path, each in texts.items() if path.suffix == ".css" for name in OWN.findall(each)}
    assert len(defined) > 30
    assert used <= local, sorted(used - local)
    assert defined <= used, sorted(defined - used)


def test_colors_are_in_the_tokens_only() -> None:
    assert len(SHEETS) > 10
    for path in SHEETS:
        text = re.sub(r"url\(.*?\)", "", path.read_text()).replace(PICTURE, "")
        assert set(COLOR.findall(text)) <= SHADOWS, path


def test_the_sheet_that_jupyterlab_loads_names_all_others() -> None:
    others = {path.name for path in TOKENS.parent.glob("*.css")} - {"index.css"}
    assert set(re.findall(r'@import url\("(.*?)"\)', (TOKENS.parent / "index.css").read_text())) == others
