"""The term's page and `gradlab status`: all students in every lab, those falling behind, and what to do next."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.base.errors import GradlabError
from autograder.base.timestamps import get_utc_now
from autograder.cli.app import app
from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.model.marks import Mark
from autograder.model.term import Extension, LabTerm, Term, add_extension
from autograder.reports.calendar import build_calendar
from autograder.reports.status import build_dates_table, collect_next_steps, compute_status
from autograder.reports.term_page import build_rows, write_term_page
from tests.reports.written_class import LAB, StudentWork, put, write_class

ALL = "ada ben cleo dan eve".split()


def make_lab(name: str, points: Sequence[float | None]) -> ClassResults:
    """A lab worth ten points. points: of each student in turn, None without a submission."""
    members = [
        Member(student)
        if got is None
        else Member(student, "", True, True, marks={"e": Mark(got)}, page=f"../feedback/{student}/{name}/{name}.html")
        for student, got in zip(ALL, points, strict=False)
    ]
    return ClassResults(name, (Column("e", 10),), tuple(members))


def test_labs_without_submissions_and_practice_labs_do_not_count() -> None:
    rows = build_rows(
        [make_lab("01", [10, 5]), make_lab("02", [None, None]), make_lab("03", [8, 8])], frozenset({"03"})
    )
    assert [(row.student, row.points, row.worth) for row in rows] == [("ada", 10, 10), ("ben", 5, 10)]


def test_a_student_who_misses_two_labs_of_the_class_is_falling_behind() -> None:
    labs = [make_lab(str(n), [10, 10, None if n < 2 else 10, 7, None]) for n in range(3)]
    behind = {row.student: row.behind for row in build_rows(labs)}
    assert not behind["ada"] and "2 labs are missing: 0, 1" in behind["cleo"][0]
    few = [make_lab(str(n), [10, None, None, None, None]) for n in range(3)]
    assert not any("missing" in reason for row in build_rows(few) for reason in row.behind)


def test_fewer_or_few_points_mean_falling_behind_and_waiting_marks_do_not() -> None:
    ada, ben = [10.0, 9, 9, 5, 4], [3.0, 3, 4, 4, 4]
    labs = [make_lab(str(n), [ada[n], ben[n]]) for n in range(5)]
    first, second = build_rows(labs)
    assert "in the last two" in first.behind[0] and second.behind == (
        "18 of the 50 points of labs that are marked or missing",
    )
    waiting = [
        replace(
            one, members=(replace(one.members[0], marks={"e": Mark(None, needs_manual_grade=True)}), one.members[1])
        )
        for one in labs[3:]
    ]
    assert not any("last two" in reason for reason in build_rows([*labs[:3], *waiting])[0].behind)


def test_a_student_without_submissions_is_falling_behind_once_a_lab_is_due_for_them() -> None:
    early = replace(make_lab("1", [9, None, None]), due=get_utc_now() + timedelta(days=1))
    rows = {row.student: row.behind for row in build_rows([make_lab("0", [9, None, None]), early])}
    assert rows["ben"] == ("submitted nothing so far: 0",) and not rows["ada"]
    assert not any(row.behind for row in build_rows([early]))
    past = replace(early, due=get_utc_now() - timedelta(days=1))
    ada, ben, cleo = past.members
    later = replace(ben, extension_end=get_utc_now() + timedelta(days=1))
    on_the_way = replace(cleo, uncollected=True)
    assert not any(row.behind for row in build_rows([replace(past, members=(ada, later, on_the_way))]))


def test_points_of_a_student_falling_behind_are_those_of_the_labs_that_count_for_them() -> None:
    labs = [make_lab("0", [9, 4.9, 4.9]), make_lab("1", [9, None, None]), make_lab("2", [9, 8, 9])]
    rows = {row.student: (row.behind, row.points, row.worth) for row in build_rows(labs)}
    assert rows["ben"] == ((), 12.9, 30), "one lab of the three was submitted by few, and is not missing"
    labs[1] = make_lab("1", [9, 9, None])
    behind, got, worth = {row.student: row for row in build_rows(labs)}["cleo"].behind, 13.9, 30
    assert behind == (f"{got} of the {worth} points of labs that are marked or missing",)


def test_no_one_is_falling_behind_in_a_lab_that_is_not_due_or_hardly_begun() -> None:
    finished, early = (
        make_lab("0", [9, 9, 9, 9]),
        replace(make_lab("1", [9, 9, 9, None]), due=get_utc_now() + timedelta(days=1)),
    )
    begun = make_lab("2", [9, None, None, None])
    assert not any(row.behind for row in build_rows([finished, early, begun]))


def test_the_page_leads_to_every_students_page(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    labs = [make_lab("01", [10, 5, 7, 8, 9]), make_lab("02", [None, 5, 5, 6, 1])]
    labs[0] = replace(labs[0], members=(replace(labs[0].members[0], name=evil), *labs[0].members[1:]))
    (tmp_path / "01.html").write_text("a report")
    write_term_page(labs, Term(labs={"02": LabTerm(practice=True)}), tmp_path / "term.html")
    page = (tmp_path / "term.html").read_text()
    assert '<a href="../feedback/ben/02/02.html">5</a>' in page and '<a href="01.html">' in page
    assert "practice, in no total" in page and "<script>alert" not in page
    with (tmp_path / "term.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert (first["student"], first["01"], first["02"]) == ("ada", "10.0", "")


def test_means_are_of_the_roster_and_extra_credit_leads_above_the_whole(tmp_path: Path) -> None:
    class_results = make_lab("01", [11, 10, 10, 10, 9])
    stranger = replace(class_results.members[0], student="who", on_roster=False, marks={"e": Mark(0.0)})
    class_results = replace(class_results, members=(*class_results.members, stranger))
    write_term_page([class_results], Term(), tmp_path / "term.html")
    page = (tmp_path / "term.html").read_text()
    assert "5 students and 1 who is not on the roster, 1 lab." in page
    assert page.count('<td class="number">100 %</td>') == 2, "median and mean"
    assert compute_status(class_results).mean == 1.0


FIRST, SECOND, LAST = (datetime(2027, 2, day, 18) for day in (1, 8, 15))
DATES = Term(
    labs={"02": LabTerm(attempts=5, wait_minutes=10, until=SECOND, solutions=LAST), "04": LabTerm(until=FIRST)}
)


@pytest.fixture
def dated_labs() -> list[ClassResults]:
    """One without a date, one with two extensions, and one that is due first."""
    second = replace(make_lab("02", [3, None]), due=SECOND)
    ada, ben = second.members
    second = replace(second, members=(replace(ada, extension_end=SECOND), replace(ben, extension_end=LAST)))
    return [make_lab("01", [10, 5]), second, replace(make_lab("03", [None, None]), due=FIRST)]


def test_the_calendar_has_every_lab_in_the_order_of_its_dates(dated_labs: list[ClassResults]) -> None:
    dates = build_calendar(dated_labs, DATES)
    assert [each.lab for each in dates] == ["03", "04", "02", "01"]
    assert (dates[2].due, dates[2].watched_until, dates[2].solutions) == (SECOND, SECOND, LAST)
    assert dates[2].extensions == {"ben": LAST, "ada": SECOND}


def test_the_table_of_dates_has_a_column_for_each_kind_of_date(dated_labs: list[ClassResults]) -> None:
    head, rows = build_dates_table(build_calendar(dated_labs, DATES))
    assert head == ["lab", "due, UTC", "marked until", "times marked", "solutions from", "extensions"]
    assert rows[2][1:4] == ["2027-02-08 18:00", "2027-02-08 18:00", "5, 10 min apart"]
    assert rows[3][1:] == [""] * 5


def test_a_term_without_dates_has_no_table_of_them(dated_labs: list[ClassResults]) -> None:
    assert build_dates_table(build_calendar(dated_labs[:1], Term()))[1] == []


def test_the_table_of_dates_says_which_labs_are_practice(dated_labs: list[ClassResults]) -> None:
    dates = build_calendar(dated_labs[:1], Term(labs={"01": LabTerm(practice=True)}))
    assert build_dates_table(dates) == (["lab", "counts"], [["01", "practice, in no total"]])


def test_the_page_of_a_term_lists_its_extensions(dated_labs: list[ClassResults], tmp_path: Path) -> None:
    write_term_page(dated_labs, DATES, tmp_path / "term.html")
    page = (tmp_path / "term.html").read_text()
    assert "ben until 2027-02-15 18:00, ada until 2027-02-08 18:00" in page


def test_more_extensions_than_a_line_holds_are_counted() -> None:
    members = tuple(Member(f"s{n}", extension_end=datetime(2027, 2, n + 1)) for n in range(7))
    (dates,) = build_calendar([ClassResults("01", (), members)], Term())
    assert dates.format_extensions().startswith("s6 until 2027-02-07 00:00, ")
    assert dates.format_extensions().endswith("s2 until 2027-02-03 00:00 and 2 more: gradlab report 01")


def test_no_lab_begun_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(GradlabError, match="gradlab watch LAB --once"):
        write_term_page([make_lab("01", [None])], Term(), tmp_path / "term.html")


def test_a_status_ends_with_what_to_do_in_the_order_of_use() -> None:
    class_results = make_lab("01", [10, 5, 7, 8, None])
    ada, ben, cleo, dan, eve = class_results.members
    members = (
        replace(ada, marks={"e": Mark(None, needs_manual_grade=True)}, page="../autograded/a.ipynb"),
        replace(ben, graded=False),
        replace(cleo, unreadable=True),
        dan,
        replace(eve, uncollected=True),
    )
    status = compute_status(replace(class_results, members=members))
    assert (status.submitters, status.graded, status.mean) == (4, 3, None)
    commands = [step.split(":")[0] for step in collect_next_steps([status])]
    assert commands == [
        "gradlab watch 01 --once --newest",
        "gradlab grade 01",
        "gradlab desk",
        "gradlab feedback 01",
        "gradlab report 01",
    ]
    early = replace(class_results, members=members, due=get_utc_now() + timedelta(days=1))
    (step,) = (step for step in collect_next_steps([compute_status(early)]) if "exchange" in step)
    assert step.startswith("gradlab watch 01 --once:"), "an end in term.toml applies until the lab is due"
    steps = {tell: " ".join(compute_status(early, LabTerm(tell=tell)).list_next_steps()) for tell in ("all", "visible")}
    assert "gradlab feedback" in steps["all"] and "gradlab feedback" not in steps["visible"], "it shows hidden checks"


@pytest.fixture
def written_course(small_course: Path) -> Path:
    """Eight students have marks, and one has an extension and no submission."""
    write_class(
        small_course, [StudentWork(f"s{n}", points=n / 4) for n in range(8)], "2027-02-01 18:00 UTC", missing=["gone"]
    )
    add_extension(small_course, Extension(lab=LAB, student="gone", until="2027-02-03T18:00:00Z"))
    return small_course


def test_status_reports_each_lab_with_its_dates_and_what_to_do_next(written_course: Path) -> None:
    output = CliRunner().invoke(app, ["status", "--course", str(written_course)]).output
    assert LAB in output
    assert "44%" in output
    assert f"gradlab feedback {LAB}" in output
    assert f"Extensions for {LAB}, UTC: gone until 2027-02-03 18:00" in output
    assert "2027-02-01 18:00" in output


def test_report_writes_the_pages_of_a_lab_and_of_the_term(written_course: Path) -> None:
    for arguments in (["report", LAB], ["report"]):
        result = CliRunner().invoke(app, [*arguments, "--course", str(written_course)])
        assert result.exit_code == 0
        assert "Next: open it" in result.output
    assert {path.name for path in (written_course / "results").glob("*.*")} == {
        f"{LAB}.html", f"{LAB}.csv", f"{LAB}.json", "term.html", "term.csv",
    }  # fmt: skip


def test_no_date_is_cut_in_a_narrow_terminal(small_course: Path) -> None:
    write_class(small_course, [StudentWork("ada")], "2027-02-01 18:00 UTC", missing=["gone"])
    add_extension(small_course, Extension(lab=LAB, student="gone", until="2027-02-03T18:00:00Z"))
    limits = "attempts = 3\nwait_minutes = 10\nuntil = 2027-02-08T18:00:00Z\nsolutions = 2027-02-15T18:00:00Z"
    with (small_course / "term.toml").open("a") as file:
        file.write(f"[labs.{LAB}]\npractice = true\n{limits}\n")
    output = CliRunner().invoke(app, ["status", "--course", str(small_course)]).output
    assert "…" not in output
    assert all(f"2027-02-{day}" in output for day in ("01", "08", "15")) and "practice" in output


def test_a_submission_in_the_exchange_is_listed_for_collecting(small_course: Path, tmp_path: Path) -> None:
    written_class = write_class(small_course, [StudentWork("ada", submitted=datetime(2026, 1, 1))])
    folder = small_course / "submitted" / "ada" / LAB
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text("2026-01-01 00:00:00 UTC")
    inbound = tmp_path / "inbound"
    for name in (f"ada+{LAB}+2026-01-01 00:00:00 UTC", f"new+{LAB}+2026-01-01 00:00:00 UTC"):
        put(inbound / name)
    assert {m.student: m.uncollected for m in written_class.read(inbound).members} == {"ada": False, "new": True}
    put(inbound / f"ada+{LAB}+2026-01-02 00:00:00 UTC")
    assert written_class.read(inbound).members[0].uncollected
