"""Replacements for parts of nbgrader: exporters, preprocessors and a hook, each named in configure()."""

from __future__ import annotations

import atexit
from datetime import datetime
from pathlib import Path
from typing import Any

from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor, SaveAutoGrades
from traitlets import Float, Unicode

from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.forkserver.server_process import start_fork_server_process
from autograder.gradebook.extensions import set_extension
from autograder.gradebook.history import remember_mark
from autograder.gradebook.mark_decisions import apply_decisions
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.gradebook.result_backups import forget_written_results, load_written_result, set_aside_result
from autograder.gradebook.result_documents import load_document, write_document
from autograder.gradebook.result_reader import read_result
from autograder.gradebook.writer import set_score
from autograder.grading.lab_submission import SubmissionFacts, grade_notebook
from autograder.grading.output_preprocessors import read_preprocessor_settings
from autograder.grading.stock_marks import compute_stock_marks
from autograder.grading.task import USUAL, ExamineSettings, make_settings
from autograder.intake.folder_normalization import normalize_folder
from autograder.intake.notebook_reading import SubmissionRefusedError, read_submission
from autograder.intake.releases import read_release_bytes, read_releases, save_release
from autograder.intake.repair import build_blank_notebook, read_notes, repair_lab_notebook
from autograder.model.assignments import AssignmentKind, find_kind
from autograder.model.marks import compute_marks
from autograder.model.metadata import WRITE_HERE, choose_name, clear_hidden, is_built
from autograder.model.nbgrader_cells import read_grade_id
from autograder.model.note_sentences import describe_note
from autograder.model.result import ResultDocument
from autograder.model.term import read_term
from autograder.nbgrader_plugin.stock_autograde import (
    StockGrading,
    drop_absent_notebooks,
    examine_notebook,
    find_stock_notebook,
    merge_results,
    normalize_stock_folder,
    sanitize_notebook,
)
from autograder.reports.feedback import PageOptions, render_page_with_fallback
from autograder.sandbox import Isolation, Limits
from autograder.sandbox.grader_limits import limit_memory_on
from autograder.stock.content import upgrade_metadata
from autograder.student_process.imports import find_course_import_groups

_open: dict[tuple[str, Limits, Path, frozenset[str]], ForkServerClient] = {}


class SubmissionExporter(NotebookExporter):
    """Reads a submission through the intake, so everything after it sees a valid notebook."""

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        """Read a submission: repaired, or blank if it's refused. Read other notebooks as nbgrader does."""
        autograde: Any = self.parent
        if not getattr(autograde, "_sanitizing", False):
            return super().from_filename(filename, resources=resources, **kwargs)
        ids, root = resources["nbgrader"], Path(autograde.coursedir.root)
        if find_kind(root, ids["assignment"]) is AssignmentKind.STOCK:
            source = find_stock_notebook(root, ids["db_url"], ids["assignment"], ids["notebook"], self.config)
            notebook, notes = sanitize_notebook(Path(filename), source)
            for note in notes:
                self.log.warning("%s: %s", ids["student"], describe_note(note, name_notebook=True))
            return self.from_notebook_node(notebook, resources=resources, **kwargs)
        course = read_course_notebook(Path(get_source_path(autograde.coursedir, ids)))
        try:
            releases = read_releases(read_release_bytes(root, ids["assignment"]))
            repaired = repair_lab_notebook(read_submission(Path(filename)), course, releases)
        except SubmissionRefusedError as refused:
            repaired = build_blank_notebook(course, str(refused))
        for note in repaired.notes:
            self.log.warning("%s: %s", ids["student"], describe_note(note))
        return self.from_notebook_node(repaired.notebook, resources=resources, **kwargs)


class UpgradeMetadata(NbGraderPreprocessor):  # type: ignore[misc]
    """Upgrades nbgrader's metadata to the newest version, as `nbgrader update` does with a file."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        return upgrade_metadata(nb), resources


class ClearAnswers(ClearSolutions):  # type: ignore[misc]
    """nbgrader's ClearSolutions with the labs' placeholder for answers in words; stock assignments have their own."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        if is_built(nb):
            self.text_stub = WRITE_HERE
        return super().preprocess(nb, resources)


class RememberRelease(NbGraderPreprocessor):  # type: ignore[misc]
    """Keeps the students' notebook, so grading knows what they may have fetched."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        if is_built(nb):
            save_release(Path(self.parent.parent.coursedir.root), resources["nbgrader"]["assignment"], nb)
        return nb, resources


class ClearHiddenFacts(NbGraderPreprocessor):  # type: ignore[misc]
    """Removes what the metadata says about hidden checks from the students' notebook."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, _: int) -> Any:
        clear_hidden(cell.metadata)
        return cell, resources


def normalize_submission(assignment: str, student: str, notebooks: list[str]) -> None:
    """Make the folder safe to copy, since nbgrader, which calls this hook before it copies, follows links."""
    folder = Path(notebooks[0]).parent
    if find_kind(Path.cwd(), assignment) is AssignmentKind.STOCK:  # nbgrader changes to the course's folder first
        normalize_stock_folder(Path.cwd(), folder, notebooks)
        return
    normalize_folder(folder, assignment)
    notebooks[:] = [str(folder / f"{assignment}.ipynb")]


