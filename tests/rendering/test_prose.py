"""Markdown on a page becomes formulas and tables, and nothing that runs or is fetched."""

import base64
import html
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from autograder.rendering.prose import Budget, RenderedText, limit_page, render_code, render_prose

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1").decode()
ADDRESS = f"http://a.org/{'x' * 900}"
HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", r"\href{javascript:alert(1)}{x}", "<!ENTITY a>"]
HOSTILE += ["<?x\ty><svg/onload=alert(1)>?>", "<?x\ny><b>?>"]  # to XML an instruction, to HTML an element


def test_formulas_tables_and_code_are_formatted() -> None:
    page = render_prose("Cost: $\\frac{n}{2}$\n\n| a | b |\n|---|---|\n| `x` | **y** |")
    assert "<mfrac>" in page
    assert "<td><code>x</code></td>" in page
    assert "<strong>y</strong>" in page


def test_code_is_colored_and_keeps_its_text() -> None:
    source = 'def f(x):\n    return "<b>" + x  # ``` and\n```\n'
    page = str(render_code(source))
    assert '<span class="k">def</span>' in page and '<span class="nf">f</span>' in page
    assert page.startswith('<pre><code class="language-python">')
    assert html.unescape(re.sub("<[^>]*>", "", page)).rstrip() == source.rstrip()
    assert '<span class="k">def</span>' in render_prose("```python\ndef f(): ...\n```")
    assert "<span" not in render_prose("```\ndef f(): ...\n```")


def test_code_too_long_to_color_is_shown_without_colors() -> None:
    source = "x = '<'\n" * 2_000
    assert render_code(source) == Markup('<pre class="plain">{}</pre>').format(source)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_active_html_in_code_is_shown_as_text(hostile: str) -> None:
    assert_plain(str(render_code(f"```\n{hostile}\n```")))


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("around", ["{}", "${}$", "$\\text{{{}}}$", "$$\n{}\n$$", "[x]({})", "![x]({})"])
def test_active_html_is_shown_as_text(hostile: str, around: str) -> None:
    page = str(render_prose(around.format(hostile)))
    assert_plain(page)


@given(st.text(alphabet="<>\"'&$?!\t\\{}[]()!`abhref= \n", max_size=60))
def test_no_text_becomes_an_element_that_runs_or_an_address(text: str) -> None:
    assert_plain(str(render_prose(text)))
    assert_plain(str(render_prose(f"$\\text{{{text}}}$")))


def test_a_picture_is_the_cells_own_or_only_named() -> None:
    attachments = {"plot.png": {"image/png": PIXEL}, "page.html": {"text/html": "<b>"}}
    assert f"data:image/png;base64,{PIXEL}" in render_prose("![a plot](attachment:plot.png)", attachments)
    for source in ("attachment:page.html", "attachment:other.png", "https://example.org/pixel.png"):
        assert "<img" not in render_prose(f"![x]({source})", attachments)


def test_a_text_too_long_to_format_is_shown_whole() -> None:
    text = "a **word** " * 2_000 + "the end"
    assert render_prose(text) == Markup('<pre class="plain">{}</pre>').format(text)
    assert "<math" not in render_prose(f"${'x+' * 2000}x$")
    assert len(render_prose("word " * 20_000)) < 60_000


BILLION = (
    r"\def\aa{x}"
    + "".join(rf"\def\a{chr(98 + i)}{{{{\a{chr(97 + i)}}}{{\a{chr(97 + i)}}}}}" for i in range(20))
    + r"\au"
)
NESTED = r"\sqrt{" * 300 + "x" + "}" * 300


@pytest.mark.parametrize("formula", [BILLION, BILLION.replace("def", "newcommand"), NESTED, r"\frac" * 400, "{" * 900])
def test_a_formula_that_explodes_stays_as_it_was_written_and_the_rest_is_formatted(formula: str) -> None:
    page = render_prose(f"before **bold** ${formula}$ after")
    assert "before" in page and "after" in page
    assert str(escape(formula))[:50] in page


def test_a_parser_that_never_ends_costs_that_text_its_format_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.rendering.prose.MAX_TEXT", 2 * 10**6)
    endless = "[a](" * 500_000  # half a minute
    assert render_prose(endless).startswith('<pre class="plain">[a](')
    assert render_prose("and **then**") == "<p>and <strong>then</strong></p>\n"


def test_texts_of_a_page_share_a_bound() -> None:
    with limit_page(Budget(seconds=0.0)):
        assert render_prose("**not** formatted") == '<pre class="plain">**not** formatted</pre>'
    assert render_prose("**formatted**") == "<p><strong>formatted</strong></p>\n"


