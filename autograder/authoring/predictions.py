"""Reads predictions, `# %% predict: NAME`: a question with choices or a number, above the cell with the answer."""

from __future__ import annotations

import re

from autograder.authoring.raw_cells import RawCell
from autograder.base.errors import SourceError

CHOICE = re.compile(r"- \[(?P<mark>[x ])\] (?P<text>.+)$")
FORM = "'- [x] right' and '- [ ] wrong' below the question, or answer=NUMBER in the header"


def read_prediction(raw: RawCell) -> tuple[str, tuple[str, ...]]:
    """Return the question as Markdown, without marked choices, and the right choices, or the number."""
    lines: list[str] = []
    choices: list[tuple[str, bool]] = []
    for number, line in zip(raw.line_numbers, raw.source.split("\n"), strict=True):
        if not line.startswith("#"):
            raise SourceError(raw.path, number, "a line of a prediction that isn't a comment", "begin it with #")
        text = line.removeprefix("#").removeprefix(" ").rstrip()
        if choice := CHOICE.match(text):
            choices.append((choice["text"], choice["mark"] == "x"))
            text = f"- [ ] {choice['text']}"
        lines.append(text)
    answer = raw.options.get("answer", "")
    right = tuple(text for text, is_right in choices if is_right)
    if bool(answer) == bool(choices) or (choices and (not right or len(choices) < 2)):
        raise SourceError(
            raw.path, raw.line, "a prediction needs choices, one of them right, or a number", f"write {FORM}"
        )
    if answer and not _is_number(answer):
        raise SourceError(raw.path, raw.line, f"{answer!r} isn't a number", "write answer=42 or answer=0.5")
    return "\n".join(lines), right or (answer,)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
