"""Whether running a cell can change what the student's functions did before it, as far as their source shows.

Where it cannot, a check of an earlier cell may look at a later state of the process, and needs no fork of its own. In
doubt the answer is that it can: a fork for each check cell is always right.
"""

from __future__ import annotations

import ast
import functools
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# What may come into a notebook without a trace but its names.
HARMLESS = frozenset(
    "collections contextlib copy dataclasses functools io itertools labkit math matplotlib numpy operator random re "
    "statistics time torch torchviz typing warnings".split()
)
DECORATORS = frozenset(
    "classmethod contextlib.contextmanager contextmanager dataclass once_differentiable property staticmethod "
    "torch.autograd.function.once_differentiable torch.enable_grad torch.inference_mode torch.no_grad".split()
)
# By these, code reaches what is not its own.
FAR_REACHING = frozenset(
    "AsyncExitStack ExitStack breakpoint builtins compile ctypes delattr eval exec gc get_ipython globals importlib "
    "input inspect library locals multiprocessing open os setattr signal subprocess sys threading vars".split()
)
SHARED_NAMES = frozenset({"compile", "eval"})  # a module's are not Python's
PRIVATE = frozenset("__call__ __getitem__ __init__ __len__ __name__ __version__".split())  # that change nothing
WRITERS = frozenset({"__delitem__", "__setitem__"})  # methods that write into what they are of
COMPREHENSIONS = ("listcomp", "dictcomp", "setcomp", "genexpr")
SETTERS = ("set_", "register_module", "use_", "_")
# What these set travels with each call, or changes only how long one takes.
HARMLESS_SETTERS = frozenset(
    "torch._dynamo.reset torch.cuda.set_rng_state torch.cuda.set_rng_state_all torch.set_grad_enabled "
    "torch.set_rng_state".split()
)


@dataclass(frozen=True)
class Cell:
    """What the source of a cell shows.

    binds: names that it gives to values. defines: to functions, classes and modules. reads: global names in it.
    recalls: those that its functions read when they are called. writes: names into whose values it writes.
    plain: nothing in it keeps or reaches anything else.
    """

    binds: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    recalls: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    plain: bool = False


class Effects:
    """Follows the cells of a notebook. exercises: names that the checks ask for."""

    def __init__(self, exercises: Iterable[str]) -> None:
        self.exercises = frozenset(exercises)
        self.keeps_nothing = True  # the exercises so far are functions and classes without a memory
        self._values: frozenset[str] = frozenset()  # names of anybody's
        self._made: dict[str, Cell] = {}  # the student's names, and the cell that each is from

    def leaves_alone(self, source: str, given: bool) -> bool:
        """Whether running this cell next leaves all that the exercises so far do as it is."""
        cell = look_at(source)
        new, used = cell.binds | cell.defines, self._used()
        apart = not new & used and cell.writes <= self._values | cell.binds and not cell.writes & used
        before = self.keeps_nothing
        self._values |= cell.binds
        if not given:
            self._made |= dict.fromkeys(new, cell)
            self.keeps_nothing &= cell.plain and cell.writes <= self._values and not cell.binds & self.exercises
        used = self._used()
        recalled = {name for made in used & self._made.keys() for name in self._made[made].recalls}
        self.keeps_nothing &= not recalled & self._values
        return before and apart and (given or cell.plain)

    def _used(self) -> frozenset[str]:
        """The exercises that there are, and all names that they may come to: through what they read, and that reads."""
        found: set[str] = set()
        left = {name for name in self.exercises if name in self._made}
        while left:
            name = left.pop()
            found.add(name)
            left |= (self._made[name].reads if name in self._made else frozenset()) - found
        return frozenset(found)


@functools.lru_cache(maxsize=1024)
def look_at(source: str) -> Cell:
    """What this source shows; where it is not Python alone, that it may do anything."""
    try:
        tree, table = ast.parse(source), symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Cell()
    symbols = table.get_symbols()
    bound = frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported() or s.is_namespace())
    nodes = top_level(tree)
    given_values = frozenset(
        node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ) | frozenset(node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name)
    inside, outside = frozenset(_globals(table, functions=True)), frozenset(_globals(table, functions=False))
    read = frozenset(s.get_name() for s in symbols if s.is_referenced()) | inside | outside
    writes = [root_of(node) for node in nodes if _is_written_into(node)]
    return Cell(
        binds=bound & given_values,
        defines=bound - given_values,
        reads=read,
        recalls=inside,
        writes=frozenset(filter(None, writes)),
        plain=all(writes) and _is_plain(tree, nodes, inside),
    )


def _globals(table: symtable.SymbolTable, functions: bool) -> Iterator[str]:
    """Global names in functions and classes, or in the comprehensions outside of them, which have a scope too."""
    for child in table.get_children():
        if functions or child.get_name() in COMPREHENSIONS:
            if not (functions and table.get_type() == "module" and child.get_name() in COMPREHENSIONS):
                yield from (s.get_name() for s in child.get_symbols() if s.is_global())
            yield from _globals(child, functions)


def top_level(tree: ast.AST) -> list[ast.AST]:
    """All nodes that are evaluated as the cell runs: none of the inside of functions and classes."""
    found = [tree]
    for node in found:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            found.extend(ast.iter_child_nodes(node))
    return found[1:]


def _is_written_into(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in WRITERS:
        return True
    return isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)


def root_of(node: ast.AST) -> str:
    """The name at the beginning of `name.attribute[index].method()`; empty where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                break
            node = node.func
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_plain(tree: ast.Module, outside: list[ast.AST], shared: frozenset[str]) -> bool:
    """outside: what runs as the cell does. shared: the global names in its functions."""
    inside = {id(node) for node in ast.walk(tree)} - set(map(id, outside))
    for node in ast.walk(tree):
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
                if not all(map(_is_constant, defaults)) or not all(map(_is_known, getattr(node, "decorator_list", ()))):
                    return False
            case ast.ClassDef():
                if (
                    node.keywords
                    or not all(map(_is_known, node.decorator_list))
                    or not all(map(_of_a_class, node.body))
                ):
                    return False
            case ast.Name():
                if node.id in FAR_REACHING or (node.id.startswith("__") and node.id not in PRIVATE):
                    return False
            case ast.Attribute():
                hidden = node.attr.startswith("__") and node.attr not in PRIVATE | WRITERS
                setter = node.attr.startswith(SETTERS) and root_of(node) in ("torch", "np", "numpy")
                if hidden or node.attr in FAR_REACHING - SHARED_NAMES or (setter and not _is_harmless_setter(node)):
                    return False
        if id(node) in inside and _is_written_into(node) and root_of(node) in ("", "cls", *shared):
            return False
    return True


def _is_harmless(module: str) -> bool:
    first, *rest = module.split(".")
    return first in HARMLESS and not FAR_REACHING.union("*").intersection(rest)


def _is_harmless_setter(node: ast.Attribute) -> bool:
    """Whether it is one of HARMLESS_SETTERS, or the beginning of one: `torch._dynamo` of `torch._dynamo.reset`."""
    path = ast.unparse(node)
    return any(path == setter or setter.startswith(f"{path}.") for setter in HARMLESS_SETTERS)


def _is_constant(node: ast.AST) -> bool:
    match node:
        case ast.Constant() | ast.Attribute():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_constant(operand)
        case ast.Tuple(elts=elements):
            return all(map(_is_constant, elements))
    return False


def _is_known(decorator: ast.AST) -> bool:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator) in DECORATORS


def _of_a_class(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            return value is None or _is_constant(value)
    return False
