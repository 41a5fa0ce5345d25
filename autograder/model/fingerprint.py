"""Fingerprints: what can change a mark or a proof, and nothing else.

A result counts until its fingerprint changes, so a file that is missing here would keep outdated marks, and a file too
many would grade every class again. tests/model/test_fingerprint.py follows the imports and compares.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import labkit
from autograder.base.digest import digest, digest_statements
from autograder.model.versions import Versions

if TYPE_CHECKING:
    from autograder.model.result import ResultDocument

# Parts of a result, by the names that messages use if one of them changed.
CODE, SUBMISSION, COMPANIONS = "Gradlab's code", "the submission", "the files next to the notebook"
LAB, RELEASES = "the lab", "earlier releases of the lab"
IMPLIED_BY = {COMPANIONS: SUBMISSION, RELEASES: LAB}  # not worth mentioning if the other changed, too
SHORT = 12  # digits of a digest, enough to tell one thing from another

SHARED = (  # can change both marks and proofs; names in autograder/
    "cell_analysis",
    "base/device.py",
    "base/digest.py",
    "base/errors.py",
    "base/fork_memory.py",
    "examiner",
    "model/answer.py",
    "model/course.py",
    "model/metadata.py",
    "model/nbgrader_cells.py",
    "model/quiz_statement.py",
    "model/strict_model.py",
    "rpc",
    "sandbox",
    "student_process",
)
MARKS = (
    *SHARED,
    "base/atomic_files.py",
    "base/submission_files.py",
    "base/text.py",
    "base/timestamps.py",
    "forkserver",
    "grading",
    "intake",
    "model/assignments.py",
    "model/marks.py",
    "model/notes.py",
    "model/result.py",
    "model/result_upgrade.py",
    "model/versions.py",
    "stock",
    "workers/compile_cache.py",
    "workers/task_grading.py",
)
PROOFS = (*SHARED, "authoring", "base/atomic_files.py", "proving")
# Names in labkit/ that show what checks found, or draw, and decide nothing.
DISPLAY = (
    "card_style.py",
    "faulty_uses.py",
    "hint.py",
    "interrupt.py",
    "lab_progress.py",
    "mark_file.py",
    "missing_names.py",
    "notebook_progress.py",
    "panel_notice.py",
    "pictures",
    "points.py",
    "progress.py",
    "quiz_source.py",
    "start.py",
    "untrusted_json.py",
    "value_table.py",
    "verdict.py",
    "verdict_summary.py",
)


@functools.cache
def digest_code(names: Sequence[str]) -> str:
    """Digest these parts of autograder, and labkit without what only displays."""
    autograder = Path(__file__).parent.parent
    paths = [path for path in sorted(Path(labkit.__file__).parent.iterdir()) if path.suffix == ".py" or path.is_dir()]
    checks = [path for path in paths if path.name not in DISPLAY]
    # Another version of hypothesis draws other inputs.
    return digest(digest_statements(*checks, *(autograder / name for name in names)), version("hypothesis"))


@functools.cache
def get_versions() -> Versions:
    """Return the versions that this process grades with."""
    import torch

    return Versions(gradlab=version("gradlab"), python=platform.python_version(), torch=torch.__version__)


@dataclass(frozen=True)
class Environment:
    """What results depend on besides their task: two machines with equal environments grade alike."""

    code: str
    """A digest of Gradlab's code, which says more than its version."""
    python: str
    torch: str
    layers: tuple[str, ...] | None
    """The sandbox layers between the submission and the grader, in order; None for a machine that only sends tasks."""

    def label_parts(self) -> dict[str, str]:
        """Return the parts by the names that messages and ResultDocument.made_of use."""
        sandbox = {} if self.layers is None else {"the sandbox": ", ".join(self.layers)}
        return {CODE: self.code, "Python": self.python, "torch": self.torch, **sandbox}


def collect_environment(layers: Sequence[str] | None) -> Environment:
    """Describe the environment of this process.

    Args:
        layers: The sandbox layers between the submission and the grader, None if no submission runs here.
    """
    versions, sandbox = get_versions(), None if layers is None else tuple(sorted(layers))
    return Environment(digest_code(MARKS)[:SHORT], versions.python, versions.torch, sandbox)


def digest_lab(source: bytes) -> str:
    """Digest a lab's source notebook, as in ResultDocument.made_of."""
    return digest(source)[:SHORT]


def list_changes(result: ResultDocument, parts: dict[str, str]) -> tuple[str, ...]:
    """Describe what has changed since this result was made.

    Args:
        parts: The current digests of the parts, by name.
    """
    if not result.key:
        return ("only one exercise was regraded before, or nbgrader autograde was used",)
    if not result.made_of:
        return ("an earlier Gradlab graded it",)
    names = [name for name in parts if result.made_of.get(name) != parts[name]]
    return tuple(f"{name} changed" for name in names if IMPLIED_BY.get(name) not in names)
