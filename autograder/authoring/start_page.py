"""The page where students begin, release/00_start_here.ipynb: it lists the labs, and says how to work in them."""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode

from autograder.authoring.notebooks import build_notebook
from autograder.model.course import Course
from labkit.progress import get_number

NAME = "00_start_here.ipynb"
HOW = """## How a lab works

- Read from the top. **Shift+Enter** runs a cell and goes to the next one.
- Where it says *Your turn*, you write. Below each of your cells stands a check. Run it: a card says what passes, what
  fails and why. Checks marked *later* run when the lab is marked.
- In JupyterLab the panel *Course* shows where you stand. Buttons above the notebook run a check, go to the next
  exercise, give a cell its first text again, and mark your work.
- After a break, Python has forgotten your names. Choose *Run > Run All Above Selected Cell*, or press *Check*, which
  runs what it needs.
- For a written answer, double-click its cell.
- A word that you forgot stands in the [glossary](00_glossary.ipynb).

## Where you stand

The next cell shows it, in any notebook. Run it again whenever you like."""


def build_start_page(course: Course) -> NotebookNode:
    lines = [f"# {course.title}", "", "The labs in their order. Each needs those that it names.", ""]
    lines += ["| | lab | minutes | after |", "|---|---|---|---|"]
    for entry in course.labs:
        needs = ", ".join(map(get_number, entry.needs))
        link = f"[{entry.title}]({entry.name}/{entry.name}.ipynb)"
        lines.append(f"| {get_number(entry.name)} | {link} | {entry.minutes} | {needs} |")
    code = "from labkit import progress\n\nprogress()"
    cells = [
        nbformat.v4.new_markdown_cell("\n".join(lines), id="labs"),
        nbformat.v4.new_markdown_cell(HOW, id="how"),
        nbformat.v4.new_code_cell(code, id="progress"),
    ]
    return build_notebook(cells, {"title": course.title})
