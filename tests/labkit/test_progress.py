"""A student's progress, as read from the notebooks."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from labkit.cell_digests import digest_source
from labkit.lab_progress import HiddenFinding, MissedPrediction
from labkit.mark_file import ExerciseMark, get_marks_path
from labkit.notebook_progress import START, StartPage, digest_sources, parse_progress, read_progress, read_start_page
from labkit.progress import progress
from labkit.verdict import MIME

STUB = "def f():\n    raise NotImplementedError()"
MINE = "def f():\n    return 1"


def make_cell(kind: str, source: str = "", **facts: Any) -> dict[str, Any]:
    return {"metadata": {"gradlab": {"kind": kind, **facts}}, "source": source, "outputs": []}


def make_verdict(source: str, *passed: bool) -> dict[str, Any]:
    checks = [{"label": str(number), "passed": p, "seen": ""} for number, p in enumerate(passed)]
    return {"output_type": "execute_result", "data": {MIME: {"source": digest_source(source), "checks": checks}}}


def make_lab(text: str = STUB, *outputs: dict[str, Any], quiz: bool = False) -> dict[str, Any]:
    cells = [
        make_cell("prose", "What?", **({"exercise": "f"} if quiz else {})),
        make_cell("exercise", text, exercise="f", stub=STUB),
        make_cell("check", "...", exercise="f", points=3.0) | {"outputs": list(outputs)},
        make_cell("question", "Because.", exercise="why", stub="YOUR ANSWER HERE", points=2.0),
    ]
    about = {"lab": "01_one", "title": "One", "minutes": 60, "needs": []}
    return {"metadata": {"gradlab": about}, "cells": cells}


def get_state(notebook: dict[str, Any], marks: dict[str, Any] | None = None) -> str:
    progress = parse_progress(notebook, "01_one/01_one.ipynb", marks or {})
    assert progress is not None
    return progress.work[0].state


@pytest.mark.parametrize(
    ("notebook", "state"),
    [
        (make_lab(), "untouched"),
        (make_lab(MINE), "written"),
        (make_lab(MINE, make_verdict(MINE, True, False)), "failing"),
        (make_lab(MINE, make_verdict(MINE, True, True)), "passing"),
        (
            make_lab(MINE, make_verdict("def f():\n    return 2", True)),
            "written",
        ),  # the text changed after the check ran
        (make_lab(MINE, make_verdict(MINE, True), quiz=True), "written"),  # its check looks only at the form
        (make_lab(MINE, make_verdict(MINE, False), quiz=True), "failing"),
    ],
)
def test_a_state_follows_from_the_text_and_its_verdict(notebook: dict[str, Any], state: str) -> None:
    assert get_state(notebook) == state


@pytest.mark.parametrize(
    ("answer", "answered", "is_done"),
    [
        ("raise NotImplementedError()", 0, False),
        ('return {"q1": "a", "q2": ""}', 1, False),
        ('return {"q1": "a", "q2": "bc"}', 2, True),
        ("return compute_letters()", 0, True),
    ],
)
def test_a_quiz_is_ready_once_each_of_its_questions_has_letters(answer: str, answered: int, is_done: bool) -> None:
    docstring = '"""The letters, such as {"q1": "abc"}."""'
    text = f"def f():\n    {docstring}\n    {answer}"
    notebook = make_lab(text, quiz=True)
    stub = f"def f():\n    {docstring}\n    raise NotImplementedError()"
    notebook["cells"][1]["metadata"]["gradlab"] |= {"questions": 2, "title": "Interview", "stub": stub}
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {})
    assert progress is not None
    quiz = progress.work[0]
    assert (quiz.answered, quiz.is_done, quiz.is_ready) == (answered, is_done, is_done)
    assert progress.as_dict()["next_title"] == ("" if is_done else "Interview")


@pytest.mark.parametrize(
    ("compared", "is_done"), [({}, False), ({"q1": True}, False), ({"q1": True, "q2": False}, True)]
)
def test_a_quiz_whose_whole_key_was_seen_is_done_whatever_its_mark(compared: dict[str, bool], is_done: bool) -> None:
    text = 'def f():\n    return {"q1": "a", "q2": "b"}'
    notebook = make_lab(text, quiz=True)
    notebook["cells"][1]["metadata"] |= {"gradlab_compared": compared}
    notebook["cells"][1]["metadata"]["gradlab"] |= {"questions": 2}
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {"f": ExerciseMark(digest_source(text), 2.5)})
    assert progress is not None
    quiz = progress.work[0].as_dict()
    assert (quiz["done"], quiz["full"], progress.work[0].is_ready) == (is_done, False, False)
    assert progress.as_dict()["next"] == ("" if is_done else "f")


def test_an_answer_that_its_writer_marked_is_done_whatever_its_mark() -> None:
    answer = "It is a product."
    notebook = make_lab(MINE, make_verdict(MINE, True))
    question = next(cell for cell in notebook["cells"] if cell["metadata"]["gradlab"].get("exercise") == "why")
    question["source"] = answer
    marks = {"f": ExerciseMark(digest_source(MINE), 3.0), "why": ExerciseMark(digest_source(answer), 0.5, is_own=True)}
    progress = parse_progress(notebook, "01_one/01_one.ipynb", marks)
    assert progress is not None
    assert (progress.as_dict()["next"], progress.ready_points) == ("", 0)


def test_a_mark_counts_as_long_as_the_text_is_the_one_that_was_marked() -> None:
    marks = {"f": ExerciseMark(digest_source(MINE), 2.5)}
    progress = parse_progress(make_lab(MINE), "01_one/01_one.ipynb", marks)
    assert progress is not None
    assert progress.work[0].state == "marked"
    assert progress.earned == 2.5
    assert progress.next_work == progress.work[0]
    assert get_state(make_lab(MINE + " "), marks) == "marked"
    assert get_state(make_lab(MINE + "0"), marks) == "written"


def test_a_changed_answer_keeps_its_points_until_it_is_marked_again() -> None:
    marks = {"f": ExerciseMark(digest_source("def f():\n    return 0"), 1.0)}
    for outputs, ready in (((), 0), ((True,), 2)):
        progress = parse_progress(make_lab(MINE, make_verdict(MINE, *outputs)), "01_one/01_one.ipynb", marks)
        assert progress is not None
        work = progress.work[0]
        assert (work.earned, work.earned_before, progress.earned) == (None, 1.0, 1.0)
        assert (progress.changed_count, progress.ready_points) == (1, ready)
        more = ", 2 more ready to mark" if ready else ""
        assert progress.summary == f"1 of 5 points, 1 changed since{more}"


def test_an_exercise_that_was_not_begun_when_it_was_marked_has_no_earlier_points() -> None:
    notebook = make_lab(MINE)
    stub = notebook["cells"][1]["metadata"]["gradlab"]["stub"]
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {"f": ExerciseMark(digest_source(stub), 0.0)})
    assert progress is not None
    assert (progress.work[0].earned_before, progress.changed_count) == (None, 0)


def test_the_first_try_of_a_quiz_is_remembered() -> None:
    notebook = make_lab(MINE, quiz=True)
    notebook["cells"][1]["metadata"]["gradlab_compared"] = {"q1": True, "q2": False, "q3": True}
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {})
    assert progress is not None
    assert (progress.work[0].compared, progress.work[0].first_right) == (3, 2)


def test_practice_is_listed_and_neither_counts_nor_delays_the_next_exercise() -> None:
    notebook = make_lab(MINE, make_verdict(MINE, True, False))
    notebook["cells"][1]["metadata"]["gradlab"]["level"] = "hard"
    del notebook["cells"][2]["metadata"]["gradlab"]["points"]
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {"f": ExerciseMark(digest_source(MINE), 0.0)})
    assert progress is not None
    practice = progress.work[0]
    assert practice.is_practice and practice.state == "failing" and practice.level == "hard"
    assert [work.name for work in progress.core] == ["why"] and progress.points == 2
    assert progress.next_work is None and progress.as_dict()["work"][0]["practice"] is True


def test_the_state_includes_finished_work_and_work_ready_to_be_marked() -> None:
    states = {}
    for name, outputs in {"passing": (True, True), "failing": (True, False), "stale": (True,)}.items():
        ran_on = "def f():\n    return 2" if name == "stale" else MINE
        progress = parse_progress(make_lab(MINE, make_verdict(ran_on, *outputs)), "01_one/01_one.ipynb", {})
        assert progress is not None
        data = progress.as_dict()
        states[name] = (data["work"][0]["done"], data["work"][0]["stale"], data["ready"], data["next"])
    assert states == {
        "passing": (True, False, 3, ""),
        "failing": (False, False, 0, "f"),
        "stale": (False, True, 0, "f"),
    }
    marked_progress = parse_progress(
        make_lab(MINE), "01_one/01_one.ipynb", {"f": ExerciseMark(digest_source(MINE), 2.5)}
    )
    assert marked_progress is not None and (
        marked_progress.earned,
        marked_progress.ready_points,
        marked_progress.work[0].is_done,
    ) == (2.5, 0, False)


def test_a_lab_is_begun_by_a_cell_that_ran_a_prediction_or_a_written_answer() -> None:
    notebook = make_lab()
    notebook["cells"][3]["source"] = "YOUR ANSWER HERE"
    notebook_with_output, notebook_with_prediction = (json.loads(json.dumps(notebook)) for _ in range(2))
    notebook_with_output["cells"][1]["execution_count"] = 1
    notebook_with_prediction["cells"][0]["metadata"]["gradlab_prediction"] = {"given": ["a"], "right": False}
    begun = [
        parse_progress(each, "01_one/01_one.ipynb", {})
        for each in (notebook, notebook_with_output, notebook_with_prediction, make_lab(MINE))
    ]
    assert [found is not None and found.begun for found in begun] == [False, True, True, True]


def test_the_digests_are_of_what_a_student_writes() -> None:
    assert digest_sources(make_lab(MINE)) == {"f": digest_source(MINE), "why": digest_source("Because.")}


def test_a_folder_gives_its_labs_in_order_and_nothing_for_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("02_two", "01_one"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.ipynb").write_text(json.dumps(make_lab(MINE)))
    (tmp_path / "03_bad").mkdir()
    (tmp_path / "03_bad" / "03_bad.ipynb").write_text("{")
    marks = get_marks_path(tmp_path / "02_two" / "02_two.ipynb")
    marks.parent.mkdir()
    marks.write_text(json.dumps({"f": {"source": digest_source(MINE), "points": 3.0}}))
    labs_progress = read_progress(tmp_path)
    assert [(each.path, each.next_work and each.next_work.name) for each in labs_progress] == [
        ("01_one/01_one.ipynb", "f"),
        ("02_two/02_two.ipynb", None),
    ]
    for folder, link in ((tmp_path, "02_two/02_two.ipynb"), (tmp_path / "01_one", "../02_two/02_two.ipynb")):
        monkeypatch.chdir(folder)
        reply = progress()
        assert "01_one: 5 points; next: f" in repr(reply)
        assert "3 of 5 points" in repr(reply).splitlines()[1]
        page = reply._repr_mimebundle_()["text/html"]
        assert f'<a href="{link}">' in page and "last saved" in page


def iter_replaced(tree: Any, value: object) -> Iterator[Any]:
    """Copies of this JSON, each with another value in it replaced."""
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        copy = json.loads(json.dumps(tree))
        copy[key] = value
        yield copy
        if isinstance(tree[key], dict | list):
            for inner in iter_replaced(tree[key], value):
                copy = json.loads(json.dumps(tree))
                copy[key] = inner
                yield copy


def test_any_fault_in_a_notebook_costs_no_more_than_its_place(tmp_path: Path) -> None:
    for name in ("01_one", "02_two"):
        (tmp_path / name).mkdir()
    (tmp_path / "02_two" / "02_two.ipynb").write_text(json.dumps(make_lab(MINE)))
    path, marks = tmp_path / "01_one" / "01_one.ipynb", get_marks_path(tmp_path / "01_one" / "01_one.ipynb")
    marks.parent.mkdir()
    notebook = make_lab(MINE, make_verdict(MINE, True))
    notebook["cells"].append(make_cell("predict", exercise="p"))
    notebook["cells"][-1]["metadata"]["gradlab_prediction"] = {"right": True, "missed": True, "again": 1, "on": "x"}
    mark = {"f": asdict(ExerciseMark(digest_source(MINE), 2.5, (HiddenFinding("rows", False, "0", ("Why?",)),)))}
    for value in (5, float("nan"), float("-inf"), 10**400, None, True, "x", [], {}, [{}], {"a": 1}):
        for notebook_now, marks_now in [
            *((each, mark) for each in iter_replaced(notebook, value)),
            *((notebook, each) for each in iter_replaced(mark, value)),
            (value, mark),
            (notebook, value),
        ]:
            path.write_text(json.dumps(notebook_now))
            marks.write_text(json.dumps(marks_now))
            labs_progress = read_progress(tmp_path)
            json.dumps([each.as_dict() for each in labs_progress], allow_nan=False)
            assert [each.path for each in labs_progress][-1:] == ["02_two/02_two.ipynb"]
            assert marks_now is mark or len(labs_progress) == 2, "a damaged mark costs itself"
            (tmp_path / START).write_text(json.dumps(notebook_now))
            assert isinstance(read_start_page(tmp_path).title, str)


@pytest.mark.parametrize("points", [1e308, 10**308, -1e308])
def test_numbers_that_cannot_be_added_cost_no_more_than_the_lab(tmp_path: Path, points: float) -> None:
    for name in ("01_one", "02_two"):
        (tmp_path / name).mkdir()
    notebook = make_lab(MINE)
    for each in notebook["cells"]:
        if "points" in each["metadata"]["gradlab"]:
            each["metadata"]["gradlab"]["points"] = points
    (tmp_path / "01_one" / "01_one.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "02_two" / "02_two.ipynb").write_text(json.dumps(make_lab(MINE)))
    documents = [each.as_dict() for each in read_progress(tmp_path)]
    json.dumps(documents, allow_nan=False)
    assert [each["name"] for each in documents] == ["01_one"] and documents[0]["path"] == "02_two/02_two.ipynb"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "01_one").mkdir()
    for path in (tmp_path / "01_one" / "01_one.ipynb", tmp_path / START):
        os.mkfifo(path)
    assert read_progress(tmp_path) == [] and read_start_page(tmp_path) == StartPage()


def test_a_wrong_prediction_returns_until_it_is_right_and_then_at_growing_intervals() -> None:
    def days_ago(days: int) -> str:
        return (date.today() - timedelta(days=days)).isoformat()

    def right(repeats: int, days: int) -> dict[str, object]:
        return {"right": True, "missed": True, "again": repeats, "on": days_ago(days)}

    records = {
        "wrong": {"right": False, "missed": True, "again": 0, "on": days_ago(0)},
        "never wrong": {"right": True, "missed": False, "again": 0, "on": days_ago(99)},
        "not made": {},
        "right just now": right(1, 0),
        "right yesterday": right(1, 1),
        "twice, yesterday": right(2, 1),
        "twice, long ago": right(2, 3),
        "three times": right(3, 7),
        "four times": right(4, 99),
        "a day that is none": {"right": True, "missed": True, "again": 1, "on": "soon"},
    }
    notebook = make_lab()
    for name, record in records.items():
        prediction = make_cell("predict", exercise=name)
        prediction["metadata"]["gradlab_prediction"] = record
        notebook["cells"].append(prediction)
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {})
    assert progress is not None
    assert [each.name for each in progress.missed] == ["wrong", "right yesterday", "twice, long ago", "three times"]


@pytest.mark.parametrize(
    ("source", "question"),
    [
        ("**Predict.** What is\n`x + 1`?\n\n- [ ] 1\n- [ ] 2", "What is x + 1?"),
        (r"**Predict.** Is `2 * x` *not* 2 \* $y$, nor 3 * 4?", "Is 2 * x not 2 * y, nor 3 * 4?"),
        ("**Predict.** " + "word " * 40, "word " * 18 + "…"),
        ("", ""),
    ],
)
def test_a_prediction_to_make_again_is_listed_by_its_question(source: str, question: str) -> None:
    notebook = make_lab()
    prediction = make_cell("predict", source, exercise="p")
    prediction["metadata"]["gradlab_prediction"] = {"right": False, "missed": True}
    notebook["cells"].append(prediction)
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {})
    assert progress is not None and progress.missed == (MissedPrediction("p", question),)


def test_hidden_findings_are_shown_as_long_as_the_text_is_the_one_that_was_marked() -> None:
    finding = HiddenFinding("rows of zeros", False, "your result is 1", ("What is 0 / 0?",))
    marks = {"f": ExerciseMark(digest_source(MINE), 1.5, (finding,), "def f(): ...")}
    notebook = make_lab(MINE, make_verdict(MINE, True))
    for text, hidden, another_way in [(MINE, (finding,), "def f(): ..."), (MINE + "0", (), "")]:
        notebook["cells"][1]["source"] = text
        progress = parse_progress(notebook, "01_one/01_one.ipynb", marks)
        assert progress is not None
        assert (progress.work[0].hidden, progress.work[0].another_way) == (hidden, another_way)


@pytest.mark.parametrize(
    ("earlier", "source", "uses"),
    [
        (False, "def g():\n    return f() + 1", ("f",)),
        (False, "def g():\n    return 'f'  # f", ()),
        (False, "def g(:\n    return f()", ()),
        (True, "def g():\n    return f() + 1", ()),
    ],
)
def test_a_failing_exercise_names_the_faulty_one_that_it_uses(
    earlier: bool, source: str, uses: tuple[str, ...]
) -> None:
    notebook = make_lab(MINE, make_verdict(MINE, earlier))
    notebook["cells"] += [
        make_cell("exercise", source, exercise="g", stub="def g(): ..."),
        make_cell("check", "...", exercise="g", points=1.0) | {"outputs": [make_verdict(source, False)]},
    ]
    progress = parse_progress(notebook, "01_one/01_one.ipynb", {})
    assert progress is not None and [work.faulty_uses for work in progress.work] == [(), (), uses]


def test_practice_that_a_hidden_check_fails_is_not_ready() -> None:
    notebook = make_lab(MINE, make_verdict(MINE, True))
    del notebook["cells"][2]["metadata"]["gradlab"]["points"]
    for passed, state in ((True, "passing"), (False, "failing")):
        marks = {"f": ExerciseMark(digest_source(MINE), 0.0, (HiddenFinding("rows", passed),))}
        assert get_state(notebook, marks) == state


def test_a_notebook_that_is_no_lab_has_no_progress() -> None:
    assert parse_progress({"metadata": {}, "cells": []}, "a/a.ipynb", {}) is None


@pytest.mark.parametrize("answers", [True, False])
def test_progress_in_colab_is_that_of_the_open_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    """Colab's package exists only there, so a small one answers like it."""
    package, message = ModuleType("google.colab"), ModuleType("google.colab._message")

    def blocking_request(name: str, timeout_sec: float) -> Any:
        return {"ipynb": make_lab(MINE, make_verdict(MINE, True))} if answers and name == "get_ipynb" else None

    message.blocking_request = blocking_request  # type: ignore[attr-defined]
    for name, module in (("google", ModuleType("google")), ("google.colab", package), (message.__name__, message)):
        monkeypatch.setitem(sys.modules, name, module)
    shown = progress(str(tmp_path / "nothing"))._repr_mimebundle_()
    if answers:
        assert shown["text/plain"].startswith("01_one: 0 of 5 points, 3 more ready to mark\n*Mark my work* runs")
        assert not [words for words in ("href", "last saved") if words in shown["text/html"]]
        assert "One" in shown["text/html"]
    else:
        assert "text/html" not in shown
