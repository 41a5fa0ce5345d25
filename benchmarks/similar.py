"""How many planted copies `gradlab similar` finds in classes made of each lab's answers, and whom it takes for one.

`python -m benchmarks.similar 01_tensors` does it for labs of your choice.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference
from autograder.model.course import Lab
from autograder.reports.similar_pairs import search_pairs
from benchmarks.planted import planted_class, pool_of

ROOT = Path(__file__).parent.parent
SIZE, COPIES, CLASSES = 120, 6, 3
KINDS: dict[str, dict[str, Any]] = {
    "one written anew": {"anew": 1},
    "students differ, one written anew": {"anew": 1, "able": True},
    "students differ, three written anew": {"anew": 3, "able": True},
}


def run(names: Sequence[str] = ()) -> str:
    """A Markdown table. names: of labs; all where none is named."""
    labs = [lab for lab in read_labs(read_course(ROOT)) if not names or lab.name in names]
    rows = [[_tried(lab, kind) for kind in KINDS.values()] for lab in labs]
    lines = [f"| {lab.name} | {len(lab.exercises)} | {_cells(row)} |\n" for lab, row in zip(labs, rows, strict=True)]
    totals = [
        (
            sum(f for f, _, _, _ in column),
            sum(p for _, p, _, _ in column),
            sum(w for _, _, w, _ in column),
            max(m for *_, m in column),
        )
        for column in zip(*rows, strict=True)
    ]
    heads = " | ".join(f"{kind}: found | false" for kind in KINDS)
    return (
        "# Planted copies\n\n"
        f"{CLASSES} classes of {SIZE} for each lab and column, with {COPIES} copies in each. Everybody else chooses "
        "for each exercise one of the lab's own answers, right or wrong. Who copies changes all names, comments, "
        "spaces, docstrings, the form of numbers and the order of statements, and writes one exercise, or three, anew. "
        "Where students differ, each is right in 30 % to 95 % of the exercises, so that answers go together without "
        "copying, and right answers have fewer forms. A pool of a dozen answers makes chance far likelier than in free "
        "writing. False: pairs shown that are no copies, in all of these classes, and the most in one.\n\n"
        f"| lab | exercises | {heads} |\n|---|---|{'---|---|' * len(KINDS)}\n"
        + "".join(lines)
        + f"| all | | {_cells(totals)} |\n"
    )


def _tried(lab: Lab, kind: dict[str, Any]) -> tuple[int, int, int, int]:
    """(copies found, planted, pairs that are none, the most of them in one class)."""
    known = {name: [text] for name, text in collect_reference(lab).items()}
    found = planted = 0
    false = []
    for seed in range(CLASSES):
        made = planted_class(pool_of(lab), seed, SIZE, COPIES, **kind)
        pairs = {(pair.first, pair.second) for pair in search_pairs(made.written, known).pairs}
        found, planted = found + len(pairs & made.copies), planted + len(made.copies)
        false.append(len(pairs - made.copies))
    return found, planted, sum(false), max(false)


def _cells(row: Sequence[tuple[int, int, int, int]]) -> str:
    return " | ".join(f"{found} of {planted} | {false}, {most}" for found, planted, false, most in row)


if __name__ == "__main__":
    print(run(sys.argv[1:]))
