"""Which two notebooks of a class are more alike than answers that are written apart.

One exercise proves nothing: two who write it well write the same. So each exercise gives evidence by how rare it is in
this class to be so close, evidence is added over the notebook, and a pair counts where it has more than any pair of the
same class whose answers are dealt anew, exercise by exercise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from autograder.reports.similar_text import extract_features

CLOSE = 0.8  # cosine from which two answers count as close
KEPT = 0.75  # of the exercises somebody who copies leaves close; others are written anew
DEALS = 200
LEVEL = 0.95  # of the deals have no pair with as much evidence
SMALLEST = 5  # notebooks
MOST_PAIRS = 100  # that are looked at closer


@dataclass(frozen=True)
class AlikeExercise:
    """One exercise of two. others: how many beside the two are as close to the one of them who has more of these."""

    exercise: str
    cosine: float
    others: int
    close: bool


@dataclass(frozen=True)
class SimilarPair:
    """evidence: natural logarithm of how much better copying explains it. exercises: those that both wrote."""

    first: str
    second: str
    evidence: float
    exercises: tuple[AlikeExercise, ...]


@dataclass(frozen=True)
class Search:
    """line: the evidence from which a pair is shown; infinite where the class is too small. compared: notebooks.

    more: pairs above the line that are not among these.
    """

    pairs: tuple[SimilarPair, ...]
    line: float
    compared: int
    more: int = 0


def search(
    written: Mapping[str, Mapping[str, str]],
    known: Mapping[str, Sequence[str]],
    apart: Callable[[str, str], bool] = lambda first, second: True,
    seed: int = 0,
) -> Search:
    """written: student -> exercise -> text. known: exercise -> what the lab gave and the worked solution.

    apart: whether these two were to work apart; teams are not.
    """
    students = sorted(written)
    names = sorted({name for texts in written.values() for name in texts})
    if len(students) < SMALLEST:
        return Search((), float("inf"), len(students))
    near = {name: measure_nearness([written[s].get(name) for s in students], known.get(name, ())) for name in names}
    weighed = {name: compute_evidence(near[name]) for name in names}
    total = sum(weighed.values(), np.zeros((len(students), len(students)), np.float32))
    line = _compute_threshold(list(weighed.values()), seed)
    first, second = np.nonzero(np.triu(total > line, 1))
    above = sorted(zip(first.tolist(), second.tolist(), strict=True), key=lambda ij: -float(total[ij]))
    above = [(i, j) for i, j in above if apart(students[i], students[j])]
    pairs = [
        SimilarPair(students[i], students[j], float(total[i, j]), _compare_exercises(near, weighed, i, j))
        for i, j in above[:MOST_PAIRS]
    ]
    return Search(tuple(pairs), line, len(students), len(above) - len(pairs))


def measure_nearness(texts: Sequence[str | None], known: Sequence[str]) -> np.ndarray:
    """Cosine of each two answers, rare features weighing most; NaN where one is missing, or is what is known."""
    said = [extract_features(text) if text is not None else [] for text in texts]
    given = [{*extract_features(text)} for text in known]
    there = np.array([bool(one) and set(one) not in given for one in said])
    cosine = np.full((len(texts), len(texts)), np.nan, np.float32)
    if there.sum() < 2:
        return cosine
    counts = CountVectorizer(analyzer=lambda one: one, dtype=np.float32).fit_transform(
        [one for one, written in zip(said, there, strict=True) if written]
    )
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    weights = np.log((1 + counts.shape[0]) / frequency)  # what everybody writes weighs next to nothing
    counts.data = np.log1p(counts.data) * weights[counts.indices]
    rows = normalize(counts)
    cosine[np.ix_(there, there)] = (rows @ rows.T).toarray()
    return cosine


def compute_evidence(near: np.ndarray) -> np.ndarray:
    """What one exercise says of each two: the logarithm of a ratio of likelihoods, copied against written apart.

    Closeness is as likely by chance as the share of the class that is as close to either of the two.
    """
    written = ~np.isnan(near)
    count = written.sum(axis=1)
    cosine = np.where(written, np.round(near, 4), -1.0)
    np.fill_diagonal(cosine, -1.0)
    ordered = np.sort(cosine, axis=1)
    as_close = np.stack([len(row) - np.searchsorted(o, row) for o, row in zip(ordered, cosine, strict=True)])
    chance = as_close / np.maximum(count - 1, 1)[:, None]
    chance = np.minimum(np.maximum(chance, chance.T), 1.0)
    any_close = (cosine >= CLOSE).sum(axis=1) / np.maximum(count - 1, 1)
    apart = np.minimum(1 - np.minimum(any_close[:, None], any_close[None, :]), 1.0)
    found = np.where(
        cosine >= CLOSE, np.log(KEPT / np.maximum(chance, 1e-9)), np.log((1 - KEPT) / np.maximum(apart, 0.5))
    )
    return np.where(written & (cosine > -1), found, 0.0).astype(np.float32)


def _compute_threshold(weighed: Sequence[np.ndarray], seed: int) -> float:
    """The evidence that no pair has in nearly all deals: each exercise's answers go to students at random."""
    draw = np.random.default_rng(seed)
    size = len(weighed[0]) if weighed else 0
    deals = DEALS if size <= 300 else DEALS // 10
    highest = []
    for _ in range(deals):
        total = np.zeros((size, size), np.float32)
        for one in weighed:
            dealt = draw.permutation(size)
            total += one[np.ix_(dealt, dealt)]
        highest.append(float(np.triu(total, 1).max(initial=0.0)))
    return max(float(np.quantile(highest, LEVEL)), 0.0) if highest else float("inf")


def _compare_exercises(
    near: Mapping[str, np.ndarray], weighed: Mapping[str, np.ndarray], i: int, j: int
) -> tuple[AlikeExercise, ...]:
    found = []
    for name, cosine in near.items():
        value = float(cosine[i, j])
        if not np.isnan(value):
            others = max(int((np.round(cosine[k], 4) >= round(value, 4)).sum()) - 2 for k in (i, j))
            found.append(AlikeExercise(name, min(value, 1.0), max(others, 0), value >= CLOSE))
    return tuple(sorted(found, key=lambda a: -float(weighed[a.exercise][i, j])))
