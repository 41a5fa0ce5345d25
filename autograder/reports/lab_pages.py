"""The text of a course as web pages, to read without installing anything: one for each lab, and a list of them.

A page has the prose, the code and the tasks of a released lab, without checks. Hints, answers and the explanations of
predictions are folded, as in the notebook, so nothing is given away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from autograder.base.atomic_files import write_atomically
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.model.course import CellKind, Course, LabEntry
from autograder.model.metadata import read_cell_metadata
from autograder.rendering.markdown import render_markdown
from autograder.rendering.prose import LANGUAGE
from autograder.rendering.python_code import render_python
from autograder.reports.page_templates import render_template

DETAILS = re.compile(r"<details><summary>(?P<title>.*?)</summary>(?P<text>.*?)</details>", re.DOTALL)
WIDE = re.compile(r'(?P<table><table>.*?</table>)|<div class="math block">.*?</div>', re.DOTALL)
HEADING = re.compile(r"<h2>(?P<title>.*?)</h2>")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
LEFT_OUT = (CellKind.CHECK, CellKind.SCRATCH)


@dataclass(frozen=True)
class Section:
    """A second-level heading of a page."""

    id: str
    title: Markup


def write_lab_pages(course: Course, folder: Path) -> list[Path]:
    """Write the pages of a course into a folder, and return their paths. The labs have to be built."""
    labs = [entry for entry in course.labs if (get_release_path(course, entry)).is_file()]
    pages = {"index.html": render_template("lab_list.html.j2", course=course, labs=labs, policy=POLICY)}
    for before, entry, after in zip([None, *labs], labs, [*labs[1:], None], strict=False):
        notebook = read_course_notebook(get_release_path(course, entry))
        pages[f"{entry.name}.html"] = render_lab_page(notebook, entry, before, after)
    for name, text in pages.items():
        write_atomically(folder / name, text)
    return [folder / name for name in pages]


def get_release_path(course: Course, entry: LabEntry) -> Path:
    return course.root / "release" / entry.name / f"{entry.name}.ipynb"


def render_lab_page(notebook: Any, entry: LabEntry, before: LabEntry | None, after: LabEntry | None) -> str:
    """Render one lab.

    Args:
        notebook: As released.
        before: The lab before it, which the page links to.
        after: The lab after it.
    """
    body, sections = _number_headings(WIDE.sub(_wrap_wide_part, "".join(_iter_parts(notebook.cells))))
    return render_template(
        "lab_page.html.j2",
        entry=entry,
        before=before,
        after=after,
        body=Markup(body),
        sections=sections,
        policy=POLICY,
    )


def _iter_parts(cells: Sequence[Any]) -> Iterator[str]:
    """Yield the HTML of each cell that's on the page."""
    for cell in cells:
        metadata = read_cell_metadata(cell)
        kind = metadata.kind if metadata else None
        if kind in LEFT_OUT:
            continue
        if cell.cell_type == "code":
            code = f'<pre><code class="language-{LANGUAGE}">{render_python(cell.source)}</code></pre>\n'
            yield _fold("Code that the lab brings", code) if kind is CellKind.GIVEN else code
            continue
        yield _render_text(cell.source.replace("- [ ] ", "- ☐ ") if kind is CellKind.PREDICT else cell.source)


def _render_text(text: str) -> str:
    """Render Markdown with its folded parts, which are written in HTML."""
    parts, end = [], 0
    for match in DETAILS.finditer(text):
        parts += [render_markdown(text[end : match.start()], {})[0]]
        parts += [_fold(match["title"], render_markdown(match["text"], {})[0])]
        end = match.end()
    return "".join([*parts, render_markdown(text[end:], {})[0]])


def _fold(title: str, html: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{html}</details>\n"


def _wrap_wide_part(match: re.Match[str]) -> str:
    """Put a table or a formula into a box that scrolls, with the keyboard, too."""
    name = "Table" if match["table"] else "Formula"
    return f'<div class="scroll" role="group" aria-label="{name}" tabindex="0">{match[0]}</div>'


def _number_headings(html: str) -> tuple[str, list[Section]]:
    """Give each second-level heading an address, and list them."""
    sections: list[Section] = []

    def number(match: re.Match[str]) -> str:
        sections.append(Section(f"part-{len(sections) + 1}", Markup(match["title"])))
        return f'<h2 id="{sections[-1].id}">{match["title"]}</h2>'

    return HEADING.sub(number, html), sections
