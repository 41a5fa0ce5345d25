"""nbgrader and its formgrader on a Gradlab course, with the configuration of plugin.py."""

import base64
import contextlib
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from autograder.authoring.course_folder import read_course, read_labs
from autograder.classroom.open_class import grade_lab
from autograder.demo.students import fill_notebook
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.model.note_sentences import describe_notes
from autograder.model.term import TERM_FILE
from autograder.nbgrader_plugin import configure
from autograder.nbgrader_plugin.formgrader_text import MAX_ELEMENTS
from autograder.watch.watch_start import start_pool
from autograder.workers.executors import LocalExecutor
from labkit import show_strides
from labkit.outcome import Outcome
from tests.reports.written_class import StudentWork, write_class

LAB = "01_squares"
SCRIPT = """
from IPython.display import HTML, Javascript, Markdown, SVG, display
def sum_of_squares(x):
    return (x * x).sum()
display(HTML("<b>bold</b><script>alert('html')</script><img src=x onerror=alert(1)>"))
display(Javascript("alert('javascript')"))
display(Markdown("<script>alert('markdown')</script>"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg'><script>alert('svg')</script></svg>"))
from labkit import explore_formats
display(explore_formats(0.1))
"""


def grade_source(course: Path, source: str, executor: LocalExecutor) -> Any:
    (lab,) = read_labs(read_course(course))
    notebook = fill_notebook(lab, {"sum_of_squares": source})
    notebook.cells.insert(0, {"cell_type": "markdown", "metadata": {}, "source": "<script>alert('cell')</script>"})
    folder = course / "submitted" / "mallory" / LAB
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{LAB}.ipynb").write_text(json.dumps(notebook))
    api = open_course(course)
    (result,) = grade_lab(api, LAB, executor)
    assert not result.failure
    return api


@pytest.mark.slow
def test_outputs_of_a_submission_do_not_run_in_the_instructors_browser(
    small_course: Path, two_graders: LocalExecutor
) -> None:
    """Slow: nbgrader autogrades a submission."""
    api = grade_source(small_course, SCRIPT, two_graders)
    page, _ = HTMLExporter(config=api.config).from_filename(
        str(small_course / "autograded" / "mallory" / LAB / f"{LAB}.ipynb")
    )
    assert "&lt;IPython.core.display.HTML object&gt;" in page, "a student's HTML is shown as its text"
    for kind in ("html", "javascript", "markdown", "svg", "cell"):
        assert f"<script>alert('{kind}')" not in page
    assert not re.search(r"<img[^>]*onerror", page)
    assert len(re.findall(r"<img[^>]*data:image/svg.xml;base64,", page)) == 1  # labkit's own picture


def render_formgrader_page(notebook: Any) -> str:
    """The formgrader's page: its own template ignores some settings of the exporter."""
    config = Config()
    configure(config)
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    ids = (
        "assignment_id",
        "notebook_id",
        "submission_id",
        "base_url",
        "student",
        "last_name",
        "first_name",
        "notebook_path",
    )
    resources = dict.fromkeys(ids, "x") | {"index": 0, "total": 1}
    return str(HTMLExporter(config=config).from_notebook_node(notebook, resources=resources)[0])


HOSTILE = (
    "<img src=x onerror=alert(1)> <script>alert(2)</script> [link](javascript:alert(3)) [out](/logout) ![p](/logout)"
)
ANSWER = {"grade_id": "why", "solution": True, "grade": True, "locked": False, "schema_version": 3, "points": 1}


@pytest.mark.parametrize("flags", [{}, {"nbgrader": ANSWER}, {"nbgrader": ANSWER | {"solution": False}}])
def test_a_text_of_a_student_runs_nothing_and_leads_nowhere_in_the_formgrader(flags: dict[str, Any]) -> None:
    cell = nbformat.v4.new_markdown_cell(f"own **words** {HOSTILE}", metadata=flags)
    page = render_formgrader_page(nbformat.v4.new_notebook(cells=[cell]))
    assert "<strong>words</strong>" in page
    assert "<img src=x" not in page and "<script>alert(2)" not in page
    assert not re.search(r"(href|src)=.(javascript|/logout)", page)


def test_a_text_of_the_courses_keeps_its_form_in_the_formgrader() -> None:
    flags = ANSWER | {"solution": False, "grade": False, "locked": True}
    cell = nbformat.v4.new_markdown_cell(
        "<details>a hint</details>\n\n![p](attachment:a.png)", metadata={"nbgrader": flags}
    )
    cell.attachments = {"a.png": {"image/png": "AAAA"}}
    page = render_formgrader_page(nbformat.v4.new_notebook(cells=[cell]))
    assert "<details>a hint</details>" in page and "data:image/png;base64,AAAA" in page


def test_html_of_a_student_is_not_parsed_and_much_code_is_not_colored() -> None:
    """A sanitizer takes hours for a few kilobytes, and a highlighter minutes, in the server that serves all notebooks."""
    html = "<div>" + "".join(f"<b id={n}>" for n in range(6000)) + "</div>" + "<div>x</div>" * 6000
    html_page, long, short = (
        nbformat.v4.new_code_cell(text) for text in ("show()", "x\n" + " \n" * 16_000, "def f(): ...")
    )
    html_page.outputs.append(nbformat.v4.new_output("display_data", {"text/html": html, "text/plain": "<a table>"}))
    page = render_formgrader_page(nbformat.v4.new_notebook(cells=[html_page, long, short]))
    assert "<b id" not in page and "&lt;a table&gt;" in page
    assert '<span class="k">def</span>' in page and page.count("<span") < 1000


