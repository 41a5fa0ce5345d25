"""What a person reads: questions with numbers, their text, the model answer, and all students' cells, made safe."""

from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.desk.course_desk import Desk, find_address, open_desk
from autograder.desk.html_pages import render_overview, render_question
from autograder.desk.question_page import QuestionPage, build_page, list_questions
from autograder.gradebook.autograded_folder import get_autograded_path
from tests.desk.answered_class import CHECK, LAB, PLAIN, QUESTION, hand_in_stock
from tests.stock.stock_course import OURS, write

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def read(course: Path, lab: str, notebook: str, cell: str) -> QuestionPage:
    desk = open_desk(course)
    with Gradebook(desk.db_url) as gradebook:
        return build_page(desk, gradebook, find_address(desk, gradebook, lab, notebook, cell))


def count_answers(desk: Desk) -> dict[str, tuple[int, int, int]]:
    with Gradebook(desk.db_url) as gradebook:
        questions_by_lab, titles = list_questions(desk, gradebook)
        assert "<h2>Squares</h2>" in render_overview("/gradlab/desk", questions_by_lab, titles)
    return {q.name: (q.answers, q.waiting, q.read) for questions in questions_by_lab.values() for q in questions}


def test_the_overview_counts_waiting_and_read_answers(course: Path) -> None:
    desk = open_desk(course)
    assert count_answers(desk) == {"sum_of_squares": (5, 0, 0), "why": (5, 4, 0)}
    with Gradebook(desk.db_url) as gradebook:
        for student, waits in (("ada", False), ("ben", True)):
            grade = gradebook.find_grade(QUESTION, LAB, LAB, student)
            grade.manual_score, grade.needs_manual_grade = 1.0, waits
        gradebook.db.commit()
    assert count_answers(desk)["why"] == (5, 3, 1), "a mark whose answer has changed waits, and is not read"


def test_a_question_shows_what_was_asked_the_model_answer_and_each_answer(course: Path) -> None:
    page = read(course, LAB, LAB, QUESTION)
    assert "Why is it never negative?" in page.question
    assert "<math" in page.question
    assert page.solution == "<p><strong>Because</strong> a square is at least nought.</p>\n"
    assert [answer.student for answer in page.answers] == ["ada", "ben", "cleo", "dan", "eve"]


def test_a_question_in_the_cell_of_its_answer_is_shown_instead_of_the_text_before_it(course: Path) -> None:
    path = course / "source" / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    answer = next(cell for cell in notebook.cells if cell.id == QUESTION)
    answer.source = "Which one?\n\n### BEGIN SOLUTION\nThis one.\n### END SOLUTION"
    nbformat.write(notebook, path)
    page = read(course, LAB, LAB, QUESTION)
    assert page.question == "<p>Which one?</p>\n" and page.solution == "<p>This one.</p>\n"


def test_equal_answers_are_recognized(course: Path) -> None:
    same = {answer.student: answer.content_digest for answer in read(course, LAB, LAB, QUESTION).answers}
    assert same["cleo"] == same["dan"]
    assert len(set(same.values())) == 4


def test_html_in_an_answer_is_shown_as_text(course: Path) -> None:
    html = render_question("/d", read(course, LAB, LAB, QUESTION), "token")
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<img src=x" not in html


def test_an_answer_that_is_not_written_is_shown_as_such(course: Path) -> None:
    html = render_question("/d", read(course, LAB, LAB, QUESTION), "token")
    assert html.count("not written, 0 of 3") == 2, "once in the page, once for the script"


def test_a_page_loads_its_script_below_the_servers_own_address(course: Path) -> None:
    html = render_question("/user/x/gradlab/desk", read(course, LAB, LAB, QUESTION), "token")
    assert 'src="/user/x/gradlab/desk/static/desk.js"' in html


def test_code_in_an_answer_is_shown_as_code(course: Path) -> None:
    path = get_autograded_path(course, LAB, "ada")
    path.write_text(path.read_text().replace("Because a square", "```\\nx < y\\n```\\nBecause a square"))
    html = render_question("/d", read(course, LAB, LAB, QUESTION), "x")
    assert "<pre><code>x &lt; y" in html and "&lt;pre" not in html


def test_an_earlier_comment_is_offered_for_other_answers(course: Path) -> None:
    with Gradebook(open_desk(course).db_url) as gradebook:
        for student, text in (("ada", "Why?"), ("ben", "</script>Say why."), ("cleo", "Why?")):
            gradebook.find_comment(QUESTION, LAB, LAB, student).manual_comment = text
        gradebook.db.commit()
    page = read(course, LAB, LAB, QUESTION)
    assert page.comments == ["Why?", "</script>Say why."]
    assert "</script>Say" not in render_question("/d", page, "x")


