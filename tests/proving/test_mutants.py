"""Mutants: each differs from the reference by one edit that runs."""

import ast

from autograder.proving.mutants import make_mutants

SOURCE = '''
def f(x: Tensor, scale: float = 2.0) -> Tensor:
    """Docstring 1 + 1."""
    if x.dim() > 1 and not scale:
        return x.sum(dim=-1)
    with torch.no_grad():
        y = -x * scale
    return torch.where(y, x, y)
'''


def test_each_mutant_is_another_program_that_parses() -> None:
    mutants = make_mutants(SOURCE)
    assert len(set(mutants.values())) == len(mutants) > 15
    for source in mutants.values():
        ast.parse(source)
        assert "Docstring 1 + 1." in source
        assert "x: Tensor, scale: float" in source


def test_the_kinds_of_edits() -> None:
    text = "\n".join(make_mutants(SOURCE))
    for kind in (
        "Gt to GtE", "And to Or", "2.0 to 3.0", "argument dim dropped", "first two arguments swapped",
        "sign or not taken away", "condition negated", "statement left out", "with taken away", "call of sum left out",
    ):  # fmt: skip
        assert kind in text


def test_descriptions_stay_the_same_from_run_to_run_and_fit_in_a_header() -> None:
    assert list(make_mutants(SOURCE)) == list(make_mutants(SOURCE))
    assert all('"' not in description and "\n" not in description for description in make_mutants(SOURCE))
