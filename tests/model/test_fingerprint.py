"""Code that can change a mark or a proof is in its fingerprint; pages, pictures and wording are not."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import labkit
from autograder.model import fingerprint
from autograder.model.fingerprint import DISPLAY, MARKS, PROOFS
from tests.conftest import ROOT

EDITS = {  # file: whether an edit changes the fingerprints of marks and of proofs
    "autograder/reports/feedback.py": [False, False],
    "autograder/gradebook/class_reader.py": [False, False],
    "autograder/desk/question_page.py": [False, False],
    "labkit/pictures/chart.py": [False, False],
    "labkit/verdict.py": [False, False],
    "autograder/examiner/examination.py": [True, True],
    "autograder/student_process/kernel.py": [True, True],
    "labkit/comparison.py": [True, True],
    "labkit/probes/allowed_operations.py": [True, True],
    "autograder/stock/score.py": [True, False],
    "autograder/intake/repair.py": [True, False],
    "autograder/proving/judge.py": [False, True],
}
# Imported by code that computes marks, without effect on them.
HARMLESS = {
    "autograder/base/toml_lines.py",
    "autograder/model/fingerprint.py",
    "autograder/model/note_sentences.py",
    "autograder/model/versions.py",
    "labkit/card_style.py",
    "labkit/hint.py",
    "labkit/interrupt.py",
    "labkit/lab_progress.py",
    "labkit/missing_names.py",
    "labkit/panel_notice.py",
    "labkit/points.py",
    "labkit/quiz_source.py",
    "labkit/value_table.py",
    "labkit/verdict.py",
    "labkit/verdict_summary.py",
}


@pytest.fixture(scope="module")
def unedited_digests(project: Path) -> tuple[str, str]:
    return read_digests(project)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the autograder's packages, only the files that are edited here: a digest of all takes a second."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "labkit", folder / "labkit", ignore=shutil.ignore_patterns("__pycache__"))
    for name in {*MARKS, *PROOFS}:
        path = folder / "autograder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if path.suffix else path.mkdir()
    for name in EDITS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def read_digests(project: Path) -> tuple[str, str]:
    """(fingerprint of marks, fingerprint of proofs) of the code in this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "__file__", str(project / "autograder" / "model" / "fingerprint.py"))
        patch.setattr(labkit, "__file__", str(project / "labkit" / "__init__.py"))
        return fingerprint.digest_code.__wrapped__(MARKS), fingerprint.digest_code.__wrapped__(PROOFS)


@pytest.mark.parametrize("file", EDITS)
def test_an_edit_changes_only_the_fingerprints_that_depend_on_it(
    file: str, project: Path, unedited_digests: tuple[str, str]
) -> None:
    text = (project / file).read_text()
    (project / file).write_text(f"{text}\nANOTHER = 1\n")
    after = read_digests(project)
    (project / file).write_text(text)
    assert [one != other for one, other in zip(unedited_digests, after, strict=True)] == EDITS[file]


def test_docstrings_and_comments_decide_nothing(project: Path, unedited_digests: tuple[str, str]) -> None:
    files = [project / "autograder" / "examiner" / "examination.py", project / "labkit" / "comparison.py"]
    texts = [file.read_text() for file in files]
    for file, text in zip(files, texts, strict=True):
        new_text = re.sub(r'^( +)"""(?=[A-Z])', r'\1"""More of this. ', text, flags=re.MULTILINE)
        file.write_text("# Why it is here.\n" + new_text.replace("\n\n", "\n\n# A comment.\n"))
    after = read_digests(project)
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    assert after == unedited_digests


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        (("autograder.workers.task_grading", "autograder.forkserver.server", "labkit.check"), MARKS),
        (("autograder.proving.parallel_proofs", "autograder.authoring.course_folder", "labkit.check"), PROOFS),
    ],
    ids=["marks", "proofs"],
)
def test_all_code_on_the_way_is_in_the_fingerprint(entries: tuple[str, ...], names: tuple[str, ...]) -> None:
    modules = {path for path in follow_imports(*entries) if not path.endswith("__init__.py")} - HARMLESS
    missing = {path for path in modules if not is_covered(path, names)}
    assert not missing and "autograder/examiner/course_cells.py" in modules


def test_every_named_module_exists() -> None:
    paths = [ROOT / "autograder" / name for name in (*MARKS, *PROOFS)] + [ROOT / "labkit" / name for name in DISPLAY]
    assert not [path for path in paths if not path.exists()]


def is_covered(path: str, names: tuple[str, ...]) -> bool:
    package, _, module = path.partition("/")
    if package == "labkit":
        return module.split("/")[0] not in DISPLAY or module.startswith("pictures/")
    return any(module == name or module.startswith(f"{name}/") for name in names)


def follow_imports(*modules: str) -> set[str]:
    """The project's files that these modules import, directly or indirectly, also inside functions."""
    files, waiting = {}, list(modules)
    while waiting:
        module = waiting.pop()
        if module not in files and (path := find_file(module)):
            files[module] = path
            waiting += list_imports(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    return set(files.values())


def find_file(module: str) -> str | None:
    path = module.replace(".", "/")
    return next((each for each in (f"{path}.py", f"{path}/__init__.py") if (ROOT / each).exists()), None)


def list_imports(tree: ast.AST) -> Iterator[str]:
    """Modules of the project, without those that only type checkers import."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(("autograder", "labkit")))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("autograder", "labkit")):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from list_imports(node)
