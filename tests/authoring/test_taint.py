"""A check compares the whole result before it reads parts of it; it may take the course's own values apart."""

import ast

import pytest

from autograder.authoring.taint import find_early_uses
from autograder.authoring.trusting_checks import MEASURES
from labkit.probes import PROBES

ASKED = {"f", "probe"}

BELIEVES = {
    "a loop over it": "for got in f(t):\n    assert_close(got, want)",
    "a loop over parts of it": "got = f(t)\nfor row in got['rows']:\n    assert_close(row, want)",
    "a comprehension": "assert [g for g in f(t)] == [1]",
    "all()": "assert all(f(t))",
    "not any()": "got = f(t)\nassert not any(got)",
    "zip": "for got, one in zip(f(t), want):\n    assert_close(got, one)",
    "max, which NaN passes": "assert max(f(t)) < 1",
    "max over a list of the check's own": "assert max([f(x) for x in t]) < 1",
    "sorted": "got = f(t)\nassert_close(sorted(got)[0], 1)",
    "an index": "got = f(t)\nassert_close(got[0], want)",
    "a slice": "assert_close(f(t)[:2], want)",
    "a truth test": "assert f(t)",
    "a truth test of a part": "got = probe(f, t)\nassert got['same']",
    "not": "assert not probe(f, t)",
    "not before an inequality": "got = f(t)\nassert not got > 3",
    "a truth test in an if": "if f(t):\n    pass",
    "a probe of labkit's": "got = probes.saved_bytes(f, t)\nassert got",
    "a method's result": "assert not f(t).any()",
}
COMPARES = {
    "the whole": "assert_close(f(t), want)",
    "by ==": "got = f(t)\nassert got == want\nassert got[0]",
    "the whole first": "got = f(t)\nassert_close(got, want)\nfor row in got:\n    assert row[0]",
    "by explain": "got = f(t)\nexplain(got, want, {})\nassert got[1] is t",
    "a part by its name": "got = probe(f, t)\nassert_close(got['rows'], want)",
    "an inequality, which NaN fails": "assert f(t) <= 4",
    "its length": "assert len(f(t)) == 3",
    "a predicate": "assert isinstance(f(t), list)\nassert torch.equal(f(t), want)",
    "what is taken apart, with its length": "a, b = f(t)\nassert_close([a, b], want)",
    "one call after the other": "for x, want in cases:\n    assert_close(f(x), want)",
    "a list of the check's own": "got = [f(x) for x in t]\nfor one, want in zip(got, wants):\n    assert_close(one, want)",
    "all of its own comparisons": "assert all(f(x) == want for x, want in cases)",
    "zip that is strict": "assert_close([g for g, n in zip(f(t), want, strict=True) if n > 1], [1])",
    "in any order": "assert sorted(f(t)) == [1, 2]",
    "a gradient": "assert_close(torch.autograd.grad(f(t), t)[0], want)",
    "what a function of its own saw": "seen = Seen(g)\nf(seen)\nassert seen.calls[0].grad and not seen.kept",
}


def find_uses(body: str) -> list[tuple[int, str]]:
    check = ast.parse("with check('x'):\n" + "\n".join(f"    {line}" for line in body.splitlines())).body[0]
    assert isinstance(check, ast.With)
    return list(find_early_uses(check, ASKED))


@pytest.mark.parametrize("name", BELIEVES)
def test_reading_part_of_a_result_before_comparing_the_whole_is_found(name: str) -> None:
    assert find_uses(BELIEVES[name])


@pytest.mark.parametrize("name", COMPARES)
def test_comparing_the_whole_result_is_accepted(name: str) -> None:
    assert find_uses(COMPARES[name]) == []


def test_every_probe_whose_answer_cannot_be_recomputed_counts_as_observed() -> None:
    measuring = {f"labkit.probes.{name}" for name in ("bytes_alive", "counts", "saved_tensors", "two_devices")}
    assert {name for name, probe in PROBES.items() if probe.__module__ in measuring} == MEASURES
