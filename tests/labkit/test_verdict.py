"""The verdict: a card if HTML is shown, text if not, and a number for nbgrader."""

import json
import math
import re
from dataclasses import replace
from typing import NoReturn

import torch

from labkit import assert_close, check
from labkit.cause import Cause
from labkit.check import record_outcomes
from labkit.outcome import Outcome, build_outcome, compute_earned
from labkit.verdict import MIME, NO_RETURN, Verdict, render_html
from tests.page_text import read_page_text

GOOD = Outcome("rows sum to <one>", passed=True, notes=["UserWarning: careful"])
BAD = Outcome("finite", weight=3, hint="What is exp(1000)?", seen="your result is nan", expected="0.5")
LATER = ("large logits <stay> finite", "the input keeps its values")


def make_verdict(*outcomes: Outcome, later: tuple[str, ...] = LATER) -> Verdict:
    return Verdict("row_softmax", list(outcomes), 4.0, compute_earned(outcomes, 4.0), later, hidden_present=not later)


def test_the_plain_form_in_a_notebook_is_the_points() -> None:
    assert make_verdict(GOOD, BAD)._repr_mimebundle_()["text/plain"] == "1"
    assert make_verdict(GOOD)._repr_mimebundle_()["text/plain"] == "4"
    assert make_verdict(BAD)._repr_mimebundle_()["text/plain"] == "0"


def test_the_card_shows_labels_results_and_hints_escaped() -> None:
    html = make_verdict(GOOD, BAD)._repr_mimebundle_()["text/html"]
    assert "rows sum to &lt;one&gt;" in html
    assert "your result is nan</div>" in html and "<b>expected:</b> 0.5</div>" in html
    assert "<details><summary>Hint 1</summary>" in html and "What is exp(1000)?" in html
    assert "note: UserWarning: careful" in html
    assert 'role="group" aria-label="Checks of row_softmax"' in html


def test_code_in_a_label_and_in_a_belief_is_code_and_a_students_text_is_not() -> None:
    wrong = replace(BAD, label="at most `most` epochs", misconception="divided by `every`", seen="raised `<b>`")
    raised = replace(BAD, seen="your result is `<b>`")
    html = make_verdict(wrong, raised)._repr_mimebundle_()["text/html"]
    assert "at most <code>most</code> epochs" in html and "divided by <code>every</code>" in html
    assert "`&lt;b&gt;`" in html


def test_hidden_checks_are_listed_by_their_labels_and_never_as_passed() -> None:
    html = make_verdict(GOOD)._repr_mimebundle_()["text/html"]
    assert "large logits &lt;stay&gt; finite" in html
    assert html.count(">later<") == 2
    assert html.count(">pass<") == 1
    assert "later large logits <stay> finite" in repr(make_verdict(GOOD))


def test_expected_values_are_not_shown_if_hidden_checks_ran() -> None:
    verdict = make_verdict(GOOD, BAD, later=())
    assert "expected" not in verdict._repr_mimebundle_()["text/html"]
    assert "expected" not in repr(verdict)


def test_an_error_that_stops_several_checks_is_shown_once() -> None:
    error = "raised NameError: name 'a' is not defined"
    outcomes = [Outcome(name, seen=error, error="NameError") for name in "abc"]
    assert repr(make_verdict(*outcomes)).count("NameError") == 1
    assert repr(make_verdict(*outcomes)).count("the same error as above") == 2


def test_the_call_that_failed_is_shown_only_with_checks_that_can_be_read() -> None:
    outcome = Outcome("a", seen="your result is 2", expected="1", call="f(x=1)", misconception="a belief")
    html = make_verdict(outcome)._repr_mimebundle_()["text/html"]
    assert "<b>a belief</b>" in html and re.search("<b>call:</b> <code[^>]*>f[(]x=1[)]</code></div>", html)
    for shown in make_verdict(outcome, later=())._repr_mimebundle_().values():
        assert "f(x=" not in str(shown)


