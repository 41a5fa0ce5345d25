"""Reads the promises of an exercise: each sentence of its docstring, with the checks that notice if it's broken."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from autograder.authoring.raw_cells import RawCell
from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError
from autograder.model.course import Check, Promise

ARROW = " -> "
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


def list_sentences(source: str) -> list[str]:
    """List the sentences of all docstrings in a cell, in order."""
    nodes = [node for node in ast.walk(parse_source(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    texts = [text for node in nodes if (text := ast.get_docstring(node))]
    return [" ".join(sentence.split()) for text in texts for sentence in END_OF_SENTENCE.split(text.strip())]
