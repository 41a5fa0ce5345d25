"""What a released lab shows in programs that don't have the course's extension.

Plain JupyterLab and nbconvert render Markdown with HTML in it, VS Code with markdown-it, and Colab removes what may run.
Colab puts each output into a page of its own. So the Markdown uses only elements that all of them show, nothing relies on
a style sheet or a script of another page, and what gives away an answer is folded by <details>.
"""

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbformat import NotebookNode

from autograder.authoring.notebooks import build_release_notebook
from autograder.model.course import CellKind, Lab
from autograder.model.metadata import read_kind
from labkit.difference import Difference
from labkit.outcome import Outcome
from labkit.verdict import Verdict, render_html

VSCODE = MarkdownIt("commonmark", {"html": True}).enable("table")
RENDERERS = {"VS Code": VSCODE.render, "nbconvert": markdown2html_mistune}
SHOWN_EVERYWHERE = {"details", "summary"}


class PageText(HTMLParser):
    """The text of a page, apart by whether a closed <details> hides it, and the elements that it uses."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.folds, self.summaries = 0, 0
        self.visible, self.folded = "", ""
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.folds += tag == "details"
        self.summaries += tag == "summary"

    def handle_endtag(self, tag: str) -> None:
        self.folds -= tag == "details"
        self.summaries -= tag == "summary"

    def handle_data(self, data: str) -> None:
        if self.folds and not self.summaries:
            self.folded += data
        else:
            self.visible += data


def iterate_explanations(labs: list[Lab]) -> Iterator[tuple[str, NotebookNode]]:
    """Yield each prediction's name and the first text cell below it, as released."""
    for lab in labs:
        cells = build_release_notebook(lab).cells
        for number, cell in enumerate(cells):
            if read_kind(cell) is CellKind.PREDICT:
                below = next(other for other in cells[number + 1 :] if other.cell_type == "markdown")
                yield f"{lab.name} {cell.metadata.gradlab.exercise}", below


@pytest.mark.parametrize("program", RENDERERS)
def test_the_explanation_of_a_prediction_is_folded(program: str, labs: list[Lab]) -> None:
    render: Callable[[str], str] = RENDERERS[program]
    count = 0
    for name, cell in iterate_explanations(labs):
        count += 1
        inside, closed, after = cell.source.partition("\n\n</details>")
        explanation = inside.removeprefix("<details><summary>Explanation</summary>\n\n")
        assert closed and explanation != inside, name
        page = PageText(render(cell.source))
        assert page.folds == 0 and page.visible.startswith("Explanation"), name
        assert normalize(page.folded) == normalize(PageText(render(explanation)).visible), name  # as Markdown, too
        assert normalize(page.visible) == normalize(f"Explanation {PageText(render(after)).visible}"), name
    assert count > 50


def normalize(text: str) -> str:
    return " ".join(text.split())


def test_the_text_uses_only_elements_that_every_program_shows(labs: list[Lab]) -> None:
    for lab in labs:
        for cell in build_release_notebook(lab).cells:
            if cell.cell_type == "markdown":
                tokens = VSCODE.parse(cell.source)
                raw = [token for token in tokens if token.type == "html_block"]
                raw += [part for token in tokens for part in token.children or () if part.type == "html_inline"]
                for token in raw:
                    page = PageText(token.content)
                    assert page.elements <= SHOWN_EVERYWHERE and not page.attributes, f"{lab.name}: {token.content}"


def test_the_letters_of_a_quiz_are_readable_without_its_check_boxes(labs: list[Lab]) -> None:
    count = 0
    for lab in labs:
        cells = build_release_notebook(lab).cells
        for quiz in (cell for cell in lab.cells if cell.quiz):
            count += 1
            (prose,) = [
                c for c in cells if read_kind(c) is CellKind.PROSE and c.metadata.gradlab.get("exercise") == quiz.name
            ]
            for render in RENDERERS.values():
                lines = [line.strip() for line in PageText(render(prose.source)).visible.split("\n")]
                letters = [line[:3] for line in lines if re.match(r"[a-e]\. ", line)]
                assert letters == [f"{statement.letter}. " for statement in quiz.quiz]
            (answer,) = [
                c for c in cells if read_kind(c) is CellKind.EXERCISE and c.metadata.gradlab.exercise == quiz.name
            ]
            assert "the letters of all true statements" in answer.source
    assert count > 5


FAILED = Outcome(
    "example",
    label="3 and 4 give 25",
    seen="your result is 49",
    expected="25",
    hint="Which power?",
    further_hints=("The second.",),
    difference=Difference("shape (2, 2)", "shape (2, 2)", "", *(("09", "90"), ("99", "90"), ("x.", ".."))),
)


def test_a_card_brings_its_style_and_needs_no_script() -> None:
    verdict = Verdict("sum_of_squares", [FAILED], 2.0, 0.0, later=("an empty tensor",), hidden_present=False)
    card = PageText(render_html(verdict))
    assert not card.elements & {"script", "link", "style", "button", "input", "iframe"}
    assert not [name for name in card.attributes if name.startswith("on")]
    for text in ("3 and 4 give 25", "your result is 49", "an empty tensor", "later", "fail"):
        assert text in card.visible
    assert "Which power?" in card.folded and "The second." in card.folded


def test_every_color_of_a_card_has_a_value_outside_jupyterlab() -> None:
    html = render_html(Verdict("f", [FAILED], 2.0, 0.0, later=("more",), hidden_present=False))
    colors = re.findall(r"var\(--jp-[\w-]+(?P<fallback>, (?:color-mix\(in srgb, )?var\(--vscode-)?", html)
    assert "border:1px solid" in html and len(colors) >= 5 and all(colors)
    codes = re.findall(r"var\(--vscode-[\w-]+(?P<fallback>, light-dark\(#[0-9a-f]{3,6}, #[0-9a-f]{3,6}\))?\)", html)
    assert len(codes) >= 5 and all(codes)
