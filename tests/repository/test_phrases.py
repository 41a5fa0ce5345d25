"""Docs, docstrings, messages, pages and names of tests avoid phrases that no one says: each has plainer words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PHRASES = {  # what to avoid: what to write
    r"in (the )?place of": "instead of",
    r"(no|some)body('s)?": "no one, someone, or the people meant",
    r"at the most": "at most",
    r"none is": "there is no",
    r"nothing is to": "there's nothing to",
    r"(stands|lies) (in|at|on|there|beside|behind|below|above)": "is",
    r"(is|are|was|were|be|been) told": "sees, is shown",
    r"tells": "says, shows",
    r"anew": "again",
    r"whoever": "anyone who",
    r"(put|puts) right": "repaired, corrected",
    r"as it was handed out": "unchanged",
    r"beside": "next to, outside",
}
PHRASES_IN_NAMES = PHRASES | {  # the same for the names of tests, whose words are read without underscores
    r"(no|some|any)body(s)?": "no one, someone, or the people meant",
    r"(un)?told|tell": "sees, is shown, is reported",
    r"stands?|lies?|lay": "is",
    r"comes?|came": "is, arrives, returns",
    r"(?<!falling )behind": "after, or what is meant",
    r"where (there|nothing|none|no)": "if there is",
    r"so that": "so",
    r"of (its|their) own": "its own",
    r"by itself": "on its own",
    r"^test (who|what|where|that|which)": "a noun: the students, the files",
}
BANNED = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.IGNORECASE)
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES += [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "claims.md"]  # it quotes labs
PAGES += [ROOT / "Makefile", *sorted((ROOT / "benchmarks").rglob("*.md"))]
PARTS = [ROOT / name for name in ("autograder", "labext", "labkit", "benchmarks")]
TEMPLATES = [path for part in PARTS for suffix in ("j2", "html", "js") for path in sorted(part.rglob(f"*.{suffix}"))]
EXEMPT = {"WRITE_HERE = ", '"nobody"', "`nobody`"}  # parts of lines: what notebooks contain, and a user of Linux
MODULES = [path for part in PARTS for path in sorted(part.rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


def find_phrases(text: str, path: Path, lines: list[str], first: int = 1) -> Iterator[str]:
    for match in BANNED.finditer(text):
        advice = next(words for pattern, words in PHRASES.items() if re.fullmatch(pattern, match[0], re.IGNORECASE))
        line = first + text[: match.start()].count("\n")
        if any(part in lines[line - 1] for part in EXEMPT):
            continue
        yield f'{path.relative_to(ROOT)}:{line}: "{match[0]}": write {advice}'


@pytest.mark.parametrize("path", PAGES + TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_speak_plainly(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not list(find_phrases(text, path, text.splitlines()))


@pytest.mark.parametrize(
    "package", sorted({path.parent for path in MODULES}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_docstrings_and_messages_speak_plainly(package: Path) -> None:
    assert not [fault for path in MODULES if path.parent == package for fault in find_in_texts(path)]


def find_in_texts(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from find_phrases(node.value, path, lines, node.lineno)


@pytest.mark.parametrize("name", ["test_nobody_is_told", "test_what_is_behind_the_mark", "test_a_state_of_its_own"])
def test_a_banned_phrase_in_the_name_of_a_test_is_found(name: str) -> None:
    assert list(find_in_name(name))


def test_names_of_tests_speak_plainly() -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}: {fault}"
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for fault in find_in_name(node.name)
    ]
    assert not faults, "\n".join(faults)


def find_in_name(name: str) -> Iterator[str]:
    words = name.replace("_", " ")
    for pattern, advice in PHRASES_IN_NAMES.items():
        if match := re.search(rf"\b({pattern})\b", words):
            yield f'"{match[0]}": write {advice}'
