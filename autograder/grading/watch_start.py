"""What `gradlab watch` does before its first look: which labs, their rows in the gradebook, workers that wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograder.errors import GradlabError
from autograder.forkserver.client import Purpose
from autograder.forkserver.starting import Started
from autograder.gradebook.writer import opened
from autograder.grading.class_writer import course_of
from autograder.grading.inbox import inbox_of
from autograder.grading.plain_class import refuse_nothing
from autograder.grading.pool import Pool
from autograder.grading.preparation import prepare
from autograder.grading.term_names import refuse_unknown_names, unknown_names
from autograder.grading.whole_lab import on_this_machine, settings_from
from autograder.term import read_term


def released(api: Any) -> list[str]:
    """The labs that students can fetch. Raises GradlabError where there is none."""
    inbox, course = inbox_of(api), course_of(api)
    found = sorted(p.name for p in inbox.outbound.glob("*") if (course / "source" / p.name).is_dir())
    if not found:
        raise GradlabError(f"no lab of this course is in {inbox.outbound}: nbgrader release_assignment LAB first")
    return found


def prepare_all(api: Any, labs: Sequence[str]) -> list[str]:
    """Put these labs into the gradebook before the first submission comes, which would wait for it.

    What term.toml names and the course does not have, in lines.
    """
    term = read_term(course_of(api))
    with opened(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
        lines = []
        for lab in labs:
            refuse_nothing(course_of(api), lab)
            refuse_unknown_names(course_of(api), lab, term, gradebook)
            lines += prepare(api, course_of(api), lab, gradebook)
        return lines + list(
            dict.fromkeys(w for lab in labs for w in unknown_names(course_of(api), term, gradebook, lab))
        )


def started_pool(api: Any, device: str, jobs: int, ahead: Started | None) -> Pool:
    """Workers that wait. ahead: as in ThisMachine."""
    course, settings = course_of(api), settings_from(api.config, on_this_machine(device))
    wanted = Purpose(settings.isolation, settings.limits, settings.device)
    return Pool(wanted, settings.timeouts.submission, (course,), jobs, ahead)