def test_the_first_line_says_what_passes_here_and_what_is_checked_later() -> None:
    assert repr(make_verdict(GOOD, BAD)).startswith(
        "row_softmax: 1 of 2 checks passed here; 2 more run when it's marked, for 4 points in all\n"
    )
    assert repr(make_verdict(GOOD, BAD, later=())).startswith("row_softmax: 1 of 2 checks passed, 1 of 4 points\n")


def test_the_card_of_practice_names_no_points() -> None:
    unwritten = Outcome("doubles", cause=Cause.UNWRITTEN)
    for outcomes, later in (([GOOD, BAD], LATER), ([GOOD, BAD], ()), ([unwritten], LATER)):
        verdict = Verdict("double", outcomes, 0, 0, later, hidden_present=not later)
        assert "point" not in repr(verdict) and "point" not in render_html(verdict)


def test_points_are_shown_with_two_decimals_at_most_as_on_the_page() -> None:
    third = Outcome("a", passed=True), Outcome("b"), Outcome("c")
    assert "1.33 of 4 points" in repr(make_verdict(*third, later=()))


def test_an_exercise_that_is_not_written_is_one_line_and_no_failure() -> None:
    text = make_verdict(
        Outcome("a", cause=Cause.UNWRITTEN, hint="?"), Outcome("b", cause=Cause.UNWRITTEN)
    )._repr_mimebundle_()
    assert "not written yet; 4 points to earn" in read_page_text(text["text/html"])
    assert ">fail<" not in text["text/html"] and "?" not in text["text/html"]


def test_a_misconception_precedes_the_difference_and_replaces_it_if_hidden_checks_ran() -> None:
    outcome = Outcome("a", seen="your result is 2", expected="1", misconception="exactly twice the right one")
    text = repr(make_verdict(outcome))
    assert text.index("exactly twice the right one") < text.index("your result is 2") < text.index("expected: 1")
    assert "your result is 2" not in repr(make_verdict(outcome, later=()))


def compare_tensors(got: torch.Tensor, want: torch.Tensor, hint: str | tuple[str, ...] = "") -> Outcome:
    with record_outcomes() as outcomes, check("same", "the values are these", hint=hint):
        assert_close(got, want)
    return outcomes[0]


def render_verdict_html(*outcomes: Outcome, later: tuple[str, ...] = LATER) -> str:
    return str(make_verdict(*outcomes, later=later)._repr_mimebundle_()["text/html"])


def test_few_values_are_side_by_side_as_numbers_with_those_that_differ_underlined() -> None:
    want = torch.arange(12.0).reshape(3, 4)
    html = render_verdict_html(compare_tensors(want.where(want != 6, -1.0), want))
    yours, expected = re.findall(r"<pre[^>]*>([^<]*(?:<b[^>]*>[^<]*</b>[^<]*)*)</pre>", html)
    assert re.sub("<[^>]*>", "", yours) == " 0   1   2   3\n 4   5  -1   7\n 8   9  10  11"
    assert re.findall("underline[^>]*>([^<]*)<", yours) == ["-1"]
    assert re.findall("underline[^>]*>([^<]*)<", expected) == ["6"]
    assert "<svg" not in html and "<script" not in html


def test_a_vector_is_a_row_of_numbers() -> None:
    difference = compare_tensors(torch.tensor([True, False]), torch.tensor([True, True])).difference
    assert difference is not None and difference.your_numbers == (("True", "False"),)
    assert difference.differing == (".x",)
    longer = compare_tensors(torch.arange(4), torch.arange(3)).difference
    assert longer is not None and longer.your_numbers == (("0", "1", "2", "3"),)
    assert longer.expected_numbers == (("0", "1", "2"),)


def test_numbers_that_differ_never_look_the_same() -> None:
    got = compare_tensors(torch.tensor([1.0, 2.0004]), torch.tensor([1.0, 2.0])).difference
    assert got is not None and (got.your_numbers, got.expected_numbers) == ((("1", "2.0004"),), (("1", "2"),))


