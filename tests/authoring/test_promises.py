"""Each sentence of a docstring is assigned to the checks that notice if it's broken."""

from pathlib import Path

import pytest

from autograder.authoring.promises import MOST_LINES, read_promises, refuse_long_introductions
from autograder.authoring.raw_cells import read_cells
from autograder.base.errors import SourceError
from autograder.model.course import Cell, CellKind, Check, Promise

SOURCE = '''
class Counter:
    """Counts calls, from 0. It starts at n.

    Details:
    - n: an int, which may
      be negative.
    """

    def count(self):
        """Returns the new number."""
'''
CHECKS = [Check(id=name, label=name) for name in ("first", "next", "negative")]
LINES = """# %% promises
# Counts calls -> first, next
# It starts at n -> first
# n: an int -> negative
# Returns -> next
"""


def read(text: str) -> tuple[Promise, ...]:
    (raw,) = read_cells(text, Path("counter.py"))
    return read_promises(raw, SOURCE, CHECKS)


def test_each_sentence_has_its_checks() -> None:
    assert [(promise.sentence, promise.checks) for promise in read(LINES)] == [
        ("Counts calls, from 0.", ("first", "next")),
        ("It starts at n.", ("first",)),
        ("n: an int, which may be negative.", ("negative",)),
        ("Returns the new number.", ("next",)),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("# It starts at n -> first\n", "", 1, "no check for the sentence 'It starts at n.'"),
        ("It starts", "It begins", 3, "no sentence begins with 'It begins at n' in the docstring"),
        ("# It starts at n -> first", "# It starts at n", 3, "not a promise"),
        ("# n: an int -> negative", "#  -> negative", 4, "not a promise"),
        ("-> negative", "-> negatives", 4, "there is no check 'negatives'"),
        ("-> negative", "-> first", 1, "no promise for negative"),
        ("# Returns -> next", "# Returns the -> next\n# Returns -> next", 6, "a second line for 'Returns the new"),
    ],
)
def test_a_promise_without_a_check_and_a_check_without_a_promise_are_refused(
    old: str, new: str, line: int, problem: str
) -> None:
    with pytest.raises(SourceError, match=f"^counter.py:{line}: {problem}"):
        read(LINES.replace(old, new))


def make_cell(introduction: int) -> Cell:
    """An exercise whose docstring has so many lines, and then as many details."""
    lines = ["Line."] * introduction
    docstring = "\n    ".join([*lines, "", "Details:", *(f"- {line}" for line in lines)])
    source = f'def count():\n    """{docstring}\n    """'
    return Cell(kind=CellKind.EXERCISE, id="count", source=source, path=Path("count.py"), line=1, lines=(2, 3))


def test_a_docstring_says_what_to_write_in_a_few_lines() -> None:
    refuse_long_introductions(make_cell(MOST_LINES))
    with pytest.raises(SourceError, match=f"^count.py:2: the docstring of 'count' begins with {MOST_LINES + 1} lines"):
        refuse_long_introductions(make_cell(MOST_LINES + 1))
