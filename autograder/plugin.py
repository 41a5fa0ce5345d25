"""What nbgrader_config.py plugs into nbgrader, so that its own commands and its formgrader grade as `gradlab` does."""

from __future__ import annotations

import atexit
import functools
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import is_grade

from autograder.examiner.process import Restarting, Warm
from autograder.examiner.submission import Step, examine
from autograder.submission.read import Refused, read_submission
from autograder.submission.repair import blank, repair
from labkit.outcome import earned
from labkit.verdict import Verdict


class SubmissionExporter(NotebookExporter):  # type: ignore[misc]
    """Reads what a student handed in through the submission's door; everything after it sees a sound notebook."""

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        autograde: Any = self.parent
        if not getattr(autograde, "_sanitizing", False):
            return super().from_filename(filename, resources=resources, **kwargs)
        course = nbformat.read(source_path(autograde.coursedir, resources["nbgrader"]), as_version=4)
        try:
            repaired = repair(read_submission(Path(filename)), course)
        except Refused as refused:
            repaired = blank(course, str(refused))
        for note in repaired.notes:
            self.log.warning("%s: %s", resources["nbgrader"]["student"], note)
        return self.from_notebook_node(repaired.notebook, resources=resources, **kwargs)


class Examine(NbGraderPreprocessor):  # type: ignore[misc]
    """Runs the submission in a student process of its own, and the course's checks in this one."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        steps = [step for step in map(_step, nb.cells) if step]
        exercises = [s.id.removeprefix("exercise-") for s in steps if s.id.startswith("exercise-")]
        student = Restarting(_warm().student)
        try:
            seen = examine(steps, exercises, student)
        finally:
            student.kill()
        resources["gradlab"] = {}
        for number, cell in enumerate((c for c in nb.cells if c.cell_type == "code"), start=1):
            came = seen[_identity(cell)]
            cell.execution_count = number
            cell.outputs = [nbformat.from_dict(output) for output in came.outputs]
            if is_grade(cell):
                points = float(cell.metadata.nbgrader.points)
                verdict = Verdict(came.outcomes, points, points, True, earned(came.outcomes, points))
                resources["gradlab"][_identity(cell)] = verdict.earned
                data = verdict._repr_mimebundle_()
                cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=number)]
        return nb, resources


class SaveScores(SaveAutoGrades):  # type: ignore[misc]
    """Writes the examiner's scores into the gradebook; they are never read back from a cell's output."""

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        score = resources["gradlab"].get(_identity(cell))
        if score is None:
            super()._add_score(cell, resources)
            return
        ids = (cell.metadata.nbgrader.grade_id, self.notebook_id, self.assignment_id, self.student_id)
        grade = self.gradebook.find_grade(*ids)
        grade.auto_score = score
        grade.needs_manual_grade = grade.manual_score is not None
        self.gradebook.db.commit()


def _step(cell: NotebookNode) -> Step | None:
    if cell.cell_type != "code":
        return None
    flags = cell.metadata.get("nbgrader", {})
    kind = "check" if is_grade(cell) else "given" if flags.get("locked") else "student"
    return Step(_identity(cell), kind, cell.source)


def _identity(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", cell.id))


@functools.cache
def _warm() -> Warm:
    """One warm process for all submissions that this process grades."""
    warm = Warm()
    atexit.register(warm.close)
    return warm


def configure(c: Any) -> None:
    """Set up nbgrader for a Gradlab course. Call it from nbgrader_config.py with `get_config()`.

    Classes are named by their paths: the formgrader passes its configuration on as JSON.
    """
    # release/ is committed: without this, nbgrader would see it and never put the lab into its gradebook.
    c.GenerateAssignment.force = True
    c.Autograde.exporter_class = "autograder.plugin.SubmissionExporter"
    c.Autograde.autograde_preprocessors = [
        "autograder.plugin.Examine",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "autograder.plugin.SaveScores",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError()"}


def source_path(coursedir: Any, ids: dict[str, str]) -> str:
    """The source notebook of a submission's lab."""
    folder = coursedir.format_path(coursedir.source_directory, ".", ids["assignment"])
    return str(Path(folder) / f"{ids['notebook']}.ipynb")
