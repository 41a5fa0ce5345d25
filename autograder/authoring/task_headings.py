"""Writes the headings of tasks, `### Your turn: NAME`: what an exercise is worth, and how hard it is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autograder.authoring.headers import FURTHER, parse_kind, parse_level, parse_points
from autograder.authoring.raw_cells import RawCell
from autograder.base.errors import SourceError
from autograder.model.course import CellKind, Level
from labkit.points import format_points

TASK, FURTHER_TASK = "### Your turn: ", "### Further practice: "
HEADING = re.compile(rf"^{TASK}(?P<name>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class TaskHeader:
    """What the header of an exercise says."""

    points: float
    practice: bool
    """Whether it's a further exercise that earns no points this term."""
    level: Level | None


def read_tasks(raws: list[RawCell], further: tuple[str, ...]) -> dict[str, TaskHeader]:
    """Read what each exercise is worth, by name, from the headers of a lab.

    Args:
        further: The further exercises that earn points this term.
    """
    tasks = {}
    for raw in raws:
        kind, name = parse_kind(raw)
        if kind == CellKind.EXERCISE:
            is_further = FURTHER in raw.words
            practice = is_further and name not in further
            tasks[name] = TaskHeader(parse_points(raw, kind), practice, parse_level(raw))
            if name in further and not is_further:
                problem = f"term.toml lists {name!r} as a further exercise, and it already earns points"
                raise SourceError(raw.path, raw.line, problem, "delete it there, or add 'further' to this header")
    if unknown := sorted(set(further) - tasks.keys()):
        problem = f"term.toml lists {unknown[0]!r} as a further exercise, and this lab has no such exercise"
        raise SourceError(raws[0].path, 1, problem, "correct the name in term.toml")
    return tasks


def split_at_headings(raw: RawCell, tasks: Mapping[str, TaskHeader]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield a prose cell's text and the line numbers of it, in parts: each task begins a part of its own.

    So the notebook can fold the explanation above a task, and never the task.

    Args:
        tasks: The lab's exercises, by name.
    """
    starts = [match.start() for match in HEADING.finditer(raw.source)]
    edges = sorted({0, *starts, len(raw.source)})
    for begin, end in itertools.pairwise(edges):
        text = raw.source[begin:end].rstrip("\n")
        if not text.strip():
            continue
        first = raw.source.count("\n", 0, begin)
        lines = raw.line_numbers[first : first + text.count("\n") + 1]
        if heading := HEADING.match(text):
            text = _render_heading(heading["name"], tasks, raw, lines[0]) + text[heading.end() :]
        yield text, lines


def _render_heading(name: str, tasks: Mapping[str, TaskHeader], raw: RawCell, line: int) -> str:
    task = tasks.get(name)
    if task is None:
        fix = f"write '{TASK}NAME' with the name of an exercise; the builder adds its points"
        raise SourceError(raw.path, line, f"{name!r} is no exercise of this lab", fix)
    points = "point" if task.points == 1 else "points"
    level = f", {task.level}" if task.level else ""
    if task.practice:
        return f"{FURTHER_TASK}{name}{level}"
    return f"{TASK}{name}, {format_points(task.points)} {points}{level}"