def test_two_matrices_are_side_by_side_with_words_for_screen_readers() -> None:
    want = torch.arange(144.0).reshape(12, 12)
    html = render_verdict_html(compare_tensors(want.where(want != 14, -1.0), want))
    assert "your result is -1 at index (1, 2); 1 of 144 values differ</div>" in html
    assert "<b>expected:</b> 14 at index (1, 2)</div>" in html
    assert "both: shape (12, 12), float32" in html
    assert html.count("<svg") == 2 and "<script" not in html
    words = re.findall(r'role="img" aria-label="([^"]*)"', html)
    assert words == [
        "Two matrices as shades from -1 to 143: yours, 12 by 12, and the expected one, 12 by 12. "
        "1 value differs: at (1, 2)."
    ]
    assert not re.search(r"<svg[^>]*>[^<]*[^<\s]", html)  # a sanitiser removes all of it


def test_matrices_of_two_shapes_are_shown_and_said_to_hold_the_same_values() -> None:
    want = torch.arange(12.0).reshape(3, 4)
    html = render_verdict_html(compare_tensors(want.T, want))
    assert "yours: shape (4, 3), float32, strides (1, 4); expected: shape (3, 4), float32, strides (4, 1)" in html
    assert "the same values, in another order" in html and html.count("<pre") == 2
    assert "the same values, in another shape" in render_verdict_html(compare_tensors(want.reshape(4, 3), want))


def test_values_are_shown_if_they_fit() -> None:
    for shape in ((12,), (33, 2), (2, 3, 4), ()):
        html = render_verdict_html(compare_tensors(torch.zeros(shape), torch.ones(shape)))
        assert "<svg" not in html and "<pre" not in html
    other_dtype = compare_tensors(torch.zeros(3, 4), torch.zeros(3, 4, dtype=torch.float64))
    assert "<svg" not in render_verdict_html(other_dtype) and "<pre" not in render_verdict_html(other_dtype)


def test_values_that_are_not_finite_are_crosses() -> None:
    got = torch.ones(2, 32)
    got[0, 1], got[1, 0], got[1, 1] = math.nan, math.inf, 2.0
    outcome = compare_tensors(got, torch.ones(2, 32))
    assert outcome.difference is not None and outcome.difference.your_shades == ("0!" + 30 * "0", "!f" + 30 * "0")
    assert "a cross for NaN or an infinity" in render_verdict_html(outcome)


def test_neither_value_is_shown_if_hidden_checks_ran() -> None:
    bundle = make_verdict(compare_tensors(torch.zeros(3, 4), torch.ones(3, 4)), later=())._repr_mimebundle_()
    assert "<svg" not in bundle["text/html"] and "both:" not in bundle["text/html"]
    assert bundle[MIME]["checks"][0]["difference"] is None


def test_a_difference_is_bounded_and_survives_json() -> None:
    noise = torch.randn(2, 32, 32, generator=torch.Generator().manual_seed(0)) * 1e30
    outcome = compare_tensors(*noise)
    data = json.loads(json.dumps(outcome.as_dict(), allow_nan=False))
    assert len(json.dumps(data["difference"])) < 4_000
    assert render_html(make_verdict(build_outcome(data))) == render_html(make_verdict(outcome))
    assert len(render_verdict_html(outcome)) < 40_000


def test_a_tensor_that_answers_anything_breaks_no_check() -> None:
    class Odd(torch.Tensor):
        def stride(self, *_: object) -> NoReturn:
            raise RuntimeError("no")

    want = torch.arange(4.0).reshape(2, 2)
    outcome = compare_tensors(want.T.contiguous().as_subclass(Odd), want)
    assert outcome.seen.startswith("your result is 2") and outcome.difference is None


