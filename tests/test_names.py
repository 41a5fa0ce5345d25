"""One word for one thing: no two modules and no two classes of the project have one name."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMED_BY_PYTHON = {"__init__", "__main__"}


def modules() -> Iterator[Path]:
    for package in ("autograder", "labext", "labkit"):
        yield from (ROOT / package).rglob("*.py")


def test_no_two_modules_have_one_name() -> None:
    found = defaultdict(list)
    for path in modules():
        found[path.stem].append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1 and name not in NAMED_BY_PYTHON}


def test_no_two_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}
