"""The glossary: terms where the labs explain them."""

from autograder.authoring.glossary import build_glossary, collect_entries
from autograder.model.course import Lab


def test_a_term_has_the_sentence_that_explains_it_first_and_its_place(labs: list[Lab]) -> None:
    found = {entry.term: entry for entry in collect_entries(labs)}
    assert found["leaf"].sentence == "A *leaf* is a tensor where the walk ends."
    assert found["leaf"].lab == "03_autograd" and found["leaf"].section == "Leaves"
    assert len(found) > 30


def test_a_sentence_that_leans_on_the_one_before_brings_it_along(labs: list[Lab]) -> None:
    found = {entry.term: entry for entry in collect_entries(labs)}
    assert found["dtype"].sentence.startswith("A *tensor* is an array of numbers")
    assert found["dtype"].sentence.endswith("That type is its *dtype*.")


def test_italics_that_only_stress_a_word_are_no_terms(labs: list[Lab]) -> None:
    assert not {"not", "all", "later"} & {entry.term for entry in collect_entries(labs)}


def test_its_page_links_to_the_section(labs: list[Lab]) -> None:
    assert "(03_autograd/03_autograd.ipynb#Leaves)" in build_glossary(labs).cells[0].source
