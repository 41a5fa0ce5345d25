"""Reads the promises of an exercise: each sentence of its docstring, with the checks that notice if it's broken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from autograder.authoring.raw_cells import RawCell
from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError
from autograder.model.course import Cell, Check, Promise

ARROW = " -> "
DETAILS = "Details:"
# How many lines of a docstring a student reads before the details. In longer ones, students lose sight of the task.
MOST_LINES = 10
BULLET = re.compile(r"^\s*- ", re.MULTILINE)
END_OF_SENTENCE = re.compile(r"(?<=[^.]\.)\s+")
FORM = "write '# its first words -> check, check' in the cell '# %% promises'"


def read_promises(raw: RawCell, source: str, checks: Sequence[Check]) -> tuple[Promise, ...]:
    """Read a cell of promises: for each sentence, a line with its first words and the ids of checks.

    Args:
        source: The exercise's cell, with the docstring.

    Returns:
        The promises, in the order of the sentences.

    Raises:
        SourceError: If a sentence has no line, a line belongs to no sentence, or a check is unknown or in no line.
    """
    sentences = list_sentences(source)
    ids = [check.id for check in checks]
    noticed: dict[str, tuple[str, ...]] = {}
    for line, text in zip(raw.line_numbers, raw.source.split("\n"), strict=True):
        opening, arrow, names = text.removeprefix("#").strip().partition(ARROW)
        found = [sentence for sentence in sentences if sentence.startswith(opening)]
        if not arrow or not opening or len(found) != 1:
            count = f"{len(found)} sentences begin" if found else "no sentence begins"
            problem = f"{count} with {opening!r} in the docstring" if arrow else "not a promise"
            raise SourceError(raw.path, line, problem, FORM)
        if found[0] in noticed:
            raise SourceError(raw.path, line, f"a second line for {found[0]!r}", "join the two")
        noticed[found[0]] = tuple(name.strip() for name in names.split(","))
        if unknown := [name for name in noticed[found[0]] if name not in ids]:
            raise SourceError(raw.path, line, f"there is no check {unknown[0]!r}", f"name some of {', '.join(ids)}")
    if missing := [sentence for sentence in sentences if sentence not in noticed]:
        raise SourceError(raw.path, raw.line, f"no check for the sentence {missing[0]!r}", FORM)
    if unused := [name for name in ids if not any(name in names for names in noticed.values())]:
        names = ", ".join(unused)
        problem = f"no promise for {names}: a check tests only what the docstring promises"
        raise SourceError(raw.path, raw.line, problem, "name each check in a line, or remove it")
    return tuple(Promise(sentence=sentence, checks=noticed[sentence]) for sentence in sentences)


def refuse_long_introductions(cell: Cell) -> None:
    """Raise SourceError if a docstring of an exercise says more than a student can keep in mind before `Details:`."""
    for node, text in _iter_docstrings(cell.source):
        introduction = text.partition(f"\n{DETAILS}\n")[0].strip()
        if (count := introduction.count("\n") + 1) > MOST_LINES:
            problem = f"the docstring of {node.name!r} begins with {count} lines; at most {MOST_LINES} are allowed"
            fix = f"say what to write first, and move conditions and rare cases below a line '{DETAILS}'"
            raise SourceError(cell.path, cell.get_line(node.lineno), problem, fix)


def list_sentences(source: str) -> list[str]:
    """List the sentences of all docstrings in a cell, in order, without the line `Details:` and bullets."""
    texts = [text.replace(f"\n{DETAILS}\n", "\n") for _, text in _iter_docstrings(source)]
    return [
        " ".join(sentence.split()) for text in texts for sentence in END_OF_SENTENCE.split(BULLET.sub("", text).strip())
    ]


def _iter_docstrings(source: str) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, str]]:
    for node in ast.walk(parse_source(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
            yield node, text
