"""A failed check names the call that failed, with its values."""

import linecache
import textwrap
from typing import Any

import pytest
import torch

from labkit import assert_close, check
from labkit.outcome import Outcome

DEFINITIONS = "def f(x, n=1): return x.sum() * n\ndef g(x): raise ValueError('odd')\n"


def run_check(body: str) -> Outcome:
    """Run this body in a check, as a cell of a notebook, and return its outcome."""
    source = 'with check("a") as test:\n' + textwrap.indent(body, "    ")
    name = f"<cell {hash(body)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__", "check": check, "assert_close": assert_close, "torch": torch}
    exec(DEFINITIONS, namespace)
    exec(compile(source, name, "exec"), namespace)
    outcome: Outcome = namespace["test"].outcome
    return outcome


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("assert_close(f(torch.ones(2)), 3.0)", "f(torch.ones(2))"),
        (
            "t = torch.tensor([1, 2])\nassert_close(f(t, n=2), torch.tensor(7))",
            "f(t, n=2), with t = tensor([1, 2])",
        ),
        (
            "for n in (1, 2):\n    assert_close(f(torch.ones(2), n), torch.tensor(2.0))",
            "f(torch.ones(2), n), with n = 2",
        ),
        ("got = f(torch.ones(2))\nother = 1\nassert got.shape == (2,), 'no'", "f(torch.ones(2))"),
        ("t = torch.ones(1)\ng(t)", "g(t), with t = tensor([1.])"),
        ("t = torch.ones(1)\nt += 1\ng(t)", "g(t)"),  # it isn't what it was when the call was made
        ("t = torch.ones(99)\ng(t)", "g(t)"),
        ("assert 1 == 2", ""),
        ("assert_close(f(torch.ones(2)), torch.tensor(2.0))", ""),  # it passes
    ],
)
def test_the_call_is_quoted_with_the_values_of_its_names(body: str, call: str) -> None:
    assert run_check(body).call == call
