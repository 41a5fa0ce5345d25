"""Proves several labs at a time, each in its own process, since a proof is almost entirely single-threaded CPU work."""

from __future__ import annotations

import functools
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from autograder.model.course import Lab
from autograder.proving.proof import Proof, prove_lab
from autograder.sandbox.privileges import set_death_signal


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
