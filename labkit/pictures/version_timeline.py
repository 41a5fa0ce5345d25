"""Version counters as a timeline: what each line writes, what each node saves, and whether that is changed later."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from labkit.pictures.palette import BLUE, GREEN, INK, LINE, OCHRE, PURPLE, RED, STRONG
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import draw_circle, draw_text, show_only

WRITE = "write"  # the line that try_writes replaces
COLORS = {"kept": GREEN, "caught": RED, "unseen": PURPLE}
SIGNS = {"kept": "✓", "caught": "✗", "unseen": "!"}
ROW, CHARACTER = 34, 7.95  # pixels


@dataclass
class SavedTensor:
    """A tensor that a node holds for backward, with its version and values when it was saved."""

    node: str
    name: str
    alias: Tensor
    """The tensor with the same memory and version counter."""
    version: int
    values: Tensor

    @property
    def fate(self) -> str:
        if self.alias._version != self.version:
            return "caught"
        return "kept" if torch.equal(self.alias, self.values) else "unseen"

    @property
    def words(self) -> str:
        text = f"{self.node} keeps {self.name} at version {self.version}"
        if self.fate == "caught":
            return f"{text}; at the end it is at {self.alias._version}"
        return f"{text}; its values changed, its version did not" if self.fate == "unseen" else text


@dataclass
class VersionStep:
    """A line, and its effects."""

    line: str
    versions: dict[str, int]
    """The version of each tensor after the line."""
    kept: list[SavedTensor] = field(default_factory=list)
    """The tensors that nodes of this line saved."""
    error: str = ""
    """The type of the exception that it raised."""


@catch_failures
def show_versions(lines: Sequence[str], tensors: Mapping[str, Tensor]) -> Picture:
    """Run `lines` one after the other, and draw the version of every named tensor.

    Next to a line is what its nodes keep for backward. Green: it's unchanged. Red: it was written to, and the version
    counter noticed. Purple: its values changed, but its version didn't. The first RuntimeError ends the run.

    Args:
        lines: Code that may use `torch`, and `F` for torch.nn.functional.
        tensors: Name -> initial tensor. The lines work on copies of these, which are leaves.
    """
    return _build_picture({"": run_lines(lines, tensors)})


@catch_failures
def try_writes(lines: Sequence[str], writes: Sequence[str], tensors: Mapping[str, Tensor]) -> Picture:
    """Draw as show_versions does, with buttons that replace the line "write" with one of `writes`."""
    return _build_picture({w: run_lines([w if line == WRITE else line for line in lines], tensors) for w in writes})


def _build_picture(runs: Mapping[str, list[VersionStep]]) -> Picture:
    words = [_describe_steps(steps) for steps in runs.values()]
    return Picture("\n\n".join(words), functools.partial(_draw, runs, words))


def run_lines(lines: Sequence[str], tensors: Mapping[str, Tensor]) -> list[VersionStep]:
    """Run the lines, and record the versions and saved tensors after each."""
    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    copies = {name: t.detach().clone().requires_grad_(t.requires_grad) for name, t in tensors.items()}
    scope.update(copies)
    nodes: list[Any] = []  # keeps nodes alive: a freed node's identity may be reused
    steps = [VersionStep("", _read_versions(scope))]
    for line in lines:
        error = ""
        try:
            exec(line, scope)
        except RuntimeError as raised:
            error = type(raised).__name__
        steps.append(VersionStep(line, _read_versions(scope), _find_newly_kept(scope, nodes), error))
        if error:
            break
    return steps


def _select_tensors(scope: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: value for name, value in scope.items() if isinstance(value, Tensor)}


def _read_versions(scope: Mapping[str, Any]) -> dict[str, int]:
    return {name: t._version for name, t in _select_tensors(scope).items()}


def _find_newly_kept(scope: Mapping[str, Any], nodes: list[Any]) -> list[SavedTensor]:
    named = _select_tensors(scope)
    saved, stack = [], [t.grad_fn for t in named.values()]
    while stack:
        node = stack.pop()
        if node is None or any(node is known for known in nodes):
            continue
        nodes.append(node)
        stack += [following for following, _ in node.next_functions]
        for attribute in sorted(dir(node)):
            t = _get_saved_tensor(node, attribute) if attribute.startswith("_saved_") else None
            if t is not None and t.dim():
                owner = next((n for n, other in named.items() if other.data_ptr() == t.data_ptr()), "a copy")
                saved.append(SavedTensor(node.name(), owner, t.detach(), t._version, t.detach().clone()))
    return saved


def _get_saved_tensor(node: Any, attribute: str) -> Tensor | None:
    try:
        value = getattr(node, attribute)
    except RuntimeError:  # freed, or written to within the same line
        return None
    return value if isinstance(value, Tensor) else None


def _describe_steps(steps: list[VersionStep]) -> str:
    names = list(steps[-1].versions)
    width = max(len(step.line) for step in steps) + 2
    rows = [" " * width + "  ".join(names)]
    for step in steps[1:]:
        cells = [str(step.versions.get(name, "")).center(len(name)) for name in names]
        notes = [step.error, *(kept.words for kept in step.kept)]
        rows.append((step.line.ljust(width) + "  ".join(cells) + "   " + ", ".join(n for n in notes if n)).rstrip())
    return "\n".join(rows)


def _draw(runs: Mapping[str, list[VersionStep]], words: list[str]) -> Drawing:
    runs_drawn = [_draw_run(steps) for steps in runs.values()]
    drawn = [(["<g>", *parts, "</g>"], right, bottom) for parts, right, bottom in runs_drawn]
    choose = len(drawn) > 1
    parts = [show_only([n], *one) if choose else "".join(one) for n, (one, _, _) in enumerate(drawn)]
    groups = [Group(WRITE, list(runs))] if choose else []
    width, height = max(WIDTH, *(right for _, right, _ in drawn)), max(bottom for _, _, bottom in drawn)
    return Drawing("Version counters, line by line", width, height, parts, groups, words)


def _draw_run(steps: list[VersionStep]) -> tuple[list[str], float, float]:
    """Draw one run. Return the parts, the right edge and the lower edge."""
    names = list(steps[-1].versions)
    left = 20 + CHARACTER * max(len(step.line) for step in steps)
    gaps = [max(44.0, CHARACTER * len(name) + 14) for name in names]
    centres = [left + sum(gaps[:i]) + gaps[i] / 2 for i in range(len(names))]
    right = left + sum(gaps) + 12
    parts = [_place_text(c, 18, name, "middle") for c, name in zip(centres, names, strict=True)]
    y, before, longest = 18.0 + ROW, steps[0].versions, 0
    for step in steps[1:]:
        parts.append(_place_text(10, y, step.line))
        for centre, name in zip(centres, names, strict=True):
            if name in step.versions:
                version = step.versions[name]
                parts.append(_draw_version(centre, y, version, written=version > before.get(name, version)))
        notes = [(f"✗ {step.error}", COLORS["caught"])] * bool(step.error)
        notes += [(f"{SIGNS[kept.fate]} {kept.words}", COLORS[kept.fate]) for kept in step.kept]
        parts += [draw_text(right, y + i * ROW, words, color) for i, (words, color) in enumerate(notes)]
        longest = max([longest, *(len(words) for words, _ in notes)])
        y, before = y + ROW * max(1, len(notes)), step.versions
    return parts, right + CHARACTER * longest + 12, y - ROW / 2


def _place_text(x: float, y: float, words: str, anchor: str = "start", color: str = INK) -> str:
    return draw_text(x, y, words, color, anchor, mono=True)


def _draw_version(x: float, y: float, version: int, written: bool) -> str:
    fill, tint = (OCHRE, STRONG) if written else (BLUE, 0.16)
    return draw_circle(x, y - 4, 13, fill, tint, LINE) + _place_text(x, y, str(version), "middle")
