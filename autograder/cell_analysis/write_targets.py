"""Finds the places where source code writes into a named value."""

from __future__ import annotations

import ast

MAX_DOTS = 6  # of a dotted name to look up in a list
WRITERS = frozenset({"__delitem__", "__setitem__"})  # methods that write into their object
ATTRIBUTE_WRITERS = frozenset({"delattr", "setattr"})  # functions that write into their first argument


def list_top_level(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes outside of functions and classes, which are evaluated when the cell runs."""
    nodes = [tree]
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            nodes.extend(ast.iter_child_nodes(node))
    return nodes[1:]


def find_written_target(node: ast.AST) -> ast.AST | None:
    """Return the expression that this node writes into, if any: an attribute, an item, or the argument of setattr."""
    match node:
        case ast.Attribute(attr=attr) if attr in WRITERS:
            return node
        case ast.Attribute() | ast.Subscript() if not isinstance(node.ctx, ast.Load):
            return node
        case ast.Call(func=ast.Name(id=name), args=[target, *_]) if name in ATTRIBUTE_WRITERS:
            return target
    return None


def find_root_name(node: ast.AST) -> str:
    """Return the name at the beginning of `name.attribute[index].method()`, or "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                break
            node = node.func
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def join_dotted_name(node: ast.AST) -> str:
    """Return `name.attribute.attribute` as text; "" for anything else, and for more than MAX_DOTS dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) <= MAX_DOTS:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
