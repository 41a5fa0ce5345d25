"""Stores the proofs of all exercises in `labs/proofs.json`, with digests of everything that they depend on.

Proving all labs takes some twenty minutes on two cores. A proof stays valid while the exercise, the other code of its
lab, Gradlab's code and the versions are the same; wording and the checks of other exercises don't matter. The digest of
code and versions is there once, so renewing all proofs after a change of the examiner that changes none of them is a
change of one line.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from autograder.base.atomic_files import write_atomically
from autograder.base.digest import digest
from autograder.model.course import Lab
from autograder.model.fingerprint import PROOFS, digest_code
from autograder.proving.exercise_digest import digest_exercise
from autograder.proving.exercise_proof import ExerciseProof
from autograder.proving.proof import Proof

PROOFS_FILE = "proofs.json"
COUNTS = ("right", "wrong", "generated", "lies", "generated_liar_points", "written_liar_points")


def load_proofs(lab: Lab) -> dict[str, ExerciseProof]:
    """Return the stored proofs of this lab's exercises that are valid for their present state, by name."""
    proofs: dict[str, ExerciseProof] = {}
    records = load_records(lab.path.parent).get(lab.name)
    for exercise in lab.exercises:
        record = records.get(exercise.name) if isinstance(records, dict) else None
        if isinstance(record, dict) and record.pop("digest", None) == digest_exercise(lab, exercise):
            if record.keys() <= {*COUNTS}:
                proofs[exercise.name] = ExerciseProof(**record, kept=True)
    return proofs


def save_proof(lab: Lab, proof: Proof) -> None:
    """Write the proofs of this lab's exercises that have no problems. Those by other code or versions are removed."""
    new = {
        exercise.name: {"digest": digest_exercise(lab, exercise)} | _list_counts(proof.exercises[exercise.name])
        for exercise in lab.exercises
        if exercise.name in proof.exercises and not proof.exercises[exercise.name].problems
    }
    if new:
        records = load_records(lab.path.parent) | {lab.name: new}
        text = json.dumps({"code": compute_code_digest(), "labs": records}, indent=1, sort_keys=True)
        write_atomically(lab.path.parent / PROOFS_FILE, f"{text}\n")


def _list_counts(proof: ExerciseProof) -> dict[str, Any]:
    """List the numbers to store, without zeros."""
    return {name: value for name, value in asdict(proof).items() if name in COUNTS and value}


def load_records(labs: Path) -> dict[str, Any]:
    """Return the records of valid proofs, by lab and exercise. A file that's missing or damaged has none."""
    try:
        store = json.loads((labs / PROOFS_FILE).read_text(encoding="utf-8"))
        return dict(store["labs"]) if store["code"] == compute_code_digest() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def compute_code_digest() -> str:
    """Compute a digest of the code that proves labs, and of the versions of Python and torch."""
    versions = [".".join(platform.python_version_tuple()[:2]), torch.__version__]
    return digest(*versions, digest_code(PROOFS))
