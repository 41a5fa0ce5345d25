"""Classes in which some notebooks are copies: everybody chooses among a lab's own answers, and who copies changes
names, comments, spaces, docstrings, the form of numbers and the order of statements, and writes one exercise anew."""

import ast
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.demo.students import collect_reference
from autograder.model.course import Lab

NAMES = "foo bar tmp out result acc val item data buf left right first second total part piece step".split()


@dataclass(frozen=True)
class Class:
    """written: student -> exercise -> text. copies: pairs of students, in the order of their names."""

    written: Mapping[str, Mapping[str, str]]
    copies: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Pool:
    """The answers to an exercise among which students choose."""

    right: Sequence[str]
    wrong: Sequence[str]


def pool_of(lab: Lab) -> dict[str, Pool]:
    """By exercise. The worked solution is one of the right ones."""
    worked = collect_reference(lab)
    return {
        e.name: Pool(
            [worked[e.name], *(a.source for a in e.answers if a.right)],
            [a.source for a in e.answers if not a.right and not a.liar],
        )
        for e in lab.exercises
    }


def planted_class(
    pool: Mapping[str, Pool], seed: int, size: int = 120, copies: int = 6, anew: int = 1, able: bool = False
) -> Class:
    """anew: exercises that each copier writes without looking. able: students differ in how often they are right, so
    that answers to different exercises go together without copying; otherwise all answers are as likely."""
    draw = random.Random(seed)
    written: dict[str, dict[str, str]] = {}
    for n in range(size - copies):
        right = draw.uniform(0.3, 0.95) if able else None
        written[f"s{n:03}"] = {name: _chosen(answers, right, draw) for name, answers in pool.items()}
    pairs = set()
    for n, source in enumerate(draw.sample(sorted(written), copies), start=size - copies):
        texts = {name: disguised(text, draw) for name, text in written[source].items()}
        for name in draw.sample(sorted(pool), min(anew, len(pool))):
            texts[name] = _chosen(pool[name], 0.5, draw)
        written[f"s{n:03}"] = texts
        pairs.add((source, f"s{n:03}"))
    return Class(written, frozenset(pairs))


def _chosen(pool: Pool, right: float | None, draw: random.Random) -> str:
    if right is None:
        return draw.choice([*pool.right, *pool.wrong])
    return draw.choice(pool.right if draw.random() < right or not pool.wrong else pool.wrong)


def disguised(text: str, draw: random.Random) -> str:
    """The same answer as somebody hands it in who copied it."""
    tree = ast.parse(text)
    _reorder(tree, draw)
    tree = _Rename(tree, draw).visit(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1:
                del node.body[0]
            else:
                node.body.insert(0, ast.Expr(ast.Constant(f"My own {node.name}.")))
    lines = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
    lines = [line + draw.choice(["", "", "  # as it says", "   "]) for line in lines]
    text = "\n".join(
        ["# written by me", *(each for line in lines for each in ([line, ""] if draw.random() < 0.2 else [line]))]
    )
    return re.sub(r"\b0\.5\b", ".5", re.sub(r"\b1e-05\b", "0.00001", text))


def _reorder(tree: ast.AST, draw: random.Random) -> None:
    """Neighbours that share no name change places."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for i in range(len(body) - 1):
                simple = all(isinstance(s, ast.Assign) for s in body[i : i + 2])
                if simple and not _touched(body[i]) & _touched(body[i + 1]) and draw.random() < 0.8:
                    body[i], body[i + 1] = body[i + 1], body[i]


def _touched(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {"torch", "F", "np"}


class _Rename(ast.NodeTransformer):
    """Every name that the answer binds but those of its functions and classes at the top."""

    def __init__(self, tree: ast.Module, draw: random.Random) -> None:
        bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} - {"self"}
        self.names = {name: f"{draw.choice(NAMES)}_{number}" for number, name in enumerate(sorted(bound))}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        node.annotation = None
        return node
