"""Chosen items give between zero and all of the question's points; a damaged file is reported."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from autograder.base.errors import GradlabError
from autograder.desk.rubric import (
    MAX_ITEMS,
    Item,
    Rubric,
    get_rubrics_path,
    lock_rubrics,
    make_id,
    read_rubrics,
    replace_choice,
    replace_items,
    write_rubric,
)

POINTS = st.floats(-1000, 1000).map(lambda number: round(number, 2))
ITEMS = st.lists(POINTS, max_size=12).map(
    lambda all_points: tuple(Item(id=f"{n:08x}", text="x", points=each) for n, each in enumerate(all_points))
)


@given(ITEMS, st.data(), st.floats(0, 100))
def test_points_of_a_rubric_stay_between_zero_and_the_maximum(items, data, worth) -> None:
    chosen = data.draw(st.permutations(items).map(lambda order: order[: len(order) // 2]))
    rubric = replace_choice(Rubric(items=items), "ada", tuple(item.id for item in chosen))
    points = rubric.points("ada", worth)
    assert rubric.points("ben", worth) is None
    if not chosen:
        assert points is None
        return
    assert points is not None and 0 <= points <= round(worth, 4)
    total = sum(item.points for item in chosen)
    if 0 <= total <= worth:
        assert points == pytest.approx(total, abs=1e-3)
    assert points == replace_choice(rubric, "ada", rubric.chosen["ada"][::-1]).points("ada", worth)


def test_a_deleted_item_is_chosen_for_no_one_and_the_version_changes_with_any_edit() -> None:
    credit, zero = (Item(id=make_id(), text=text, points=points) for text, points in (("some", 1), ("none", 0)))
    rubric = replace_choice(Rubric(items=(credit, zero)), "ada", (zero.id, credit.id))
    assert rubric.chosen == {"ada": (credit.id, zero.id)}, "in the rubric's order"
    assert replace_items(rubric, (zero,)).chosen == {"ada": (zero.id,)}
    assert replace_items(rubric, ()).chosen == {}
    dearer = credit.model_copy(update={"points": 2.0})
    assert (
        len({rubric.version, replace_items(rubric, (zero,)).version, replace_items(rubric, (dearer, zero)).version})
        == 3
    )
    with pytest.raises(GradlabError, match="the same id: load the page again"):
        replace_items(rubric, (credit, dearer))
    many = tuple(credit.model_copy(update={"id": make_id()}) for _ in range(MAX_ITEMS + 1))
    with pytest.raises(GradlabError, match=f"at most {MAX_ITEMS} items, and this one {MAX_ITEMS + 1}"):
        replace_items(rubric, many)


@pytest.mark.parametrize("wrong", [{"text": ""}, {"text": "x" * 2001}, {"points": float("nan")}, {"id": "../../etc"}])
def test_an_item_has_a_short_text_and_a_number(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Item.model_validate({"id": make_id(), "text": "x", "points": 1, **wrong})


def test_rubrics_of_a_lab_are_one_file_that_says_where_it_is_damaged(tmp_path: Path) -> None:
    rubric = Rubric(items=(Item(id=make_id(), text="ä `x` $x^2$", points=0.5),))
    for question in ("question-why", "p1/free"):
        with lock_rubrics(tmp_path, "x"):
            write_rubric(tmp_path, "x", question, rubric)
    assert read_rubrics(tmp_path, "x").questions == {"question-why": rubric, "p1/free": rubric}
    get_rubrics_path(tmp_path, "x").write_text('{"questions": {"why": 1}}')
    with pytest.raises(GradlabError, match=r"(?s)rubrics/x\.json can't be read.*questions\.why.*fix: correct it"):
        read_rubrics(tmp_path, "x")
