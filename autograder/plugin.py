"""What nbgrader_config.py plugs into nbgrader, so that its own commands and its formgrader grade as `gradlab` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import DeadKernelError
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import is_grade

from autograder.submission.read import Refused, read_submission
from autograder.submission.repair import blank, repair

KERNEL_DIED = "The Python process of this notebook ended before this cell: it ran out of memory, or called exit."


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


class ExecuteAll(Execute):  # type: ignore[misc]
    """nbgrader's executor; where the kernel dies, the cells that it did not reach say so, and the class goes on."""

    def preprocess(self, nb: NotebookNode, resources: Any, km: Any = None) -> Any:
        try:
            return super().preprocess(nb, resources, km)
        except DeadKernelError:
            for cell in nb.cells:
                if cell.cell_type == "code" and not cell.outputs:
                    cell.outputs = [
                        nbformat.v4.new_output("error", ename="KernelDied", evalue=KERNEL_DIED, traceback=[KERNEL_DIED])
                    ]
            return nb, resources


class KeepWarnings(NbGraderPreprocessor):  # type: ignore[misc]
    """nbgrader gives no point to a cell that wrote to stderr. A warning is no wrong answer: it is kept, as stdout."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Any:
        if is_grade(cell) and cell.cell_type == "code":
            for output in cell.outputs:
                if output.output_type == "stream" and output.name == "stderr":
                    output.name = "stdout"
        return cell, resources


def configure(c: Any) -> None:
    """Set up nbgrader for a Gradlab course. Call it from nbgrader_config.py with `get_config()`.

    Classes are named by their paths: the formgrader passes its configuration on as JSON.
    """
    # release/ is committed: without this, nbgrader would see it and never put the lab into its gradebook.
    c.GenerateAssignment.force = True
    c.Autograde.exporter_class = "autograder.plugin.SubmissionExporter"
    c.Autograde.autograde_preprocessors = [
        "autograder.plugin.ExecuteAll",
        "autograder.plugin.KeepWarnings",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.ExecuteAll.timeout = 120
    c.ExecuteAll.extra_arguments = ["--HistoryManager.hist_file=:memory:", "--log-level=40"]
    c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError()"}


def source_path(coursedir: Any, ids: dict[str, str]) -> str:
    """The source notebook of a submission's lab."""
    folder = coursedir.format_path(coursedir.source_directory, ".", ids["assignment"])
    return str(Path(folder) / f"{ids['notebook']}.ipynb")
