"""Proves several labs at a time, each in its own process, since a proof is almost entirely single-threaded CPU work."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from autograder.model.course import Lab
from autograder.proving.exercise_proof import ExerciseProof
from autograder.proving.proof import Proof, prove_lab
from autograder.proving.proof_store import load_proofs, save_proof
from autograder.sandbox.privileges import set_death_signal


def iter_proofs(
    labs: Sequence[Lab], jobs: int, mutate: bool = False, only: str = "", again: bool = False
) -> Iterator[Proof]:
    """Yield the proof of each lab. Exercises with a valid proof in the store aren't tried, and new proofs are stored.

    A proof with mutants, or of a single exercise, is never read from the store or written to it.

    Args:
        labs: The labs to prove.
        jobs: How many of them are proved at a time.
        mutate: Whether to try mutants of each reference.
        only: The only exercise to prove; empty for all.
        again: Whether to prove labs with a valid proof, too.
    """
    is_whole = not (mutate or only)
    by_name = {lab.name: lab for lab in labs}
    stored = {lab.name: load_proofs(lab) for lab in labs} if is_whole and not again else {}
    for proof in prove_labs(labs, jobs, mutate, only, stored):
        if is_whole:
            save_proof(by_name[proof.lab], proof)
        yield proof


def prove_labs(
    labs: Sequence[Lab],
    jobs: int,
    mutate: bool = False,
    only: str = "",
    stored: Mapping[str, Mapping[str, ExerciseProof]] | None = None,
) -> Iterator[Proof]:
    """Prove `jobs` labs at a time, and yield each proof when it's done.

    Args:
        labs: The labs to prove.
        jobs: How many of them are proved at a time.
        mutate: As in prove_lab().
        only: As in prove_lab().
        stored: Valid proofs, by lab and exercise.
    """
    stored = stored or {}
    complete = [lab for lab in labs if {e.name for e in lab.exercises} <= stored.get(lab.name, {}).keys()]
    yield from (prove_lab(lab, stored=stored[lab.name]) for lab in complete)  # which tries nothing
    remaining = [lab for lab in labs if lab not in complete]
    if min(jobs, len(remaining)) < 2:
        yield from (prove_lab(lab, mutate, only, stored.get(lab.name)) for lab in remaining)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=set_death_signal, initargs=(os.getpid(),)) as pool:
        # The later labs take longest: if one of them began last, it would run alone at the end.
        proofs = [pool.submit(prove_lab, lab, mutate, only, stored.get(lab.name)) for lab in reversed(remaining)]
        try:
            for proof in as_completed(proofs):
                yield proof.result()
        finally:
            pool.shutdown(cancel_futures=True)
