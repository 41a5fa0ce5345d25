"""An answer as what stays of it where somebody changes names, comments, spaces, docstrings and the order of statements.

Each statement is a sequence of its syntax tree's nodes; what it tells are runs of up to three of them, and all of it.
The text is a student's: it is parsed and never run, and where it is no Python its words are taken.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator

RUNS = (1, 2, 3)
MAX_CHARACTERS = 20_000  # of one answer that is parsed
MAX_PARTS, MAX_NAME = 8, 200  # parts and characters of a name that is imported
MAX_DEPTH = 100  # of brackets: the parser's own recursion is not bounded everywhere
KEPT = frozenset(dir(builtins)) | frozenset(keyword.kwlist)
CUSTOMARY = {"F": "torch.nn.functional", "nn": "torch.nn", "np": "numpy"}  # as labs import them
OWN = "·"  # stands for every name that the answer binds
WORD = re.compile(r"\w+|[^\w\s]")
LEFT_OUT = (ast.expr_context, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)


def extract_features(text: str) -> list[str]:
    """What the answer tells, in no order; equal for answers that differ in names, comments and order alone."""
    found = []
    for unit in _split_units(text):
        for length in RUNS:
            found += [" ".join(unit[i : i + length]) for i in range(len(unit) - length + 1)]
        found.append("= " + " ".join(unit))
    return found


def _split_units(text: str) -> list[list[str]]:
    tree = _parse_answer(text)
    if tree is None:
        lines = [WORD.findall(line.split("#")[0]) for line in text[:MAX_CHARACTERS].splitlines()]
        return [[w if w in KEPT or not w.isidentifier() else OWN for w in line] for line in lines if line]
    names = _collect_names(tree)
    try:
        return [unit for statement in _iter_statements(tree) if (unit := list(_iter_nodes(statement, names)))]
    except Exception:  # whatever is in one student's text, the others are compared
        return []


def _parse_answer(text: str) -> ast.Module | None:
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if len(text) > MAX_CHARACTERS or deepest > MAX_DEPTH:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _collect_names(tree: ast.Module) -> dict[str, str]:
    """Name -> what stands for it: OWN where the answer binds it, the whole name of what it imports."""
    names = dict(CUSTOMARY)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names[node.id] = OWN
        elif isinstance(node, ast.arg):
            names[node.arg] = OWN
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            names[node.name or ""] = OWN
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            names[f".{node.attr}"] = OWN
        elif isinstance(node, ast.Import | ast.ImportFrom):
            start = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
            names |= {a.asname or a.name: _shorten_name(start + a.name) for a in node.names if a.asname or start}
    return names


def _shorten_name(name: str) -> str:
    """Of a name in modules, which stands for each use of what it is imported as."""
    return ".".join(name.split(".")[-MAX_PARTS:])[-MAX_NAME:]


def _iter_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All of them, those inside others too; a docstring is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler) and not isinstance(node, LEFT_OUT):
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                yield node


def _format_constant(value: object) -> str:
    """In hexadecimal for an integer: Python refuses to write a very long one in decimal."""
    return hex(value) if type(value) is int else repr(value)


def _iter_nodes(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """The nodes of one statement, without the statements inside it and without annotations."""
    match node:
        case ast.Name():
            *folders, last = names.get(node.id, node.id).split(".")
            yield from (f".{part}" for part in reversed([*folders[1:], last] if folders else []))
            yield folders[0] if folders else last
        case ast.Attribute():
            yield f".{names.get('.' + node.attr, node.attr)}"
        case ast.Constant():
            yield _format_constant(node.value)
        case ast.keyword():
            yield f"{node.arg}="
        case ast.AnnAssign() | ast.Assign():
            yield "Assign"
        case ast.Return() if node.value is None:
            return
        case ast.AST() if not isinstance(node, ast.arguments | ast.Expr):
            yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "ctx", "type_comment", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(
                    child, ast.stmt | ast.ExceptHandler | ast.expr_context
                ):
                    yield from _iter_nodes(child, names)
