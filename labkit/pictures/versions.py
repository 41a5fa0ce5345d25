"""Version counters as a timeline: what each line wrote to, what each node kept, and what became of it."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from labkit.pictures.picture import Picture, never_fails

WRITE = "write"  # the line that try_writes replaces
COLOURS = {"kept": "#2e7d4f", "caught": "#b3261e", "unseen": "#7b3fa0"}
ROW, CHARACTER = 26, 7.4  # pixels


@dataclass
class Kept:
    """A tensor that a node holds for backward: who, under which name, and the version and values of that moment."""

    node: str
    name: str
    alias: Tensor  # the same memory and the same counter
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
    """A line, the version of each tensor after it, what was kept in it, and the exception that it raised."""

    line: str
    versions: dict[str, int]
    kept: list[Kept] = field(default_factory=list)
    error: str = ""


@never_fails
def show_versions(lines: Sequence[str], tensors: Mapping[str, Tensor]) -> Picture:
    """Run `lines`, one after the other, and draw the version of every tensor that has a name.

    tensors: name -> tensor to begin with. The lines work on copies of these, which are leaves. They may use `torch`
    and `F`, torch.nn.functional. Beside a line stands what its nodes keep for backward. Green: it is as it was. Red: it
    was written to, and counted. Purple: its values changed without being counted. The first RuntimeError ends the run.
    """
    steps = follow(lines, tensors)
    return Picture(_words(steps), functools.partial(_drawn, steps))


@never_fails
def try_writes(lines: Sequence[str], writes: Sequence[str], tensors: Mapping[str, Tensor]) -> Picture:
    """show_versions with a menu: the line "write" is replaced by the one of `writes` that is chosen there.

    Without a kernel or without ipywidgets, all of them stand below each other.
    """
    runs = {w: follow([w if line == WRITE else line for line in lines], tensors) for w in writes}
    pictures = {w: Picture(_words(steps), functools.partial(_drawn, steps)) for w, steps in runs.items()}

    def widgets() -> Any:
        import ipywidgets  # type: ignore[import-untyped]

        menu = ipywidgets.Dropdown(options=list(pictures), description=WRITE)
        shown = ipywidgets.HTML(next(iter(pictures.values())).drawing)
        menu.observe(lambda change: setattr(shown, "value", pictures[change["new"]].drawing), names="value")
        return ipywidgets.VBox([menu, shown])

    return Picture("\n\n".join(p.words for p in pictures.values()), lambda: _drawn(*runs.values()), widgets)


def follow(lines: Sequence[str], tensors: Mapping[str, Tensor]) -> list[VersionStep]:
    """Run the lines and note after each of them what can be seen."""
    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    own = {name: t.detach().clone().requires_grad_(t.requires_grad) for name, t in tensors.items()}
    scope.update(own)
    nodes: list[Any] = []  # held: a node that is gone leaves its identity to another
    steps = [VersionStep("", _versions(scope))]
    for line in lines:
        error = ""
        try:
            exec(line, scope)
        except RuntimeError as raised:
            error = type(raised).__name__
        steps.append(VersionStep(line, _versions(scope), _newly_kept(scope, nodes), error))
        if error:
            break
    return steps


def _named(scope: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: value for name, value in scope.items() if isinstance(value, Tensor)}


def _versions(scope: Mapping[str, Any]) -> dict[str, int]:
    return {name: t._version for name, t in _named(scope).items()}


def _newly_kept(scope: Mapping[str, Any], nodes: list[Any]) -> list[Kept]:
    named = _named(scope)
    found, waiting = [], [t.grad_fn for t in named.values()]
    while waiting:
        node = waiting.pop()
        if node is None or any(node is known for known in nodes):
            continue
        nodes.append(node)
        waiting += [following for following, _ in node.next_functions]
        for attribute in sorted(dir(node)):
            t = _tensor(node, attribute) if attribute.startswith("_saved_") else None
            if t is not None and t.dim():
                owner = next((n for n, other in named.items() if other.data_ptr() == t.data_ptr()), "a copy")
                found.append(Kept(node.name(), owner, t.detach(), t._version, t.detach().clone()))
    return found


def _tensor(node: Any, attribute: str) -> Tensor | None:
    try:
        value = getattr(node, attribute)
    except RuntimeError:  # freed, or written to within its own line
        return None
    return value if isinstance(value, Tensor) else None


def _words(steps: list[VersionStep]) -> str:
    names = list(steps[-1].versions)
    width = max(len(step.line) for step in steps) + 2
    rows = [" " * width + "  ".join(names)]
    for step in steps[1:]:
        cells = [str(step.versions.get(name, "")).center(len(name)) for name in names]
        notes = [step.error, *(kept.words for kept in step.kept)]
        rows.append((step.line.ljust(width) + "  ".join(cells) + "   " + ", ".join(n for n in notes if n)).rstrip())
    return "\n".join(rows)


def _drawn(*runs: list[VersionStep]) -> str:
    """The runs below each other, as SVG."""
    parts: list[str] = []
    top, width = 0.0, 0.0
    for steps in runs:
        drawn, right, bottom = _run(steps, top)
        parts += drawn
        top, width = bottom + ROW, max(width, right)
    size = f'width="{width:.0f}" height="{top - ROW:.0f}" viewBox="0 0 {width:.0f} {top - ROW:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>Version counters, line by line</title>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
    )


def _run(steps: list[VersionStep], top: float) -> tuple[list[str], float, float]:
    """One run from this height on: its parts, its right edge and its lower edge."""
    names = list(steps[-1].versions)
    left = 20 + CHARACTER * max(len(step.line) for step in steps)
    gaps = [max(34.0, CHARACTER * len(name) + 14) for name in names]
    centres = [left + sum(gaps[:i]) + gaps[i] / 2 for i in range(len(names))]
    right = left + sum(gaps) + 12
    parts = [_text(c, top + 18, name, "middle", weight="bold") for c, name in zip(centres, names, strict=True)]
    y, before, longest = top + 18 + ROW, steps[0].versions, 0
    for step in steps[1:]:
        parts.append(_text(10, y, step.line, "start"))
        for centre, name in zip(centres, names, strict=True):
            if name in step.versions:
                version = step.versions[name]
                parts.append(_version(centre, y, version, written=version > before.get(name, version)))
        notes = [(step.error, COLOURS["caught"])] * bool(step.error) + [(k.words, COLOURS[k.fate]) for k in step.kept]
        parts += [_text(right, y + i * ROW, text, "start", colour) for i, (text, colour) in enumerate(notes)]
        longest = max([longest, *(len(text) for text, _ in notes)])
        y, before = y + ROW * max(1, len(notes)), step.versions
    return parts, right + CHARACTER * longest + 12, y


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#222222", weight: str = "normal") -> str:
    style = f'font-family="monospace" font-size="12" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" xml:space="preserve" {style}>{html.escape(text)}</text>'


def _version(x: float, y: float, version: int, written: bool) -> str:
    fill = "#f2b66d" if written else "#dbe7f5"
    circle = f'<circle cx="{x:.0f}" cy="{y - 4:.0f}" r="10" fill="{fill}" stroke="#7a93ad"/>'
    return circle + _text(x, y, str(version), "middle")
