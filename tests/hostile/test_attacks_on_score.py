"""No attack changes a mark: not the attacker's, and not that of whoever is graded next."""

from __future__ import annotations

import pytest

from tests.hostile import what_holds
from tests.hostile.attacked_class import Attacked, grade_attacked
from tests.hostile.attackers import names_of

KIND = "score"
NAMES = names_of(KIND)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """Slow: a class of `NAMES`, and as many honest students."""
    return grade_attacked(tmp_path_factory.mktemp(KIND), KIND)


@pytest.mark.parametrize("name", NAMES)
def test_it_earns_nothing_and_costs_only_itself(graded: Attacked, name: str) -> None:
    """Slow: the first of them grades them all."""
    what_holds.assert_nothing_is_forged(graded, KIND, name)


@pytest.mark.parametrize("name", NAMES)
def test_it_gets_nowhere(graded: Attacked, name: str) -> None:
    """Slow: the first of them grades them all."""
    what_holds.assert_nothing_is_learned(graded, KIND, name)
    what_holds.assert_nothing_is_reached(graded, KIND, name)
    what_holds.assert_nothing_is_too_large_or_runs_elsewhere(graded, KIND, name)


@pytest.mark.parametrize("name", NAMES)
def test_an_honest_submission_after_it_gets_full_marks(graded: Attacked, name: str) -> None:
    """Slow: the first of them grades them all."""
    what_holds.assert_the_next_is_graded_as_ever(graded, KIND, name)


def test_nothing_is_damaged_and_nothing_stays(graded: Attacked) -> None:
    """Slow: it needs all of them graded."""
    what_holds.assert_nothing_is_damaged_or_left(graded)
