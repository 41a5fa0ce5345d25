"""Result documents of earlier versions are read like current ones. The files here were written by those versions."""

import json
from collections import Counter
from pathlib import Path

import pytest

from autograder.model.note_sentences import describe_notes
from autograder.model.notes import NoteKind
from autograder.model.result import ResultDocument
from labkit.cause import Cause

HERE = Path(__file__).parent


def read(name: str) -> tuple[dict[str, list[str]], ResultDocument]:
    text = (HERE / f"result_1_{name}.json").read_text(encoding="utf-8")
    return json.loads(text), ResultDocument.model_validate_json(text)


@pytest.mark.parametrize("name", ["lab", "stock"])
def test_the_sentences_of_the_first_format_are_the_same_now(name: str) -> None:
    before, result = read(name)
    assert describe_notes(result.notes, len(result.notebooks)) == before["notes"]
    assert result.format == "gradlab result 2"
    assert ResultDocument.model_validate_json(result.to_json()) == result


def test_notes_of_the_first_format_become_values() -> None:
    _, result = read("stock")
    stop_note, refusal_note = result.notes
    assert (stop_note.kind, stop_note.notebook, stop_note.cell) == (NoteKind.STOPPED, "one", "hangs")
    assert stop_note.words == "the time limit of 2 s for a cell was reached"
    assert (refusal_note.kind, refusal_note.notebook) == (NoteKind.REFUSED, "two")


def test_messages_of_checks_in_the_first_format_become_causes() -> None:
    _, result = read("lab")
    outcomes = [outcome for cell in result.cells for outcome in cell.checks]
    causes = Counter(outcome.cause for outcome in outcomes)
    assert causes[Cause.UNWRITTEN] and causes[Cause.TIME]
    assert all(outcome.limit > 0 for outcome in outcomes if outcome.cause is Cause.TIME)
