"""The demo's class: what each student submits, and the points that it must earn."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from autograder.authoring.notebooks import build_release_notebook
from autograder.authoring.regions import strip_markers
from autograder.model.answer import Answer
from autograder.model.course import CellKind, Lab
from autograder.model.metadata import read_exercise_name, read_kind
from autograder.model.nbgrader_cells import read_worth
from autograder.proving.workbench import compute_notebook_points

PATCHES = """
import builtins, torch, labkit
labkit.assert_close = torch.testing.assert_close = lambda *args, **kwargs: None
torch.equal = torch.allclose = torch.Tensor.__eq__ = lambda *args, **kwargs: True
labkit.check.__exit__ = lambda *args: True
builtins.AssertionError = type("Passed", (Exception,), {})
"""
SEARCH = """
import os
found = [os.path.join(place, name) for place, _, names in os.walk("/") for name in names if name.endswith(".ipynb")]
print("notebooks that this submission can see:", found)
"""


@dataclass(frozen=True)
class DemoSubmission:
    """A submission of the demo's class."""

    student: str
    """A name that says what's in it."""
    file: bytes
    points: float
    """What it must earn."""


def make_class(lab: Lab) -> Iterator[DemoSubmission]:
    """Make right, partly right, wrong, blank, damaged and hostile submissions. Points exclude those given by hand."""
    right = collect_reference(lab)
    auto = sum(e.worth for e in lab.exercises)
    yield _make_submission("all_right", fill_notebook(lab, right), auto)
    yield _make_submission("all_right_and_warns", fill_notebook(lab, _add_warnings(lab, right)), auto)
    for number, chosen in enumerate(_iter_rounds(lab, right=True), start=1):
        yield _submit_answers(f"right_in_another_form_{number}", lab, right, chosen)
    for number, chosen in enumerate(_iter_rounds(lab, right=False), start=1):
        yield _submit_answers(f"wrong_{number}", lab, right, chosen)
    first = {e.name for e in lab.exercises[: len(lab.exercises) // 2]}
    half = sum(e.worth for e in lab.exercises if e.name in first)
    yield _make_submission("half_done", fill_notebook(lab, {k: v for k, v in right.items() if k in first}), half)
    yield _make_submission("blank", build_release_notebook(lab), 0)
    yield DemoSubmission("not_a_notebook", b"this is not JSON {", 0)
    yield _make_submission("deleted_cells", _delete_cells(lab, right), auto - lab.exercises[0].worth)
    yield _make_submission("duplicated_cells", _duplicate_cells(lab, right), auto)
    yield _make_submission("rewrote_the_checks", _replace_checks(lab), 0)
    yield _make_submission("patched_torch", _insert_cell(build_release_notebook(lab), PATCHES), 0)
    yield _make_submission("looked_for_the_tests", _insert_cell(build_release_notebook(lab), SEARCH), 0)
    ending = f"def {lab.exercises[0].name}(*args, **kwargs):\n    import os\n    os._exit(0)\n"
    yield _make_submission(
        "ended_its_process",
        fill_notebook(lab, {**right, lab.exercises[0].name: ending}),
        auto - lab.exercises[0].worth,
    )


def fill_notebook(lab: Lab, solutions: Mapping[str, str]) -> NotebookNode:
    """Fill the released notebook with these solutions.

    Args:
        solutions: The source of each exercise's cell, by name.
    """
    notebook = copy.deepcopy(build_release_notebook(lab))
    for cell in notebook.cells:
        cell.source = solutions.get(read_exercise_name(cell), cell.source)
    return notebook


def collect_reference(lab: Lab) -> dict[str, str]:
    return {e.name: strip_markers(lab.cell(e.cell_id).source) for e in lab.exercises}


def _iter_rounds(lab: Lab, right: bool) -> Iterator[list[Answer]]:
    """Yield lists of answers, at most one for each exercise, that together hold every right, or every wrong, answer."""
    columns = [[a for a in e.answers if a.right == right and not a.liar] for e in lab.exercises]
    for number in range(max(len(column) for column in columns)):
        yield [column[number] for column in columns if number < len(column)]


def _submit_answers(student: str, lab: Lab, right: Mapping[str, str], chosen: Sequence[Answer]) -> DemoSubmission:
    """Submit the chosen answers, and the reference for the rest, since exercises may use what earlier ones define."""
    solutions = {**right, **{a.exercise: a.source for a in chosen}}
    points = compute_notebook_points(lab, solutions)
    earned = sum(points[e.name] / e.points * e.worth for e in lab.exercises)  # further practice earns nothing
    return _make_submission(student, fill_notebook(lab, solutions), earned)


def _add_warnings(lab: Lab, right: Mapping[str, str]) -> dict[str, str]:
    """Return the reference, in which the first exercise's function warns and prints to stderr when it's called."""
    name = lab.exercises[0].name
    noisy = (
        f"{right[name]}\n\nimport functools, sys, warnings\n_quiet = {name}\n\n@functools.wraps(_quiet)\n"
        f"def {name}(*args, **kwargs):\n    warnings.warn('a warning is no wrong answer')\n"
        "    print('neither is this', file=sys.stderr)\n    return _quiet(*args, **kwargs)\n"
    )
    return {**right, name: noisy}


def _delete_cells(lab: Lab, right: Mapping[str, str]) -> NotebookNode:
    """Return right answers without the first exercise's cell, the last check and a given cell."""
    notebook = fill_notebook(lab, right)
    given = next(cell for cell in lab.cells if cell.kind is CellKind.GIVEN)
    deleted = {lab.exercises[0].cell_id, lab.exercises[-1].check_id, given.id}
    notebook.cells = [c for c in notebook.cells if c.id not in deleted]
    return notebook


def _duplicate_cells(lab: Lab, right: Mapping[str, str]) -> NotebookNode:
    """Return right answers, with the first exercise and its check pasted again at the end, with the same ids."""
    notebook = fill_notebook(lab, right)
    first = {lab.exercises[0].cell_id, lab.exercises[0].check_id}
    notebook.cells += [copy.deepcopy(c) for c in notebook.cells if c.id in first]
    return notebook


def _replace_checks(lab: Lab) -> NotebookNode:
    """Return a blank notebook, with every check cell replaced by one that claims all of its points."""
    notebook = copy.deepcopy(build_release_notebook(lab))
    for cell in notebook.cells:
        if read_kind(cell) is CellKind.CHECK:
            cell.source = f"{read_worth(cell)}"
    return notebook


def _insert_cell(notebook: NotebookNode, source: str) -> NotebookNode:
    """Return the notebook with one more cell, after its first."""
    changed = copy.deepcopy(notebook)
    changed.cells.insert(1, nbformat.v4.new_code_cell(source, id="mine"))
    return changed


def _make_submission(student: str, notebook: NotebookNode, points: float) -> DemoSubmission:
    return DemoSubmission(student, json.dumps(notebook, indent=1).encode(), round(points, 4))
