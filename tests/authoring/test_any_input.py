"""Any text in the files of a lab is refused with a message, or its release contains no solution and no hidden test."""

from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.notebooks import (
    build_release_notebook,
    build_solution_notebook,
    build_source_notebook,
    to_text,
)
from autograder.base.errors import SourceError
from tests.lab_files import read_lab_text

SOLUTION, HIDDEN = "solution_7f3a", "hidden_9c1b"
LINES = [
    "# %% given",
    "# %% scratch",
    "# %% [markdown]",
    "# %% example",
    "# %% exercise: f points=1",
    "# %% exercise: g points=2",
    "# %% quiz: z points=1",
    "# %% predict: p answer=3",
    "# ---- exercises/f.py",
    "# ---- exercises/g.py",
    "# ---- lab.py",
    "# %% exercise",
    "# %% promises",
    "# f of x -> a",
    "# %% domain",
    "# %% checks",
    "# %% hidden checks",
    '# %% right "a"',
    '# %% wrong "b" fails=a',
    "# **Title**",
    "# - [x] true",
    "# - [ ] false",
    "#   > why",
    "# Hint: where?",
    "# %% question: q [markdown] points=1",
    "# %%",
    "#%% given",
    "### BEGIN SOLUTION",
    "### END SOLUTION",
    "    ### BEGIN SOLUTION",
    "    ### END SOLUTION",
    "### BEGIN HIDDEN TESTS",
    "### END HIDDEN TESTS",
    "# ### BEGIN SOLUTION",
    "# ### END SOLUTION",
    "from labkit import check",
    "def f(x):",
    "def g(x):",
    f"    return x + {SOLUTION!r}",
    "    return x",
    'with check("a", "a"):',
    'with check("b", "b"):',
    f"    assert f(1) == {HIDDEN!r}",
    "    assert f(1)",
    "    assert g(1)",
    "# text",
    "'''",
    '"""',
    "",
    "    ",
    "\t",
    "x = 1",
    "%%time",
    "!ls",
    "raise",
    "é = '\\u2028'",
]
GOOD = [
    ["# %% given", "from labkit import check"],
    ["# %% exercise: f points=1", "# ---- exercises/f.py"]
    + ["# %% exercise", "def f(x):", '    """f of x."""', "    ### BEGIN SOLUTION", f"    return x + {SOLUTION!r}", "    ### END SOLUTION"]
    + ["# %% promises", "# f of x -> a, b", "# %% domain", "# Two inputs by hand."]
    + ["# %% checks", 'with check("a", "a"):', "    assert f(1) == 1"]
    + ["# %% hidden checks", 'with check("b", "b"):', f"    assert f(1) == {HIDDEN!r}", "# ---- lab.py"],
    ["# %% exercise: g points=1", "# ---- exercises/g.py"]
    + ["# %% exercise", "def g(x):", '    """g of x."""', "    ### BEGIN SOLUTION", f"    return x * {SOLUTION!r}", "    ### END SOLUTION"]
    + ["# %% promises", "# g of x -> a, b", "# %% domain", "# Two inputs by hand."]
    + ["# %% checks", 'with check("a", "a"):', "    assert g(1) == 1"]
    + ["# %% hidden checks", 'with check("b", "b"):', f"    assert g({HIDDEN!r}) == 1", "# ---- lab.py"],
    ["# %% question: q [markdown] points=1", "# Why?", "# ### BEGIN SOLUTION", f"# {SOLUTION}", "# ### END SOLUTION"],
    ["# %% [markdown]", "# ## Text", ""],
]  # fmt: skip


def build_or_refuse(text: str) -> bool:
    try:
        lab = read_lab_text(text)
    except SourceError as error:
        assert error.problem
        assert error.fix
        assert error.line >= 1
        return False
    release = to_text(build_release_notebook(lab))
    assert SOLUTION not in release
    assert HIDDEN not in release
    assert HIDDEN not in to_text(build_solution_notebook(lab))
    assert to_text(build_source_notebook(lab)) == to_text(build_source_notebook(lab))
    return True


@given(st.lists(st.sampled_from(LINES), max_size=40))
def test_lines_in_any_order_are_read_or_refused(lines: list[str]) -> None:
    """SOLUTION is only inside regions, or the text is not a lab: a line outside every region is no secret."""
    inside = _keep_secrets_in_regions(lines)
    build_or_refuse("\n".join(inside) + "\n")


@given(st.text(max_size=400))
def test_any_text_builds_or_is_refused(text: str) -> None:
    build_or_refuse(text)


@given(st.permutations(GOOD), st.integers(0, 60), st.sampled_from(["keep", "drop", "double", "indent", "swap"]))
def test_a_lab_with_one_damaged_line_builds_without_leaking_or_is_refused(
    cells: list[list[str]], position: int, edit: str
) -> None:
    lines = [line for cell in cells for line in cell]
    i = position % len(lines)
    if edit == "drop":
        if "SOLUTION" in lines[i]:
            assert not build_or_refuse("\n".join(lines[:i] + lines[i + 1 :]) + "\n")
            return
        lines = lines[:i] + lines[i + 1 :]
    elif edit == "double":
        lines.insert(i, lines[i])
    elif edit == "indent":
        lines[i] = "  " + lines[i]
    elif edit == "swap" and i + 1 < len(lines):
        lines[i], lines[i + 1] = lines[i + 1], lines[i]
    build_or_refuse("\n".join(_keep_secrets_in_regions(lines)) + "\n")


def test_the_good_lab_builds() -> None:
    assert build_or_refuse("\n".join(line for cell in GOOD for line in cell) + "\n")


def _keep_secrets_in_regions(lines: list[str]) -> list[str]:
    """The lines, with the secret words kept only in a solution or below '# %% hidden checks'."""
    lines_inside, inside = [], False
    for line in lines:
        text = line.strip().removeprefix("# ")
        if text.startswith("### BEGIN") or line == "# %% hidden checks":
            inside = True
        elif text.startswith("### END") or line.startswith(("# %%", "#%%", "# ----")):
            inside = False
        lines_inside.append(line if inside or not (SOLUTION in line or HIDDEN in line) else "    pass")
    return lines_inside
