"""No attack changes a mark, learns what only the course knows, harms the course or the machine, or outlives its run."""

import pytest

from autograder.model.messages import describe_notes
from tests.hostile.attacked_class import (
    HIDDEN_DIGITS,
    Attacked,
    after,
    attacker,
    followed,
    grade_attacked,
)
from tests.hostile.attackers import names, read_attack

MOST = 30_000_000  # characters
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
each = pytest.mark.parametrize("name", names())


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """Slow: a class of all attackers, and half as many honest students."""
    return grade_attacked(tmp_path_factory.mktemp("attacked"))


@each
def test_it_earns_nothing_and_costs_only_itself(graded: Attacked, name: str) -> None:
    """The attacked exercise earns nothing, the attacker's other ones what they are worth, and the grading ends."""
    attack, student = read_attack(name), attacker(name)
    assert student not in graded.failures, graded.failures[student]
    result = graded.results[student]
    points = {e.name: e.points for e in result.exercises}
    wanted = {exercise: points[exercise] if p is None else p for exercise, p in attack.expects.items()}
    assert points == wanted, [(c.label, c.seen) for e in result.exercises for c in e.checks]
    visible_text = f"{describe_notes(result.notes)} {[c.seen for e in result.exercises for c in e.checks]}"
    assert any(text in visible_text for text in attack.message.split(" | ")), visible_text


@each
def test_it_learns_nothing_and_reaches_nothing(graded: Attacked, name: str) -> None:
    """No secret in what its cells put out, nor on the student's page; no step of it says that it got through."""
    outputs, page = graded.outputs[attacker(name)], graded.pages[attacker(name)]
    for text in (outputs, page):
        for secret in (*graded.canaries, *HIDDEN_DIGITS):
            place = text.find(secret)
            assert place < 0, f"{secret} in ...{text[max(place - 200, 0) : place + 200]}..."
    place = outputs.find(graded.breach)
    assert place < 0, outputs[max(place - 500, 0) : place + 500]
    assert len(outputs) < MOST and len(page) < MOST, "a browser opens them"
    assert "<script" not in page and "<img src=x" not in page


@pytest.mark.parametrize("name", followed())
def test_an_honest_submission_after_it_gets_full_marks(graded: Attacked, name: str) -> None:
    result = graded.results[after(name)]
    assert result.points == result.worth, [(c.label, c.seen) for e in result.exercises for c in e.checks]
    assert result.notes == ()


def test_nothing_is_damaged_and_nothing_stays(graded: Attacked) -> None:
    assert graded.damage == []
    assert graded.left == []
    assert graded.heard == []
    assert graded.failures == {}
