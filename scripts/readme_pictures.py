"""Draws the README's two pictures: a wrong answer's check cell as a student sees it, and its feedback page.

Run by `make pictures`, with Debian's chromium. It also writes the text that they show, which a nightly test compares
with what the pages say now.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import nbformat
from playwright.sync_api import Page, sync_playwright

from autograder.authoring.course_folder import read_course, read_labs
from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.model.course import CellKind
from autograder.model.metadata import make_cell_name
from autograder.proving.workbench import iter_workbenches
from autograder.reports.feedback import render_feedback_page
from autograder.reports.page_templates import STYLES
from labkit.outcome import Outcome, compute_earned
from labkit.verdict import Verdict, render_html

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pictures"
TEXT = FOLDER / "text.txt"
LAB, EXERCISE, ANSWER = "03_autograd", "value_and_slope", "the lowest power comes first"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SHEETS = ("tokens", "controls", "states", "cards")  # what JupyterLab shows a card with
STYLE = "body { margin: 0; padding: 12px; width: 640px; color-scheme: light }"


def main() -> None:
    """Draw both pictures, and write their text."""
    pages = build_pages()
    FOLDER.mkdir(exist_ok=True)
    TEXT.write_text(read_text(pages), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 820, "height": 600}, device_scale_factor=1.5)
        for name, content in pages.items():
            _draw(page, content, name)
        browser.close()


def build_pages() -> dict[str, str]:
    """Grade the wrong answer, and build its card and its page as HTML, by the name of the picture."""
    lab = next(read_labs(read_course(ROOT), (LAB,)))
    bench = next(bench for bench in iter_workbenches(lab) if bench.exercise.name == EXERCISE)
    exercise = bench.exercise
    answer = next(answer for answer in exercise.answers if answer.label == ANSWER)
    hidden = {check.id for check in exercise.checks if check.hidden}
    outcomes = [replace(outcome, hidden=outcome.id in hidden) for outcome in bench.try_source(answer.source).outcomes]
    visible = [outcome for outcome in outcomes if not outcome.hidden]
    later = tuple(check.label for check in exercise.checks if check.hidden)
    required = tuple(check.label for check in exercise.checks if check.hidden and check.required)
    verdict = Verdict(
        exercise.name,
        visible,
        exercise.points,
        compute_earned(visible, exercise.points),
        later,
        required=required,
        hidden_present=not later,
    )
    feedback = _render_feedback(lab.title, outcomes, answer.source, exercise.points)
    style = "".join(STYLES.joinpath(f"{name}.css").read_text(encoding="utf-8") for name in SHEETS) + STYLE
    return {"check": f"<!doctype html><style>{style}</style>{render_html(verdict)}", "feedback": feedback}


def read_text(pages: Mapping[str, str]) -> str:
    """Return the text of these pages, without their styles and scripts, a line for each piece."""
    texts = [re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL) for page in pages.values()]
    pieces = [html.unescape(piece).split() for text in texts for piece in re.split(r"<[^>]*>", text)]
    return "".join(f"{' '.join(words)}\n" for words in pieces if words)


def _render_feedback(title: str, outcomes: list[Outcome], source: str, points: float) -> str:
    metadata = {"nbgrader": {"grade_id": make_cell_name(CellKind.EXERCISE, EXERCISE)}}
    notebook = nbformat.v4.new_notebook(metadata={"gradlab": {"title": title}})
    notebook.cells.append(nbformat.v4.new_code_cell(source, metadata=metadata))
    got = compute_earned(outcomes, points)
    exercise = GradedCellResult(name=EXERCISE, points=got, worth=points, checks=tuple(outcomes))
    return render_feedback_page(
        SubmissionResult(student="ada", lab=LAB, points=got, worth=points, exercises=(exercise,)), notebook
    )


def _draw(page: Page, content: str, name: str) -> None:
    page.set_content(content)
    page.locator("body").screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
