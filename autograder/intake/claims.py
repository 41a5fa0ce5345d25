"""What a submitted cell says it is. Anyone can write anything there, so matching decides what it counts for."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from nbformat import NotebookNode

KEY = "claims"


@dataclass(frozen=True)
class Claims:
    """A cell's claims, cleaned of what isn't text."""

    grade_id: str
    """nbgrader's name of the course's cell."""
    id: str
    """The cell's own id."""
    settings: dict[str, bool | int | float]
    """nbgrader's flags and points."""
    has_tags: bool
    was_mended: bool
    """Whether its text had characters that aren't text."""


def read_claims(cell: NotebookNode) -> Claims:
    """Read the claims of a cell that notebook_reading.read_notebook() returned."""
    return Claims(**cell.metadata[KEY])


def write_claims(cell: NotebookNode, claims: Claims) -> None:
    cell.metadata[KEY] = asdict(claims)
