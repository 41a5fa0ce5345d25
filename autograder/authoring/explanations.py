"""Folds the explanation below a prediction, so it gives nothing away in any program that shows the notebook."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt

from autograder.base.errors import SourceError
from autograder.model.course import Cell, CellKind
from labkit.hint import FOLD, fold_text

TITLE = "Explanation"
MARKDOWN = MarkdownIt("commonmark")


def fold_explanations(cells: Sequence[Cell]) -> list[Cell]:
    """Fold the explanation below each prediction. Raises SourceError if a prediction has none."""
    folded = list(cells)
    for number, cell in enumerate(cells):
        if cell.kind is CellKind.PREDICT:
            place = next((n for n in range(number + 1, len(cells)) if cells[n].kind.traits.markdown), None)
            folded[place or 0] = _fold_explanation(cell, None if place is None else cells[place])
    return folded


def is_question(text: str) -> bool:
    """Return whether a text ends with a question."""
    return text.rstrip("*_ \n").endswith("?")


def _fold_explanation(prediction: Cell, cell: Cell | None) -> Cell:
    """Fold the part of a prose cell that explains what was predicted."""
    if cell is None or cell.kind is not CellKind.PROSE or cell.name or cell.source.startswith(FOLD):
        problem = f"no explanation follows prediction {prediction.name!r}"
        fix = "write '# %% [markdown]' with the explanation below the code that shows the answer"
        raise SourceError(prediction.path, prediction.line, problem, fix)
    lines = cell.source.split("\n")
    count = _count_explaining_lines(cell.source)
    explained, after = "\n".join(lines[:count]).rstrip("\n"), "\n".join(lines[count:])
    if not explained:
        problem = f"this should explain prediction {prediction.name!r}, and it begins with a heading or a question"
        raise SourceError(cell.path, cell.get_line(1), problem, "write the explanation above it")
    if FOLD in explained:
        problem = f"a part of the explanation of prediction {prediction.name!r} is folded, and so is all of it"
        line = next(n for n, text in enumerate(lines, start=1) if FOLD in text)
        raise SourceError(cell.path, cell.get_line(line), problem, "begin a new cell above that part")
    source = fold_text(TITLE, explained)
    numbers = (cell.get_line(1),) * 2 + cell.lines[: explained.count("\n") + 1]
    numbers += (numbers[-1],) * 2
    if after:
        source, numbers = f"{source}\n\n{after}", (*numbers, numbers[-1], *cell.lines[count:])
    return cell.model_copy(update={"source": source, "lines": numbers})


def _count_explaining_lines(text: str) -> int:
    """Return the number of the lines above the first heading, or above a last paragraph that ends with a question."""
    blocks = [(token.type, token.map[0]) for token in MARKDOWN.parse(text) if token.level == 0 and token.map]
    heading = next((begin for kind, begin in blocks if kind == "heading_open"), None)
    if heading is not None:
        return heading
    kind, begin = blocks[-1] if blocks else ("", 0)
    return begin if not blocks or (kind == "paragraph_open" and is_question(text)) else text.count("\n") + 1
