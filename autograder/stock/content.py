"""A stock assignment: the notebooks of source/NAME/, each with the cells that nbgrader keeps."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme
from nbgrader.utils import is_grade, is_solution
from pydantic import Field
from traitlets.config import Config

from autograder.base.errors import GradlabError
from autograder.intake.submitted_cells import find_defined_names
from autograder.model.assignments import list_source_notebooks
from autograder.model.nbgrader_cells import is_kept, read_grade_id
from autograder.model.strict_model import StrictModel
from autograder.stock.settings import find_skipped_cells, get_cell_key, get_cell_limits

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

SILENT = logging.Logger("nbgrader, silenced")
SILENT.addHandler(logging.NullHandler())


class StockCell(StrictModel):
    """A cell that nbgrader keeps, as it's restored in submissions."""

    id: str
    cell_type: str
    source: str
    """Its text, including hidden tests or the mark scheme."""
    released: str
    """Its text as students have it."""
    checksum: str = ""
    """nbgrader's checksum of the unchanged answer cell."""
    grade: bool = False
    solution: bool = False
    locked: bool = False
    task: bool = False
    points: float | None = None
    defines: tuple[str, ...] = ()
    """The names that the course's solution defines, if students write a program here."""
    attachments: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The attachments of a locked text."""

    @property
    def has_hidden_part(self) -> bool:
        """Whether it has tests or a mark scheme that students don't see."""
        return self.source != self.released

    def build_flags(self) -> dict[str, Any]:
        """Build what nbgrader says about it, in the newest version."""
        flags = {
            "grade": self.grade,
            "grade_id": self.id,
            "locked": self.locked,
            "schema_version": MetadataValidator.schema_version,
            "solution": self.solution,
            "task": self.task,
            "cell_type": self.cell_type,
            "checksum": self.checksum,
        }
        return flags if self.points is None else flags | {"points": self.points}


class _SourceCleaner:
    """Removes hidden tests and mark schemes from a graded cell, as nbgrader does for students."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        settings = Config(
            {kind.__name__: dict(config.get(kind.__name__, {})) for kind in (ClearHiddenTests, ClearMarkScheme)}
        )
        self._hidden, self._scheme = ClearHiddenTests(config=settings), ClearMarkScheme(config=settings)

    def clean(self, source: str) -> str:
        cell = NotebookNode(cell_type="code", source=source, metadata=NotebookNode())
        try:
            self._hidden._remove_hidden_test_region(cell)
            self._scheme._remove_mark_scheme_region(cell)
        except RuntimeError:
            return ""  # a region without an end, which only the instructor sees
        return str(cell.source)


class StockNotebook(StrictModel):
    """One notebook of a stock assignment. The keys of cells are those of settings.get_cell_key()."""

    name: str
    kernelspec: dict[str, Any]
    cells: tuple[StockCell, ...]
    """The cells that nbgrader keeps, in order."""
    code: tuple[str, ...] = ()
    """The text of all code cells, with solutions."""
    solutions: tuple[str, ...] = ()
    """The text of the code cells that contain a solution."""
    worked_notebook: str = ""
    """The source notebook as a file, without outputs."""
    cell_seconds: dict[str, float] = Field(default_factory=dict)
    """Time limits in seconds of cells that have their own, by key."""
    skipped: tuple[str, ...] = ()
    """The keys of cells that aren't run."""
    order: tuple[str, ...] = ()
    """The keys of all cells, in order."""
    unkept_texts: tuple[str, ...] = ()
    """The text of the cells that nbgrader doesn't keep."""


class StockContent(StrictModel):
    """Everything that grading needs from the course, as a task carries it."""

    name: str
    notebooks: tuple[StockNotebook, ...]

    def to_bytes(self) -> bytes:
        return self.model_dump_json().encode()


def read_kept_names(path: Path) -> set[str]:
    """Read nbgrader's names of the cells that it keeps in this source notebook."""
    cells = upgrade_metadata(nbformat.read(path, as_version=4)).cells
    return {_get_grade_id(cell) for cell in cells if is_kept(cell)}


def read_content(course: Path, name: str, gradebook: Gradebook, config: Any = None) -> StockContent:
    """Read an assignment: its cells from the gradebook, and their order from the source.

    Args:
        config: nbgrader's configuration, which sets markers of hidden parts, skipped cells and time limits.
    """
    paths = {path.stem: path for path in list_source_notebooks(course, name)}
    cleaner = _SourceCleaner(config or {})
    rows = [row for row in gradebook.find_assignment(name).notebooks if row.name in paths]
    notebooks = []
    for row in rows:
        extra_paths = [course / "release" / name / f"{row.name}.ipynb", *_list_headers(course, config or {})]
        extra_texts = [text for path in extra_paths for text in _read_unkept_texts(path)]
        notebooks.append(_build_notebook(row, paths[row.name], cleaner, config or {}, extra_texts))
    return StockContent(name=name, notebooks=tuple(notebooks))


