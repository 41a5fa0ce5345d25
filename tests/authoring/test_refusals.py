"""Bad source is refused with the file, the line, and what to write."""

from pathlib import Path

import pytest

from autograder.base.errors import SourceError
from autograder.model.course import CellKind, Lab
from tests.lab_files import read_lab_text, split_files

GOOD = '''# %% given
import torch

from labkit import assert_close, check, probes

# %% [markdown]
# # A lab

# %% exercise: double points=2
# ---- exercises/double.py
# %% exercise
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION

# %% promises
# Twice x -> one, three

# %% domain
# The inputs are picked by hand.

# %% checks
with check("one", "one becomes two"):
    assert_close(double(1), 2)

# %% hidden checks
with check("three", "three becomes six", weight=3):
    assert_close(double(3), 6)
# ---- lab.py
# %% question: why [markdown] points=1
# Why?
#
# ### BEGIN SOLUTION
# Because.
# ### END SOLUTION
'''


QUOTED = """    try:
        assert_close(double(1), 2)
    except TypeError as error:
        raise AssertionError(f"it raised {error}") from None
"""
FOLDER = Path("labs/x")


def read_course_text(text: str) -> Lab:
    return read_lab_text(text, FOLDER)


def get_refusal(text: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read_course_text(text)
    return caught.value


def get_line(text: str, error: SourceError) -> str:
    """The line of the file that the error names."""
    return split_files(text)[error.path.relative_to(FOLDER).as_posix()].splitlines()[error.line - 1]


def test_a_good_lab_is_read_with_its_exercises_checks_and_points() -> None:
    lab = read_course_text(GOOD)
    exercise = lab.exercise("double")
    assert lab.points == 3
    assert [(c.id, c.label, c.weight, c.hidden) for c in exercise.checks] == [
        ("one", "one becomes two", 1, False),
        ("three", "three becomes six", 3, True),
    ]
    assert exercise.parameters == ("x",)
    assert [q.name for q in lab.questions] == ["why"]


def test_cell_ids_of_a_section_stay_when_another_section_grows() -> None:
    longer_source = GOOD.replace("# # A lab", "# # Before\n\n# %% given\nready = True\n\n# %% [markdown]\n# # A lab")
    before, after = ([c.id for c in read_course_text(text).cells] for text in (GOOD, longer_source))
    assert set(before) <= set(after)


@pytest.mark.parametrize(
    ("old", "new", "problem", "at"),
    [
        ("    ### END SOLUTION\n", "", "not closed", "### BEGIN SOLUTION"),
        ("    ### BEGIN SOLUTION\n", "", "has no matching BEGIN", "### END SOLUTION"),
        ("# %% hidden checks", "### BEGIN HIDDEN TESTS\npass\n### END HIDDEN TESTS", "below '# %% hidden checks'", "### BEGIN"),
        ("# %% hidden checks", "# %% concealed checks", "unknown kind of cell", "concealed"),
        ("# %% hidden checks", "# %% checks", "a second cell", "# %% checks"),
        ("# %% exercise\n", "# %% exercise\nx0 = 1\n# %% given\n", "given below exercise", "# %% given"),
        ("# %% checks", "# %% hidden checks", "a second cell", "# %% hidden checks"),
        ("    ### BEGIN SOLUTION", "    # BEGIN SOLUTION", "treat this line as a marker", "# BEGIN SOLUTION"),
        ("exercise: double", "exercise: triple", "there is no exercises/triple.py", "exercise: triple"),
        ("points=2", "", "no points", "exercise: double"),
        ("points=2\n", "points=2\nx0 = 1\n", "code below an exercise's line", "x0 = 1"),
        ("# %% given\nimport", "# %% check: double\nimport", "unknown kind of cell", "check: double"),
        ("points=2", "points=0", "must be above 0", "points=0"),
        ("points=2", "points=two", "must be above 0", "points=two"),
        ("points=2", "points=nan", "must be above 0", "points=nan"),
        ("points=2", "marks=2", "no option 'marks'", "marks=2"),
        ("# %% given", "# %% given: it", "unknown kind of cell", "given: it"),
        ("# %% given", "# %% gven", "unknown kind of cell", "gven"),
        ("# %% given", '# %% given a="', "can't read", 'a="'),
        ('check("three"', 'check("one"', "have the id 'one'", 'check("one"'),
        ('check("three", ', "check(", "takes an id and a label", "three becomes"),
        ('check("three"', 'check("Three!"', "a short name", "Three!"),
        ("    return x * 2", "    return y * 2", "'y' is not defined", "y * 2"),
        ("    return x * 2", "    return x *", "not valid Python", "return x *"),
        ("def double(x):", "def dubble(x):", "does not define 'double'", "# %% exercise"),
        ('    assert_close(double(1), 2)', '    assert_close(dbl(1), 2)', "'dbl' is not defined", "dbl(1)"),
        ('with check("one", ', 'got = double(1)\nwith check("one", ', "outside a check", "got ="),
        ('with check("one", "one becomes two"):', 'for i in [1]:\n  with check("one", "l"):', "at the top level", "with check"),
        ('check("three", "three becomes six", weight=3)', 'check("three", "one becomes two")', "have the label", 'check("three"'),
        ('weight=3)', 'weight=0)', "written out", "weight=0"),
        ('weight=3)', 'wait=1)', "no option 'wait'", "wait=1"),
        ('"three becomes six"', "label", "plain text", "label"),
        ('"one becomes two"', "'a' + 'b'", "plain text", "'a' + 'b'"),
        ('weight=3)', 'observed=1)', "written out", "observed=1"),
        ('weight=3)', 'observed=True, guard=True)', "observed check that is a guard", "guard=True"),
        ('weight=3)', 'observed=True, required=True)', "observed check that is required", "required=True"),
        ("assert_close(double(3), 6)", "assert double(3)", "before it was compared as a whole", "assert double(3)"),
        ("assert_close(double(3), 6)", "[assert_close(n, 6) for n in double([3])]", "a loop over it", "for n in"),
        ("assert_close(double(3), 6)", "n = 6; assert_close(probes.saved_bytes(double, 3), n)", "says about itself", "saved_b"),
        ('weight=3)', 'observed=True)', "observed checks hold 1 of the lab's 3 points", "# %% checks"),
        ("double(3), 6)", 'double(3), 6, name=f"for {3}")', "a name that isn't written out", 'f"for {3}"'),
        ("double(3), 6)", 'double(3), 6, name="at " + str(3))', "a name that isn't written out", "str(3)"),
        ("double(3), 6)", 'double(3), 6, **{"name": str(3)})', "a name that isn't written out", "str(3)"),
        ("assert_close(double(3), 6)", 'assert double(3) == 6, f"not {6}"', "a message that isn't", 'f"not {6}"'),
        ("assert_close(double(3), 6)", 'want = "6"; assert double(3) == 6, want', "a message that isn't", "want"),
        ("assert_close(double(3), 6)", 'raise AssertionError(f"not {6}")', "a message that isn't", 'f"not {6}"'),
        ("assert_close(double(3), 6)", "assert_close({n: double(n) for n in [3]}, {3: 6})", "a key of a dict", "{n:"),
        ("assert_close(double(1), 2)", 'assert double(1) == 2, f"not {chr(32).join(double(1))}"', "a message joins", "join"),
        ("    assert_close(double(1), 2)", QUOTED, "a message quotes an exception", "{error}"),
        ('with check("three"', 'def same(a, b):\n    assert a == b, f"not {b}"\n\n\nwith check("three"', "a message", "not {b}"),
        ('with check("one"', 'def same(a, b):\n    assert a == b, f"not {b}"\n\n\nwith check("one"', "a message", "not {b}"),
        ("import torch\n", "import torch\nx0 = torch.rand(3)\n", "without a seed", "torch.rand"),
        ("# %% [markdown]\n# # A", "# %% [markdown] points=2\n# # A", "no option 'points'", "[markdown] points"),
        ("[markdown] points=1", "points=1", "wrong type", "question: why"),
        ("# # A lab", "# # A lab\n#\n# Its 2**60 + 2**36.", "reads '**' in this paragraph", "2**60"),
        ("# # A lab", "# # A lab\n#\n# Its __init__ runs.", "reads '__' in this paragraph", "__init__"),
        ("# ### BEGIN SOLUTION\n# Because.\n# ### END SOLUTION\n", "", "no solution", "question: why"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_and_a_fix(old: str, new: str, problem: str, at: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    error = get_refusal(text)
    assert problem in error.problem or problem in error.fix
    assert error.fix
    assert at in get_line(text, error)


def test_a_given_function_compares_under_a_name_that_is_written_out() -> None:
    same = '\n\ndef same(got, want):\n    assert got is not None, f"{got}"\n    assert_close(got, want, name=TEXT)\n'
    text = GOOD.replace("check, probes\n", "check, probes\n" + same)
    error = get_refusal(text.replace("TEXT", 'f"not {want}"'))
    assert "a name that isn't written out" in error.problem
    assert "not {want}" in get_line(text.replace("TEXT", 'f"not {want}"'), error)
    read_course_text(text.replace("TEXT", '"the double"'))


def test_a_visible_check_may_show_its_input() -> None:
    read_course_text(GOOD.replace("assert_close(double(1), 2)", 'assert_close(double(1), 2, name=f"for {1}")'))


def test_observed_checks_may_hold_a_fifth_of_a_labs_points() -> None:
    source = GOOD.replace("weight=3)", "weight=3, observed=True)")
    assert "1.5 of the lab's 3 points" in get_refusal(source).problem
    most = source.replace("[markdown] points=1", "[markdown] points=5.5")
    assert read_course_text(most).exercise("double").observed_points == 1.5
    assert "are allowed" in get_refusal(source.replace("[markdown] points=1", "[markdown] points=5.4")).problem


@pytest.mark.parametrize("other", ["observed=True", "guard=True"])
def test_an_observed_check_needs_a_check_of_a_value_too(other: str) -> None:
    text = GOOD.replace("weight=3)", "observed=True)").replace('"one becomes two")', f'"one becomes two", {other})')
    error = get_refusal(text)
    assert "without a check of a value" in error.problem
    assert "observed=True" in get_line(text, error)


def test_an_exercise_without_a_check_is_refused() -> None:
    text = GOOD[: GOOD.index("# %% checks")]
    error = get_refusal(text)
    assert "no cell '# %% checks'" in error.problem
    assert error.path.name == "double.py"


def test_an_exercise_appears_once() -> None:
    error = get_refusal(GOOD.replace("# %% question", "# %% exercise: double points=1\n\n# %% question"))
    assert "is already at line" in error.problem


def test_a_question_has_a_name_that_no_exercise_has() -> None:
    error = get_refusal(GOOD.replace("# %% question: why", "# %% question: double"))
    assert "check 'double'" in error.problem and "earns points under this name" in error.problem


def test_a_file_that_the_lesson_does_not_mention_is_refused() -> None:
    error = get_refusal(GOOD + "# ---- exercises/triple.py\n# %% exercise\n")
    assert "has no line for 'triple'" in error.problem
    assert error.path.name == "triple.py"


def test_a_hidden_region_outside_a_check_cell_is_refused() -> None:
    text = GOOD.replace("import torch\n", "import torch\n### BEGIN HIDDEN TESTS\nsecret = 1\n### END HIDDEN TESTS\n")
    error = get_refusal(text)
    assert "below '# %% hidden checks'" in error.fix
    assert get_line(text, error) == "### BEGIN HIDDEN TESTS"


EXAMPLE = "# %% example\nshown = torch.ones(2)\nprint(shown)\n\n# %% [markdown]\n# # A lab"


def test_an_example_is_read_only_and_no_exercise_check_or_given_cell_may_read_what_it_binds() -> None:
    text = GOOD.replace("# %% [markdown]\n# # A lab", EXAMPLE)
    assert [cell.kind for cell in read_course_text(text).cells][1] is CellKind.EXAMPLE
    for old, new in (
        ("    return x * 2", "    return x * 2 + 0 * len(shown)"),
        ("assert_close(double(3), 6)", "assert_close(double(3), 6 * len(shown))"),
        ("# %% question", "# %% given\nmore = 2 * shown\n\n# %% question"),
    ):
        error = get_refusal(text.replace(old, new))
        assert "reads 'shown', which the example at lab.py:6 binds" in error.problem
    read_course_text(text.replace("# %% question", "# %% scratch\nshown\n\n# %% example\nshown + 1\n\n# %% question"))
    read_course_text(text.replace("# %% question", "# %% given\nshown = 1\nmore = 2 * shown\n\n# %% question"))


def test_a_given_name_that_an_example_rebinds_is_no_longer_given() -> None:
    source = EXAMPLE.replace("# %% example", "# %% given\nshown = 1\n\n# %% example")
    text = GOOD.replace("# %% [markdown]\n# # A lab", source).replace("return x * 2", "return x * 2 * shown")
    assert "reads 'shown'" in get_refusal(text).problem


def test_a_solution_region_in_prose_is_refused() -> None:
    text = GOOD.replace("# # A lab", "# # A lab\n# ### BEGIN SOLUTION\n# secret\n# ### END SOLUTION")
    assert "outside an exercise" in get_refusal(text).problem


def test_a_name_that_only_the_solution_defines_is_undefined_for_students() -> None:
    text = GOOD.replace(
        "    ### BEGIN SOLUTION\n    return x * 2\n    ### END SOLUTION",
        "    return helper(x)\n\n### BEGIN SOLUTION\ndef helper(x):\n    return x * 2\n### END SOLUTION",
    ).replace("    assert_close(double(3), 6)", "    assert_close(helper(3), 6)")
    error = get_refusal(text)
    assert "'helper', which only the solution" in error.problem
    assert get_line(text, error) == "# %% checks"


def test_a_solution_marker_is_only_accepted_where_its_stub_belongs() -> None:
    text = GOOD.replace("    ### BEGIN SOLUTION\n    return x * 2", "### BEGIN SOLUTION\n    return x * 2")
    error = get_refusal(text)
    assert "not indented like the code" in error.problem
    assert get_line(text, error) == "### BEGIN SOLUTION"


def test_a_cell_holds_whole_statements() -> None:
    text = GOOD.replace("import torch\n", "import torch\n\nif torch:\n# %% given\n    ready = True\n\n# %% given\n")
    error = get_refusal(text)
    assert "on its own" in error.problem
    assert get_line(text, error) == "if torch:"


def test_a_check_cell_must_not_set_a_name_that_another_cell_reads() -> None:
    text = GOOD.replace('with check("one", ', 'torch = None\nwith check("one", ').replace(
        "# %% question", "# %% given\nprint(torch)\n\n# %% question"
    )
    error = get_refusal(text)
    assert "sets 'torch'" in error.problem
    assert get_line(text, error) == "# %% checks"


def test_a_marker_like_line_is_refused_wherever_nbgrader_would_act_on_it() -> None:
    for line in ("# END SOLUTION", "x = 'BEGIN HIDDEN TESTS'", "### BEGIN MARK SCHEME", "### AUTOTEST double(1)"):
        text = GOOD.replace("import torch\n", f"import torch\n{line}\n")
        assert get_line(text, get_refusal(text)) == line


def test_code_above_the_first_cell_is_refused() -> None:
    assert get_refusal("import os\n" + GOOD).line == 1


def test_a_cell_mark_inside_a_string_is_refused() -> None:
    assert "# %%" in get_refusal(GOOD.replace("import torch\n", 'import torch\ntext = """\n# %% given\n"""\n')).problem


def test_an_explain_without_its_table_is_refused() -> None:
    text = GOOD.replace("    assert_close(double(1), 2)", "    explain(double(1), 2)").replace(
        "import assert_close, check", "import assert_close, check, explain"
    )
    error = get_refusal(text)
    assert "misconceptions" in error.problem
    assert "explain(double" in get_line(text, error)


def test_a_hint_next_to_other_code_is_refused() -> None:
    code = 'import torch\nhint("Which operator doubles?")\n'
    text = GOOD.replace("import torch\n", code, 1)
    error = get_refusal(text)
    assert "a given cell of its own" in error.fix
    assert "hint(" in get_line(text, error)


READS = """    file = torch.load(double(1))
    assert_close(file, 2)
"""
GIVEN = """def opened(data):
    return zipfile.ZipFile(data)


class Program:
    def text(self, data):
        return opened(data).read("x")


"""


def test_a_check_that_reads_a_file_in_the_grader_is_refused() -> None:
    """The student's process decides the sizes in a file."""
    text = GOOD.replace("    assert_close(double(1), 2)\n", READS)
    error = get_refusal(text)
    assert "reads a file in the grader: torch.load" in error.problem
    assert "torch.load" in get_line(text, error)


def test_a_check_that_reads_a_file_through_a_given_class_is_refused() -> None:
    text = GOOD.replace("\n# %% [markdown]\n# # A lab", "import zipfile\n" + GIVEN + "# %% [markdown]\n# # A lab")
    read_course_text(text)
    text = text.replace("    assert_close(double(3), 6)", "    assert_close(Program().text(double(3)), 6)")
    error = get_refusal(text)
    assert "reads a file in the grader: zipfile.ZipFile" in error.problem
    assert "zipfile.ZipFile" in get_line(text, error)


def test_a_probe_may_read_a_file() -> None:
    read_course_text(
        GOOD.replace(
            "\n# %% [markdown]\n# # A lab",
            "\n@probes.probe\ndef opened(f):\n    return torch.load(f())\n\n# %% [markdown]\n# # A lab",
        )
    )


BY_HAND = "# %% domain\n# The inputs are picked by hand.\n\n"
DOMAIN = """# %% domain
@domain(reference, "zero")
def arguments(draw, edge):
    return (0 if edge else draw(st.integers(1, 9)),)

"""


def test_a_domain_and_the_reference_are_in_the_hidden_part_of_the_checks() -> None:
    text = GOOD.replace(BY_HAND, DOMAIN)
    text = text.replace("assert_close(double(3), 6)", "arguments.assert_results(double)")
    (check,) = (cell for cell in read_course_text(text).cells if cell.kind is CellKind.CHECK)
    visible, _, hidden = check.source.partition("### BEGIN HIDDEN TESTS")
    assert "return x * 2" in hidden and "st.integers(1, 9)" in hidden and "BEGIN SOLUTION" not in hidden
    assert "return x * 2" not in visible and "domain" not in visible
    file = text.partition("# ---- exercises/double.py\n")[2].split("\n")
    for line in (DOMAIN.split("\n")[3], "    arguments.assert_results(double)"):
        assert check.get_line(check.source.split("\n").index(line) + 1) == file.index(line) + 1


@pytest.mark.parametrize("part", ["promises", "domain"])
def test_an_exercise_without_promises_or_a_domain_is_refused(part: str) -> None:
    before, _, rest = GOOD.partition(f"# %% {part}\n")
    text = before + rest[rest.index("# %%") :]
    assert get_refusal(text).problem == f"this file has no cell '# %% {part}'"


def test_an_empty_domain_is_refused_and_one_that_says_why_is_not() -> None:
    error = get_refusal(GOOD.replace(BY_HAND, "# %% domain\n\n"))
    assert error.problem == "an empty domain"
    assert "say in a comment" in error.fix
    (check,) = (cell for cell in read_course_text(GOOD).cells if cell.kind is CellKind.CHECK)
    assert "picked by hand" not in check.source


def test_a_domain_that_no_hidden_check_tries_out_is_refused() -> None:
    text = GOOD.replace(BY_HAND, DOMAIN)
    begin, end = text.index("# %% hidden checks"), text.index("# ---- lab.py")
    assert "a domain without hidden checks" in get_refusal(text[:begin] + text[end:]).problem


@pytest.mark.parametrize(
    ("cell", "is_refused"),
    [
        ("print(double(1))", True),
        ("for function in (double, abs):\n    print(function(-1))", True),
        ("def twice(x=double(1)):\n    return x", True),
        ("try:\n    print(double(1))\nexcept Exception as error:\n    print(repr(error))", False),
        ("def quadruple(x):\n    return double(double(x))", False),
        ("print(max([1], key=lambda x: double(x)))", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["scratch", "example"])
def test_course_code_that_an_unwritten_answer_ends_is_refused(kind: str, cell: str, is_refused: bool) -> None:
    text = GOOD.replace("# %% question", f"# %% {kind}\n{cell}\n\n# %% question")
    if is_refused:
        error = get_refusal(text)
        assert "until the exercise 'double' is written, this cell ends Run All" in error.problem
        assert "double" in get_line(text, error)
    else:
        read_course_text(text)
