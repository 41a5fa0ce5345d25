"""Features of an answer that survive changes to names, comments, spaces, docstrings and the order of statements.

Each statement is a sequence of the nodes of its syntax tree. Its features are runs of up to three nodes, and the whole
sequence. The text is a student's: it's parsed and never run. If it isn't Python, its words are used instead.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator

RUNS = (1, 2, 3)
MAX_CHARACTERS = 20_000  # of one answer that is parsed
MAX_PARTS, MAX_NAME = 8, 200  # parts and characters of an imported name
MAX_DEPTH = 100  # of brackets: the parser's own recursion is not bounded everywhere
BUILTINS = frozenset(dir(builtins)) | frozenset(keyword.kwlist)
ALIASES = {"F": "torch.nn.functional", "nn": "torch.nn", "np": "numpy"}  # as labs import them
BOUND = "·"  # replaces every name that the answer binds
WORD = re.compile(r"\w+|[^\w\s]")
IGNORED = (ast.expr_context, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)


def extract_features(text: str) -> list[str]:
    """Return the answer's features in no order; the same for answers that differ only in names, comments and order."""
    features = []
    for unit in _split_units(text):
        for length in RUNS:
            features += [" ".join(unit[i : i + length]) for i in range(len(unit) - length + 1)]
        features.append("= " + " ".join(unit))
    return features


def _split_units(text: str) -> list[list[str]]:
    tree = _parse_answer(text)
    if tree is None:
        lines = [WORD.findall(line.split("#")[0]) for line in text[:MAX_CHARACTERS].splitlines()]
        return [[w if w in BUILTINS or not w.isidentifier() else BOUND for w in line] for line in lines if line]
    names = _collect_names(tree)
    try:
        return [unit for statement in _iter_statements(tree) if (unit := list(_iter_nodes(statement, names)))]
    except Exception:  # whatever one student's text holds, the others are compared
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
    """Map names to their replacements: BOUND if the answer binds the name, the full name if it imports it."""
    names = dict(ALIASES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names[node.id] = BOUND
        elif isinstance(node, ast.arg):
            names[node.arg] = BOUND
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            names[node.name or ""] = BOUND
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            names[f".{node.attr}"] = BOUND
        elif isinstance(node, ast.Import | ast.ImportFrom):
            start = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
            names |= {a.asname or a.name: _shorten_name(start + a.name) for a in node.names if a.asname or start}
    return names


def _shorten_name(name: str) -> str:
    return ".".join(name.split(".")[-MAX_PARTS:])[-MAX_NAME:]


def _iter_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements, including nested ones, without docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler) and not isinstance(node, IGNORED):
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                yield node


def _format_constant(value: object) -> str:
    """Format a constant; integers in hexadecimal, since Python refuses to write a very long one in decimal."""
    return hex(value) if type(value) is int else repr(value)


def _iter_nodes(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """Yield the nodes of one statement, without nested statements and annotations."""
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
