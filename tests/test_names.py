"""One word for one thing, and functions that say what they do: their names begin with a verb."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMED_BY_PYTHON = {"__init__", "__main__"}
# First words that aren't verbs: participles by their ending, and these.
IRREGULAR = set(
    """seen shown written drawn taken given known found held left lost made meant sent hidden came told kept
    anew alone some why where when how what which who whose each own other another again by of in on at as with without
    within beside after before behind below above only not no nothing nobody everything all both same such""".split()
)
VERBS = {"need", "feed", "seed", "embed", "exceed"}  # that end as participles do
MOST_VERBLESS = 0.03  # of all functions: properties, and methods whose names others' interfaces fix


def iter_modules() -> Iterator[Path]:
    for package in ("autograder", "labext", "labkit"):
        yield from (ROOT / package).rglob("*.py")


def test_a_module_is_named_by_a_noun_not_by_a_clause() -> None:
    names = {path.stem for path in iter_modules()} - NAMED_BY_PYTHON
    clauses = [name for name in names if IRREGULAR.intersection(words := name.split("_")) or words[-1].endswith("ed")]
    assert not sorted(clauses)


def test_no_two_classes_have_one_name() -> None:
    paths_by_name = defaultdict(list)
    for path in iter_modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                paths_by_name[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in paths_by_name.items() if len(paths) > 1}


def test_functions_begin_with_a_verb() -> None:
    names = [
        node.name
        for path in iter_modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__")
    ]
    verbless = [name for name in names if _is_verbless(name.strip("_").split("_")[0])]
    assert len(verbless) <= MOST_VERBLESS * len(names), sorted(set(verbless))


def _is_verbless(word: str) -> bool:
    return word in IRREGULAR or (word.endswith("ed") and word not in VERBS)
