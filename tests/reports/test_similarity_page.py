"""Similar submissions: planted copies are found, and answers written independently are not taken for copies."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from autograder.demo.students import collect_reference
from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.model.course import Lab
from autograder.model.marks import Mark
from autograder.reports.answer_features import extract_features
from autograder.reports.similar_pairs import (
    AlikeExercise,
    SearchResult,
    SimilarPair,
    compute_evidence,
    compute_similarities,
    search_pairs,
)
from autograder.reports.similarity_page import (
    collect_known_texts,
    collect_written_texts,
    render_similar_page,
    write_similar_page,
)
from benchmarks.planted_copies import collect_answers, disguise_answer, make_planted_class

ANSWER = '''
def scale(x, by=0.5):
    """Scale x."""
    import torch.nn.functional as F
    total = x.sum()  # of all
    count = x.numel()
    if count > 1e-5:
        return F.relu(total / count) * by
    raise ValueError("empty")
'''
COPIED = """
from math import pi
def scale(values, factor = .5):
    number = values.numel()
    whole = (values.sum())

    if number > 0.00001:
        return torch.nn.functional.relu(whole / number) * factor
    raise ValueError('empty')
"""


def test_names_comments_spaces_docstrings_imports_and_order_change_nothing() -> None:
    assert sorted(extract_features(ANSWER)) == sorted(extract_features(COPIED))
    assert sorted(extract_features(ANSWER)) != sorted(extract_features(ANSWER.replace("sum", "mean")))


def test_every_answer_of_the_course_is_recognized_in_disguise(labs: list[Lab]) -> None:
    draw = random.Random(0)
    answers = [a.source for lab in labs[:4] for e in lab.exercises for a in e.answers][::7]
    same = [sorted(extract_features(a)) == sorted(extract_features(disguise_answer(a, draw))) for a in answers]
    assert np.mean(same) > 0.95


@pytest.mark.parametrize(
    "text", ["def f(:", "\0", "(" * 50_000, "x = " + "-" * 50_000 + "1", "1+" * 9_000 + "1", "é" * 9, ""]
)
def test_text_that_is_no_answer_does_no_harm(text: str) -> None:
    assert isinstance(extract_features(text), list)


@pytest.mark.parametrize(
    "text", ["x = 0x" + "f" * 4000, "x = " + "9" * 4300, "x = 1e400j", "x = b'" + "\\xff" * 999 + "'"]
)
def test_no_constant_ends_the_comparison_of_a_class(text: str) -> None:
    assert extract_features(text)


def test_a_long_name_in_modules_is_not_written_out_at_each_use() -> None:
    for name in (".".join(["a"] * 1000), "a" * 10_000):
        text = f"import {name} as x\n" + "x\n" * 1000
        assert sum(map(len, extract_features(text))) < 100 * len(text)


def test_copies_are_found_in_a_class_and_no_one_else(labs: list[Lab]) -> None:
    found_count = planted_count = 0
    chosen = [lab for lab in labs if lab.name in ("01_tensors", "03_autograd", "05_inplace")]
    for lab, seed in itertools.product(chosen, range(3)):
        planted = make_planted_class(collect_answers(lab), seed)
        pairs = {(p.first, p.second) for p in search_pairs(planted.texts, get_reference(lab)).pairs}
        found_count, planted_count = found_count + len(pairs & planted.copies), planted_count + len(planted.copies)
        assert len(pairs - planted.copies) <= 1
    assert found_count >= 0.95 * planted_count


def test_a_class_that_writes_apart_has_no_pair(labs: list[Lab]) -> None:
    for skills_differ in (False, True):
        planted = make_planted_class(collect_answers(labs[0]), 1, copies=0, skills_differ=skills_differ)
        assert len(search_pairs(planted.texts, get_reference(labs[0])).pairs) <= 1


def test_an_answer_that_all_write_or_that_the_lab_gave_is_no_evidence() -> None:
    texts = ["def f(x):\n    return x + 1\n"] * 40
    assert compute_evidence(compute_similarities(texts, ())).max() <= 0
    assert np.isnan(compute_similarities(texts, texts[:1])).all()


def test_one_short_exercise_is_never_enough() -> None:
    pool = [f"def f(x):\n    return x {sign} {number}\n" for sign in "+-*/" for number in (1, 2)]
    draw = random.Random(3)
    texts = {f"s{n}": {"f": draw.choice(pool)} for n in range(100)}
    assert not search_pairs(texts, {}).pairs


def test_a_team_is_no_pair_and_a_small_class_says_nothing(labs: list[Lab]) -> None:
    planted = make_planted_class(collect_answers(labs[0]), 0)
    assert not search_pairs(planted.texts, get_reference(labs[0]), lambda *_: False).pairs
    few = dict(list(planted.texts.items())[:4])
    assert search_pairs(few, {}).pairs == () and search_pairs(few, {}).threshold == float("inf")


def test_the_page_says_that_it_is_no_verdict_and_escapes_what_students_wrote(tmp_path: Path) -> None:
    evil = "</pre><script>alert(1)</script>"
    names = [f"e{n}" for n in range(8)]
    class_results = make_class(
        [{name: f"{name} = {n % 9}.{name}(a[{n}]) + {n}" for name in names} for n in range(30)], names
    )
    texts = {name: f"q_{name} = zip({name}, 77, 'x') # {evil}" for name in names}
    class_results = make_class([*(dict(m.answers) for m in class_results.members), texts, dict(texts)], names)
    pairs = search_pairs(collect_written_texts(class_results), collect_known_texts(class_results))
    write_similar_page(class_results, pairs, tmp_path / "x.similar.html")
    page = (tmp_path / "x.similar.html").read_text()
    assert [(p.first, p.second) for p in pairs.pairs] == [("s30", "s31")]
    assert "not a verdict" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "no one else is as close" in page


def test_a_page_without_pairs_says_so() -> None:
    class_results = make_class([{"e": f"x = {n}"} for n in range(6)], ["e"])
    assert "No pair is above the threshold" in render_similar_page(
        class_results, search_pairs(collect_written_texts(class_results), {})
    )


def test_a_pair_says_when_each_of_the_two_submitted_if_that_is_known() -> None:
    ada, ben = (Member(name, answers={"e": "x = 1"}) for name in ("ada", "ben"))
    pair = SimilarPair("ada", "ben", 9.0, (AlikeExercise("e", 1.0, 0, True),))

    def page(*members: Member) -> str:
        return render_similar_page(ClassResults("x", (Column("e", 1),), members), SearchResult((pair,), 5.0, 40))

    first, second = datetime(2027, 2, 1, 17, 58), datetime(2027, 2, 1, 18, 3)
    both = page(replace(ada, submitted=first), replace(ben, submitted=second))
    assert "ada: submitted 2027-02-01 17:58 UTC<br>ben: submitted 2027-02-01 18:03 UTC</p>" in both
    one = page(ada, replace(ben, submitted=second))
    assert "ada: submitted" not in one and "ben: submitted 2027-02-01 18:03 UTC</p>" in one
    assert "submitted 2" not in page(ada, ben)


def get_reference(lab: Lab) -> dict[str, Sequence[str]]:
    return {name: [text] for name, text in collect_reference(lab).items()}


def make_class(texts: Sequence[dict[str, str]], names: Sequence[str]) -> ClassResults:
    members = tuple(
        Member(f"s{n}", "", True, True, marks={name: Mark(1) for name in names}, answers=text)
        for n, text in enumerate(texts)
    )
    return ClassResults("x", tuple(Column(name, 1) for name in names), members)
