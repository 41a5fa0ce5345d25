"""What must hold for each attack, and for the class after all of them."""

from __future__ import annotations

from tests.hostile.attacked_class import HIDDEN_DIGITS, SUBMISSION_SECONDS, Attacked, after, attacker
from tests.hostile.attackers import read_attack

GRACE = 10  # seconds to start, stop and write, on a busy machine
MOST = 30_000_000  # characters


def assert_nothing_is_forged(graded: Attacked, kind: str, name: str) -> None:
    """The attacked exercise earns nothing, the attacker's other ones what they are worth, and the grading ends."""
    attack, student = read_attack(kind, name), attacker(kind, name)
    assert student not in graded.failures, graded.failures[student]
    result = graded.results[student]
    points = {e.name: e.points for e in result.exercises}
    wanted = {exercise: points[exercise] if p is None else p for exercise, p in attack.expects.items()}
    assert points == wanted, [(c.label, c.seen) for e in result.exercises for c in e.checks]
    assert graded.seconds[student] < SUBMISSION_SECONDS + GRACE
    assert attack.told in f"{result.notes} {[c.seen for e in result.exercises for c in e.checks]}"


def assert_nothing_is_learned(graded: Attacked, kind: str, name: str) -> None:
    """No secret in what the attacker's cells put out, nor on the page that the student gets."""
    student = attacker(kind, name)
    for text in (graded.outputs[student], graded.pages[student]):
        for secret in (*graded.canaries, *HIDDEN_DIGITS):
            place = text.find(secret)
            assert place < 0, f"{secret} in ...{text[max(place - 200, 0) : place + 200]}..."


def assert_nothing_is_reached(graded: Attacked, kind: str, name: str) -> None:
    """No step of the attack says that it got through."""
    text = graded.outputs[attacker(kind, name)]
    place = text.find(graded.breach)
    assert place < 0, text[max(place - 500, 0) : place + 500]


def assert_nothing_is_too_large_or_runs_elsewhere(graded: Attacked, kind: str, name: str) -> None:
    """What the instructor and the student open in a browser is of a size to be opened, and runs no script of theirs."""
    student = attacker(kind, name)
    assert len(graded.outputs[student]) < MOST
    assert len(graded.pages[student]) < MOST
    assert "<script" not in graded.pages[student]
    assert "<img src=x" not in graded.pages[student]


def assert_the_next_is_graded_as_ever(graded: Attacked, kind: str, name: str) -> None:
    result = graded.results[after(kind, name)]
    assert result.points == result.worth, [(c.label, c.seen) for e in result.exercises for c in e.checks]
    assert result.notes == ()


def assert_nothing_is_damaged_or_left(graded: Attacked) -> None:
    assert graded.damage == []
    assert graded.left == []
    assert graded.heard == []
    assert graded.failures == {}
