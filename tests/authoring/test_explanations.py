"""The explanation below a prediction is folded in the notebook itself; whatever leads on to the next cell isn't."""

import pytest

from autograder.authoring.notebooks import build_release_notebook, build_solution_notebook, build_source_notebook
from autograder.base.errors import SourceError
from tests.lab_files import read_lab_text

LAB = """# %% given
import torch

# %% [markdown]
# # A lab

# %% predict: sums answer=4
# What is the sum?

# %% example
print(2 + 2)

"""
EXPLANATION = """# %% [markdown]
# It's *four*.
#
# Each two counts twice.
"""
FOLDED = "<details><summary>Explanation</summary>\n\nIt's *four*.\n\nEach two counts twice.\n\n</details>"


@pytest.mark.parametrize("build", [build_source_notebook, build_release_notebook, build_solution_notebook])
def test_the_explanation_is_folded_in_every_notebook(build) -> None:  # type: ignore[no-untyped-def]
    assert build(read_lab_text(LAB + EXPLANATION)).cells[-1].source == FOLDED


@pytest.mark.parametrize("after", ["## More\n#\n# And so on.", "Why is that?", "*Why is\n# that?*", "Title\n# ====="])
def test_a_heading_or_a_last_question_ends_the_explanation(after: str) -> None:
    text = LAB + EXPLANATION + f"#\n# {after}\n\n# %% example\nprint(1)\n"
    source = build_release_notebook(read_lab_text(text)).cells[-2].source
    assert source == FOLDED + "\n\n" + after.replace("\n#\n# ", "\n\n").replace("\n# ", "\n")


@pytest.mark.parametrize("part", ["Why? Because.", "- Is it?", "```\n# # no heading\n# Why?\n# ```"])
def test_other_text_stays_in_the_explanation(part: str) -> None:
    text = LAB + EXPLANATION + f"#\n# {part}\n\n# %% example\nprint(1)\n"
    assert build_release_notebook(read_lab_text(text)).cells[-2].source.endswith("\n\n</details>")


def test_the_cell_after_the_explanation_is_not_folded_and_no_id_changes() -> None:
    lab = read_lab_text(LAB + EXPLANATION + "\n# %% [markdown]\n# Now count to five.\n")
    assert lab.cells[-1].source == "Now count to five."
    assert [cell.id for cell in lab.cells[-3:]] == ["a-lab-2", "a-lab-3", "a-lab-4"]


def test_an_error_in_the_text_after_the_explanation_names_its_own_line() -> None:
    text = LAB + EXPLANATION + "#\n# ## More\n#\n# Why?\n\n# %% [markdown]\n# No answer.\n"
    with pytest.raises(SourceError, match="no cell answers this question") as caught:
        read_lab_text(text)
    assert text.splitlines()[caught.value.line - 1] == "# Why?"


@pytest.mark.parametrize(
    ("below", "problem", "line"),
    [
        ("", "no explanation follows prediction 'sums'", "# %% predict: sums answer=4"),
        ("# %% predict: more answer=5\n# And now?\n\n" + EXPLANATION, "no explanation follows", "# %% predict: sums"),
        ("# %% answer [markdown]\n# Four.\n", "no explanation follows", "# %% predict: sums answer=4"),
        ("# %% [markdown]\n# ## More\n", "begins with a heading", "# ## More"),
        ("# %% [markdown]\n# Is it\n# four?\n\n# %% example\nprint(1)\n", "or a question", "# Is it"),
        (
            EXPLANATION + "#\n# <details><summary>So</summary>\n#\n# It is.\n#\n# </details>\n",
            "a part of the explanation of prediction 'sums' is folded",
            "# <details><summary>So</summary>",
        ),
    ],
)
def test_a_prediction_without_an_explanation_is_refused_with_a_fix(below: str, problem: str, line: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_lab_text(LAB + below)
    assert problem in caught.value.problem and caught.value.fix
    assert (LAB + below).splitlines()[caught.value.line - 1].startswith(line)
