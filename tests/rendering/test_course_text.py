"""The course's own lines: code and formulas are rendered, and everything else is shown as it's written."""

import pytest

from autograder.rendering.course_text import format_line, format_sentences
from autograder.rendering.prose import Budget, limit_page


@pytest.mark.parametrize(
    "line",
    ["2 * 3 * 4", "__init__ and *args", "1. first", "$5 and $6", "$HOME and $PATH", "a$b$c", r"\$x$", "# no heading"],
)
def test_a_line_is_no_markdown_and_not_every_dollar_begins_a_formula(line: str) -> None:
    assert format_line(line) == line


def test_a_line_has_code_and_formulas_and_no_other_element() -> None:
    line = format_line("`x < $y$` is <b> $a < b$.")
    assert line.startswith('<code>x &lt; $y$</code> is &lt;b&gt; <span class="math inline"><math')
    assert line.endswith("</math></span>.")


def test_sentences_are_markdown_and_fit_into_a_line_unless_they_are_paragraphs() -> None:
    assert format_sentences("*Both* grow.") == "<em>Both</em> grow."
    assert format_sentences("One.\n\nTwo.") == "<p>One.</p>\n<p>Two.</p>\n"


def test_once_the_page_is_full_texts_are_still_lines() -> None:
    with limit_page(Budget(seconds=0)):
        assert format_sentences("`x` is *not* $m$") == "<code>x</code> is *not* $m$"