def test_hints_open_one_inside_the_other() -> None:
    outcome = compare_tensors(torch.zeros(2), torch.ones(2), hint=("Look at the sum.", "Which <dim>?"))
    html = render_verdict_html(outcome)
    assert (
        html.index("Hint 1") < html.index("Look at the sum.") < html.index("Hint 2") < html.index("Which &lt;dim&gt;?")
    )
    assert html.count("<details>") == 2 and "<details open" not in html
    assert "hint: Look at the sum. (1 more in a notebook)" in repr(make_verdict(outcome))


def test_hints_are_unfolded_on_a_page_that_shows_no_details() -> None:
    outcome = compare_tensors(torch.zeros(2), torch.ones(2), hint=("Look at the sum.", "Which <dim>?"))
    html = replace(make_verdict(outcome), folds=False)._repr_mimebundle_()["text/html"]
    assert "details" not in html and "hint 2: Which &lt;dim&gt;?" in html


def test_a_hint_is_left_out_if_it_does_not_fit_the_failure() -> None:
    text = repr(make_verdict(Outcome("a", seen="your result is None", cause=Cause.NOTHING, hint="Which line is slow?")))
    part = repr(make_verdict(Outcome("a", seen="the gradients[0] is None", hint="Which line is slow?")))
    assert "return" not in part and "Which line is slow?" in part
    assert NO_RETURN in text and "slow" not in text
    error_text = repr(
        make_verdict(Outcome("a", seen="raised TypeError: no", error="TypeError", hint="Which line is slow?"))
    )
    assert "raised TypeError" in error_text and "slow" not in error_text


def test_a_check_that_passed_and_does_not_pay_says_so() -> None:
    text = repr(make_verdict(GOOD, Outcome("form", required=True)))
    assert "earns points once" in text


def test_every_outcome_is_available_to_programs_too() -> None:
    data = make_verdict(GOOD, BAD)._repr_mimebundle_()[MIME]
    assert [c["label"] for c in data["checks"]] == ["rows sum to <one>", "finite"]
    assert data["earned"] == 1.0
    assert data["later"] == list(LATER)
    assert data["exercise"] == "row_softmax"


def test_a_card_says_beforehand_which_checks_are_required_even_of_those_that_run_later() -> None:
    required = replace(GOOD, required=True)
    verdict = replace(make_verdict(required, BAD), required=LATER[:1])
    lines = repr(verdict).splitlines()
    assert [line for line in lines if line.endswith("(required)")] == [
        f"pass  {GOOD.label} (required)",
        f"later {LATER[0]} (required)",
    ]
    assert verdict._repr_mimebundle_()["text/html"].count("(required)") == 2


def test_passing_is_not_done_while_hidden_checks_have_not_run() -> None:
    verdict = replace(make_verdict(GOOD), required=LATER[:1])
    words = "1 of 1 check passed so far; not done yet: 2 more run when it's marked, 1 of them required, for 4 points"
    assert repr(verdict).startswith(f"row_softmax: {words}")
    head = read_page_text(cut_head(render_html(verdict)))
    assert words in head and "◐" in head and "✓" not in head
    assert repr(make_verdict(GOOD, later=())).startswith("row_softmax: done: 1 of 1 check passed, 4 of 4 points\n")
    assert "✓" in cut_head(render_html(make_verdict(GOOD, later=())))
    assert "✗" in cut_head(render_html(make_verdict(GOOD, BAD)))


def cut_head(html: str) -> str:
    return html[html.index('<div class="gradlab-card-head">') : html.index('<div class="gradlab-check ')]


def test_the_card_of_a_quiz_has_each_question_once_and_says_where_the_answers_are() -> None:
    later = ("q1: sums, at most one mistake", "q1: sums", "q2: means")
    for shown in (repr(make_verdict(GOOD, later=later)), render_html(make_verdict(GOOD, later=later))):
        assert "2 more run" in shown and "at most one" not in shown and "So does the feedback page" in shown


def test_a_card_says_if_it_is_about_an_earlier_definition() -> None:
    verdict = replace(make_verdict(GOOD), failed_since=True)
    for shown in (repr(verdict), cut_head(render_html(verdict))):
        assert "your cell has failed since" in shown
