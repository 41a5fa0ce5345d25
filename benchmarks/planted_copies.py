"""Classes in which some notebooks are copies. The other students choose among a lab's answers.

A copier changes names, comments, spaces, docstrings, the form of numbers and the order of statements, and answers some
exercises independently.
"""

import ast
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.demo.students import collect_reference
from autograder.model.course import Lab

NAMES = "foo bar tmp out result acc val item data buf left right first second total part piece step".split()


@dataclass(frozen=True)
class PlantedClass:
    """A class, and who copied from whom."""

    texts: Mapping[str, Mapping[str, str]]
    """The text of each exercise, by student and exercise."""
    copies: frozenset[tuple[str, str]]
    """Pairs of students, each in the order of their names."""


@dataclass(frozen=True)
class AnswerPool:
    """The answers to an exercise among which students choose."""

    right: Sequence[str]
    wrong: Sequence[str]


def collect_answers(lab: Lab) -> dict[str, AnswerPool]:
    """Collect the answers to each exercise, by its name. The worked solution is one of the right ones."""
    worked = collect_reference(lab)
    return {
        e.name: AnswerPool(
            [worked[e.name], *(a.source for a in e.answers if a.right)],
            [a.source for a in e.answers if not a.right and not a.liar],
        )
        for e in lab.exercises
    }


def make_planted_class(
    pools: Mapping[str, AnswerPool],
    seed: int,
    size: int = 120,
    copies: int = 6,
    independent: int = 1,
    skills_differ: bool = False,
) -> PlantedClass:
    """Make a class with copies.

    Args:
        pools: The answers, by exercise.
        size: The number of students.
        copies: How many of them copied.
        independent: The number of exercises that each copier answers independently.
        skills_differ: Whether students differ in how often they are right. If so, answers to different exercises go
            together without copying; otherwise, all answers are equally likely.
    """
    draw = random.Random(seed)
    texts: dict[str, dict[str, str]] = {}
    for n in range(size - copies):
        skill = draw.uniform(0.3, 0.95) if skills_differ else None
        texts[f"s{n:03}"] = {name: _choose_answer(pool, skill, draw) for name, pool in pools.items()}
    pairs = set()
    for n, original in enumerate(draw.sample(sorted(texts), copies), start=size - copies):
        copied = {name: disguise_answer(text, draw) for name, text in texts[original].items()}
        for name in draw.sample(sorted(pools), min(independent, len(pools))):
            copied[name] = _choose_answer(pools[name], 0.5, draw)
        texts[f"s{n:03}"] = copied
        pairs.add((original, f"s{n:03}"))
    return PlantedClass(texts, frozenset(pairs))


def _choose_answer(pool: AnswerPool, skill: float | None, draw: random.Random) -> str:
    """Choose an answer, which is right with a probability of skill; with None, all are equally likely."""
    if skill is None:
        return draw.choice([*pool.right, *pool.wrong])
    return draw.choice(pool.right if draw.random() < skill or not pool.wrong else pool.wrong)


def disguise_answer(text: str, draw: random.Random) -> str:
    """Return the same answer in other words, as a student who copied it would submit it."""
    tree = ast.parse(text)
    _swap_statements(tree, draw)
    tree = _NameChanger(tree, draw).visit(tree)
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


def _swap_statements(tree: ast.AST, draw: random.Random) -> None:
    """Swap most neighbouring assignments that share no name."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for i in range(len(body) - 1):
                simple = all(isinstance(s, ast.Assign) for s in body[i : i + 2])
                if simple and not _collect_names(body[i]) & _collect_names(body[i + 1]) and draw.random() < 0.8:
                    body[i], body[i + 1] = body[i + 1], body[i]


def _collect_names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {"torch", "F", "np"}


class _NameChanger(ast.NodeTransformer):
    """Changes every name that the answer binds, except those of its functions and classes at the top level."""

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
