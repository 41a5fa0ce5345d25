"""Every submission of damaged/ ends with a score: intact exercises keep their marks, and the notes explain the rest."""

import copy
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.gradebook.submission_result import SubmissionResult
from autograder.model.note_sentences import describe_notes
from tests.hostile.damaged import Case, cells, fields, files, folders
from tests.hostile.edits import EXERCISES, LAB, LAB_SOURCE, write
from tests.hostile.small_class import grade, make_course, make_folder

pytestmark = pytest.mark.gate

THEMES = (cells, fields, files, folders)
CASES = {name: case for theme in THEMES for name, case in vars(theme).items() if isinstance(case, Case)}
NAMES = sorted(CASES)
SOUND = ("00_sound", "m_sound", "zz_sound")  # first, among and last: a class is graded in the order of its names


@dataclass
class DamagedClass:
    root: Path
    results: dict[str, SubmissionResult]
    failures: dict[str, str]


@pytest.fixture(scope="module")
def damaged_class(tmp_path_factory: pytest.TempPathFactory) -> DamagedClass:
    root = tmp_path_factory.mktemp("damaged")
    sound = make_course(root, LAB, LAB_SOURCE)
    for name in SOUND:
        write(make_folder(root, name, LAB), sound)
    for name in NAMES:
        CASES[name].damage(make_folder(root, name, LAB), copy.deepcopy(sound))
    return DamagedClass(root, *grade(root, LAB))


def test_there_are_many_kinds_of_damage_and_each_says_how_it_happens() -> None:
    assert len(NAMES) >= 30
    assert all(case.sentence.strip() for case in CASES.values())


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_submission_gets_a_score_and_keeps_the_marks_of_what_is_intact(
    damaged_class: DamagedClass, name: str
) -> None:
    """Slow: the first of them grades them all."""
    assert name not in damaged_class.failures, damaged_class.failures[name]
    result, intact = damaged_class.results[name], CASES[name].intact
    points = {e.name: e.points for e in result.exercises}
    assert points == {e: worth if e in intact else 0 for e, worth in EXERCISES.items()}, result.notes


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("name", NAMES)
def test_the_notes_say_what_was_repaired(damaged_class: DamagedClass, name: str) -> None:
    """Slow: the first of them grades them all."""
    notes = " ".join(describe_notes(damaged_class.results[name].notes))
    assert CASES[name].note in notes if CASES[name].note else not notes, notes


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_sound_submissions_first_among_and_after_them_get_full_marks(damaged_class: DamagedClass) -> None:
    """Slow: it needs all of them graded."""
    for name in SOUND:
        assert damaged_class.results[name].points == sum(EXERCISES.values())
        assert not describe_notes(damaged_class.results[name].notes)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_nothing_that_a_link_points_to_is_copied(damaged_class: DamagedClass) -> None:
    """Slow: it needs all of them graded."""
    copies = [p for p in (damaged_class.root / "autograded").rglob("*") if p.is_file() and p.suffix != ".ipynb"]
    assert {p.name for p in copies} <= {"readme.txt", "timestamp.txt.unreadable"} | {
        f"{name}.not-followed" for name in ("all", "data.txt", "pipe", "submission_secret.txt")
    }
    assert not any(p.stat().st_size for p in copies if p.name.endswith(".not-followed"))
