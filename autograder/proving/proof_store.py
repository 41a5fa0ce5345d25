"""Stores proofs in a lab's `proof.json`, with a digest of everything that they depend on.

Proving twelve labs takes 12 minutes on two cores. A proof stays valid while the lab, the code and the versions are the
same.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict

import torch

from autograder.base.digest import digest, digest_files
from autograder.model.course import Lab
from autograder.model.fingerprint import PROOFS, digest_code
from autograder.proving.proof import Proof

FILE = "proof.json"


def load_proof(lab: Lab) -> Proof | None:
    """Return the stored proof of this lab, or None if there is none for its present state."""
    try:
        record = json.loads((lab.path / FILE).read_text(encoding="utf-8"))
        return Proof(**record["proof"], kept=True) if record["key"] == compute_key(lab) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_proof(lab: Lab, proof: Proof) -> None:
    """Write the proof of this lab, unless it has problems."""
    if not proof.problems:
        values = {name: value for name, value in asdict(proof).items() if value or name in ("lab", "points")}
        text = json.dumps({"key": compute_key(lab), "proof": values}, indent=1, sort_keys=True)
        (lab.path / FILE).write_text(f"{text}\n", encoding="utf-8")


def compute_key(lab: Lab) -> str:
    """Compute a digest of the lab's files, the code that proves them, and the versions of Python and torch."""
    versions = [".".join(platform.python_version_tuple()[:2]), torch.__version__]
    return digest(*versions, digest_code(PROOFS), digest_files(lab.path))
