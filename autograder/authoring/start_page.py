"""The page where students begin, release/00_start_here.ipynb: it lists the labs, and says how to work in them."""

from __future__ import annotations

from collections.abc import Mapping

import nbformat
from nbformat import NotebookNode

from autograder.authoring.notebooks import build_notebook
from autograder.authoring.publication import Link
from autograder.model.course import Course
from labkit.lab_progress import shorten_lab_name

START_PAGE_NAME = "00_start_here.ipynb"
HOW = """## How a lab works

- Read from the top. **Shift+Enter** runs a cell and goes to the next one.
- *Your turn* marks a cell for you to write. The first part of its docstring says what to write. Get that to work, and
  then go through the cases below *Details*, which your function has to handle too.
- Below the cell is a check. Run it: a card shows what passes, what fails and why. Checks marked *later* run when the
  lab is marked. Until each *required* one passes, the exercise earns nothing.
- In JupyterLab the *Course* panel shows your progress. Buttons above the notebook run a check, go to the next
  exercise, restore a cell's original text, and mark your work.
- After a break, Python has forgotten your names. Choose *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run
  before*), or press *Check*, which runs what it needs.
- To write an answer in words, double-click its cell, or select it and press Enter.
- Keys in JupyterLab: **Ctrl+Alt+C** runs the check of the cell you're in, **Ctrl+Alt+N** goes to the next exercise,
  **Ctrl+Alt+M** marks your work, **Ctrl+Alt+R** restores a cell, and **Ctrl+Alt+H** opens the course's home.
- Without a mouse: the arrow keys select a cell once you've left the text with **Escape**. **Enter** on the course's
  text, or on a check, goes to its first hint, choice or button, **Tab** goes on from there, and Escape returns to the
  cell. **Z** undoes what happened to cells, such as one deleted by accident.
- The [glossary](00_glossary.ipynb) explains the words you've forgotten.

## What the checks try

Checks go through everything that a docstring allows: the dtypes and shapes it names, inputs with one element and with
none, zeros, ties and negative numbers, views with any strides, tensors that require gradients, parameters that are
shared or frozen, calls inside `torch.no_grad()`. They call your code more than once, and look at what it leaves
behind: arguments, gradients, modes, settings.

Unless a docstring names them, you don't have to handle:

- arguments that the docstring doesn't allow, such as sizes that don't match
- numbers so large or so small that multiplying two of them leaves the range of their dtype
- arguments that overlap in memory without being the same tensor
- objects that behave in their own way: subclasses of tensors, lists and dicts, modules with hooks, functions of
  PyTorch or Python that someone replaced
- threads, other devices, and another default dtype
- what someone does with your function: second derivatives, forward-mode derivatives, `vmap`, `torch.compile`

## Your progress

The next cell shows it, in any notebook. Run it again whenever you like."""


def build_start_page(course: Course, published: Mapping[str, Link] | None = None) -> NotebookNode:
    """Build the page.

    Args:
        published: The link to each published lab, by its name, for programs that show this page without its folder.
    """
    published = published or {}
    is_online = bool(published)
    lines = [
        f"# {course.title}",
        "",
        *([course.about, ""] if course.about else []),
        "The labs in order. The column *after* names the labs that each one builds on.",
        "",
    ]
    milestones = any(entry.milestone for entry in course.labs)
    lines += [
        "| | lab | minutes | after |" + " you will have |" * milestones + " |" * is_online,
        "|---|---|---|---|" + "---|" * (milestones + is_online),
    ]
    for entry in course.labs:
        needs = ", ".join(map(shorten_lab_name, entry.needs))
        title = f"[{entry.title}]({entry.name}/{entry.name}.ipynb)"
        row = f"| {shorten_lab_name(entry.name)} | {title} | {entry.minutes} | {needs} |"
        row += f" {entry.milestone} |" * milestones
        link = published.get(entry.name)
        lines.append(row + (f" [{link.words}]({link.address}) |" if link else ""))
    code = "from labkit import progress\n\nprogress()"
    cells = [
        nbformat.v4.new_markdown_cell("\n".join(lines), id="labs"),
        nbformat.v4.new_markdown_cell(HOW, id="how"),
        nbformat.v4.new_code_cell(code, id="progress"),
    ]
    return build_notebook(cells, {"title": course.title, "about": course.about})
