"""The glossary: terms, with the places where the labs explain them."""

from autograder.authoring.glossary import build_glossary, collect_entries
from autograder.model.course import Lab


def test_a_term_has_its_first_explanation_with_lab_and_section(labs: list[Lab]) -> None:
    entries = {entry.term: entry for entry in collect_entries(labs)}
    assert entries["leaf"].sentence == "A *leaf* is a tensor without a `grad_fn`: no recorded operation made it."
    assert entries["leaf"].lab == "03_autograd" and entries["leaf"].section == "Leaves"
    assert len(entries) > 30


def test_a_sentence_that_refers_to_the_previous_one_includes_it(labs: list[Lab]) -> None:
    entries = {entry.term: entry for entry in collect_entries(labs)}
    assert entries["causal"].sentence.startswith("A model that predicts the next word must not see that word")
    assert entries["causal"].sentence.endswith("That's called *causal* attention.")


def test_terms_are_found_after_their_explanation_and_before_it(labs: list[Lab]) -> None:
    terms = {entry.term for entry in collect_entries(labs)}
    assert {"dtype", "shape", "stride", "contiguous", "softmax", "cross entropy", "version counter"} <= terms


def test_italics_for_emphasis_are_not_terms(labs: list[Lab]) -> None:
    assert not {"not", "all", "later", "your turn", "further practice"} & {
        entry.term for entry in collect_entries(labs)
    }


def test_the_page_of_the_glossary_links_to_the_section(labs: list[Lab]) -> None:
    assert "(03_autograd/03_autograd.ipynb#Leaves)" in build_glossary(labs).cells[0].source