def test_pictures_of_an_answer_are_its_attachments(course: Path) -> None:
    path = get_autograded_path(course, LAB, "ada")
    text = path.read_text().replace("Because a square", "![drawn](attachment:a.png) Because a square")
    path.write_text(
        text.replace(
            '"id": "question-why"', f'"attachments": {{"a.png": {{"image/png": "{PICTURE}"}}}}, "id": "question-why"'
        )
    )
    assert f"data:image/png;base64,{PICTURE}" in render_question("/d", read(course, LAB, LAB, QUESTION), "x")


def test_answers_are_the_same_only_if_everything_shown_of_them_is(course: Path) -> None:
    """One mark is saved for all equal answers, so a picture or a cell next to the text counts."""
    path = get_autograded_path(course, LAB, "dan")
    path.write_text(
        path.read_text().replace(
            '"id": "question-why"', f'"attachments": {{"a.png": {{"image/png": "{PICTURE}"}}}}, "id": "question-why"'
        )
    )
    same = {answer.student: answer.content_digest for answer in read(course, LAB, LAB, QUESTION).answers}
    assert same["cleo"] != same["dan"]


@pytest.mark.parametrize("printed", ["accuracy 0.99", "accuracy 0.01"])
def test_the_output_of_an_answers_cell_counts_too(course: Path, printed: str) -> None:
    for student, text in (("cleo", "accuracy 0.99"), ("dan", printed)):
        path = get_autograded_path(course, LAB, student)
        notebook = nbformat.read(path, as_version=4)
        (address,) = [n for n, cell in enumerate(notebook.cells) if cell.get("id") == "question-why"]
        work_cell = nbformat.v4.new_code_cell(
            "report(model)", id="own", outputs=[nbformat.v4.new_output("stream", text=text)]
        )
        notebook.cells.insert(address + 1, work_cell)
        nbformat.write(notebook, path)
    same = {answer.student: answer.content_digest for answer in read(course, LAB, LAB, QUESTION).answers}
    assert (same["cleo"] == same["dan"]) == (printed == "accuracy 0.99")


def test_an_exercise_shows_its_code_and_the_checks_that_failed(course: Path) -> None:
    page = read(course, LAB, LAB, CHECK)
    assert "return x.sum()" in page.answers[0].cells[0].source
    assert "(x * x)" in page.solution and "SOLUTION" not in page.solution
    html = render_question("/d", page, "x")
    assert "3 and 4 give 25" in html
    assert "<code>not</code> 25" in html
    assert "0.5 of 2 from checks" in html


def test_an_answer_of_any_length_is_cut_off(course: Path) -> None:
    path = get_autograded_path(course, LAB, "ada")
    path.write_text(path.read_text().replace("return x.sum()", "return x.sum()" + "#" * 1_000_000))
    path = get_autograded_path(course, LAB, "ben")
    path.write_text(path.read_text().replace("It is | so.", "It is so. " * 100_000))
    for cell in (CHECK, QUESTION):
        assert len(render_question("/d", read(course, LAB, LAB, cell), "x")) < 100_000


def test_marks_can_be_given_without_the_notebook_or_the_source(course: Path) -> None:
    get_autograded_path(course, LAB, "ada").unlink()
    (course / "source" / LAB / f"{LAB}.ipynb").unlink()
    page = read(course, LAB, LAB, QUESTION)
    assert (page.question, page.solution, page.answers[0].cells) == ("", "", [])
    assert page.address.worth == 3 and page.address.by_hand
    render_question("/d", page, "x")


@pytest.fixture(scope="module")
def stock_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plain")
    write(root / "nbgrader_config.py", OURS)
    hand_in_stock(root)
    return root


@pytest.mark.parametrize(
    ("cell", "model", "answer", "worth"),
    [
        ("why", "<strong>sign</strong>", "Because of the sign.", 2),
        ("free", "raise NotImplementedError()", "print('free')", 2),
        ("explore", "<em>each</em>", "It *rises*.", 2),
        ("scale_values", "return [v * k for v in x]", "return [k * each for each in x]", 2),
    ],
)
def test_a_stock_assignment_is_read_by_its_own_names(
    stock_course: Path, cell: str, model: str, answer: str, worth: float
) -> None:
    page = read(stock_course, *PLAIN, cell)
    assert model in page.solution
    assert page.name == f"p1/{cell}"
    assert page.address.worth == worth
    (ada,) = page.answers
    assert answer in "\n".join(shown.source for shown in ada.cells)
    assert "MARK SCHEME" not in page.question + page.solution
    assert (page.address.comment_id is None) == (cell == "scale_values"), "nbgrader keeps no comment for tests"
    render_question("/d", page, "x")
