"""Checks that run Python of other people, each in a process: a course's as its owner, and jupyterhub_config.py."""

from __future__ import annotations

import subprocess
import sys

from autograder.base.errors import GradlabError
from autograder.hub.finding import Finding, parse_findings
from autograder.hub.hub_folder import CONFIG_FILE
from autograder.hub.logs import LOG_FOLDER
from autograder.hub.owner_process import run_as_owner
from autograder.hub.settings import HUB_FILE, Hub, HubCourse
from autograder.model.term import TERM_FILE


def check_term(course: HubCourse) -> list[Finding]:
    """Check a course's gradebook and term.toml as its owner. Raises GradlabError if that fails."""
    if not any((course.folder / name).exists() for name in ("results", "autograded", TERM_FILE)):
        return []  # as before a term: no process has to look
    process = run_as_owner(course.folder, "-P", "-m", "autograder.hub.term_problems", str(course.folder))
    if process.returncode:
        raise GradlabError(
            f"the gradebook of {course.folder} can't be checked: {process.stderr.strip()[-500:]}",
            fix="correct nbgrader_config.py, or the gradebook",
        )
    return parse_findings(process.stdout)


def check_configuration(hub: Hub) -> list[Finding]:
    """Check what JupyterHub reads, once the hub was started."""
    path = hub.folder / CONFIG_FILE
    if not path.exists() or not (hub.folder / LOG_FOLDER).exists():
        return []
    module = ("-P", "-m", "autograder.hub.configuration_problems")
    command = [sys.executable, *module, str(path), str(hub.folder / HUB_FILE)]
    process = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if process.returncode:  # as after exit() in the file
        return [Finding(f"{path} can't be read: {process.stderr.strip()[-500:]}", "correct it")]
    return parse_findings(process.stdout)