class Examine(NbGraderPreprocessor):  # type: ignore[misc]
    """Runs the submission in its own sandboxed process, and the course's checks in this one."""

    isolation = Unicode(USUAL.isolation, help="The least isolation to accept: a level that gradlab doctor lists.").tag(
        config=True
    )
    memory_gib = Float(USUAL.memory_gib, help="Memory of a submission's processes together.").tag(config=True)
    gpu_memory_gib = Float(USUAL.gpu_memory_gib, help="The same on a GPU, for gradlab grade --device cuda.").tag(
        config=True
    )
    cell_seconds = Float(USUAL.cell_seconds, help="Time of one cell.").tag(config=True)
    check_seconds = Float(USUAL.check_seconds, help="Time of one check.").tag(config=True)
    submission_seconds = Float(USUAL.submission_seconds, help="Time of a whole submission.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        """Grade the notebook, and leave the result in resources["gradlab"] for SaveScores."""
        course = Path(self.parent.parent.coursedir.root).resolve()
        ids = resources["nbgrader"]
        examine = ExamineSettings(**{name: getattr(self, name) for name in ExamineSettings.model_fields})
        settings = make_settings(examine, preprocessors=read_preprocessor_settings(self.config))
        fork_server = get_fork_server(
            settings.isolation, settings.limits, course, find_course_import_groups(course, [ids["assignment"]])
        )
        if find_kind(course, ids["assignment"]) is AssignmentKind.STOCK:
            source = find_stock_notebook(course, ids["db_url"], ids["assignment"], ids["notebook"], self.config)
            ignored = tuple(self.parent.parent.coursedir.ignore)
            grading = StockGrading(
                course, ids["assignment"], ids["student"], fork_server, settings, self.config, ignored
            )
            resources["gradlab"] = examine_notebook(nb, source, grading)
            for remark in resources["gradlab"].remarks:
                self.log.warning("%s: %s", ids["student"], describe_note(remark, name_notebook=True))
            return nb, resources
        submission = SubmissionFacts(ids["assignment"], ids["student"], read_notes(nb))
        with limit_memory_on(submission.device):
            resources["gradlab"] = grade_notebook(nb, submission, fork_server, settings.timeouts)
        return nb, resources


class SaveScores(SaveAutoGrades):  # type: ignore[misc]
    """Writes the result document, and its scores to the gradebook. No score is read from a cell's output."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        """Write the result, let nbgrader save the scores, and add the mark to the history."""
        course, result = Path(self.parent.parent.coursedir.root), resources["gradlab"]
        term = read_term(course)
        excused = term.get_excuses(result.lab, result.student)
        until = term.get_extensions(result.lab).get(result.student)
        before = load_document(course, result.lab, result.student)
        written = load_written_result(course, result.lab, result.student) or before
        set_aside_result(course, result.lab, result.student)
        if result.kind is AssignmentKind.STOCK:
            marks = compute_stock_marks(result, {resources["nbgrader"]["notebook"]: nb})
            present = [Path(path).stem for path in self.parent.parent.notebooks]
            write_document(course, merge_results(before and drop_absent_notebooks(before, present), result, course))
        else:
            marks = compute_marks(result, nb)
            write_document(course, result)
        self._marks = apply_decisions(marks, result, excused, written)
        nb, resources = super().preprocess(nb, resources)
        forget_written_results(course, result.lab, [result.student])
        points = sum(self._marks.scores[cell.id] or 0.0 for cell in result.cells if cell.id in self._marks.scores)
        remember_mark(course, result, points, self._set_extension(result, until), "nbgrader autograde", excused)
        return nb, resources

    def _set_extension(self, result: ResultDocument, until: datetime | None) -> datetime | None:
        """Set the extension, which AssignLatePenalties uses next. Returns when the submission was submitted."""
        with self.gradebook:
            submission = self.gradebook.find_submission(result.lab, result.student)
            set_extension(submission, submission.assignment.duedate, until)
            self.gradebook.db.commit()
            submitted: datetime | None = submission.timestamp
        return submitted

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        grade_id = read_grade_id(cell)
        name = choose_name(self._marks.scores, self.notebook_id, grade_id)
        grade = self.gradebook.find_grade(grade_id, self.notebook_id, self.assignment_id, self.student_id)
        set_score(grade, self._marks, name)
        self.gradebook.db.commit()


class FeedbackExporter(HTMLExporter):
    """Gives nbgrader's generate_feedback, and the formgrader's button, the pages of `gradlab feedback`.

    These pages leave out what term.toml withholds for a lab; only `gradlab feedback` shows that.
    """

    def from_filename(self, filename: str, resources: Any = None, **_: Any) -> Any:
        generate_feedback: Any = self.parent
        coursedir, ids = generate_feedback.coursedir, resources["nbgrader"]
        result = read_result(coursedir.db_url, Path(coursedir.root), ids["assignment"], ids["student"])
        tell = read_term(Path(coursedir.root)).lab(ids["assignment"]).tell
        options = PageOptions(tell, notebook_name=ids["notebook"])
        page = render_page_with_fallback(result, read_course_notebook(Path(filename)), options)
        return page, {**resources, "output_extension": ".html"}


def get_fork_server(isolation: Isolation, limits: Limits, course: Path, groups: frozenset[str]) -> ForkServerClient:
    """Return the fork server for all submissions of a lab that this process grades, or a new one if it's lost."""
    key = isolation, limits, course, groups
    if key not in _open or _open[key].lost:
        close_fork_servers()
        _open[key] = ForkServerClient(
            ProcessSettings(isolation, limits), [course], start_fork_server_process(1, groups)
        )
    return _open[key]


@atexit.register
def close_fork_servers() -> None:
    while _open:
        _open.popitem()[1].close()


def get_source_path(coursedir: Any, ids: dict[str, str]) -> str:
    """Return the path of the source notebook of a submission's lab."""
    folder = coursedir.format_path(coursedir.source_directory, ".", ids["assignment"])
    return str(Path(folder) / f"{ids['notebook']}.ipynb")
