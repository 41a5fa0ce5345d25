"""Answers a notebook server's requests about a student's own copies, a line of JSON each, in a process of its own."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from autograder.base.errors import GradlabError
from autograder.classroom.copy_marks import read_key, read_solution, save_own_mark
from autograder.classroom.self_marking import GradedCopy, grade_copy, read_course_settings
from autograder.forkserver.server_process import ForkServerProcess
from autograder.grading.grading_progress import GradingProgress
from autograder.workers.task_grading import ForkServers

CHECK_LIBRARIES = ("hypothesis", "labkit.domain", "torch.fx.experimental.symbolic_shapes")  # what checks import


def serve_requests(course: Path, requests: Iterable[str], answers: IO[str], server_process: ForkServerProcess) -> None:
    """Answer requests, lines of JSON, each with a line of JSON; {refused} if it can't be done.

    {notebook} is answered with {points, worth, words}, after a line {progress: GradingProgress} for each step;
    {notebook, solution: an exercise} with {solution}; {notebook,
    quiz, question} with {statements}; and {notebook, own_mark: a question, points} with {points}. Fork servers keep
    running, so later marks need no imports.

    Args:
        server_process: A running process that can become the first fork server.
    """
    fork_servers: ForkServers = {}
    copies: dict[Path, GradedCopy] = {}  # the latest of each notebook

    def report(progress: GradingProgress) -> None:
        print(json.dumps({"progress": asdict(progress)}), file=answers, flush=True)

    try:
        settings = read_course_settings(course)
        for name in CHECK_LIBRARIES:  # while the fork server, which takes longer, imports too
            importlib.import_module(name)
        for line in requests:
            try:
                request = json.loads(line)
                notebook = Path(request["notebook"])
                if "solution" in request:
                    answer: dict[str, Any] = {"solution": read_solution(course, notebook, request["solution"])}
                elif "quiz" in request:
                    answer = {"statements": read_key(course, notebook, request["quiz"], request["question"])}
                elif "own_mark" in request:
                    points = save_own_mark(notebook, request["own_mark"], request["points"])
                    answer = {"points": points}
                    if copy := copies.get(notebook):
                        copy.write()  # the page counts this mark, too
                else:
                    copies[notebook] = grade_copy(course, notebook, settings, fork_servers, server_process, report)
                    marked = copies[notebook].write()
                    answer = {"points": marked.points, "worth": marked.worth, "words": marked.message}
            except GradlabError as error:
                answer = {"refused": str(error)}
            print(json.dumps(answer), file=answers, flush=True)
    finally:
        for fork_server in fork_servers.values():
            fork_server.close()
