"""The headers of cells in lab.py: `# %% exercise: NAME points=3` and the like."""

from __future__ import annotations

import re

from autograder.authoring.raw_cells import RawCell
from autograder.base.errors import SourceError
from autograder.model.course import CellKind, Level
from autograder.model.metadata import NAMED

NAME = re.compile(r"[A-Za-z_]\w{0,59}$")
QUIZ = "quiz"
ANSWER = "answer"
FOLDED = "folded"
FURTHER = "further"
POINTS = ("exercise", "question", QUIZ)  # kinds that have points
HEADERS = (
    "'# %% [markdown]', '# %% given', '# %% given folded', '# %% example', '# %% scratch', "
    "'# %% exercise: NAME points=N', '# %% exercise: NAME points=N level=easy further', '# %% quiz: NAME points=N', "
    "'# %% predict: NAME', '# %% question: NAME [markdown] points=N' or '# %% answer [markdown]'"
)


def parse_kind(raw: RawCell) -> tuple[str, str]:
    """Return the kind, QUIZ or ANSWER, and the name in a header of lab.py."""
    if not raw.words and raw.markdown and not raw.label:
        return CellKind.PROSE, ""
    word = raw.words[0] if raw.words else ""
    kind = word.removesuffix(":")
    needs_name = kind in (*NAMED, QUIZ)
    is_kind = kind in {k.value for k in CellKind} - {CellKind.PROSE, CellKind.CHECK} | {QUIZ, ANSWER}
    rest = raw.words[1 + needs_name :]
    is_known = not rest or (kind, rest) in ((CellKind.GIVEN, [FOLDED]), (CellKind.EXERCISE, [FURTHER]))
    if not is_kind or raw.label or needs_name != word.endswith(":") or not raw.words[needs_name:] or not is_known:
        raise SourceError(raw.path, raw.line, "unknown kind of cell", f"write one of {HEADERS}")
    if raw.markdown != (kind in (CellKind.QUESTION, ANSWER)):
        raise SourceError(raw.path, raw.line, f"wrong type of cell for kind {kind!s}", f"write one of {HEADERS}")
    name = raw.words[1] if needs_name else ""
    if needs_name and not NAME.match(name):
        raise SourceError(raw.path, raw.line, f"{name!r} can't be a name", "use a Python name of at most 60 letters")
    return kind, name


def parse_points(raw: RawCell, kind: str) -> float:
    """Return the points in a header, 0 for a kind without any. Raises SourceError for other options."""
    for option in raw.options:
        is_points = option == "points" and kind in POINTS
        if not is_points and (option, kind) not in (("answer", CellKind.PREDICT), ("level", CellKind.EXERCISE)):
            raise SourceError(
                raw.path, raw.line, f"a cell of kind {kind} has no option {option!r}", f"write one of {HEADERS}"
            )
    if kind not in POINTS:
        return 0.0
    if "points" not in raw.options:
        raise SourceError(raw.path, raw.line, "this cell has no points", "add points=3 to its header")
    try:
        points = float(raw.options["points"])
    except ValueError:
        points = 0.0
    if not 0 < points <= 1000:
        raise SourceError(raw.path, raw.line, "points must be above 0 and at most 1000", "write points=3")
    return points


def parse_level(raw: RawCell) -> Level | None:
    """Return how hard the header says an exercise is; None if it doesn't say."""
    if (word := raw.options.get("level")) is None:
        return None
    if word not in [*Level]:
        raise SourceError(raw.path, raw.line, f"{word!r} is no level", f"write level={' or level='.join(Level)}")
    return Level(word)
