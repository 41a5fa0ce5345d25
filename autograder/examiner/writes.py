"""Where a piece of source writes into a value that it has by a name."""

from __future__ import annotations

import ast

MAX_DOTS = 6  # of a name that is looked up in a list
WRITERS = frozenset({"__delitem__", "__setitem__"})  # methods that write into what they are of
ATTRIBUTE_WRITERS = frozenset({"delattr", "setattr"})  # functions that write into their first argument


def list_top_level(tree: ast.AST) -> list[ast.AST]:
    """All nodes that are evaluated as the cell runs: none of the inside of functions and classes."""
    found = [tree]
    for node in found:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            found.extend(ast.iter_child_nodes(node))
    return found[1:]


def find_written_target(node: ast.AST) -> ast.AST | None:
    """What this node writes into, if anything: a name, or what hangs on one."""
    match node:
        case ast.Attribute(attr=attr) if attr in WRITERS:
            return node
        case ast.Attribute() | ast.Subscript() if not isinstance(node.ctx, ast.Load):
            return node
        case ast.Call(func=ast.Name(id=name), args=[target, *_]) if name in ATTRIBUTE_WRITERS:
            return target
    return None


def find_root_name(node: ast.AST) -> str:
    """The name at the beginning of `name.attribute[index].method()`; empty where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                break
            node = node.func
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def join_dotted_name(node: ast.AST) -> str:
    """The text of `name.attribute.attribute`; empty for anything else, and for more dots than any known name has."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) <= MAX_DOTS:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
