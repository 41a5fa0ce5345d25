"""Docstrings in a notebook's cell: narrower lines, the same sentences."""

import ast
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.docstrings import LEAST, WIDTH, wrap_docstrings
from autograder.authoring.promises import list_sentences

ROOT = Path(__file__).parents[2]
LONG = "word " * 21
BODY = "\n    raise NotImplementedError()"


def read_exercises() -> list[str]:
    paths = sorted((ROOT / "release").glob("*/*.ipynb"))
    cells = [cell for path in paths for cell in nbformat.read(path, as_version=4).cells]
    return [cell.source for cell in cells if cell.metadata.get("gradlab", {}).get("kind") == "exercise"]


def wrap_text(text: str) -> str:
    source = f"def f(x):\n    {text}{BODY}"
    wrapped = wrap_docstrings(source)
    assert list_sentences(wrapped) == list_sentences(source)
    assert wrap_docstrings(wrapped) == wrapped
    return wrapped.removeprefix("def f(x):\n    ").removesuffix(BODY)


@pytest.mark.parametrize(
    "text",
    [
        '"""Short."""',
        '"""Short.\n\n    x: (n,).\n    Returns a tensor.\n    """',
        f'"""Short.\n\n    {LONG[:80]}\n    - another bullet\n      that goes on\n    """',
    ],
)
def test_lines_that_fit_stay_as_they_are(text: str) -> None:
    assert wrap_text(text) == text


def test_a_long_line_is_wrapped_together_with_the_line_that_continues_it() -> None:
    lines = wrap_text(f'"""Short.\n\n    {LONG}12 abc\n    goes on here. Another.\n    Its own line.\n    """').split(
        "\n"
    )
    assert len(lines) == 6 and lines[3].endswith("goes on here. Another.") and lines[4] == "    Its own line."


def test_a_bullet_keeps_its_margin() -> None:
    lines = wrap_text(f'"""Short.\n\n    - {LONG}\n    - next\n    """').split("\n")
    assert lines[2].startswith("    - word") and lines[3].startswith("      word") and lines[4] == "    - next"


def test_the_quotes_of_a_long_line_get_a_line() -> None:
    assert wrap_text(f'"""{LONG}end."""').endswith('end.\n    """')


def test_a_minus_never_becomes_a_bullet() -> None:
    for length in range(60, 100):
        wrap_text(f'"""Short.\n\n    {"a" * length} x - y and so on, with enough words to go over the line\n    """')


def test_no_lone_word_is_left_where_another_width_avoids_it() -> None:
    lines = wrap_text(f'"""Short.\n\n    {"word " * 17}end.\n    """').split("\n")
    assert len(lines[3].strip()) >= LEAST


def test_the_course_shows_no_docstring_wider_than_a_cell() -> None:
    sources = read_exercises()
    assert len(sources) > 100
    for source in sources:
        assert wrap_docstrings(source) == source
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
                first = node.body[0]
                lines = source.split("\n")[first.lineno - 1 : first.end_lineno]
                assert [line for line in lines if len(line) > WIDTH] == []
