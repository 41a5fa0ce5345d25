"""The report: every mark, students who need attention, and lost points; no student's text can become markup."""

import csv
import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.model.marks import Mark
from autograder.model.notes import Note, NoteKind
from autograder.reports import findings
from autograder.reports.class_export import write_class_csv, write_class_json
from autograder.reports.lab_report import render_report, write_report
from autograder.reports.standing import Standing, format_duration, group_by_standing
from labkit.outcome import Blame, Outcome

EVIL = "</script><script>alert(1)</script>"
COLUMNS = (Column("softmax", 4), Column("why", 2, by_hand=True))

NO_NOTEBOOK = Note(kind=NoteKind.REFUSED, words="It is no notebook.")
SLOW = Note(kind=NoteKind.STOPPED, words="it took longer than 60 s", cell="a")


def make_failure(seen: str = "nan", misconception: str = "") -> Outcome:
    return Outcome("finite", "finite & <sound>", seen=seen, misconception=misconception, hidden=True)


def make_member(student: str, points: float | None = 4.0, mark: Mark | None = None, **fields: object) -> Member:
    defaults: dict[str, object] = {
        "has_submitted": True,
        "graded": True,
        "marks": {"softmax": Mark(points), "why": mark or Mark(None, needs_manual_grade=True)},
        "answers": {"softmax": f"code of {student}", "why": "because"},
        "page": f"../feedback/{student}/x/x.html",
    }
    return Member(student, **(defaults | fields))  # type: ignore[arg-type]


def make_lab(*members: Member, due: datetime | None = None) -> ClassResults:
    return ClassResults("x", COLUMNS, members, due)


def find_row(page: str, student: str) -> list[str]:
    """The texts of a student's row of marks."""
    match = re.search(rf'<tr><th scope="row"><a[^>]*>{student}</a>.*?</tr>', page[page.index("marks-table") :], re.S)
    assert match
    return [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", match[0], re.S)]


def test_marks_count_what_is_known_and_say_what_waits() -> None:
    ada = make_member("ada", penalty=1.5, seconds_late=7200.0, submitted=datetime(2027, 1, 31, 20))
    ben = make_member("ben", 0.0, Mark(1.5, needs_manual_grade=True))
    cleo = make_member("cleo", 0.0, Mark(2.0), answers={"why": "because"})
    page = render_report(make_lab(ada, ben, cleo))
    assert find_row(page, "ada") == ["2.5", "−1.5", "2027-01-31 20:00", "4", "waits"]
    assert find_row(page, "ben") == ["1.5", "", "", "0", "1.5, again"]
    assert find_row(page, "cleo") == ["2", "", "", "", "2"]


def test_text_of_students_and_checks_is_not_markup() -> None:
    failure = make_failure(EVIL, EVIL)
    one = make_member(
        EVIL,
        0.0,
        checks={"softmax": (failure,)},
        answers={"softmax": EVIL},
        notes=(Note(words=EVIL),),
        changed_names=(EVIL,),
    )
    page = render_report(
        make_lab(one, *(make_member(f"{EVIL}{n}", 0.0, checks={"softmax": (failure,)}) for n in range(6)))
    )
    assert "<script>alert" not in page
    assert page.count("</script>") == page.count("<script")
    assert "finite &amp; &lt;sound&gt;" in page


def test_the_page_may_load_nothing_and_runs_no_other_script() -> None:
    page = render_report(make_lab(make_member("ada")))
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)
    assert policy and policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe-eval" not in policy[1] and "script-src &#39;unsafe-inline" not in policy[1]
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert len(page) < 100_000


def test_each_row_leads_to_the_students_page_names_the_team_and_says_if_no_page_is_written() -> None:
    ada, ben = make_member("ada lee"), make_member("ben", page="../autograded/ben/x/x.ipynb")
    page = render_report(make_lab(ada, ben, make_member("cy", team="<blue>")))
    assert "team &lt;blue&gt;" in page
    assert 'href="../feedback/ada%20lee/x/x.html"' in page and 'href="../autograded/ben/x/x.ipynb"' in page
    assert "1 of them has no feedback page yet" in page


def test_an_exercise_is_counted_among_those_who_wrote_it() -> None:
    members = [make_member(f"s{n}", float(n % 5)) for n in range(10)]
    blank = [make_member(f"b{n}", 0.0, answers={}, checks={"softmax": (make_failure(),)}) for n in range(5)]
    softmax, question = findings.summarize_exercises(make_lab(*members, *blank))
    assert (softmax.wrote, softmax.blank, softmax.share) == (10, 5, 0.5)
    assert (question.wrote, question.blank, question.waiting, question.share) == (10, 5, 10, None)
    assert findings.list_failed_checks(make_lab(*members, *blank)) == []


def test_failed_checks_and_misconceptions_are_counted_commonest_first() -> None:
    members = [make_member(f"r{n}", checks={"softmax": (make_failure("0", "it was rounded"),)}) for n in range(3)]
    other = make_member("o", checks={"softmax": (make_failure("7"),)})
    class_results = make_lab(other, *members)
    assert findings.list_failed_checks(class_results) == [
        findings.CheckFinding("softmax", "finite & <sound>", True, 4, 4)
    ]
    (misconception,) = findings.list_misconceptions(class_results)
    assert (misconception.failures, len(misconception.members), misconception.example) == (
        ("it was rounded",),
        3,
        "code of r0",
    )
    (alike,) = findings.find_shared_mistakes(class_results)
    assert [m.student for m in alike.members] == ["r0", "r1", "r2"]
    assert "it was rounded" in render_report(class_results)


