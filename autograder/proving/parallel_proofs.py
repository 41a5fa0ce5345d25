"""Proves several labs at a time, each in its own process, since a proof is almost entirely single-threaded CPU work."""

from __future__ import annotations

import functools
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from autograder.model.course import Lab
from autograder.proving.proof import Proof, prove_lab
from autograder.proving.proof_store import load_proof, save_proof
from autograder.sandbox.privileges import set_death_signal


def iter_proofs(
    labs: Sequence[Lab], jobs: int, mutate: bool = False, only: str = "", again: bool = False
) -> Iterator[Proof]:
    """Yield the stored proof of each lab that has a valid one, and then new ones, which are stored.

    A proof with mutants, or of a single exercise, is never read from the store or written to it.

    Args:
        labs: The labs to prove.
        jobs: How many of them are proved at a time.
        mutate: Whether to try mutants of each reference.
        only: The only exercise to prove; empty for all.
        again: Whether to prove labs with a valid proof, too.
    """
    is_whole = not (mutate or only)
    stored = {lab.name: proof for lab in labs if is_whole and not again and (proof := load_proof(lab))}
    yield from stored.values()
    by_name = {lab.name: lab for lab in labs if lab.name not in stored}
    for proof in prove_labs([*by_name.values()], jobs, mutate, only):
        if is_whole:
            save_proof(by_name[proof.lab], proof)
        yield proof


def prove_labs(labs: Sequence[Lab], jobs: int, mutate: bool = False, only: str = "") -> Iterator[Proof]:
    """Prove `jobs` labs at a time, and yield each proof when it's done. For `mutate` and `only`, see prove_lab()."""
    if min(jobs, len(labs)) < 2:
        yield from (prove_lab(lab, mutate, only) for lab in labs)
        return
    prove = functools.partial(prove_lab, mutate=mutate, only=only)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=set_death_signal, initargs=(os.getpid(),)) as pool:
        # The later labs take longest: if one of them began last, it would run alone at the end.
        proofs = [pool.submit(prove, lab) for lab in reversed(labs)]
        try:
            for proof in as_completed(proofs):
                yield proof.result()
        finally:
            pool.shutdown(cancel_futures=True)
