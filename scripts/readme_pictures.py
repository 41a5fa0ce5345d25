"""Draws the README's two pictures: a wrong answer's check cell as a student sees it, and its feedback page.

Run as `python -m scripts.readme_pictures`, with Debian's chromium.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import nbformat
from playwright.sync_api import Page, sync_playwright

from autograder.authoring.course_folder import read_course, read_labs
from autograder.gradebook.submission_result import ExerciseResult, SubmissionResult
from autograder.model.course import Kind
from autograder.model.metadata import make_cell_name
from autograder.proving.bench import iter_benches
from autograder.reports.feedback import render_feedback_page
from labkit.outcome import Outcome, compute_earned
from labkit.verdict import Verdict, render_html

ROOT = Path(__file__).parent.parent
LAB, EXERCISE, ANSWER = "03_autograd", "value_and_slope", "the lowest power comes first"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
STYLE = "body { font: 14px/1.5 system-ui, sans-serif; margin: 0; padding: 12px; width: 640px }"


def main() -> None:
    lab = next(read_labs(read_course(ROOT), (LAB,)))
    bench = next(bench for bench in iter_benches(lab) if bench.exercise.name == EXERCISE)
    exercise = bench.exercise
    answer = next(answer for answer in exercise.answers if answer.label == ANSWER)
    hidden = {check.id for check in exercise.checks if check.hidden}
    outcomes = [replace(outcome, hidden=outcome.id in hidden) for outcome in bench.try_source(answer.source).outcomes]
    visible = [outcome for outcome in outcomes if not outcome.hidden]
    later = tuple(check.label for check in exercise.checks if check.hidden)
    verdict = Verdict(
        exercise.name, visible, exercise.points, compute_earned(visible, exercise.points), later, not later
    )
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 820, "height": 600}, device_scale_factor=1.5)
        _draw(page, f"<!doctype html><style>{STYLE}</style>{render_html(verdict)}", "check.png")
        _draw(page, _feedback(outcomes, answer.source, exercise.points, Path(folder) / "n.ipynb"), "feedback.png")
        browser.close()


def _feedback(outcomes: list[Outcome], source: str, points: float, notebook: Path) -> str:
    cell = nbformat.v4.new_code_cell(
        source, metadata={"nbgrader": {"grade_id": make_cell_name(Kind.EXERCISE, EXERCISE)}}
    )
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    got = compute_earned(outcomes, points)
    exercise = ExerciseResult(name=EXERCISE, points=got, worth=points, checks=tuple(outcomes))
    return render_feedback_page(
        SubmissionResult(student="ada", lab=LAB, points=got, worth=points, exercises=(exercise,)), notebook
    )


def _draw(page: Page, html: str, name: str) -> None:
    page.set_content(html)
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    page.locator("body").screenshot(path=folder / name)


if __name__ == "__main__":
    main()
