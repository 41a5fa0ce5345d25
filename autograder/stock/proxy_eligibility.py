"""Rules for which test cells can be decided outside the student process, judged only from the course's source.

A cell can if it only calls functions that students write, with its own values, and looks at the results. The rules are
strict: whatever they don't cover is decided in the submission's own process, as in nbgrader.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.stock.content import StockNotebook
from autograder.stock.score import EXCEPTIONS

MODULES = frozenset("math cmath numpy statistics fractions itertools functools operator collections string re".split())
BUILTINS = frozenset(
    """abs all any bool bytes complex dict divmod enumerate filter float frozenset int isinstance len list map max min
    pow print range reversed round set slice sorted str sum tuple zip""".split()
)
# Signs that a function depends on more than its arguments, so two honest runs may differ. Both read the same files,
# unless a later cell writes them.
AMBIENT = re.compile(
    r"\b(random|rand\w*|seed|shuffle|sample|time|datetime|uuid\w*|global|nonlocal|set_\w+|seterr|environ|input|"
    r"getpass|torch|tensorflow|jax|threading|multiprocessing|subprocess|os|shutil|tempfile|pathlib|sqlite3)\b|"
    r"\b(write\w*|to_\w+|save\w*|dump)\(|\bopen\([^)]*[\"'][rb]*[wax+]|^\s*[%!]",
    re.MULTILINE,
)
NODES = (
    *(ast.Module, ast.Expr, ast.Assert, ast.Assign, ast.AugAssign, ast.For, ast.If, ast.Pass, ast.Break, ast.Continue),
    *(ast.Try, ast.ExceptHandler, ast.Raise, ast.Import, ast.ImportFrom, ast.alias),
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.Call, ast.keyword),
    *(ast.List, ast.Tuple, ast.Set, ast.Dict, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)


@dataclass(frozen=True)
class ProxyFacts:
    """Facts from the notebook's source."""

    functions: frozenset[str] = frozenset()
    """The functions that students write."""
    imports: tuple[str, ...] = ()
    """The import statements of the notebook's cells."""


def inspect_course_source(notebook: StockNotebook) -> ProxyFacts:
    """Inspect the source. The result is empty if it depends on more than arguments: chance, time, files or state."""
    graded = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    return _inspect_cells((*notebook.code, *graded), notebook.solutions)


@functools.lru_cache(maxsize=16)
def _inspect_cells(sources: tuple[str, ...], solutions: tuple[str, ...]) -> ProxyFacts:
    """Inspect the cells. Cached, since they're the same for all submissions of an assignment."""
    if any(AMBIENT.search(source) for source in sources):
        return ProxyFacts()
    functions, imports, bound = set(), [], []
    for source in dict.fromkeys(sources):
        tree = _parse_source(source)
        if tree is None:
            return ProxyFacts()  # unknown syntax may bind any name
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef) and source in solutions:
                functions.add(statement.name)
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                imports.append(ast.unparse(statement)) if _is_safe_import(statement) else bound.extend(
                    _list_bound(statement)
                )
            elif not isinstance(statement, ast.FunctionDef):
                bound += _list_bound(statement)
    return ProxyFacts(frozenset(functions - set(bound)), tuple(dict.fromkeys(imports)))


@functools.lru_cache(maxsize=1024)
def can_use_proxies(source: str, course: ProxyFacts) -> bool:
    """Return whether this test cell only calls these functions and looks at values. Cached for all submissions."""
    tree = _parse_source(source)
    if tree is None or not course.functions:
        return False
    modules = {name for statement in course.imports for name in _list_imported(ast.parse(statement).body[0])}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if not _is_safe_import(node):
                return False
            modules |= set(_list_imported(node))
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    if stored & (course.functions | modules) or stored & set(dir(builtins)):
        return False
    calls_function = False
    for node in _iter_nodes(tree):
        if isinstance(node, ast.Name):
            if node.id in course.functions:
                if node not in called:
                    return False
                calls_function = True
            elif node.id not in stored | modules | BUILTINS | EXCEPTIONS:
                return False
        elif not _is_allowed(node):
            return False
    return calls_function


def _iter_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every node except the messages of assertions, which are never read."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack += [node.test] if isinstance(node, ast.Assert) else list(ast.iter_child_nodes(node))


def _is_allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return not node.attr.startswith("_")
    if isinstance(node, ast.Compare):
        operands = [
            right for op, right in zip(node.ops, node.comparators, strict=True) if isinstance(op, ast.Is | ast.IsNot)
        ]
        return all(isinstance(right, ast.Constant) and right.value in (None, True, False) for right in operands)
    if isinstance(node, ast.ExceptHandler):
        return node.type is not None
    return isinstance(node, NODES)


def _is_safe_import(node: ast.AST) -> bool:
    """Return whether this imports, by name, only modules that this process may load."""
    if isinstance(node, ast.ImportFrom):
        names = [] if node.level or any(a.name == "*" for a in node.names) else [node.module or ""]
    else:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return bool(names) and all(name.split(".")[0] in MODULES for name in names)


def _list_imported(statement: ast.AST) -> list[str]:
    aliases = statement.names if isinstance(statement, ast.Import | ast.ImportFrom) else []
    return [alias.asname or alias.name.split(".")[0] for alias in aliases]


def _list_bound(statement: ast.stmt) -> list[str]:
    names = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    defined = [n.name for n in ast.walk(statement) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return [*names, *defined, *_list_imported(statement)]


def _parse_source(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
