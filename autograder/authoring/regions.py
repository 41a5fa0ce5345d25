"""Finds and edits the marked regions of a cell, solutions and hidden tests. The markers are nbgrader's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.base.errors import SourceError
from autograder.model.course import Cell

SOLUTION = "SOLUTION"
HIDDEN = "HIDDEN TESTS"
MARKER = re.compile(r"^\s*### (?P<edge>BEGIN|END) (?P<kind>SOLUTION|HIDDEN TESTS)$")
# nbgrader acts on any line that contains one of these, anywhere.
LOOKS_LIKE_MARKER = re.compile(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)|AUTOTEST|HASHED")


@dataclass(frozen=True)
class Region:
    """The lines of a region, counted from 0, including its markers."""

    kind: str
    begin: int
    end: int

    def __contains__(self, line: int) -> bool:
        return self.begin <= line <= self.end


def find_regions(cell: Cell) -> list[Region]:
    """Return the regions of a cell. Raises SourceError if they aren't well-formed."""
    regions: list[Region] = []
    open_at: tuple[str, int] | None = None
    for number, text in enumerate(cell.source.split("\n")):
        path, line = cell.path, cell.get_line(number + 1)
        marker = MARKER.match(text)
        if marker is None:
            if LOOKS_LIKE_MARKER.search(text):
                raise SourceError(
                    path,
                    line,
                    f"nbgrader would treat this line as a marker: {text.strip()!r}",
                    "write a marker on its own line, as '### BEGIN SOLUTION', and these words nowhere else",
                )
            continue
        edge, kind = marker["edge"], marker["kind"]
        if edge == "BEGIN":
            if open_at:
                raise SourceError(
                    path, line, f"a region of {kind} begins inside another", f"close it first: '### END {open_at[0]}'"
                )
            open_at = (kind, number)
        elif open_at is None or open_at[0] != kind:
            problem = f"'### END {kind}' has no matching BEGIN"
            raise SourceError(path, line, problem, f"write '### BEGIN {kind}' above it")
        else:
            regions.append(Region(kind, open_at[1], number))
            open_at = None
    if open_at:
        raise SourceError(
            cell.path,
            cell.get_line(open_at[1] + 1),
            f"the region of {open_at[0]} is not closed",
            f"add '### END {open_at[0]}'",
        )
    return regions


def strip_hidden(cell: Cell) -> str:
    """Return the cell's source without its hidden tests and their markers."""
    regions = [region for region in find_regions(cell) if region.kind == HIDDEN]
    lines = cell.source.split("\n")
    return "\n".join(text for number, text in enumerate(lines) if not any(number in region for region in regions))


def add_hidden(visible: str, hidden: str) -> str:
    """Join the visible and hidden checks of a check cell."""
    return f"{visible}\n### BEGIN {HIDDEN}\n{hidden}\n### END {HIDDEN}"


def strip_markers(source: str) -> str:
    """Return the source without markers, but with the contents of its regions."""
    return "\n".join(t for t in source.split("\n") if not MARKER.match(t))


def stub_solutions(cell: Cell) -> str:
    """Return the cell's source with each solution replaced by a stub, and the same number of lines."""
    lines = cell.source.split("\n")
    for region in find_regions(cell):
        if region.kind == SOLUTION:
            indent = re.match(r"\s*", lines[region.begin])
            lines[region.begin] = (indent.group() if indent else "") + "raise NotImplementedError()"
            for n in range(region.begin + 1, region.end + 1):
                lines[n] = ""
    return "\n".join(lines)
