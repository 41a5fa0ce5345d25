"""nbgrader's preprocessor that puts cells into the gradebook, and lets an assignment change after submissions."""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import MissingEntry
from nbgrader.preprocessors import SaveCells

from autograder.gradebook.changed_cells import update_cells, write_lost_marks


class SaveChangedCells(SaveCells):  # type: ignore[misc]
    """Updates the rows of submissions; nbgrader's own preprocessor refuses to add or remove a cell."""

    def _create_notebook(self, nb: NotebookNode) -> None:
        try:
            notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        except MissingEntry:
            notebook = None
        if notebook is not None and notebook.submissions:
            now = {
                "grade": self.new_grade_cells,
                "solution": self.new_solution_cells,
                "task": self.new_task_cells,
                "source": self.new_source_cells,
            }
            with self.gradebook.db.no_autoflush:
                changes = update_cells(self.gradebook, notebook, now)
            if changes:
                self.log.warning("%s changed after submissions: %s", self.notebook_id, changes.describe())
            write_lost_marks(changes, Path(self.parent.parent.coursedir.root), self.assignment_id)
            self.gradebook.db.commit()
        super()._create_notebook(nb)
