"""Finds the names that a cell binds and reads, and checks the rules about undefined names and random numbers."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Sequence
from dataclasses import dataclass

from pyflakes import checker, messages

from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError
from autograder.model.course import Cell

NOTEBOOK_NAMES = ("display", "get_ipython")
# Functions and methods that draw from the global random state unless they get a generator.
RANDOM = frozenset(
    "rand randn randint randperm rand_like randn_like randint_like normal bernoulli multinomial poisson "
    "normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ log_normal_ geometric_ dropout "
    "xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ trunc_normal_ orthogonal_ "
    "Linear Conv1d Conv2d Conv3d Embedding LSTM GRU RNN MultiheadAttention TransformerEncoderLayer".split()
)
SEEDS = frozenset({"manual_seed", "default_rng", "fork_rng"})


@dataclass(frozen=True)
class CellNames:
    """The names of a cell."""

    binds: frozenset[str]
    """Names that running the cell sets."""
    reads: frozenset[str]
    """Names from other cells that it, or a function in it, reads."""


def find_names(source: str) -> CellNames:
    top = symtable.symtable(source, "<cell>", "exec")
    binds = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    reads = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    waiting = list(top.get_children())
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_global() and symbol.is_referenced():
                reads.add(symbol.get_name())
            if symbol.is_declared_global() and symbol.is_assigned():
                binds.add(symbol.get_name())
    return CellNames(frozenset(binds), frozenset(reads - binds))


def refuse_undefined(cells: Sequence[Cell]) -> None:
    """Raise SourceError if a name is used before it is defined.

    Args:
        cells: The code cells of a lab, in order, each valid Python.
    """
    text = "\n".join(cell.source for cell in cells)
    lines = [(cell, number) for cell in cells for number in range(1, cell.source.count("\n") + 2)]
    warnings = checker.Checker(ast.parse(text), builtins=NOTEBOOK_NAMES).messages
    for message in sorted(warnings, key=lambda m: m.lineno):
        if isinstance(message, messages.UndefinedName | messages.UndefinedLocal):
            cell, number = lines[message.lineno - 1]
            raise SourceError(
                cell.path,
                cell.get_line(number),
                f"the name {message.message_args[0]!r} is not defined",
                "define or import it in a cell above",
            )


def refuse_unseeded(cell: Cell) -> None:
    """Raise SourceError if a call draws from the global random state before the cell seeds it."""
    calls = [node for node in ast.walk(parse_source(cell.source)) if isinstance(node, ast.Call)]
    seed_line = min((c.lineno for c in calls if get_called_name(c) in SEEDS), default=None)
    for call in sorted(calls, key=lambda c: c.lineno):
        if get_called_name(call) not in RANDOM or any(k.arg in ("generator", "rng") for k in call.keywords):
            continue
        if not isinstance(call.func, ast.Attribute) or (seed_line is not None and seed_line <= call.lineno):
            continue
        raise SourceError(
            cell.path,
            cell.get_line(call.lineno),
            f"{get_called_name(call)} uses random numbers without a seed",
            "pass generator=torch.Generator().manual_seed(0), or call torch.manual_seed(0) first in this cell",
        )


def get_called_name(call: ast.Call) -> str:
    """Return the last part of the name that is called, as `randn` of `torch.randn()`; "" if it has none."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
