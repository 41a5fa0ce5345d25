"""What a page makes of Markdown: formulas and tables, and nothing that runs or is fetched."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.reports.prose import prose

PIXEL = "iVBORw0KGgo="
HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", r"\href{javascript:alert(1)}{x}", "<!ENTITY a>"]
HOSTILE += ["<?x\ty><svg/onload=alert(1)>?>", "<?x\ny><b>?>"]  # to XML an instruction, to HTML an element


def test_formulas_tables_and_code_are_shown_as_such() -> None:
    page = prose("Cost: $\\frac{n}{2}$\n\n| a | b |\n|---|---|\n| `x` | **y** |")
    assert "<mfrac>" in page and "<td><code>x</code></td>" in page and "<strong>y</strong>" in page


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("around", ["{}", "${}$", "$\\text{{{}}}$", "$$\n{}\n$$", "[x]({})", "![x]({})"])
def test_what_would_run_is_shown_as_text(hostile: str, around: str) -> None:
    page = str(prose(around.format(hostile)))
    assert_plain(page)


@given(st.text(alphabet="<>\"'&$?!\t\\{}[]()!`abhref= \n", max_size=60))
def test_no_text_becomes_an_element_that_runs_or_an_address(text: str) -> None:
    assert_plain(str(prose(text)))
    assert_plain(str(prose(f"$\\text{{{text}}}$")))


def test_a_picture_is_the_cells_own_or_only_named() -> None:
    own = {"plot.png": {"image/png": PIXEL}, "page.html": {"text/html": "<b>"}}
    assert f"data:image/png;base64,{PIXEL}" in prose("![a plot](attachment:plot.png)", own)
    for source in ("attachment:page.html", "attachment:other.png", "https://example.org/pixel.png"):
        assert "<img" not in prose(f"![x]({source})", own)


def test_long_texts_and_formulas_are_bounded() -> None:
    assert len(prose("word " * 20_000)) < 60_000
    assert "<math" not in prose(f"${'x+' * 2000}x$")


def assert_plain(page: str) -> None:
    assert "<?" not in page and "<!" not in page
    root = ElementTree.fromstring(f"<page>{page.replace('<br />', '')}</page>")
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        assert name not in ("script", "img", "iframe", "style", "object", "link"), page
        assert not any(each.lower().startswith("on") for each in element.attrib), page
        assert not element.get("href", "").lower().startswith("javascript"), page
