"""Static analysis of whether a cell keeps and reaches nothing but its own names. When in doubt, it counts as impure."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from autograder.cell_analysis.write_targets import (
    ATTRIBUTE_WRITERS,
    WRITERS,
    find_root_name,
    find_written_target,
    join_dotted_name,
)

# Modules that a notebook may import without another trace than their names.
HARMLESS = frozenset(
    "abc bisect collections contextlib copy dataclasses enum functools heapq io itertools labkit math matplotlib numpy "
    "operator random re statistics time torch torchviz typing warnings".split()
)
DECORATORS = frozenset(
    "classmethod contextlib.contextmanager contextmanager dataclass functools.wraps once_differentiable property "
    "staticmethod torch.autograd.function.once_differentiable torch.autocast torch.compiler.disable "
    "torch.enable_grad torch.inference_mode torch.no_grad wraps".split()
)
# Names by which code reaches beyond its own objects.
FAR_REACHING = frozenset(
    "breakpoint builtins compile ctypes delattr eval exec gc get_ipython globals importlib input inspect library "
    "locals multiprocessing open os pop_all setattr signal subprocess sys threading vars".split()
)
STACKS = frozenset({"AsyncExitStack", "ExitStack"})  # they leave what they entered only if used in a `with`
REACHING = FAR_REACHING | STACKS
SHARED_NAMES = frozenset({"compile", "eval"})  # as attributes of a module they aren't Python's functions
REACHING_ATTRIBUTES = REACHING - SHARED_NAMES
HARMLESS_DUNDERS = frozenset("__call__ __getitem__ __init__ __len__ __name__ __version__".split())
SETTERS = ("set_", "use_", "_")
LIBRARIES = frozenset("F dist math nn np numpy torch".split())
DTYPES = "bfloat16 bool complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8".split()
# The state that these set is sent with each call, or only changes how long one takes.
HARMLESS_SETTERS = frozenset(
    "torch._dynamo.explain torch._dynamo.reset torch.cuda.set_rng_state torch.cuda.set_rng_state_all "
    "torch.random.set_rng_state torch.set_grad_enabled torch.set_rng_state".split()
)


def is_pure(tree: ast.Module, outside: list[ast.AST], shared: frozenset[str]) -> bool:
    """Return whether a cell keeps and reaches nothing but its own names.

    Args:
        outside: The nodes that run with the cell, not in a function.
        shared: The global names in its functions.
    """
    nodes = list(ast.walk(tree))
    not_local = {"", "cls", *shared, *find_imported_names(nodes)}
    inside = {id(node) for node in nodes} - set(map(id, outside))
    allowed, nested = _find_allowed(nodes), _find_function_nodes(tree)
    for node in nodes:
        match node:
            case ast.Global():
                return False
            case ast.Import(names=names):
                if not all(_is_harmless(alias.name) for alias in names):
                    return False
            case ast.ImportFrom(module=module, names=names):
                if not all(_is_harmless(f"{module}.{alias.name}") for alias in names):
                    return False
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
                if id(node) not in nested and not all(map(_is_constant, defaults)):
                    return False
                if not all(map(_is_harmless_decorator, getattr(node, "decorator_list", ()))):
                    return False
            case ast.ClassDef():
                if (
                    node.keywords
                    or not all(map(_is_harmless_decorator, node.decorator_list))
                    or not all(map(_is_class_statement, node.body))
                ):
                    return False
            case ast.Name() if id(node) not in allowed:
                if node.id in REACHING or (node.id.startswith("__") and node.id not in HARMLESS_DUNDERS):
                    return False
            case ast.Attribute() if id(node) not in allowed:
                if node.attr in REACHING_ATTRIBUTES or _is_hidden(node):
                    return False
        target = find_written_target(node) if id(node) in inside else None
        if target and find_root_name(target) in not_local:
            return False
    return True


def find_imported_names(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the names that the imports among these nodes bind."""
    return [n.asname or n.name.partition(".")[0] for n in nodes if isinstance(n, ast.alias)]


def _is_harmless(module: str) -> bool:
    first, *rest = module.split(".")
    return first in HARMLESS and "*" not in rest and FAR_REACHING.isdisjoint(rest)


def _is_hidden(node: ast.Attribute) -> bool:
    if node.attr.startswith("__"):
        return node.attr not in HARMLESS_DUNDERS | WRITERS
    sets = node.attr.startswith(SETTERS) and not node.attr.startswith("_foreach_")
    return node.attr.startswith("register_module_") or (sets and find_root_name(node) in LIBRARIES)


def _find_allowed(nodes: Iterable[ast.AST]) -> frozenset[int]:
    """Return the ids of harmless uses of reaching names: calls of `setattr`, HARMLESS_SETTERS, `with ExitStack()`."""
    allowed: list[ast.AST] = []
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in ATTRIBUTE_WRITERS:
                allowed.append(node.func)
            case ast.Attribute() if join_dotted_name(node) in HARMLESS_SETTERS:
                allowed.append(node)
            case ast.withitem(context_expr=ast.Call(func=func)) if join_dotted_name(func).rpartition(".")[2] in STACKS:
                allowed.append(func)
    return frozenset(id(part) for node in allowed for part in ast.walk(node))  # names with a few dots each


def _find_function_nodes(tree: ast.Module) -> frozenset[int]:
    """Return the ids of the nodes in function bodies: each call creates new values for them."""
    ids: set[int] = set()
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, inside = left.pop()
        if inside:
            ids.add(id(node))
        match node:
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                body_ids = set(map(id, body))
            case ast.Lambda(body=value):
                body_ids = {id(value)}
            case _:
                body_ids = set()
        left += [(child, inside or id(child) in body_ids) for child in ast.iter_child_nodes(node)]
    return frozenset(ids)


def is_immutable(node: ast.AST) -> bool:
    """Return whether the value of this expression is immutable: a number, text, dtype, device, or a tuple of these."""
    match node:
        case ast.Constant() | ast.Call(func=ast.Name(id="device")):
            return True
        case ast.Attribute():
            return join_dotted_name(node).removeprefix("torch.") in ("device", *DTYPES)
        case ast.Call(func=ast.Attribute(attr="device")):
            return join_dotted_name(node.func) == "torch.device"
        case ast.UnaryOp(operand=operand):
            return is_immutable(operand)
        case ast.BinOp(left=left, right=right):
            return is_immutable(left) and is_immutable(right)
        case ast.Tuple(elts=elements):
            return all(map(is_immutable, elements))
    return False


def _is_constant(node: ast.AST) -> bool:
    """Return whether this is an immutable value or an attribute of a library."""
    return is_immutable(node) or (isinstance(node, ast.Attribute) and find_root_name(node) in LIBRARIES)


def _is_harmless_decorator(decorator: ast.AST) -> bool:
    return join_dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in DECORATORS


def _is_class_statement(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            return value is None or _is_constant(value)
    return False
