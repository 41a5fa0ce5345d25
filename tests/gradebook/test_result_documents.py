"""The result document: its schema is documented, it's written whole, and a damaged one is refused."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.base.errors import GradlabError
from autograder.gradebook.result_documents import get_result_path, load_document, write_document
from autograder.model.notes import Note
from autograder.model.result import GradedCell, ResultDocument
from autograder.model.versions import Versions
from labkit import assert_close, check
from labkit.check import record_outcomes
from labkit.outcome import Outcome
from tests.conftest import ROOT

VERSIONS = Versions(gradlab="0", python="3", torch="2")


def make_document(student: str = "ada", note: str = "", seen: str = "") -> ResultDocument:
    check = Outcome("finite", hidden=True, seen=seen)
    cell = GradedCell(id="check-f", points=0, worth=2, checks=(check,))
    return ResultDocument(
        lab="x", student=student, versions=VERSIONS, isolation=("uid",), notes=(Note(words=note),), cells=(cell,)
    )


def test_the_documented_schema_is_that_of_the_model() -> None:
    schema = json.loads((ROOT / "docs" / "result.schema.json").read_text())
    assert schema == ResultDocument.model_json_schema()


@given(note=st.text(), seen=st.text())
def test_a_document_reads_back_as_it_was_whatever_a_submission_wrote(note: str, seen: str) -> None:
    text = make_document(note=note, seen=seen).to_json()
    assert ResultDocument.model_validate_json(text) == make_document(note=note, seen=seen)


def test_a_document_is_replaced_whole_and_is_that_students(tmp_path: Path) -> None:
    write_document(tmp_path, make_document(note="first"))
    write_document(tmp_path, make_document(note="second"))
    write_document(tmp_path, make_document("ben"))
    result = load_document(tmp_path, "x", "ada")
    assert result is not None and result.notes == (Note(words="second"),)
    assert sorted(p.name for p in (tmp_path / "results" / "x").iterdir()) == ["ada.json", "ben.json"]
    assert load_document(tmp_path, "x", "eve") is None


def test_a_damaged_document_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_document(tmp_path, make_document())
    path = get_result_path(tmp_path, "x", "ada")
    path.write_text(path.read_text()[:100])
    with pytest.raises(GradlabError, match=r"ada\.json isn't a result document"):
        load_document(tmp_path, "x", "ada")


def test_a_difference_reads_back_and_a_document_without_one_still_does() -> None:
    with record_outcomes() as outcomes, check("same", "the same", hint=("first", "second")):
        assert_close(torch.zeros(3, 4), torch.ones(3, 4))
    cell = GradedCell(id="check-f", points=0, worth=2, checks=tuple(outcomes))
    result = make_document().model_copy(update={"cells": (cell,)})
    assert ResultDocument.model_validate_json(result.to_json()) == result
    old = json.loads(result.to_json())
    for name in ("difference", "further_hints"):
        del old["cells"][0]["checks"][0][name]
    read = ResultDocument.model_validate(old).cells[0].checks[0]
    assert read.difference is None
    assert read.further_hints == ()
    assert read.hint == "first"
