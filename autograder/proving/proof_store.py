"""Stores proofs: a lab's `proof.json` says what was proved, with a digest of everything that it depends on.

Proving twelve labs takes 12 minutes on two cores. A lab that is unchanged, with the same code and versions, is proved.
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
    """The proof of this lab, if it was proved as it is now."""
    try:
        record = json.loads((lab.path / FILE).read_text(encoding="utf-8"))
        return Proof(**record["proof"], kept=True) if record["key"] == compute_key(lab) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_proof(lab: Lab, proof: Proof) -> None:
    """Record that this lab was proved; a lab with problems wasn't."""
    if not proof.problems:
        told = {name: value for name, value in asdict(proof).items() if value or name in ("lab", "points")}
        text = json.dumps({"key": compute_key(lab), "proof": told}, indent=1, sort_keys=True)
        (lab.path / FILE).write_text(f"{text}\n", encoding="utf-8")


def compute_key(lab: Lab) -> str:
    """A digest of the lab's files, the code that proves them, and the versions of Python and torch."""
    versions = [".".join(platform.python_version_tuple()[:2]), torch.__version__]
    return digest(*versions, digest_code(PROOFS), digest_files(lab.path))
