"""Proves one lab: each of its exercises, and what only the whole lab shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from autograder.base.fork_memory import make_forks_cheap
from autograder.model.course import Lab
from autograder.proving.exercise_proof import ExerciseProof, prove_exercise
from autograder.proving.expected_failures import FailingChecks
from autograder.proving.judge import judge_blank, judge_liars
from autograder.proving.workbench import compute_notebook_points, iter_workbenches


@dataclass
class Proof:
    """The proofs of a lab's exercises, and the problems of the lab as a whole."""

    lab: str
    points: float = 0.0
    """The points of the lab."""
    exercises: dict[str, ExerciseProof] = field(default_factory=dict)
    lab_problems: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        return [p for proof in self.exercises.values() for p in proof.problems] + self.lab_problems

    @property
    def outdated(self) -> dict[str, FailingChecks]:
        """Problems that update_fails_options() can fix, and the checks that the answer failed."""
        return {p: checks for proof in self.exercises.values() for p, checks in proof.outdated.items()}

    @property
    def right(self) -> int:
        return sum(proof.right for proof in self.exercises.values())

    @property
    def wrong(self) -> int:
        return sum(proof.wrong for proof in self.exercises.values())

    @property
    def generated(self) -> int:
        return sum(proof.generated for proof in self.exercises.values())

    @property
    def lies(self) -> int:
        return sum(proof.lies for proof in self.exercises.values())

    @property
    def generated_liar_points(self) -> float:
        """Points of the best generated liars, without observed checks."""
        return sum(proof.generated_liar_points for proof in self.exercises.values())

    @property
    def written_liar_points(self) -> float:
        """Points of the best liars that a person wrote."""
        return sum(proof.written_liar_points for proof in self.exercises.values())


def prove_lab(
    lab: Lab, mutate: bool = False, only: str = "", stored: Mapping[str, ExerciseProof] | None = None
) -> Proof:
    """Try all answers in forks of this process, which runs given cells, and of a student process. Uses one thread.

    Args:
        only: The only exercise to try.
        stored: Valid proofs of exercises, by name, which aren't tried again.
    """
    proof = Proof(lab.name, lab.points, dict(stored or {}))
    names = {e.name for e in lab.exercises if not only or e.name == only} - proof.exercises.keys()
    if names:
        torch.set_num_threads(1)
        make_forks_cheap()  # saves a third of the time, since each answer is tried in a fork
        for workbench in iter_workbenches(lab):
            if workbench.exercise.name in names:
                proof.exercises[workbench.exercise.name] = prove_exercise(lab, workbench, mutate)
        blank_points = compute_notebook_points(lab, {})  # after the workbenches, which report a cell that raises
        for name in names:
            exercise_proof = proof.exercises[name]
            if exercise_proof.blank:
                exercise_proof.problems += judge_blank(
                    lab, lab.exercise(name), blank_points[name], exercise_proof.blank
                )
    proof.lab_problems += judge_liars(lab, {name: p.written_liar_points for name, p in proof.exercises.items()})
    return proof
