"""How many planted copies `gradlab similar` finds in classes made of each lab's answers, and how many false pairs.

To choose the labs: `python -m benchmarks.similar 01_tensors`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference
from autograder.model.course import Lab
from autograder.reports.similar_pairs import search_pairs
from benchmarks.planted_copies import collect_answers, make_planted_class

ROOT = Path(__file__).parent.parent
SIZE, COPIES, CLASSES = 120, 6, 3
KINDS: dict[str, dict[str, Any]] = {
    "one independent answer": {"independent": 1},
    "students differ, one independent answer": {"independent": 1, "skills_differ": True},
    "students differ, three independent answers": {"independent": 3, "skills_differ": True},
}


class PairCounts(NamedTuple):
    """What the search found in several classes."""

    found_copies: int
    copies: int
    """All copies, found or not."""
    false_pairs: int
    """Pairs that aren't copies."""
    most_false_pairs: int
    """The most of these in one class."""


def run(names: Sequence[str] = ()) -> str:
    """Return a Markdown table with a row for each lab.

    Args:
        names: The labs' names; if empty, all of them.
    """
    labs = [lab for lab in read_labs(read_course(ROOT)) if not names or lab.name in names]
    rows = [[_measure_pairs(lab, kind) for kind in KINDS.values()] for lab in labs]
    lines = [
        f"| {lab.name} | {len(lab.exercises)} | {_format_counts(row)} |\n" for lab, row in zip(labs, rows, strict=True)
    ]
    totals = [
        PairCounts(
            sum(counts.found_copies for counts in column),
            sum(counts.copies for counts in column),
            sum(counts.false_pairs for counts in column),
            max(counts.most_false_pairs for counts in column),
        )
        for column in zip(*rows, strict=True)
    ]
    heads = " | ".join(f"{kind}: found | false" for kind in KINDS)
    return (
        "# Planted copies\n\n"
        f"{CLASSES} classes of {SIZE} for each lab and column, with {COPIES} copies in each. For each exercise, the "
        "other students choose one of the lab's answers, right or wrong. A copier changes all names, comments, spaces, "
        "docstrings, the form of numbers and the order of statements, and answers one exercise, or three, "
        "independently. If students differ, each is right in 30 % to 95 % of the exercises, so answers go together "
        "without copying, and right answers have fewer forms. With only a dozen answers to choose from, matches by "
        "chance are far likelier than in free writing. False: pairs shown that aren't copies, in all of these classes, "
        "and the most in one class.\n\n"
        f"| lab | exercises | {heads} |\n|---|---|{'---|---|' * len(KINDS)}\n"
        + "".join(lines)
        + f"| all | | {_format_counts(totals)} |\n"
    )


def _measure_pairs(lab: Lab, kind: dict[str, Any]) -> PairCounts:
    """Search CLASSES classes of this kind for pairs, and count them."""
    known = {name: [text] for name, text in collect_reference(lab).items()}
    found_copies = copies = 0
    false_pairs = []
    for seed in range(CLASSES):
        planted_class = make_planted_class(collect_answers(lab), seed, SIZE, COPIES, **kind)
        pairs = {(pair.first, pair.second) for pair in search_pairs(planted_class.texts, known).pairs}
        found_copies += len(pairs & planted_class.copies)
        copies += len(planted_class.copies)
        false_pairs.append(len(pairs - planted_class.copies))
    return PairCounts(found_copies, copies, sum(false_pairs), max(false_pairs))


def _format_counts(row: Sequence[PairCounts]) -> str:
    return " | ".join(f"{one.found_copies} of {one.copies} | {one.false_pairs}, {one.most_false_pairs}" for one in row)


if __name__ == "__main__":
    print(run(sys.argv[1:]))
