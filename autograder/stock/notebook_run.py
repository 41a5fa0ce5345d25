"""What running a stock notebook produced, and how its test cells are decided."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograder.model.notes import Note, NoteKind
from autograder.model.result import GradedCell
from autograder.stock.proxy_tests import ProxyDecision


@dataclass(frozen=True)
class DecisionPlan:
    """How test cells are decided."""

    own_process_cells: frozenset[str] = frozenset()
    """Cells that are decided only in the submission's own process; see student_process_cells.py."""
    isolates_tests: bool = False
    """Whether tests outside that process run in a child of the grader; see run_tests_on_proxies()."""


@dataclass
class NotebookRun:
    """The outcome of a notebook."""

    cells: list[GradedCell] = field(default_factory=list)
    notebook: str = ""
    notes: list[Note] = field(default_factory=list)
    remarks: list[Note] = field(default_factory=list)
    """For the instructor only."""
    stop_reasons: dict[str, str] = field(default_factory=dict)
    """The limits that cells reached, or how they ended, by cell."""
    decisions: dict[str, ProxyDecision] = field(default_factory=dict)
    """The outcomes of tests outside the submission's own process, by cell."""
    reduced: set[str] = field(default_factory=set)
    """Cells that earn fewer points than in the submission's own process."""
    names: dict[str, str] = field(default_factory=dict)
    """Names by which a student finds each cell."""
    short_names: dict[str, str] = field(default_factory=dict)

    def add_note(self, name: str, message: str, undisclosed: bool, kind: NoteKind = NoteKind.TEST) -> None:
        """Add a note about a cell.

        Args:
            name: nbgrader's name of the cell.
            undisclosed: Whether only the instructor sees the note.
        """
        note = Note(
            kind=kind, words=message, notebook=self.notebook, cell=self.short_names[name], shown=self.names[name]
        )
        (self.remarks if undisclosed else self.notes).append(note)

    @property
    def is_doubtful(self) -> bool:
        """Whether a process reached a limit or was lost, so another run might end differently."""
        return bool(self.stop_reasons) or any(each.cause for each in self.decisions.values())