def test_a_page_of_the_formgrader_has_a_bound_on_its_elements() -> None:
    """nbconvert parses them into a tree, in the server that serves all notebooks."""
    table = "|".join("a" * 200) + "\n" + "|".join("-" * 200) + "\n" + "|\n" * 300  # rows are filled up
    texts = [nbformat.v4.new_markdown_cell(f"{number}\n\n{table}") for number in range(5)]
    code = nbformat.v4.new_code_cell("show()")
    colors = "".join(f"\x1b[3{number % 8}mx" for number in range(5000))
    code.outputs = [nbformat.v4.new_output("stream", text=text) for text in ("\x1b[31mred\x1b[0m", colors)]
    page = render_formgrader_page(nbformat.v4.new_notebook(cells=[*texts, code]))
    assert page.count("<td") < MAX_ELEMENTS
    assert page.count("ansi") < 100
    assert "ansi-red" in page


def test_mathjax_makes_no_links_of_a_students_formulas() -> None:
    text = nbformat.v4.new_markdown_cell(r"&#36;\href{/logout}{x}&#36;")
    code = nbformat.v4.new_code_cell("show()")
    code.outputs = [nbformat.v4.new_output("display_data", {"text/latex": r"$\href{/logout}{x}$", "text/plain": "x"})]
    page = render_formgrader_page(nbformat.v4.new_notebook(cells=[text, code]))
    assert page.count("logout") == 1
    assert re.search(r"tex2jax_ignore mathjax_ignore[^<]*<p>[^<]*logout", page)


def test_pictures_that_fill_a_browser_are_left_out_of_the_formgrader() -> None:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    large, small = (base64.b64encode(head + 2 * size).decode() for size in (b"\0\0\xff\xff", b"\0\0\0\7"))
    drawing = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><use href='#a'/></svg>"
    code = nbformat.v4.new_code_cell("show()")
    kinds = (("image/png", large), ("image/jpeg", small), ("image/svg+xml", drawing))
    code.outputs = [nbformat.v4.new_output("display_data", {kind: data, "text/plain": "it"}) for kind, data in kinds]
    page = render_formgrader_page(nbformat.v4.new_notebook(cells=[code]))
    assert page.count("<img") == 1
    assert small in page
    assert page.count("a picture is left out") == 2


def test_a_missing_picture_costs_no_page_of_the_formgrader() -> None:
    flags = ANSWER | {"solution": False, "grade": False, "locked": True}
    cell = nbformat.v4.new_markdown_cell("Look: ![p](attachment:a.png)", metadata={"nbgrader": flags})
    assert "Look:" in render_formgrader_page(nbformat.v4.new_notebook(cells=[cell]))


def test_a_picture_of_labkit_is_an_image_in_the_formgrader() -> None:
    config = Config()
    configure(config)
    picture = show_strides(torch.arange(4))
    cell = nbformat.v4.new_code_cell("picture")
    cell.outputs.append(nbformat.v4.new_output("display_data", picture._repr_mimebundle_()))
    page, _ = HTMLExporter(config=config).from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert re.search(r"<img[^>]*data:image/svg.xml;base64,", page)
    assert "gradlab-picture" not in page


@pytest.mark.slow
def test_limits_of_the_configuration_apply_and_the_result_records_them(small_course: Path) -> None:
    """Slow: nbgrader autogrades a submission."""
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write("\nc.Examine.cell_seconds = 1\nc.Examine.memory_gib = 0.5\n")
    eats = "\ndef sum_of_squares(x):\n    kept = bytearray(900_000_000)\n    return (x * x).sum()\n"
    with contextlib.closing(start_pool(open_course(small_course), "cpu", 1, None)) as pool:
        grade_source(small_course, eats + "\nwhile True:\n    pass\n", LocalExecutor(pool=pool))
        result = load_document(small_course, LAB, "mallory")
        grade_source(small_course, eats, LocalExecutor(pool=pool))
    assert result is not None
    (note,) = describe_notes(result.notes)
    assert note.startswith("sum_of_squares: the time limit of 1 s for a cell was reached.")
    assert result.cells[0].points == 0
    second_result = load_document(small_course, LAB, "mallory")
    assert second_result is not None
    assert second_result.notes == ()
    assert any("the memory limit of 0.5 GiB" in check.seen for check in second_result.cells[0].checks)
    assert "landlock" in second_result.isolation
    assert second_result.versions.torch


def test_nbgraders_feedback_hides_what_the_term_hides(small_course: Path) -> None:
    visible, hidden = Outcome("a", "3 and 4 give 25", passed=True), Outcome("b", "other shapes", hidden=True)
    write_class(small_course, [StudentWork("ada", points=1.0, checks=(visible, hidden))])
    page = small_course / "feedback" / "ada" / LAB / f"{LAB}.html"
    for tell, score in (("visible", "1 of 1 points without hidden checks"), ("all", "1 of 2 points")):
        (small_course / TERM_FILE).write_text(f'[labs.{LAB}]\ntell = "{tell}"\n')
        assert open_course(small_course).api.generate_feedback(LAB, force=True)["success"]
        text = page.read_text()
        assert f'content="{score}"' in text and ("other shapes" in text) == (tell == "all")


def test_the_old_name_of_the_package_works_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "autograder.plugin", raising=False)
    with pytest.warns(FutureWarning, match=r"from autograder\.nbgrader_plugin import configure"):
        old = importlib.import_module("autograder.plugin")
    assert old.configure is configure
