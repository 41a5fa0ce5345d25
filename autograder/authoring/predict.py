"""A prediction, `# %% predict: NAME`: a question before the cell that shows the answer, with choices or a number."""

from __future__ import annotations

import re

from autograder.authoring.raw_cells import RawCell
from autograder.base.errors import SourceError

CHOICE = re.compile(r"- \[(?P<mark>[x ])\] (?P<text>.+)$")
FORM = "'- [x] right' and '- [ ] wrong' below the question, or answer=NUMBER in the header"


def read_prediction(raw: RawCell) -> tuple[str, tuple[str, ...]]:
    """The question as Markdown, with no choice marked, and the right choices, or the number."""
    lines: list[str] = []
    choices: list[tuple[str, bool]] = []
    for number, line in zip(raw.lines, raw.source.split("\n"), strict=True):
        if not line.startswith("#"):
            raise SourceError(raw.path, number, "a line of a prediction that is no comment", "begin it with #")
        text = line.removeprefix("#").removeprefix(" ").rstrip()
        if choice := CHOICE.match(text):
            choices.append((choice["text"], choice["mark"] == "x"))
            text = f"- [ ] {choice['text']}"
        lines.append(text)
    number_given = raw.options.get("answer", "")
    right = tuple(text for text, is_right in choices if is_right)
    if bool(number_given) == bool(choices) or (choices and (not right or len(choices) < 2)):
        raise SourceError(
            raw.path, raw.line, "a prediction needs choices, one of them right, or a number", f"write {FORM}"
        )
    if number_given and not _is_number(number_given):
        raise SourceError(raw.path, raw.line, f"{number_given!r} is no number", "write answer=42 or answer=0.5")
    return "\n".join(lines), right or (number_given,)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
