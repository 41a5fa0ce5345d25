"""Which submissions a watch marks: attempts, the wait between them, and the end, as term.toml sets them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from autograder.exchange.attempts import decide_attempt, describe_attempts, describe_counting_mark, resolve_lab_term
from autograder.gradebook.history import HistoryEntry
from autograder.model.term import Extension, LabTerm, Term
from autograder.model.versions import Versions

NOW = datetime(2026, 2, 1, 12, 0)
VERSIONS = Versions(gradlab="0", python="3", torch="2")


def mark(minutes_ago: float, command: str = "watch") -> HistoryEntry:
    """The mark of a submission that arrived a minute before it was marked."""
    mark_time = NOW - timedelta(minutes=minutes_ago)
    submitted = mark_time - timedelta(minutes=1)
    return HistoryEntry(
        when=mark_time.replace(tzinfo=UTC), command=command, points=1, worth=2, submitted=submitted, versions=VERSIONS
    )


def test_without_settings_every_submission_is_marked() -> None:
    assert decide_attempt(NOW, [mark(n) for n in range(50)], LabTerm(), NOW).is_due


def test_attempts_are_those_that_a_watch_has_marked() -> None:
    settings = LabTerm(attempts=2)
    assert decide_attempt(NOW, [mark(9), mark(5, "grade"), mark(4, "regrade")], settings, NOW).is_due
    assert decide_attempt(NOW, [mark(9), mark(5)], settings, NOW).refusal == "all 2 attempts are used up"
    assert decide_attempt(NOW, [mark(9)], LabTerm(attempts=1), NOW).refusal == "the only attempt is used up"
    same = mark(5).model_copy(update={"points": 2.0})
    assert decide_attempt(NOW, [mark(5), same], settings, NOW).is_due, (
        "one submission that was marked twice is one attempt"
    )


def test_a_wait_begins_with_the_last_mark() -> None:
    decision = decide_attempt(NOW, [mark(30), mark(4)], LabTerm(wait_minutes=10), NOW)
    assert not decision.is_due and decision.due_from == NOW + timedelta(minutes=6)
    assert decide_attempt(NOW, [mark(10)], LabTerm(wait_minutes=10), NOW).is_due


def test_submissions_after_the_end_of_marking_are_left_for_gradlab_grade() -> None:
    until = LabTerm(until=datetime(2026, 2, 1, 13, 0, tzinfo=UTC))
    assert decide_attempt(NOW, [], until, NOW + timedelta(days=1)).is_due, "it arrived in time"
    never = decide_attempt(NOW + timedelta(hours=2), [], until, NOW, zone=ZoneInfo("Europe/Berlin")).refusal
    assert never == "it arrived after the lab closed at 2026-02-01 14:00 CET"


def test_an_extension_moves_the_end_for_its_student() -> None:
    until = datetime(2026, 2, 1, 10, 0, tzinfo=UTC)
    extension = Extension(lab="x", student="ben", until=until + timedelta(hours=5))
    term = Term(labs={"x": LabTerm(until=until)}, extension=(extension,))
    assert decide_attempt(NOW, [], resolve_lab_term(term, "x", "ada"), NOW).refusal
    assert decide_attempt(NOW, [], resolve_lab_term(term, "x", "ben"), NOW).is_due


def test_the_newest_is_marked_whatever_the_limits_are() -> None:
    limits = LabTerm(attempts=1, wait_minutes=60, until=datetime(2026, 2, 1, tzinfo=UTC), tell="points")
    settings = resolve_lab_term(Term(labs={"x": limits}), "x", "ada", ignores_limits=True)
    assert decide_attempt(NOW, [mark(5)], settings, NOW).is_due and settings.tell == "points"
    assert describe_attempts(NOW, [mark(5)], settings, NOW) == ""


def test_a_page_says_how_many_are_left_when_the_next_is_marked_and_until_when() -> None:
    settings = LabTerm(attempts=3, wait_minutes=20, until=datetime(2026, 2, 3, 18, 0, tzinfo=UTC))
    first, second, third = mark(90), mark(50), mark(5)
    assert describe_attempts(second.submitted or NOW, [first, second], settings, NOW - timedelta(minutes=49)) == (
        "Attempt 2 of 3. Your next attempt will be marked after 2026-02-01 11:30 UTC. The lab is open until 2026-02-03 18:00 UTC."
    )
    late = settings.model_copy(update={"wait_minutes": 60 * 60})
    assert describe_attempts(first.submitted or NOW, [first], late, NOW) == (
        "Attempt 1 of 3. If you submit again by 2026-02-03 18:00 UTC, that attempt will be marked after 2026-02-03 22:30 UTC."
    )
    last = describe_attempts(third.submitted or NOW, [first, second, third], settings, NOW, ZoneInfo("Europe/Berlin"))
    assert last == (
        "Attempt 3 of 3. No further attempts will be marked until your instructor grades the lab. "
        "The lab is open until 2026-02-03 19:00 CET."
    )
    later = describe_attempts(first.submitted or NOW, [first], settings, NOW + timedelta(days=5))
    assert later == "Attempt 1 of 3. The lab closed at 2026-02-03 18:00 UTC."
    assert describe_attempts(NOW, [mark(5)], LabTerm(), NOW) == "", "without settings there is no message"


def test_the_last_mark_counts_instead_of_an_unmarked_submission() -> None:
    assert describe_counting_mark([mark(9), mark(5)]).startswith(
        "The mark of the submission from 2026-02-01 11:54 UTC counts"
    )
    assert describe_counting_mark([]).startswith("You have no mark until")


def test_a_marked_submission_may_still_get_its_page() -> None:
    before = mark(5)
    assert before.submitted and decide_attempt(before.submitted, [before], LabTerm(attempts=1), NOW).is_due


def test_a_submission_with_the_time_of_a_teammates_gets_no_extra_attempt() -> None:
    marks = [mark(30)]
    (timestamp,) = (each.submitted for each in marks)
    assert timestamp is not None
    assert decide_attempt(timestamp, marks, LabTerm(attempts=3), NOW, is_collected=True).is_due, (
        "perhaps its page is missing"
    )
    assert (
        "exactly the same time"
        in decide_attempt(timestamp, marks, LabTerm(attempts=3), NOW, is_collected=False).refusal
    )