def _list_headers(course: Path, config: Mapping[str, Any]) -> list[Path]:
    """List the files that nbgrader adds above and below each notebook."""
    settings = config.get("IncludeHeaderFooter", {})
    return [course / str(settings[part]) for part in ("header", "footer") if settings.get(part)]


def _read_unkept_texts(path: Path) -> list[str]:
    """Read the texts of cells that nbgrader doesn't keep; none if there's no such notebook."""
    try:
        cells = nbformat.read(path, as_version=4).cells
    except FileNotFoundError:
        return []
    except Exception as error:  # whatever nbformat raises for a damaged file
        raise GradlabError(
            f"{path} isn't a notebook: {error}", fix="nbgrader generate_assignment writes it again"
        ) from None
    return [cell.source.strip() for cell in cells if not _get_grade_id(cell) and cell.source.strip()]


def _build_notebook(
    row: Any, path: Path, cleaner: _SourceCleaner, config: Mapping[str, Any], extra_texts: Sequence[str]
) -> StockNotebook:
    """Combine the source notebook with the gradebook's rows, which say what nbgrader keeps of each cell."""
    source = upgrade_metadata(nbformat.read(path, as_version=4))
    kernelspec = dict(source.metadata.get("kernelspec", {}))
    refuse_other_languages(path, kernelspec, source.metadata.get("language_info", {}))
    points = {cell.name: float(cell.max_score) for cell in (*row.grade_cells, *row.task_cells)}
    grades, tasks = {cell.name for cell in row.grade_cells}, {cell.name for cell in row.task_cells}
    solutions = {cell.name for cell in row.solution_cells}
    pictures = {_get_grade_id(cell): cell.attachments for cell in source.cells if cell.get("attachments")}
    order = [_get_grade_id(cell) for cell in source.cells if _get_grade_id(cell)]
    cells = sorted(row.source_cells, key=lambda cell: order.index(cell.name) if cell.name in order else len(order))
    code = [cell for cell in source.cells if cell.cell_type == "code"]
    defined = {_get_grade_id(cell): find_defined_names(cell.source) for cell in code if is_solution(cell)}
    return StockNotebook(
        name=row.name,
        kernelspec=kernelspec,
        cells=tuple(
            StockCell(
                id=cell.name,
                cell_type=cell.cell_type,
                source=cell.source,
                released=cleaner.clean(cell.source) if cell.name in grades | tasks else cell.source,
                checksum=cell.checksum or "",
                grade=cell.name in grades,
                solution=cell.name in solutions,
                locked=bool(cell.locked),
                task=cell.name in tasks,
                points=points.get(cell.name),
                defines=tuple(sorted(defined.get(cell.name, ()))),
                attachments=pictures.get(cell.name, {}) if cell.locked else {},
            )
            for cell in cells
        ),
        code=tuple(cell.source for cell in code),
        solutions=tuple(cell.source for cell in code if is_solution(cell) and not is_grade(cell)),
        worked_notebook=_encode_source(source),
        cell_seconds=get_cell_limits(config, source.cells),
        skipped=find_skipped_cells(config, source.cells),
        order=tuple(get_cell_key(cell) for cell in source.cells),
        unkept_texts=tuple(dict.fromkeys([*_read_unkept_texts(path), *extra_texts])),
    )


def _encode_source(source: NotebookNode) -> str:
    cells = [NotebookNode(cell, outputs=[]) for cell in source.cells if cell.cell_type == "code"]
    return json.dumps(NotebookNode(source, cells=cells), sort_keys=True)


def upgrade_metadata(notebook: NotebookNode) -> NotebookNode:
    """Upgrade nbgrader's metadata to the newest version, with nbgrader's own code."""
    validator = MetadataValidator()
    validator.log = SILENT  # its own logger is shared by the whole program
    upgraded: NotebookNode = validator.upgrade_notebook_metadata(notebook)
    return upgraded


def refuse_other_languages(path: Path, kernelspec: Mapping[str, Any], language_info: Mapping[str, Any]) -> None:
    """Raise GradlabError if the cells aren't Python."""
    language = str(kernelspec.get("language") or language_info.get("name") or "python").lower()
    if not language.startswith(("python", "ipython")) or str(kernelspec.get("name", "")) in ("ir", "julia", "octave"):
        raise GradlabError(
            f"{path} needs a kernel of {language}, but Gradlab runs only Python", fix="grade it with stock nbgrader"
        )


def _get_grade_id(cell: NotebookNode) -> str:
    """Return nbgrader's name of a cell that it keeps; empty for any other cell."""
    return read_grade_id(cell) if is_kept(cell) else ""
