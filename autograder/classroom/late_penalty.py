"""The penalty for lateness that the course's configuration computes."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import AssignLatePenalties

from autograder.base.errors import GradlabError
from autograder.gradebook.writer import Penalty


def load_late_penalty(config: Any) -> Penalty:
    """Load the penalty that c.AssignLatePenalties in nbgrader_config.py computes. Raises GradlabError if it fails."""

    def make_error(error: Exception) -> GradlabError:
        message = f"{type(error).__name__}: {error}"
        return GradlabError(
            f"c.AssignLatePenalties in nbgrader_config.py doesn't work, so no mark was changed: {message}",
            fix="correct it there, and run the same command again",
        )

    try:
        late = AssignLatePenalties(config=config)
        late.init_plugin()
    except Exception as error:
        raise make_error(error.__cause__ if isinstance(error.__cause__, Exception) else error) from None

    def compute_penalty(student: str, score: float, seconds: float) -> float | None:
        try:
            penalty: float | None = late.plugin_inst.late_submission_penalty(student, score, seconds)
            return penalty
        except Exception as error:
            raise make_error(error) from None

    return compute_penalty
