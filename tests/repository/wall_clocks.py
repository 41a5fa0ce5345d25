"""Finds what makes a test depend on how busy the machine is: limits by the clock."""

import ast
from collections.abc import Iterator

CLOCK_TOLERANCE = {
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "time",
    "time_ns",
}  # of the module time
WAITS = {"communicate", "get", "join", "open", "result", "run", "urlopen", "wait", "wait_for_workers", "wait_procs"}
LONG = 600  # seconds: a wait that only ends a hanging test
TEST = 1200  # the same for a whole test


def find_wall_clocks(source: str) -> Iterator[tuple[int, str]]:
    """(line, problem) of each comparison of the clock, and of each wait or test with a short limit."""
    tree = ast.parse(source)
    lines: set[int] = set()
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            names = _collect_time_names(scope)
            for node in ast.walk(scope):
                if isinstance(node, ast.Compare) and node.lineno not in lines:
                    if any(_is_time(side, names) for side in (node.left, *node.comparators)):
                        lines.add(node.lineno)
                        yield node.lineno, "compares the clock"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _find_short_waits(node)


def _collect_time_names(scope: ast.AST) -> set[str]:
    """Names that are bound to a clock's time, or to a sum or a difference of times."""
    names: set[str] = set()
    pairs = [pair for node in ast.walk(scope) for pair in _iter_bindings(node)]
    for _ in pairs:
        new_names = {target.id for target, value in pairs if isinstance(target, ast.Name) and _is_time(value, names)}
        if new_names <= names:
            break
        names |= new_names
    return names


def _iter_bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of each name that an assignment binds."""
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


def _is_time(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_time(node.left, names) or _is_time(node.right, names)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("abs", "max", "min", "round")
    ):
        return any(_is_time(argument, names) for argument in node.args)
    return _is_clock(node) or (isinstance(node, ast.Name) and node.id in names)


def _is_clock(node: ast.AST) -> bool:
    """time.monotonic(), or monotonic() if it was imported from time."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return (
            node.func.attr in CLOCK_TOLERANCE and isinstance(node.func.value, ast.Name) and node.func.value.id == "time"
        )
    return isinstance(node.func, ast.Name) and node.func.id in CLOCK_TOLERANCE


def _find_short_waits(call: ast.Call) -> Iterator[tuple[int, str]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "timeout" and call.args and _read_seconds(call.args[0]) < TEST:
        yield call.lineno, f"gives a test less than {TEST} seconds"
    if name not in WAITS:
        return
    limits = [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]
    if name in ("join", "wait") and isinstance(call.func, ast.Attribute):
        limits += call.args[:1]
    if any(_read_seconds(limit) < LONG for limit in limits):
        yield call.lineno, f"waits less than {LONG} seconds"


def _read_seconds(node: ast.AST) -> float:
    """Infinite if it isn't a number."""
    value = getattr(node, "value", None)
    return value if isinstance(value, int | float) else float("inf")
