"""No attack changes a mark, learns what only the course knows, harms the course or the machine, or outlives its run."""

import pytest

from autograder.model.note_sentences import describe_notes
from tests.hostile.attacked_class import (
    HIDDEN_DIGITS,
    AttackedClass,
    grade_attacked,
    list_followed,
    make_attacker_id,
    make_follower_id,
)
from tests.hostile.attackers import list_attack_names, list_slow_names, read_attack

MOST = 30_000_000  # characters
pytestmark = [pytest.mark.gate, pytest.mark.slow, pytest.mark.timeout(7200)]
each = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly if name in list_slow_names() else ())
        for name in list_attack_names()
    ],
)


@pytest.fixture(scope="module")
def attacked_class(tmp_path_factory: pytest.TempPathFactory) -> AttackedClass:
    """Slow: a class of all attackers, and of honest students who follow them."""
    return grade_attacked(tmp_path_factory.mktemp("attacked"))


@each
def test_an_attack_earns_nothing_and_costs_only_itself(attacked_class: AttackedClass, name: str) -> None:
    """The attacked exercise earns nothing, the attacker's other ones full marks, and the grading ends."""
    attack, student = read_attack(name), make_attacker_id(name)
    assert student not in attacked_class.failures, attacked_class.failures[student]
    result = attacked_class.results[student]
    points = {e.name: e.points for e in result.exercises}
    expected_points = {exercise: points[exercise] if p is None else p for exercise, p in attack.expects.items()}
    assert points == expected_points, [(c.label, c.seen) for e in result.exercises for c in e.checks]
    visible_text = f"{describe_notes(result.notes)} {[c.seen for e in result.exercises for c in e.checks]}"
    assert any(text in visible_text for text in attack.message.split(" | ")), visible_text


@each
def test_an_attack_learns_nothing_and_reaches_nothing(attacked_class: AttackedClass, name: str) -> None:
    """No secret is in its cells' outputs or on the student's page, and no step reports success."""
    outputs, page = attacked_class.outputs[make_attacker_id(name)], attacked_class.pages[make_attacker_id(name)]
    for text in (outputs, page):
        for secret in (*attacked_class.canaries, *HIDDEN_DIGITS):
            place = text.find(secret)
            assert place < 0, f"{secret} in ...{text[max(place - 200, 0) : place + 200]}..."
    place = outputs.find(attacked_class.breach)
    assert place < 0, outputs[max(place - 500, 0) : place + 500]
    assert len(outputs) < MOST and len(page) < MOST, "a browser opens them"
    assert "<script" not in page and "<img src=x" not in page


@pytest.mark.parametrize("name", list_followed())
def test_an_honest_submission_after_it_gets_full_marks(attacked_class: AttackedClass, name: str) -> None:
    result = attacked_class.results[make_follower_id(name)]
    assert result.points == result.worth, [(c.label, c.seen) for e in result.exercises for c in e.checks]
    assert result.notes == ()


def test_nothing_is_damaged_and_nothing_stays(attacked_class: AttackedClass) -> None:
    assert attacked_class.damage == []
    assert attacked_class.left == []
    assert attacked_class.heard == []
    assert attacked_class.failures == {}