def test_a_picture_is_in_a_text_once() -> None:
    attachments = {"a": {"image/png": PIXEL}}
    assert render_prose("![](attachment:a)" * 500, attachments).count("data:image/png") == 1


def test_a_page_has_a_bound_on_its_length() -> None:
    with limit_page(Budget(characters=100)):
        texts = [render_prose(f"**{'x' * 30}{number}**") for number in range(9)]
    assert 0 < sum("<strong>" in text for text in texts) < 4


TABLE = "|".join("a" * 300) + "\n" + "|".join("-" * 300) + "\n" + "|\n" * 300  # rows are filled up


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        pytest.param(Budget(elements=1000), TABLE, id="elements"),
        pytest.param(Budget(pixels=2), "![](attachment:a)", id="pictures"),
        pytest.param(Budget(seconds=0.001), "a*" * 2000, id="time of what succeeds"),
    ],
)
def test_a_page_limits_what_its_text_costs_a_browser(budget: Budget, text: str) -> None:
    with limit_page(replace(budget)):
        pages = [render_prose(f"{text} {number}", {"a": {"image/png": PIXEL}}) for number in range(5)]
    assert 'class="plain"' in pages[-1]


def test_the_time_of_a_text_that_succeeds_counts_too() -> None:
    budget = Budget(seconds=0.001)
    with limit_page(budget):
        assert 'class="plain"' not in render_prose("a*" * 2000)
    assert budget.seconds < 0


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> dict[str, RenderedText]:
    """An empty one instead of that of all tests."""
    monkeypatch.setattr("autograder.rendering.prose.CACHE", cache := {})
    return cache


def test_the_cache_of_texts_has_a_bound(cache: dict[str, RenderedText], monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch and a desk run for a whole term."""
    monkeypatch.setattr("autograder.rendering.prose.MAX_CACHED", 3)
    for number in range(5):
        assert render_prose(f"**{number}**") == f"<p><strong>{number}</strong></p>\n"
    assert list(cache) == ["**2**", "**3**", "**4**"]


def test_long_html_is_not_cached(cache: dict[str, RenderedText]) -> None:
    assert len(render_prose(f"[a]: {ADDRESS}\n\n" + "[a]" * 1000)) > 500_000
    assert not cache


def test_a_long_address_is_no_link() -> None:
    assert "href" in render_prose(f"[a]({ADDRESS})")
    assert "href" not in render_prose(f"[a]({ADDRESS}{'x' * 200})")


def test_links_lead_to_the_web_and_say_where() -> None:
    assert render_prose("[x](https://a.org/?q=1&r)") == (
        '<p><a href="https://a.org/?q=1&amp;r" rel="noopener noreferrer nofollow">x</a> (https://a.org/?q=1&amp;r)</p>\n'
    )
    for inside in ("/logout", "//evil.org", "files/submitted/ada/evil.html", "#top", "?x=1", "data:text/html,x"):
        page = render_prose(f"[x]({inside}) <{inside}> ![x]({inside})")
        assert "<a" not in page and "href" not in page


@pytest.mark.parametrize(
    "host",
    "localhost localhost:8888 127.0.0.1 127.1 0x7f.1 a.0x7f 2130706433 [::1] jupyter a.localhost. hub.local 10.0.0.1 "
    "fritz.box WWW.Fritz.BOX speedport.ip homerouter.cpe www.routerlogin.net tplinkwifi.net nas.corp a.example "
    "a.org@localhost localhost\\@a.org a.org:x 127。0。0。1".split(),
)
def test_no_link_leads_to_a_machine_of_the_readers_own(host: str) -> None:
    page = render_prose(f"[x](http://{host}/logout) <http://{host}/logout> [x](HTTP://{host})")
    assert "<a" not in page and "href" not in page


def test_names_of_the_web_are_links_in_other_scripts_too() -> None:
    assert "<a " in render_prose("[x](https://github.com/a)") and "<a " in render_prose("[x](https://gradlab.dev/box)")
    assert "<a " in render_prose("[x](https://bücher.de/a)") and "<a " in render_prose("[x](https://例え.テスト)")


def assert_plain(page: str) -> None:
    assert "<?" not in page and "<!" not in page
    root = ElementTree.fromstring(f"<page>{page.replace('<br />', '')}</page>")
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        assert name not in ("script", "img", "iframe", "style", "object", "link"), page
        assert not any(each.lower().startswith("on") for each in element.attrib), page
        assert not element.get("href", "").lower().startswith("javascript"), page
