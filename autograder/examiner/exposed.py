"""Which names a cell takes from the cells before it as it runs, and which it surely binds anew."""

from __future__ import annotations

import ast
import functools


@functools.lru_cache(maxsize=1024)
def exposed(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """(names read before the cell surely bound them, outside of its functions; names surely bound, if nothing raises).

    Raises SyntaxError: this is for the course's own cells.
    """
    return _of_block(ast.parse(source).body, frozenset())


def _of_block(statements: list[ast.stmt], bound: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """(names read that were not bound, names bound at the end); `bound` are bound at its beginning."""
    reads: frozenset[str] = frozenset()
    for statement in statements:
        found, bound = _of_statement(statement, bound)
        reads |= found
    return reads, bound


def _of_statement(statement: ast.stmt, bound: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    match statement:
        case ast.For(target=target, iter=head) | ast.AsyncFor(target=target, iter=head):
            inside = bound | _names(target)[1]
            return _read_in(head, target) - bound | _of_blocks(statement, inside), bound
        case ast.While(test=head) | ast.If(test=head):
            return _read_in(head) - bound | _of_blocks(statement, bound), bound
        case ast.With(items=items) | ast.AsyncWith(items=items):
            heads = [item.context_expr for item in items]
            named = [item.optional_vars for item in items if item.optional_vars]
            bound_there = bound.union(*(_names(node)[1] for node in named))
            return _read_in(*heads, *named) - bound | _of_blocks(statement, bound_there), bound_there
        case ast.Try():
            return _of_blocks(statement, bound), bound
        case ast.AugAssign(target=ast.Name(id=name)):  # the tree shows that as stored only
            return (_read_in(statement) | {name}) - bound, bound | {name}
        case ast.Match() | ast.Delete():
            return _read_in(statement) - bound, bound
    return _read_in(statement) - bound, bound | _names(statement)[1]


def _of_blocks(statement: ast.stmt, bound: frozenset[str]) -> frozenset[str]:
    """Names that any block of a compound statement reads, and has not bound. Each may run, or not, or in part."""
    reads: frozenset[str] = frozenset()
    for handler in getattr(statement, "handlers", []):
        caught = frozenset([handler.name] if handler.name else [])
        reads |= (_read_in(handler.type) if handler.type else frozenset()) - bound
        reads |= _of_block(handler.body, bound | caught)[0]
    for block in ("body", "orelse", "finalbody"):
        reads |= _of_block(getattr(statement, block, []), bound)[0]
    return reads


def _read_in(*nodes: ast.AST) -> frozenset[str]:
    return frozenset[str]().union(*(_names(node)[0] for node in nodes))


def _names(node: ast.AST) -> tuple[set[str], set[str]]:
    """(names read as this runs, names bound) of a statement, an expression, or the target of an assignment."""
    reads: set[str] = set()
    binds: set[str] = set()
    left = [node]
    while left:
        match node := left.pop():
            case ast.Name(id=name, ctx=ast.Load()):
                reads.add(name)
            case ast.Name(id=name):
                binds.add(name)
            case ast.alias(name=name, asname=other):
                binds.add(other or name.partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                binds.add(name)
                left += [node.args, *node.decorator_list, *filter(None, [node.returns])]
            case ast.ClassDef(name=name):
                binds.add(name)
                left += [*node.decorator_list, *node.bases, *node.keywords]
            case ast.Lambda(args=arguments):
                left.append(arguments)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inside = [_names(child) for child in ast.iter_child_nodes(node)]
                items = set().union(*(stored for _, stored in inside))
                reads |= set().union(*(read for read, _ in inside)) - items
            case _:
                left += ast.iter_child_nodes(node)
    return reads, binds