def test_students_who_need_attention_are_listed_by_reason() -> None:
    hung = Outcome("b", "it ends", seen="the time limit of 20 s for a check was reached", blame=Blame.PROCESS)
    class_results = make_lab(
        make_member("missing", has_submitted=False, graded=False, marks={}),
        make_member("there", has_submitted=False, graded=False, marks={}, uncollected=True),
        make_member("new", graded=False, marks={}),
        make_member("older", mark=Mark(0.0), from_earlier_build=True),
        make_member("damaged", mark=Mark(0.0), unreadable=True, notes=(NO_NOTEBOOK,)),
        make_member("slow", mark=Mark(0.0), notes=(SLOW,), stopped_cells={"a": "a"}),
        make_member("hangs", mark=Mark(0.0), stopped_cells={"check-b": "b"}, checks={"b": (hung,)}),
        make_member("hung", mark=Mark(0.0), stopped_cells={"check-b": "b"}),
        make_member("nobody", mark=Mark(0.0), on_roster=False),
        make_member("waits"),
        make_member("late", mark=Mark(0.0), seconds_late=90_000.0),
    )
    names = {standing: [m.student for m in members] for standing, members in group_by_standing(class_results).items()}
    assert names == {
        Standing.MISSING: ["missing"],
        Standing.UNCOLLECTED: ["there"],
        Standing.TO_GRADE: ["new"],
        Standing.OLDER: ["older"],
        Standing.DAMAGED: ["damaged"],
        Standing.LIMIT: ["slow", "hangs", "hung"],
        Standing.WAITS: ["waits"],
        Standing.LATE: ["late"],
        Standing.STRANGER: ["nobody"],
    }
    page = render_report(class_results, stray=["submitted/a.txt is no student's folder"])
    for words in (
        "8 of 10 students submitted it, and 1 who is not on the roster; 8 are graded.",
        "It is no notebook.",
        "longer than 60 s",
        "b, “it ends”: the time limit of 20 s for a check was reached.",
        "b: one of its checks ran into a limit",
        "1 d 1 h, no points taken off",
        "submitted/a.txt is no student&#39;s folder",
    ):
        assert words in page


def test_a_report_is_headed_by_the_labs_title_and_names_the_lab_as_commands_do() -> None:
    page = render_report(replace(make_lab(make_member("ada")), title="Views and copies"))
    assert "<h1>Views and copies</h1>" in page and "Commands call the lab" in page
    assert "Commands call the lab" not in render_report(make_lab(make_member("ada")))


def test_students_with_an_extension_are_listed_with_its_end(tmp_path: Path) -> None:
    ill = make_member(
        "ill", extension_end=datetime(2027, 2, 3, 18), submitted=datetime(2027, 2, 3, 19), seconds_late=3600.0
    )
    class_results = make_lab(ill, make_member("ada"), due=datetime(2027, 2, 1, 18))
    page = render_report(class_results)
    assert (
        "Due 2027-02-01 18:00 UTC" in page and "<td>2027-02-03 18:00</td><td>2027-02-03 19:00</td><td>1 h</td>" in page
    )
    assert '<h2 id="extensions">' not in render_report(make_lab(make_member("ada")))
    write_class_csv(class_results, tmp_path / "x.csv")
    write_class_json(class_results, tmp_path / "x.json")
    with (tmp_path / "x.csv").open(newline="") as file:
        assert [row["extended_until"] for row in csv.DictReader(file)] == ["2027-02-03T18:00:00Z", ""]
    document = json.loads((tmp_path / "x.json").read_text())
    assert [student["extended_until"] for student in document["students"]] == ["2027-02-03T18:00:00Z", None]


def test_no_one_is_missing_before_the_first_submission() -> None:
    assert not group_by_standing(make_lab(make_member("ada", has_submitted=False, graded=False)))[Standing.MISSING]


@pytest.mark.parametrize(("seconds", "words"), [(5, "1 min"), (3900, "1 h 5 min"), (90_000, "1 d 1 h"), (86400, "1 d")])
def test_a_duration_reads_as_a_person_says_it(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


def test_few_students_get_no_statistics() -> None:
    page = render_report(make_lab(make_member("ada"), make_member("ben")))
    assert "No mean is shown for fewer than five" in page and "median" not in page.split("<h2")[0].split("<h1")[1]


def test_csv_and_json_files_say_the_same_as_the_report(tmp_path: Path) -> None:
    class_results = make_lab(
        make_member("=1+1", 4.0, penalty=1.0, seconds_late=60.0, submitted=datetime(2027, 1, 1)),
        make_member("gone", has_submitted=False, graded=False, marks={}),
    )
    write_class_csv(class_results, tmp_path / "x.csv")
    write_class_json(class_results, tmp_path / "x.json")
    with (tmp_path / "x.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["student"], first["points"], first["softmax"], first["why"]) == ("'=1+1", "3.0", "4.0", "")
    assert (first["submitted"], first["standing"]) == ("2027-01-01T00:00:00Z", "to be read, late")
    assert (second["points"], second["standing"]) == ("", "missing")
    document = json.loads((tmp_path / "x.json").read_text())
    assert document["standing"]["late"] == ["=1+1"] and document["students"][0]["marks"] == {
        "softmax": 4.0,
        "why": None,
    }


def test_a_lab_without_submissions_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(GradlabError, match="gradlab watch x --once"):
        write_report(make_lab(), tmp_path / "x.html")
