"""Static taint analysis of a check: finds uses of a value from a student's process before the whole was compared.

Such a value may be anything: an empty list, so a loop compares nothing; a list that is too long, of which an index
reads one item; NaN, which `max` skips; an object that always says yes. So a check must first compare all of it,
including its length, with the expected value.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum

from autograder.authoring.bound_names import get_called_name

COMPARISONS = {"assert_close", "explain"}
PREDICATES = {"isinstance", "issubclass", "callable", "hasattr", "equal", "allclose", "isfinite", "is_tensor", "type"}
SWALLOWING = {"all", "any", "zip", "min", "max", "sorted"}  # functions that accept no items, or skip some
FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.ClassDef)


class Trust(Enum):
    """How far a value is trusted."""

    OWN = 0  # the course's value
    ITEMS = 1  # the course's list of a student's values
    NONE = 2  # a student's value


def find_early_uses(check: ast.With, student_names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and description of each use of a value before the check compares the whole of it.

    Args:
        student_names: Names of functions that run in the student's process: exercises and given probes.
    """
    reader = _Reader(frozenset(student_names))
    reader.read_block(check.body)
    yield from reader.uses


@dataclass
class _Reader:
    """Follows the statements of a check. The rate_* methods return the trust in a value, and read its parts too."""

    student_names: frozenset[str]
    trust: dict[str, Trust] = field(default_factory=dict)
    uses: list[tuple[int, str]] = field(default_factory=list)

    def read_block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.read_statement(statement)

    def read_statement(self, node: ast.stmt) -> None:
        """Follow one statement: trust what it compares, and bind the names that it assigns."""
        match node:
            case ast.Assign(targets=targets, value=value):
                trust = self.rate(value)
                for target in targets:
                    self.bind(target, trust)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.rate(value))
            case ast.AugAssign(target=target, value=value):
                self.bind(target, max(self.rate(target), self.rate(value), key=lambda t: t.value))
            case ast.For(target=target, iter=items, body=body):
                self.bind_items(target, items)
                self.read_block(body)
            case ast.If(test=test, body=body, orelse=other) | ast.While(test=test, body=body, orelse=other):
                self.read_condition(test)
                self.read_block([*body, *other])
            case ast.With(items=items, body=body):
                for item in items:
                    trust = self.rate(item.context_expr)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, trust)
                self.read_block(body)
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                self.read_block([*body, *[s for h in handlers for s in h.body], *other, *last])
            case ast.Assert(test=test):
                self.read_condition(test)
                self.trust_compared(test)
            case ast.Expr(value=value):
                self.rate(value)
                self.trust_compared(value)

    def trust_compared(self, node: ast.expr) -> None:
        """Trust the names that this comparison compares as a whole."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=[got, _, *_]) if name in COMPARISONS:
                self.mark_trusted(got)
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                self.mark_trusted(left)
                self.mark_trusted(right)
            case ast.BoolOp(op=ast.And(), values=values):
                for value in values:
                    self.trust_compared(value)

    def mark_trusted(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name):
            self.trust[node.id] = Trust.OWN
        elif isinstance(node, ast.Tuple | ast.List):
            for item in node.elts:
                self.mark_trusted(item)

    def bind(self, target: ast.expr, trust: Trust) -> None:
        if isinstance(target, ast.Name):
            self.trust[target.id] = trust
        elif isinstance(target, ast.Tuple | ast.List):  # raises for another length
            for item in target.elts:
                self.bind(item.value if isinstance(item, ast.Starred) else item, trust)

    def bind_items(self, target: ast.expr, items: ast.expr) -> None:
        """Bind the target of a loop. In one over zip(...), each part gets the trust in its own argument's items."""
        trust = self.rate_loop_items(items)
        self.bind(target, trust)
        match target, items:
            case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=args) if len(parts) == len(args):
                for part, arg in zip(parts, args, strict=True):
                    self.bind(part, Trust.OWN if self.rate(arg) is Trust.OWN else Trust.NONE)

    def rate_loop_items(self, items: ast.expr) -> Trust:
        """Return the trust in the names that a loop over this binds."""
        match items:
            case ast.Call(func=ast.Name(id="zip"), args=args) if _is_strict(items):
                trusts = [self.rate(arg) for arg in args]
                if Trust.OWN in trusts:  # it raises if the lengths differ
                    return Trust.NONE if set(trusts) != {Trust.OWN} else Trust.OWN
            case ast.Call(func=ast.Name(id="zip" | "enumerate"), args=args):
                return max((self.rate_loop_items(arg) for arg in args), key=lambda t: t.value, default=Trust.OWN)
        trust = self.rate(items)
        if trust is Trust.NONE:
            self.report_use(items, "a loop over it")
        return Trust.NONE if trust is Trust.ITEMS else trust

    def read_condition(self, node: ast.expr) -> None:
        """Read a condition. It may compare a value or test it with a predicate, but must not be the value itself."""
        match node:
            case ast.BoolOp(values=values):
                for value in values:
                    self.read_condition(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.read_condition(operand)
                match operand:
                    case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]) if self.rate(operand.left) is (
                        Trust.NONE
                    ):
                        self.report_use(operand, "`not` before an inequality, which NaN passes")
            case ast.Call(args=args, keywords=keywords) if get_called_name(node) in PREDICATES:
                for value in [*args, *[k.value for k in keywords]]:
                    self.rate(value)
            case ast.Compare():
                self.rate(node)
            case ast.Attribute(value=value, attr="requires_grad" | "is_leaf"):
                self.rate(value)
            case _:
                if self.rate(node) is Trust.NONE:
                    self.report_use(node, "a truth test of it")

    def rate(self, node: ast.expr) -> Trust:
        """Return the trust in the value of an expression."""
        match node:
            case ast.Name(id=name):
                return self.trust.get(name, Trust.OWN)
            case ast.Constant() | ast.Lambda():
                return Trust.OWN
            case ast.Call():
                return self.rate_call(node)
            case ast.Compare(left=left, ops=ops, comparators=others):
                for value in [left, *others]:
                    if (
                        isinstance(ops[0], ast.Eq)
                        and isinstance(value, ast.Call)
                        and get_called_name(value) == "sorted"
                    ):
                        self.rate(value.args[0])  # the whole is compared, in another order
                    else:
                        self.rate(value)
                return Trust.OWN
            case ast.Subscript(value=value, slice=index):
                trust = self.rate(value)
                self.rate(index)
                by_name = isinstance(index, ast.Constant) and isinstance(index.value, str)
                if trust is Trust.NONE and not by_name:
                    self.report_use(node, "an index into it")
                return Trust.NONE if trust is not Trust.OWN else trust
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self.rate_items([self.rate(item) for item in items])
            case ast.Dict(values=values):
                return self.rate_items([self.rate(value) for value in values])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.rate_comprehension(node)
            case ast.IfExp(test=test, body=body, orelse=other):
                self.read_condition(test)
                return max(self.rate(body), self.rate(other), key=lambda t: t.value)
            case ast.BoolOp(values=values):
                for value in values:
                    self.read_condition(value)
                return Trust.OWN
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return max((self.rate(part) for part in parts), key=lambda t: t.value, default=Trust.OWN)

    def rate_call(self, node: ast.Call) -> Trust:
        """Return the trust in the result of a call, and report a call that would hide a wrong value, such as max()."""
        if _is_strict(node) and any(self.rate(arg) is Trust.OWN for arg in node.args):
            return Trust.ITEMS
        name, values = get_called_name(node), [*node.args, *[k.value for k in node.keywords]]
        trusts = [self.rate(value) for value in values if not isinstance(value, FUNCTIONS)]
        if isinstance(node.func, ast.Name) and name in self.student_names | {"probe"}:
            return Trust.NONE
        if ast.unparse(node.func) == "torch.autograd.grad":
            return Trust.ITEMS
        if isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "probes" and name not in ("state_of", "gradients_of", "replay"):
                return Trust.NONE
            trusts.append(self.rate(node.func.value))
        if isinstance(node.func, ast.Name) and name in SWALLOWING:
            if Trust.NONE in trusts or (name in ("min", "max", "sorted") and Trust.ITEMS in trusts):
                self.report_use(node, f"{name}() over it")
            return Trust.OWN
        if name in COMPARISONS | PREDICATES | {"len"}:
            return Trust.OWN
        return max(trusts, key=lambda t: t.value, default=Trust.OWN)

    def rate_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Trust:
        before = dict(self.trust)
        for part in node.generators:
            self.bind_items(part.target, part.iter)
            for test in part.ifs:
                self.read_condition(test)
        trust = self.rate(node.value if isinstance(node, ast.DictComp) else node.elt)
        self.trust = before
        return self.rate_items([trust])

    def rate_items(self, trusts: list[Trust]) -> Trust:
        return Trust.OWN if all(trust is Trust.OWN for trust in trusts) else Trust.ITEMS

    def report_use(self, node: ast.expr, use: str) -> None:
        self.uses.append((node.lineno, f"{use}: {ast.unparse(node)[:80]}"))


def _is_strict(call: ast.Call) -> bool:
    """Return whether this is zip(..., strict=True)."""
    strict = [k for k in call.keywords if k.arg == "strict" and isinstance(k.value, ast.Constant) and k.value.value]
    return isinstance(call.func, ast.Name) and call.func.id == "zip" and bool(strict)
