"""Finds pairs of notebooks in a class that are more alike than independent work would be.

One exercise proves nothing: two students who solve it well write the same. So each exercise gives evidence by how rare
such closeness is in this class, and the evidence is added up over the notebook. A pair counts if it has more than any
pair has when each exercise's answers are shuffled among the students of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from autograder.reports.answer_features import extract_features

CLOSE = 0.8  # cosine from which two answers count as close
COPIED = 0.75  # share of the exercises that someone who copies leaves close; the others are rewritten
SHUFFLES = 200
LEVEL = 0.95  # share of the shuffles without a pair with as much evidence
MIN_NOTEBOOKS = 5
MAX_PAIRS = 100  # to show in detail


@dataclass(frozen=True)
class AlikeExercise:
    """How close the two answers of a pair are in one exercise."""

    exercise: str
    cosine: float
    others: int
    """How many others are as close to one of the two; the larger number of both."""
    close: bool


@dataclass(frozen=True)
class SimilarPair:
    """Two students whose notebooks are alike."""

    first: str
    second: str
    evidence: float
    """Natural logarithm of how much better copying explains it than independent work."""
    exercises: tuple[AlikeExercise, ...]
    """The exercises that both wrote."""


@dataclass(frozen=True)
class SearchResult:
    """The result of a search for similar pairs."""

    pairs: tuple[SimilarPair, ...]
    threshold: float
    """The evidence above which a pair is shown; infinite if the class is too small."""
    compared: int
    """How many notebooks were compared."""
    more: int = 0
    """How many pairs above the threshold aren't among these."""


def search_pairs(
    answers: Mapping[str, Mapping[str, str]],
    course_texts: Mapping[str, Sequence[str]],
    is_independent: Callable[[str, str], bool] = lambda first, second: True,
    seed: int = 0,
) -> SearchResult:
    """Find pairs of students whose notebooks are alike.

    Args:
        answers: What each student wrote, by student and exercise.
        course_texts: The stub and the worked solution, by exercise.
        is_independent: Whether these two students should have worked independently; members of a team needn't.
    """
    students = sorted(answers)
    names = sorted({name for texts in answers.values() for name in texts})
    if len(students) < MIN_NOTEBOOKS:
        return SearchResult((), float("inf"), len(students))
    cosines = {
        name: compute_similarities([answers[s].get(name) for s in students], course_texts.get(name, ()))
        for name in names
    }
    evidence = {name: compute_evidence(cosines[name]) for name in names}
    total = sum(evidence.values(), np.zeros((len(students), len(students)), np.float32))
    threshold = _compute_threshold(list(evidence.values()), seed)
    first, second = np.nonzero(np.triu(total > threshold, 1))
    above = sorted(zip(first.tolist(), second.tolist(), strict=True), key=lambda ij: -float(total[ij]))
    above = [(i, j) for i, j in above if is_independent(students[i], students[j])]
    pairs = [
        SimilarPair(students[i], students[j], float(total[i, j]), _compare_exercises(cosines, evidence, i, j))
        for i, j in above[:MAX_PAIRS]
    ]
    return SearchResult(tuple(pairs), threshold, len(students), len(above) - len(pairs))


def compute_similarities(texts: Sequence[str | None], course_texts: Sequence[str]) -> np.ndarray:
    """Return the cosine of each two answers, weighting rare features most.

    It's NaN if one of the two is missing or equals a text of the course.
    """
    features = [extract_features(text) if text is not None else [] for text in texts]
    course_features = [{*extract_features(text)} for text in course_texts]
    is_written = np.array([bool(one) and set(one) not in course_features for one in features])
    cosine = np.full((len(texts), len(texts)), np.nan, np.float32)
    if is_written.sum() < 2:
        return cosine
    counts = CountVectorizer(analyzer=lambda one: one, dtype=np.float32).fit_transform(
        [one for one, written in zip(features, is_written, strict=True) if written]
    )
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    weights = np.log((1 + counts.shape[0]) / frequency)  # what everyone writes weighs next to nothing
    counts.data = np.log1p(counts.data) * weights[counts.indices]
    rows = normalize(counts)
    cosine[np.ix_(is_written, is_written)] = (rows @ rows.T).toarray()
    return cosine


def compute_evidence(cosines: np.ndarray) -> np.ndarray:
    """Return each pair's evidence from one exercise: the log likelihood ratio of copying to independent work.

    Closeness is as likely by chance as the share of the class that is as close to either of the two.
    """
    is_written = ~np.isnan(cosines)
    count = is_written.sum(axis=1)
    cosine = np.where(is_written, np.round(cosines, 4), -1.0)
    np.fill_diagonal(cosine, -1.0)
    ordered = np.sort(cosine, axis=1)
    as_close = np.stack([len(row) - np.searchsorted(o, row) for o, row in zip(ordered, cosine, strict=True)])
    chance = as_close / np.maximum(count - 1, 1)[:, None]
    chance = np.minimum(np.maximum(chance, chance.T), 1.0)
    any_close = (cosine >= CLOSE).sum(axis=1) / np.maximum(count - 1, 1)
    not_close = np.minimum(1 - np.minimum(any_close[:, None], any_close[None, :]), 1.0)
    evidence = np.where(
        cosine >= CLOSE, np.log(COPIED / np.maximum(chance, 1e-9)), np.log((1 - COPIED) / np.maximum(not_close, 0.5))
    )
    return np.where(is_written & (cosine > -1), evidence, 0.0).astype(np.float32)


def _compute_threshold(evidence: Sequence[np.ndarray], seed: int) -> float:
    """Return the evidence that no pair exceeds in nearly all shuffles of each exercise's answers among students."""
    draw = np.random.default_rng(seed)
    size = len(evidence[0]) if evidence else 0
    shuffles = SHUFFLES if size <= 300 else SHUFFLES // 10
    highest = []
    for _ in range(shuffles):
        total = np.zeros((size, size), np.float32)
        for of_exercise in evidence:
            order = draw.permutation(size)
            total += of_exercise[np.ix_(order, order)]
        highest.append(float(np.triu(total, 1).max(initial=0.0)))
    return max(float(np.quantile(highest, LEVEL)), 0.0) if highest else float("inf")


def _compare_exercises(
    cosines: Mapping[str, np.ndarray], evidence: Mapping[str, np.ndarray], i: int, j: int
) -> tuple[AlikeExercise, ...]:
    exercises = []
    for name, cosine in cosines.items():
        value = float(cosine[i, j])
        if not np.isnan(value):
            others = max(int((np.round(cosine[k], 4) >= round(value, 4)).sum()) - 2 for k in (i, j))
            exercises.append(AlikeExercise(name, min(value, 1.0), max(others, 0), value >= CLOSE))
    return tuple(sorted(exercises, key=lambda a: -float(evidence[a.exercise][i, j])))
