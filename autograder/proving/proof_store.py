"""Stores the proofs of all labs in `labs/proofs.json`, with digests of everything that they depend on.

Proving all labs takes some ten minutes on two cores. A proof stays valid while the lab's exercises and code, Gradlab's
code and the versions are the same; prose doesn't matter. The digest of code and versions is there once, so renewing all
proofs after a change of the examiner that changes none of them is a change of one line.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from autograder.base.digest import digest, digest_files
from autograder.model.course import Lab
from autograder.model.fingerprint import PROOFS, digest_code
from autograder.proving.proof import Proof

PROOFS_FILE = "proofs.json"


def load_proof(lab: Lab) -> Proof | None:
    """Return the stored proof of this lab, or None if there is none for its present state."""
    try:
        record = load_records(lab.path.parent)[lab.name]
        return Proof(**record["proof"], kept=True) if record["lab"] == _digest_lab(lab) else None
    except (ValueError, KeyError, TypeError):
        return None


def save_proof(lab: Lab, proof: Proof) -> None:
    """Write the proof of this lab, unless it has problems. Proofs by other code or versions are removed."""
    if not proof.problems:
        values = {
            name: value
            for name, value in asdict(proof).items()
            if name != "breaches" and (value or name in ("lab", "points"))
        }
        records = load_records(lab.path.parent) | {lab.name: {"lab": _digest_lab(lab), "proof": values}}
        text = json.dumps({"code": compute_code_digest(), "labs": records}, indent=1, sort_keys=True)
        (lab.path.parent / PROOFS_FILE).write_text(f"{text}\n", encoding="utf-8")


def _digest_lab(lab: Lab) -> str:
    """Digest what a proof of this lab depends on: the files of its exercises, and the code in its other cells."""
    code = [cell for cell in lab.cells if not cell.kind.traits.markdown]
    parts = [part for cell in code for part in (cell.kind, cell.name, cell.source)]
    files = [folder for folder in (lab.path / "exercises",) if folder.is_dir()]
    return digest(*parts, str(lab.points), *(str(exercise.points) for exercise in lab.exercises), digest_files(*files))


def load_records(labs: Path) -> dict[str, Any]:
    """Return the records of valid proofs, by lab. A file that's missing or damaged has none."""
    try:
        store = json.loads((labs / PROOFS_FILE).read_text(encoding="utf-8"))
        return dict(store["labs"]) if store["code"] == compute_code_digest() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def compute_code_digest() -> str:
    """Compute a digest of the code that proves labs, and of the versions of Python and torch."""
    versions = [".".join(platform.python_version_tuple()[:2]), torch.__version__]
    return digest(*versions, digest_code(PROOFS))
